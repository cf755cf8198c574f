"""A whole run of jobs, made of executions that never were, for tests of verification and of the report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import replayable
from tests.unit.jobs.made import result, spec

import bmwg
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import BAREMETAL, POD, OutcomeType
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import PlannedCell, RunHeader, RunStore

SEED = 11
HERE = (BAREMETAL, POD)
FASTER = {BAREMETAL: 1.0, POD: 0.9}
SLOWER = 0.5  # beside any neighbour


class Clock(replayable.Clock):
    """Goes on by far more than an execution takes."""

    def __call__(self):
        self.moment += timedelta(seconds=20)
        return super().__call__()


def line(number: int, planned, came, host: Mapping[str, int] | None = None) -> Execution:
    """An execution as the journal holds it."""
    asked = spec(planned, number)
    found = JOBS.assessed(asked, came)
    return Execution(
        seq=number,
        cell_id=planned.cell.cell_id,
        deployment_id=f"jobs-host-{planned.cell.hosting}-1",
        metric=planned.metric,
        test_id=planned.test_id,
        phase=MEASURED,
        validity=found.validity,
        reason=found.reason,
        at="",
        body=JOBS.body_of(asked, came, host or {}),
    )


def made_run(folder: Path, profile) -> Path:
    """Measure what a profile plans of native and pods in turns; other forms and NBench are not there."""
    plan = profile.plan()
    header = RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit="0123456789abcdef0123456789abcdef01234567",
        toolkit_dirty=False,
        simulated=False,
        testbed={"name": "hosts"},
        testbed_source=None,
        profile=profile.data,
        medium_kind="veth",
        line_rate_bps=None,
        procedures=versions(JOBS.families),
        plan=tuple(PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in plan),
        order_seed=SEED,
    )
    with RunStore.create(folder, "j", header, clock=Clock()) as store:
        for form in HERE:
            store.add_deployment(f"jobs-host-{form}-1", {"path": "host", "hosting": form})
            place = {"schema": "record/1.0", "scope": "network", "fields": {}}
            store.platform.note_records(f"jobs-host-{form}-1", {"dut1": place})
        for experiment in dict.fromkeys(neighbours.apart(one.metric, one.cell) for one in plan):
            mine = [one for one in plan if neighbours.apart(one.metric, one.cell) == experiment]
            _measured(store, experiment, {one.cell.hosting: one for one in mine})
        store.close(None, "complete")
    write_report(store.folder)
    return store.folder


def _measured(store, experiment: str, forms) -> None:
    here = [] if experiment == "nbench" else list(HERE)
    for form in set(forms) - set(here):
        lack = JOBS.without_execution(forms[form], OutcomeType.NOT_ASSESSED, f"no {form} here")
        store.add_outcome(lack, mend="docs/hosts.md")
    done: dict[str, list] = {form: [] for form in here}
    while True:
        wanted = next(iter(forms.values())).asked.wanted
        ended = {form for form in forms if form not in here or len(done[form]) == wanted}
        counts = {form: len(tried) for form, tried in done.items()}
        form = blocks.next_up([[form] for form in forms], counts, ended, seed=SEED, experiment=experiment)
        if form is None:
            break
        planned, number = forms[form], len(done[form]) + 1
        beside = neighbours.of(planned.cell) != neighbours.ALONE
        factor = FASTER[form] * (SLOWER if beside else 1.0)
        came = result(planned, factor * (1 + number / 100 + len(experiment) / 1e6))
        work = dict(zip(neighbours.COUNTS, (600, 10**9, 1000, 10**9), strict=True)) if beside else {}
        one = line(number, planned, came, work)
        seq = store.append(
            cell_id=one.cell_id,
            deployment_id=one.deployment_id,
            metric=one.metric,
            test_id=one.test_id,
            phase=one.phase,
            body=one.body,
            validity=one.validity,
            reason=one.reason,
        )
        done[form].append(JOBS.tried(seq, spec(planned, number), came, one.deployment_id))
    for form, tried in done.items():
        store.add_outcome(JOBS.answered(forms[form], tried))
