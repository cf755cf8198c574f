"""What a run of one kind of load would do, for a person and as data: its cells, and how long they take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledCell:
    """One answer that would be found.

    `estimate_s` are seconds of load, 0 where nothing is tried or another answer's trials give it, None where
    the time is what is measured. `words` say the same; `missing` says why it cannot be tried, "" if it can.
    """

    test_id: str
    metric: str
    cell_id: str
    words: str
    estimate_s: float | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The cells of one kind of load in their order, and what is to be said of all of them.

    `whole_s` are seconds with the waits around each trial, None where they are not known before. `left_out`
    are tests that were asked for and that the profile does not plan. `notes` are sentences.
    """

    kind: str
    profile: str
    cells: tuple[ScheduledCell, ...]
    whole_s: float | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return a line a cell, then the notes."""
        said = [
            f"{cell.test_id:<14} {cell.metric:<40} {cell.cell_id:<48} {cell.words}" for cell in self.cells
        ]
        if self.left_out:
            said.append(f"profile {self.profile} leaves out: {', '.join(self.left_out)}")
        return [*said, *self.notes]

    def as_json(self) -> dict[str, Any]:
        """Return builtins, as `plan` of docs/json.md has them."""
        return asdict(self)
