"""Runs the executions of one cell and records each before anything uses it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Generic

from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.answers.repeated import Tried, repeated
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED, WARM_UP, RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import Planned, SpecT
from bmwg.methodology.records import Outcome
from bmwg.reports.store import RunStore
from bmwg.reports.store.redact import redact
from bmwg.resources.run.answers import is_of_cell
from bmwg.resources.run.outcomes import one_line


class DeploymentBrokenError(Exception):
    """A pod, a node or an interface of the deployment is gone; a new deployment is needed."""


@contextmanager
def _alone() -> Iterator[dict[str, int]]:
    yield {}


def _unbroken() -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand(Generic[SpecT, ResultT]):
    """What a cell is measured on: a deployment, what runs one spec on it, and whether it still stands."""

    deployment_id: str
    run: Callable[[SpecT], ResultT]
    leaks: LeakWatch
    fault: Callable[[], str | None] = _unbroken


class CellExecutions(Generic[SpecT, ResultT]):
    """The executions of one cell. `recorded` are those that a run which goes on has of it already.

    `beside` is entered for each execution: its neighbour works meanwhile, and the counts of that are told;
    `host` likewise tells what the machines did meanwhile (`Machines.counted`).
    """

    def __init__(
        self,
        kind: RepeatedKind[SpecT, ResultT],
        planned: Planned[SpecT],
        store: RunStore,
        recorded: Sequence[Execution] = (),
        beside: Callable[[], AbstractContextManager[dict[str, int]]] = _alone,
        host: Callable[[], AbstractContextManager[dict[str, int]]] = _alone,
    ) -> None:
        self._beside = beside
        self._host = host
        self.planned = planned
        self._kind = kind
        self._store = store
        self.done: list[Tried[ResultT]] = [
            kind.retried(execution) for execution in recorded if execution.phase == MEASURED
        ]
        self._number = len(recorded)
        self._began_s = self._last_s = time.monotonic()

    @property
    def ended(self) -> bool:
        """Whether no execution is left to run."""
        return self.planned.asked.ended(self.done, self._took_s())

    def answer(self) -> Outcome:
        """Return what the executions say."""
        return self._kind.answered(self.planned, self.done)

    def run(self, stand: Stand[SpecT, ResultT], warm_up: SpecT | None = None) -> None:
        """Run what is left, after a warm-up. Raises DeploymentBrokenError, and what ends the run."""
        self._began_s = self._last_s = time.monotonic()
        if warm_up is not None:
            self.once(stand, warm_up, WARM_UP)
        repeated(lambda: self.once(stand), self.planned.asked, self._took_s, self.done)

    def _took_s(self) -> float:
        """Until the last execution was recorded, as a reader sees it: a deployment takes time to remove."""
        return self._last_s - self._began_s

    def once(
        self, stand: Stand[SpecT, ResultT], asked: SpecT | None = None, phase: str = MEASURED
    ) -> Tried[ResultT]:
        """Run and record the next one, as planned unless `asked` says otherwise.

        Raises DeploymentBrokenError after that, and what ends the run.
        """
        kind, planned = self._kind, self.planned
        self._number += 1
        spec = replace(asked or planned.spec, number=self._number)
        stand.leaks.begin()
        began_ns = time.monotonic_ns()
        host, neighbour = dict[str, int](), dict[str, int]()
        try:
            with self._beside() as neighbour, self._host() as host:  # a neighbour is alone for a while first
                result = stand.run(spec)
        except ToolkitError as error:
            if not is_of_cell(error):
                raise
            result = kind.failed(one_line(error))
        stand.leaks.check()  # RFC 6815: the run ends before anything is concluded
        fault = _fault(stand)
        faults = (*result.faults, fault) if fault else result.faults
        result = replace(
            result,
            faults=tuple(redact(one) for one in faults),
            wall_ns=time.monotonic_ns() - began_ns,
        )
        found = kind.assessed(spec, result)
        seq = self._store.append(
            cell_id=planned.cell.cell_id,
            deployment_id=stand.deployment_id,
            metric=planned.metric,
            test_id=planned.test_id,
            phase=phase,
            body=kind.body_of(spec, result, {**host, **neighbour}),
            validity=found.validity,
            reason=found.reason,
        )
        self._last_s = time.monotonic()
        tried = kind.tried(seq, spec, result, stand.deployment_id)
        if phase == MEASURED:
            self.done.append(tried)
        if fault:
            raise DeploymentBrokenError(fault)
        return tried


def _fault(stand: Stand[SpecT, ResultT]) -> str | None:
    try:
        return stand.fault()
    except ToolkitError as error:
        return one_line(error)
