"""Complete runs of requests, written trial by trial, of which one form is measured."""

from __future__ import annotations

import replayable
from tests.unit.http import made as requests_run

import bmwg
from bmwg.methodology.kinds.requests import profile
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore

ADDRESS = "10.11.12.13"  # outside the benchmarking networks
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repetition(planned, mean_ns, **changes):
    took_ns = mean_ns * planned.spec.asked_requests
    told = {"process_ns": took_ns + 3_000_000, "wall_ns": took_ns + 9_000_000}
    return requests_run.result(planned.spec, mean_ns, **(told | changes))


def make_run(results, *, testbed=None, report=True):
    """Write a complete run of the experiment with one client: native measured, the others not tried."""
    loaded = profile.load("quick")
    plan = [one for one in loaded.plan() if one.spec.experiment == "one_client"]
    header = requests_run.header(
        loaded,
        plan,
        toolkit_version=bmwg.__version__,
        toolkit_commit=COMMIT,
        toolkit_dirty=False,
        testbed=testbed or {"name": "row"},
    )
    clock = replayable.Clock()
    with RunStore.create(results, "web", header, clock=clock) as store:
        store.add_deployment("native-1", {"hosting": {"form": "native"}, "endpoint": [ADDRESS, 3128]})
        place = {"schema": "record/1.0", "scope": "network", "fields": {}}
        store.platform.note_records("native-1", {"proxy": place})
        for planned in plan:
            if planned.spec.form != "native":
                requests_run.not_assessed(store, planned, "no daemon")
                continue
            kept = []
            for number in range(planned.asked.wanted):
                broken = {"failed": 1} if number == 1 else {}
                kept.append(repetition(planned, 1_000_000 + 1000 * number, **broken))
            kept.append(repetition(planned, 1_002_500))
            requests_run.answer(store, planned, kept)
        store.close(None, "complete")
    if report:
        write_report(store.folder)
    return store.folder
