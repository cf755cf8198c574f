"""Throughput beside a neighbour, and of the same cell without one (LTD 3.2.2.6.1 and 3.2.2.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import beside_neighbour
from bmwg.methodology.benchmarks.beside_neighbour import Beside
from bmwg.methodology.cells import neighbours, patterns
from bmwg.methodology.matrix import SPEED, Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, wanted_size
from bmwg.methodology.measurements.modifiers import SearchBeside, answered, search_beside
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.judging import JudgedTrial


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideNeighbour(SearchBeside):
    """A search beside the neighbour of a cell, which names it, or that it has none."""

    beside: Beside
    places: tuple[Place, ...]

    @property
    def name(self) -> str:
        """The test's."""
        return self.beside.name

    @property
    def metric(self) -> str:
        """The test's."""
        return self.beside.metric

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells between two ports with axis `neighbour`: one of the test's, or none as the baseline."""
        name = dict(cell.axes).get(neighbours.AXIS)
        able = name is not None and not cell.qualifies_tester and patterns.of(cell.axes) is None
        able = able and (name == neighbours.ALONE or neighbours.of_frames(name)[0] in self.beside.kinds)
        return able and wanted_size(profile, self.name, cell)

    def measure(self, asked: Asked) -> Answered:
        """Search; no number where the neighbour did not work in each valid trial."""
        found = search_beside(asked, lambda spec: spec, self.metric)
        name = neighbours.of(asked.cell)
        idle = [trial.seq for trial in found.trials if trial.valid and not _counts(trial)[neighbours.CPU_NS]]
        still = idle and name != neighbours.ALONE
        wrong = f"neighbour {name} had no CPU time beside trials {idle}" if still else ""
        seen = _seen(name, found.trials)
        return answered(found, requirements=self.beside.rows, seen=seen, wrong=wrong)


def _counts(trial: JudgedTrial) -> dict[str, int]:
    return dict.fromkeys(neighbours.FRAMES_COUNTS, 0) | dict(trial.result.auxiliary)


def _seen(name: str, trials: Sequence[JudgedTrial]) -> tuple[str, ...]:
    """Say what share of its CPUs a neighbour had, and what `memory` read and wrote, beside valid trials."""
    each = [_counts(trial) for trial in trials if trial.valid]
    shares = [
        one[neighbours.CPU_NS] / one[neighbours.WORK_NS] / one[neighbours.CPUS]
        for one in each
        if one[neighbours.WORK_NS] and one[neighbours.CPUS]
    ]
    if name == neighbours.ALONE or not shares:
        return ()
    had = f"{min(shares):.0%} to {max(shares):.0%} of its CPUs"
    said = f"neighbour {name} had {had} beside each trial, to a tick of the kernel"
    if neighbours.of_frames(name)[0] != "memory":
        return (said,)
    rates = [
        rate / one[neighbours.CPUS] for one in each if (rate := neighbours.bandwidth_bps(one)) is not None
    ]
    least, most = min(rates) / 8e9, max(rates) / 8e9
    return (
        said,
        f"it read and wrote {least:.2f} to {most:.2f} GB/s on each of them, as often read as written",
    )


MEASUREMENTS = (
    BesideNeighbour(
        beside=beside_neighbour.STRESS,
        places=(replace(SPEED, rows=("RFC8204-5.5-02", "LTD-3.2.2.6.1")),),
    ),
    BesideNeighbour(
        beside=beside_neighbour.MEMORY_BANDWIDTH,
        places=(
            Place(
                stage=Stage.OPERATION,
                criterion=Criterion.SCALE,
                rows=("RFC8204-5.8-02", "LTD-3.2.2.3.2-01"),
            ),
        ),
    ),
)
