"""The guard over a run of HTTP experiments: what it looks at, and what an answer is when that changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any

from bmwg.drivers.record.deployment import take_row
from bmwg.drivers.workload.row import Row
from bmwg.methodology.http import judge
from bmwg.methodology.http.records import HttpOutcome
from bmwg.methodology.record.drift import named_drift
from bmwg.reports.store.platform import PlatformFile
from bmwg.resources.firsts import Records
from bmwg.resources.http_proxy.machines import Machines
from bmwg.resources.platform import PlatformGuard


class HttpWatch:
    """Looks at the machines and the three nodes, which stand as long as one hosting form is measured."""

    def __init__(
        self,
        platform: PlatformFile,
        note: Callable[[str], None],
        record: Mapping[str, Any],
        earlier: Mapping[str, Any] | None,
        *,
        machines: Machines,
        staying: Collection[str],
    ) -> None:
        """Take where it is kept, how the operator is told, a record just taken, what a continued run has, the
        machines, and the names of the nodes' own interfaces.
        """
        self._platform = platform
        self._machines = machines
        self._guard = PlatformGuard(
            None,
            platform,
            note,
            record,
            earlier,
            staying=staying,
            look=machines.record,
            doctor=machines.examine,
        )
        self.before = record

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._guard.begin_suite(suite)

    def new_nodes(self) -> None:
        """The nodes were made anew: the former ones are nothing to hold them against."""
        self._guard.forget_nodes()

    def over(
        self, row: Row, deployment_id: str, evidence: Mapping[str, Any], *, goes_on: bool
    ) -> AbstractContextManager[None]:
        """Watch while a deployment stands; `goes_on` when a cell was begun before it."""
        return self._guard.watched(deployment_id, evidence, lambda: self._taken(row), goes_on=goes_on)

    def judged(self, outcome: HttpOutcome) -> HttpOutcome:
        """Look again; return an answer as it is, or invalid when the platform changed in its stretch."""
        self._guard.changed([outcome.cell.cell_id] if outcome.repetitions else [])
        return self._as_read(outcome)

    def judged_after_break(self, outcome: HttpOutcome) -> HttpOutcome:
        """The same for an answer that ended with a deployment that broke."""
        self._guard.changed_after_break([outcome.cell.cell_id])
        return self._as_read(outcome)

    def _taken(self, row: Row) -> Records:
        return {**take_row(row), **self._machines.others()}

    def _as_read(self, outcome: HttpOutcome) -> HttpOutcome:
        """As whoever reads the run will: a runner that was killed may have noted a change and no answer."""
        return judge.drifted(outcome, named_drift(self._platform.drift, outcome.cell.cell_id))
