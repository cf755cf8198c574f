"""A made run of acts: every cell of a profile with executions that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.unit.verify.test_acts_run import Clock, executed, header_by

from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned, Profile
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore
from bmwg.resources.run.guest_record import record_machine


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
            store.add_deployment(deployment_id, evidence)
            if machine:
                record_machine(store, evidence, "qemu")
            place = {"schema": "record/1.0", "scope": "network", "fields": {}}
            store.platform.note_records(deployment_id, {"dut1": place})
            executed(store, planned, deployment_id, list(results(number, planned)))
        store.close(None, "complete")
    write_report(store.folder)
    return store.folder
