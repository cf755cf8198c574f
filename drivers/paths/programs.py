"""What all paths have in common whose ends are programs and which no frame of the tester goes over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.protocols import BetweenPods, Deployment, Evidence, Missing
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import Cell


class ProgramsPath(ABC):
    """A path between two programs. A path states what it lacks, its words, and how its ends come to stand."""

    kind: ClassVar[PathKind]
    no_frames: ClassVar[str]  # why no frame of the tester goes over it
    suite: ClassVar[str]  # whose path it is
    words: ClassVar[Evidence]  # what the record says of it, wherever it stands

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing:
        """Return that frames are not for this path."""
        return Missing(
            what=f"frames on path {self.kind.name}",
            reason=self.no_frames,
            mend=f"another path: this one is of {self.suite}",
        )

    @abstractmethod
    def probe_pods(self) -> Missing | None:
        """Return what is missing for programs at the ends."""

    @abstractmethod
    def programs(self, stack: ExitStack) -> BetweenPods:
        """Make both ends and what joins them, `words` and names yet to be told; `stack` undoes it."""

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Refuse: see `probe`."""
        refuse(self.probe())
        yield from ()

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """Make both ends for programs; remove them on leaving."""
        refuse(self.probe_pods())
        with ExitStack() as stack:
            made = self.programs(stack)
            own: Evidence = {"path": self.kind.name, "hosting": self._cell.hosting}
            yield replace(made, evidence={**self.words, **own, **made.evidence})
