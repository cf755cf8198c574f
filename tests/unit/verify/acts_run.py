"""A made run of acts: every cell of a profile with executions that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from repeated_run import Clock, closed, deployed, header, recorded
from tests.unit.acts.lives import spec

from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned, Profile
from bmwg.reports.store import RunHeader, RunStore
from bmwg.resources.run.guest_record import record_machine


def header_by(chosen: Profile[ActsSpec], testbed: str) -> RunHeader:
    """Return the header of a run of all that a profile plans."""
    return header(ACTS, chosen.data, chosen.plan(), {"name": testbed})


def executed(
    store: RunStore, planned: Planned[ActsSpec], deployment_id: str, results: Iterable[ActsResult]
) -> None:
    """Append these executions of a cell, and its answer."""
    each = enumerate(results, start=1)
    done = [recorded(ACTS, store, planned, deployment_id, spec(planned, n), one) for n, one in each]
    store.add_outcome(ACTS.answered(planned, done))


def acts_run(
    folder: Path,
    profile: Profile[ActsSpec],
    results: Callable[[int, Planned[ActsSpec]], Iterable[ActsResult]],
    machine: Mapping[str, Any] | None = None,
) -> Path:
    """Make a complete run with its report; `results` are those of a cell's number and plan.

    With a `machine` all of it stood in one of qemu's.
    """
    with RunStore.create(folder, "run", header_by(profile, "embedded"), clock=Clock()) as store:
        for number, planned in enumerate(profile.plan(), start=1):
            deployment_id = f"acts-{planned.cell.path}-{planned.cell.network}-{number}"
            evidence = {"path": planned.cell.path} | ({"machine": machine} if machine else {})
            deployed(store, deployment_id, evidence)
            if machine:
                record_machine(store, evidence, "qemu")
            executed(store, planned, deployment_id, results(number, planned))
        return closed(store)
