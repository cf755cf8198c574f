"""What must hold for a run to be believed: each rule is one function and reads only the run's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bmwg.methodology import suites
from bmwg.methodology.answers import throughput
from bmwg.methodology.answers.former import replayable
from bmwg.methodology.answers.procedures import version
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles.set_aside import MOST_SET_ASIDE, STALL_EVIDENCE, stated, undeclared
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.verify import (
    fleets,
    frames_told,
    host_told,
    one_machine,
    options,
    other_kinds,
    physics,
    places,
    repetitions,
    tester_limits,
    told,
    turns,
)
from bmwg.reports.verify.bound import unbound
from bmwg.reports.verify.replay import contradictions, unknown_procedures


@rule("VER-04", "", "run.json and platform.json are of one run", exit_code=2)
def one_run(evidence: Evidence) -> Iterator[Shortfall]:
    """The two documents name the same run id."""
    if evidence.run and evidence.platform and evidence.run["run_id"] != evidence.platform["run_id"]:
        yield "platform.json: run_id", evidence.run["run_id"], evidence.platform["run_id"]


@rule("VER-05", "", "each outcome stands once, for a cell of its own, under the test that asks for it")
def outcomes_distinct(evidence: Evidence) -> Iterator[Shortfall]:
    """No outcome id and no pair of metric and cell stands twice; the id is test id and cell id."""
    ids = Counter(outcome.outcome_id for outcome in evidence.outcomes)
    pairs = Counter((outcome.metric, outcome.cell.cell_id) for outcome in evidence.outcomes)
    for name, count in ids.items():
        if count > 1:
            yield name, "each outcome id once", f"{count} times"
    for (metric, cell_id), count in pairs.items():
        if count > 1:
            yield f"{metric} on {cell_id}", "one outcome", str(count)
    for outcome in evidence.outcomes:
        if evidence.profile is None or kinds.plans_itself(outcome.cell.kind):
            continue  # VER-16 holds its id against its kind's own
        tests = sorted(planning.askers(evidence.profile, outcome.metric, outcome.cell, evidence.cases))
        wanted = [f"{test_id}:{outcome.cell.cell_id}" for test_id in tests]
        if not wanted:
            yield outcome.outcome_id, "a metric that a test gives on such a cell", outcome.metric
        elif not any(outcome.outcome_id == one or outcome.outcome_id.startswith(f"{one}:") for one in wanted):
            yield outcome.outcome_id, " or ".join(wanted), outcome.outcome_id


@rule("VER-06", "", "no trial is hidden: each belongs to an outcome or to a cell that was cut off")
def no_trial_hidden(evidence: Evidence) -> Iterator[Shortfall]:
    """Each recorded trial's cell and metric have an outcome, unless the run did not come to its end."""
    if not evidence.run or not evidence.whole_journal:
        return
    answered = {(outcome.cell.cell_id, recorded_as(outcome.metric)) for outcome in evidence.outcomes}
    groups: dict[tuple[str, str], list[int]] = {}
    for line in evidence.lines:
        groups.setdefault((line.cell_id, line.metric), []).append(line.seq)
    for (cell_id, metric), group in groups.items():
        if (cell_id, metric) not in answered and evidence.run["status"] == "complete":
            yield (
                f"trial {group[0]} and {len(group) - 1} more",
                f"an outcome of {metric} on {cell_id}",
                "none",
            )


@rule("VER-07", "", "a trial's test id is one that may ask for its metric on its cell")
def tests_match(evidence: Evidence) -> Iterator[Shortfall]:
    """The journal's test id, metric and cell go together; its cells are those of plan and answers."""
    if evidence.profile is None:
        return
    each = [
        *(planned_cell.cell for planned_cell in evidence.plan),
        *(outcome.cell for outcome in evidence.outcomes),
    ]
    cells = {cell.cell_id: cell for one in each for cell in (one, one.qualification)}
    for (cell_id, metric), group in evidence.by_group.items():
        if cell_id not in cells:
            yield f"trial {group[0].trial.seq}", "a cell of the plan, or one that qualifies for it", cell_id
            continue
        wanted = planning.askers(evidence.profile, metric, cells[cell_id], evidence.cases)
        for trial in group:
            if trial.test_id not in wanted:
                expected = " or ".join(sorted(wanted)) or f"a test that gives {metric} on {cell_id}"
                yield f"trial {trial.trial.seq}", expected, trial.test_id


@rule("VER-08", "", "each outcome follows from its trials: legal search, complete, bounds and figures")
def outcomes_follow(evidence: Evidence) -> Iterator[Shortfall]:
    """Replay every outcome and compare type, bounds, values, statement, reason and remarks."""
    if not evidence.whole_journal:
        return
    for outcome in evidence.outcomes:
        if not kinds.plans_itself(outcome.cell.kind):  # of others VER-16 does the same
            yield from contradictions(evidence, outcome)


@rule("VER-09", "", "every planned cell of a complete run has an outcome")
def plan_answered(evidence: Evidence) -> Iterator[Shortfall]:
    """A run that says it is complete answered all that it planned."""
    if not evidence.run or evidence.run["status"] != "complete":
        return
    answered = {(outcome.cell.cell_id, outcome.metric) for outcome in evidence.outcomes}
    for planned in evidence.plan:
        if (planned.cell.cell_id, planned.metric) not in answered:
            yield f"{planned.test_id}: {planned.cell.cell_id}", f"an outcome of {planned.metric}", "none"


@rule("VER-37", "", "a run planned its tests whole: every cell that its profile and testbed ask for")
def plan_is_whole(evidence: Evidence) -> Iterator[Shortfall]:
    """Each test that the plan names has all its answers there: who leaves a cell out plans no other test."""
    if not evidence.run or evidence.profile is None or not evidence.plan:
        return
    networks = evidence.run["testbed"].get("networks")
    tags = planning.Networks.of(networks if isinstance(networks, dict) else {})
    mine = [one for one in evidence.plan if not kinds.plans_itself(one.cell.kind)]
    planned = {(cell.metric, cell.cell.cell_id) for cell in mine}
    for test_id in dict.fromkeys(planned_cell.test_id for planned_cell in mine):
        case = suites.case(test_id, evidence.cases)
        if case is None:
            yield f"run.json: plan: {test_id}", "a test that this toolkit or the run's header knows", "none"
            continue
        for wanted in planning.answers_of(evidence.profile, case, tags):
            metric = throughput.ENVELOPE_METRIC if wanted.cell.qualifies_tester else wanted.metric
            if not {(wanted.metric, wanted.cell.cell_id), (metric, wanted.cell.cell_id)} & planned:
                yield (
                    f"run.json: plan: {test_id}",
                    f"{wanted.metric} on {wanted.cell.cell_id}",
                    "no such cell",
                )


@rule("VER-10", "", "each trial ran on a deployment that the platform file describes")
def deployments_known(evidence: Evidence) -> Iterator[Shortfall]:
    """The journal's deployment ids stand in platform.json."""
    if evidence.platform is None:
        return
    for deployment in dict.fromkeys(line.deployment_id for line in evidence.lines):
        if deployment not in evidence.platform["deployments"]:
            yield "platform.json: deployments", deployment, "none of that id"


@rule("VER-12", "", "a simulated tester says so, in the header, in its own description and in every trial")
def simulation_declared(evidence: Evidence) -> Iterator[Shortfall]:
    """`simulated` in the header agrees with the testbed's driver, the drivers' words and the counters."""
    if evidence.run is None:
        return
    signs = []
    tester = evidence.run["testbed"].get("tester")
    if isinstance(tester, dict) and tester.get("driver") == "simulated":
        signs.append("testbed.tester.driver")
    if any(
        driver.get("simulated") is True or driver.get("driver") == "simulated"
        for driver in evidence.run["drivers"]
    ):
        signs.append("drivers")
    for name, deployment in evidence.deployments.items():
        if deployment.get("simulated") is True:
            signs.append(f"deployment {name}")
            break
    modelled = [
        trial.trial.seq for trial in evidence.trials if dict(trial.trial.result.auxiliary).get("simulated")
    ]
    if modelled:
        signs.append(f"trial {modelled[0]} and {len(modelled) - 1} more")
    if signs and not evidence.run["simulated"]:
        yield "run.json: simulated", f"true, as {', '.join(signs)} says", "false"
    said = {driver.get("driver") for driver in evidence.run["drivers"]} - {None}
    if isinstance(tester, dict) and said and evidence.trials and tester.get("driver") not in said:
        known = ", ".join(sorted(map(str, said)))
        yield "run.json: drivers", f"a description of {tester.get('driver')}, which sent", known


@rule("VER-13", "", "each answer was got by procedures that this toolkit can replay")
def procedures_known(evidence: Evidence) -> Iterator[Shortfall]:
    """The versions of the procedures in the header are current or kept; none is guessed at."""
    unknown = Counter(
        found for outcome in evidence.outcomes for found in unknown_procedures(evidence, outcome)
    )
    for (name, recorded), count in unknown.items():
        known = " or ".join(map(str, replayable(name)))
        yield (
            f"run.json: procedures: {name}",
            f"version {known}, which this toolkit knows",
            f"{count} answers recorded with version {recorded}: {_who_replays(evidence, name, recorded)}",
        )


def _who_replays(evidence: Evidence, name: str, recorded: int) -> str:
    """Say which toolkit can verify an answer of a version that this one does not have."""
    toolkit = evidence.run["toolkit"] if evidence.run else {"version": "unknown", "commit": None}
    when = "a later" if recorded > version(name) else "an earlier"
    commit = toolkit["commit"] or "unknown"
    return f"{when} toolkit measured it; verify with version {toolkit['version']}, commit {commit}"


@rule("VER-14", "", "trials and the end of the run are bound to the platform file", exit_code=2)
def platform_bound(evidence: Evidence) -> Iterator[Shortfall]:
    """platform.json is the one that the chain knows, as far as the run's header says that it is bound."""
    yield from unbound(evidence)


@rule("VER-39", "", "a run sets aside no more than its kind of profile may, and declares it")
def set_aside_declared(evidence: Evidence) -> Iterator[Shortfall]:
    """The profile in the header is one that this toolkit would have measured by (docs/adr/0260)."""
    if evidence.run is None or evidence.profile is None:
        return
    for name in (STALL_EVIDENCE, MOST_SET_ASIDE):
        if name not in evidence.profile.data["trial"]:
            yield f"run.json: profile: trial: {name}", "its value, as each run's header has it", "none"
    for one in undeclared(stated(evidence.profile.data)):
        problem = one.problem
        yield f"run.json: profile: {problem.path} ({one.error_id})", problem.expected, problem.found


RULES: tuple[Rule[Evidence], ...] = (
    one_run,
    outcomes_distinct,
    no_trial_hidden,
    tests_match,
    outcomes_follow,
    plan_answered,
    plan_is_whole,
    deployments_known,
    simulation_declared,
    procedures_known,
    set_aside_declared,
    platform_bound,
    *tester_limits.RULES,
    *physics.RULES,
    *other_kinds.RULES,
    *turns.RULES,
    *told.RULES,
    *frames_told.RULES,
    *host_told.RULES,
    *one_machine.RULES,
    *options.RULES,
    *places.RULES,
    *repetitions.RULES,
    *fleets.RULES,
)
