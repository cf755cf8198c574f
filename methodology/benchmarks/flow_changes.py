"""Throughput beside a control plane that changes idle flows (LTD 3.2.2.5.1): how many, how fast, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bmwg.methodology.mlrsearch.goal import apart

METRIC = "throughput_coupled.ltd_3_2_2_5_1"
# ltd-3.2.2.5.1 has 10,000,000 as well, "or the maximum": a choice, since a machine has no memory for it
ENTRIES = (8, 1_000, 100_000)
RATES_PER_S = (0, 1, 100, 10_000)  # ltd-3.2.2.5.1
CHANGES = "modifier.flow_changes"  # count of a trial
REQUIREMENTS = ("LTD-3.2.2.5.1",)
_METRIC = re.compile(re.escape(METRIC) + r"\.([0-9]+)_entries\.([0-9]+)_changes")
_NAME = re.compile(r"flows-([1-9][0-9]{0,6})-(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupling:
    """So many idle entries stand, and so many changes a second go on; a change adds one or removes one."""

    entries: int
    changes_per_s: int

    @property
    def modifier(self) -> str:
        """What a trial beside it names."""
        return f"flows-{self.entries}-{self.changes_per_s}"

    @property
    def metric(self) -> str:
        """The metric of its throughput."""
        return f"{METRIC}.{self.entries}_entries.{self.changes_per_s}_changes"

    def due_changes(self, duration_s: float) -> int:
        """Return how many changes are due in a trial, one less for where it begins."""
        return max(0, int(self.changes_per_s * duration_s) - 1)


def couplings() -> tuple[Coupling, ...]:
    """Return each number of entries with each rate."""
    return tuple(Coupling(entries=entries, changes_per_s=rate) for entries in ENTRIES for rate in RATES_PER_S)


def coupling(modifier: str) -> Coupling | None:
    """Return what a modifier of a trial says; None where it is another one."""
    found = _NAME.fullmatch(modifier)
    return Coupling(entries=int(found[1]), changes_per_s=int(found[2])) if found else None


def of_metric(metric: str) -> Coupling | None:
    """Return what a metric says, with the code of a goal or without; None where it is another one."""
    found = _METRIC.fullmatch(apart(metric)[0])
    return Coupling(entries=int(found[1]), changes_per_s=int(found[2])) if found else None
