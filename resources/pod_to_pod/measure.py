"""Runs the executions of one cell of streams and records each before anything uses it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bmwg.drivers.api import BetweenPods
from bmwg.drivers.isolation import LeakWatch
from bmwg.drivers.record.sampling import between as sampled_between
from bmwg.drivers.record.sampling import sample
from bmwg.drivers.workload.of_streams import StreamsWorkload
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.streams.kind import (
    MEASURED,
    answered,
    assessed,
    body_of,
    result_of,
    spec_of,
    tried,
)
from bmwg.methodology.kinds.streams.profile import Planned
from bmwg.methodology.kinds.streams.records import StreamsResult
from bmwg.methodology.records import Outcome
from bmwg.methodology.repeated import Tried, repeated
from bmwg.reports.store import RunStore
from bmwg.reports.store.redact import redact
from bmwg.resources.measure import is_of_cell
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import host_counts
from bmwg.resources.pod_to_pod import crossings


class DeploymentBrokenError(Exception):
    """A pod, a node or an interface of the path is gone; a new deployment is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What cells are measured on: a deployment, what offers the load, and whether it still stands."""

    deployment_id: str
    between: BetweenPods
    workload: StreamsWorkload
    fault: Callable[[], str | None]
    leaks: LeakWatch


class CellExecutions:
    """The executions of one cell. `recorded` are those that a run which goes on has of it already."""

    def __init__(self, planned: Planned, store: RunStore, recorded: Sequence[Execution] = ()) -> None:
        self.planned = planned
        self._store = store
        self.done = [tried(one.seq, spec_of(one.body), result_of(one.body)) for one in recorded]
        self._began_s = time.monotonic()

    @property
    def ended(self) -> bool:
        """Whether no execution is left to run."""
        return self.planned.asked.ended(self.done, self._took_s())

    def answer(self) -> Outcome:
        """Return what the executions say."""
        return answered(self.planned, self.done)

    def run(self, stand: Stand) -> None:
        """Run what is left. Raises DeploymentBrokenError, and what ends the run."""
        self._began_s = time.monotonic()
        repeated(lambda: self._one(stand), self.planned.asked, self._took_s, self.done)

    def _took_s(self) -> float:
        return time.monotonic() - self._began_s

    def _one(self, stand: Stand) -> Tried[StreamsResult]:
        spec = replace(self.planned.spec, number=len(self.done) + 1)
        stand.leaks.begin()
        began_ns, host = time.monotonic_ns(), sample()
        result = self._offered(stand)
        stand.leaks.check()  # RFC 6815: the run ends before anything is concluded
        fault = self._fault(stand)
        faults = (*result.faults, fault) if fault else result.faults
        result = replace(
            result,
            faults=tuple(redact(one) for one in faults),
            wall_ns=time.monotonic_ns() - began_ns,
        )
        found = assessed(spec, result)
        seq = self._store.append(
            cell_id=self.planned.cell.cell_id,
            deployment_id=stand.deployment_id,
            metric=self.planned.metric,
            test_id=self.planned.test_id,
            phase=MEASURED,
            body=body_of(spec, result, dict(host_counts(sampled_between(host, sample())))),
            validity=found.validity,
            reason=found.reason,
        )
        self.done.append(tried(seq, spec, result))
        if fault:
            raise DeploymentBrokenError(fault)
        return self.done[-1]

    def _offered(self, stand: Stand) -> StreamsResult:
        """Offer the load between two looks at the interfaces that it has to cross."""
        crossed, spec = stand.between.crossed, self.planned.spec
        try:
            first = crossings.look(crossed)
            result = stand.workload.run(spec)
            last = crossings.look(crossed)
        except ToolkitError as error:
            if not is_of_cell(error):
                raise
            return StreamsResult(faults=(one_line(error),))
        return replace(result, crossings=crossings.between(crossed, spec.way, first, last))

    def _fault(self, stand: Stand) -> str | None:
        try:
            return stand.fault()
        except ToolkitError as error:
            return one_line(error)
