"""A whole run of jobs, made of executions that never were, for tests of verification and of the report."""

from __future__ import annotations

from pathlib import Path

from repeated_run import Clock, closed, deployed, header, recorded
from tests.unit.jobs.made import result, spec

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import BAREMETAL, POD, OutcomeType
from bmwg.reports.store import RunStore

SEED = 11
HERE = (BAREMETAL, POD)
FASTER = {BAREMETAL: 1.0, POD: 0.9}
SLOWER = 0.5  # beside any neighbour


def made_run(folder: Path, profile) -> Path:
    """Measure what a profile plans of native and pods in turns; other forms and NBench are not there."""
    plan = profile.plan()
    planned_run = header(JOBS, profile.data, plan, {"name": "hosts"}, SEED)
    with RunStore.create(folder, "j", planned_run, clock=Clock()) as store:
        for form in HERE:
            deployed(store, f"jobs-host-{form}-1", {"path": "host", "hosting": form})
        for experiment in dict.fromkeys(neighbours.apart(one.metric, one.cell) for one in plan):
            mine = [one for one in plan if neighbours.apart(one.metric, one.cell) == experiment]
            _measured(store, experiment, {one.cell.hosting: one for one in mine})
        return closed(store)


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
        name = neighbours.of(planned.cell)
        beside = name != neighbours.ALONE
        factor = FASTER[form] * (SLOWER if beside else 1.0)
        came = result(planned, factor * (1 + number / 100 + len(experiment) / 1e6))
        told = (*neighbours.COUNTS, f"{neighbours.NAMED}{name}")
        work = dict(zip(told, (600, 10**9, 1000, 10**9, 2), strict=True)) if beside else {}
        asked, deployment = spec(planned, number), f"jobs-host-{form}-1"
        done[form].append(recorded(JOBS, store, planned, deployment, asked, came, work))
    for form, tried in done.items():
        store.add_outcome(JOBS.answered(forms[form], tried))
