"""What every clause rule brings: three runs made by real code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmwg.reports.checker.evidence import Evidence

Make = Callable[[], Evidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Three:
    """A run that meets a row, one that does not, and one in which the row does not apply.

    `benchmark` is the one to look at, where a row is judged for several. A row does not apply where its rule
    says so, or where the run holds nothing that the row is judged on.
    """

    met: Make
    not_met: Make
    not_applicable: Make
    benchmark: str = ""
