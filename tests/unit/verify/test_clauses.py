"""Each clause rule on a procedure that kept the text and on one that did not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology import latency
from bmwg.methodology.records import Direction, Quantity
from bmwg.methodology.requirements import Basis, Level, requirement
from bmwg.methodology.trial import Learning
from bmwg.reports.checker.documents import scope_of as scoped
from bmwg.reports.checker.evidence import read_evidence
from bmwg.reports.checker.judge import BENCHMARKS
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.table import RULES
from bmwg.reports.checker.verdicts import Answer, Verdict, concluded

MET, NOT_MET = Verdict.MET, Verdict.NOT_MET
NOT_APPLICABLE, NOT_ASSESSED = Verdict.NOT_APPLICABLE, Verdict.NOT_ASSESSED
SEVEN = (64, 128, 256, 512, 1024, 1280, 1518)


@pytest.fixture(scope="module")
def evidence(run_folder):
    return read_evidence(FolderFiles(run_folder))


def same(scope):
    return scope


def no_trials(scope):
    return replace(scope, trials=())


def no_outcomes(scope):
    return replace(scope, outcomes=())


def run(**changes):
    return lambda scope: replace(
        scope, evidence=replace(scope.evidence, run={**scope.evidence.run, **changes})
    )


def policy(**changes):
    def change(scope):
        profile = replace(scope.profile, policy=replace(scope.profile.policy, **changes))
        return replace(scope, evidence=replace(scope.evidence, profile=profile))

    return change


def submitted(scope):
    product = {"name": "x", "version": "1", "configuration": "guide"}
    return replace(scope, evidence=replace(scope.evidence, submission={"product": product}))


def unrecorded(scope):
    platform = {**scope.evidence.platform, "base": {"before": None, "after": None}}
    return replace(scope, evidence=replace(scope.evidence, platform=platform))


def sizes(*octets):
    def change(scope):
        one = scope.outcomes[0]
        made = tuple(replace(one, cell=replace(one.cell, frame_octets=size)) for size in octets)
        return replace(scope, outcomes=made)

    return change


def cells(**changes):
    return lambda scope: replace(
        scope, outcomes=tuple(replace(o, cell=replace(o.cell, **changes)) for o in scope.outcomes)
    )


def changed_trial(trial, *, spec=None, stream=None):
    result = trial.trial.result
    if spec:
        result = replace(result, spec=replace(result.spec, **spec))
    if stream:
        result = replace(result, streams=tuple(replace(s, **stream) for s in result.streams))
    return replace(trial, trial=replace(trial.trial, result=result))


def trials(*, spec=None, stream=None):
    return lambda scope: replace(
        scope, trials=tuple(changed_trial(trial, spec=spec, stream=stream) for trial in scope.trials)
    )


def ports(*names):
    return run(testbed={"tester": {"ports": list(names)}})


def values(**changes):
    return lambda scope: replace(
        scope,
        outcomes=tuple(
            replace(o, values=tuple(replace(v, **changes) for v in o.values)) for o in scope.outcomes
        ),
    )


def without_values(scope):
    return replace(scope, outcomes=tuple(replace(o, values=()) for o in scope.outcomes))


def backwards(scope):
    groups = {key: tuple(reversed(group)) for key, group in scope.evidence.by_group.items()}
    return replace(scope, evidence=replace(scope.evidence, by_group=groups))


def reserved(streams):
    def change(scope):
        one = replace(
            scope.outcomes[0],
            metric=latency.RFC2544_METRIC,
            values=(Quantity(metric=latency.RFC2544_METRIC, number=1, unit="ns"),),
        )
        valid = next(trial for trial in scope.trials if trial.trial.valid)
        group = {(one.cell.cell_id, latency.RFC2544_METRIC): (valid,) * streams}
        return replace(scope, outcomes=(one,), evidence=replace(scope.evidence, by_group=group))

    return change


class NoHistograms:
    """Evidence whose trials have counts and no histogram."""

    def __init__(self, evidence):
        self._evidence = evidence

    def __getattr__(self, name):
        return getattr(self._evidence, name)

    def whole(self, trial):
        return trial.trial


def blind(scope):
    return replace(scope, evidence=NoHistograms(scope.evidence))


LINE_RATE = run(medium={"kind": "ethernet", "line_rate_bps": 10_000_000_000})
CASES = [  # row, benchmark, what keeps the text, verdict, what does not, verdict
    ("RFC2544-6-02", "throughput", same, MET, no_trials, NOT_MET),
    ("RFC2544-7-01", "throughput", submitted, MET, same, NOT_ASSESSED),
    ("RFC2544-7-05", "throughput", same, MET, unrecorded, NOT_MET),
    ("RFC2544-8-02", "throughput", same, MET, no_outcomes, NOT_MET),
    ("RFC2544-9-01", "throughput", sizes(64, 1518), MET, sizes(64, 512), NOT_MET),
    ("RFC2544-9-02", "throughput", sizes(*SEVEN[:5]), MET, sizes(*SEVEN[:4]), NOT_MET),
    ("RFC2544-9.1", "throughput", sizes(*SEVEN), MET, sizes(*SEVEN[1:]), NOT_MET),
    ("RFC2544-10-01", "throughput", same, MET, trials(stream={"received_frames": 10**9}), NOT_MET),
    ("RFC2544-10-02", "throughput", same, MET, trials(stream={"foreign_frames": -1}), NOT_MET),
    ("RFC2544-10-03", "throughput", same, MET, trials(stream={"corrupt_frames": 1}), NOT_MET),
    ("RFC2544-10-04", "throughput", same, MET, no_trials, NOT_MET),
    ("RFC2544-10-05", "throughput", same, MET, no_trials, NOT_MET),
    ("RFC2544-12-01", "throughput", same, MET, cells(flows=256), NOT_MET),
    ("RFC2544-12-02", "throughput", cells(flows=256), NOT_ASSESSED, same, NOT_MET),
    ("RFC2544-14-01", "throughput", cells(direction=Direction.BOTH), MET, same, NOT_MET),
    ("RFC2544-15-01", "throughput", ports("a", "b"), MET, ports("a", "b", "c"), NOT_MET),
    ("RFC2544-16-05", "throughput", ports("a", "b"), NOT_APPLICABLE, ports("a", "b", "c"), NOT_ASSESSED),
    ("RFC2544-20-01", "throughput", LINE_RATE, NOT_ASSESSED, same, NOT_MET),
    ("RFC2544-23-01", "throughput", policy(settle_s=2.0), MET, policy(settle_s=1.9), NOT_MET),
    (
        "RFC2544-23-02",
        "throughput",
        policy(learning=Learning.TRIAL, learning_wait_s=2.0),
        MET,
        policy(learning=Learning.DEPLOYMENT, learning_wait_s=2.0),
        NOT_MET,
    ),
    ("RFC2544-23-03", "throughput", same, MET, no_trials, NOT_MET),
    ("RFC2544-23-04", "throughput", policy(drain_s=2.0), MET, policy(drain_s=0.1), NOT_MET),
    ("RFC2544-23-05", "throughput", policy(restabilize_s=5.0), MET, policy(restabilize_s=2.0), NOT_MET),
    ("RFC2544-24-01", "throughput", trials(spec={"duration_s": 60.0}), MET, same, NOT_MET),
    ("RFC2544-24-03", "throughput", trials(spec={"duration_s": 60.0}), MET, same, NOT_MET),
    ("RFC2544-26.1-01", "throughput", same, MET, values(number=1), NOT_MET),
    ("RFC2544-26.1-02", "throughput", same, MET, backwards, NOT_MET),
    ("RFC2544-26.1-08", "throughput", same, MET, values(unit="bit/s"), NOT_MET),
    ("RFC2544-26.1-10", "throughput", LINE_RATE, MET, same, NOT_MET),
    ("RFC2544-26.2-01", "latency", same, MET, trials(spec={"load_fps": 7}), NOT_MET),
    ("RFC2544-26.2-02", "latency", trials(spec={"duration_s": 120.0}), MET, same, NOT_MET),
    ("RFC2544-26.2-03", "latency", reserved(20), MET, same, NOT_MET),
    ("RFC2544-26.2-04", "latency", same, MET, blind, NOT_MET),
    ("RFC2544-26.2-06", "latency", reserved(20), MET, reserved(19), NOT_MET),
    (
        "RFC2544-26.2-08",
        "latency",
        run(drivers=[{"latency_definition": "store-and-forward"}]),
        MET,
        run(drivers=[{"latency_definition": "between two calls of the tester"}]),
        NOT_MET,
    ),
]
ONE_SIDED = {  # rows whose condition no run of this version can bring about, and what they say
    "RFC2544-7-03": NOT_APPLICABLE,
    "RFC2544-11.3-03": NOT_APPLICABLE,
    "RFC2544-13-01": NOT_APPLICABLE,
    "RFC2544-13-02": NOT_APPLICABLE,
    "RFC2544-21-01": NOT_MET,
    "RFC2544-A": MET,
}


def rule_of(row):
    return next(one for one in RULES if one.requirement == row)


def scope_of(evidence, benchmark):
    scope = scoped(evidence, benchmark, BENCHMARKS[benchmark][1].__contains__)
    assert scope is not None
    return scope


@pytest.mark.parametrize(
    ("row", "benchmark", "good", "kept", "bad", "unkept"), CASES, ids=lambda v: str(v)[:18]
)
def test_a_rule_tells_the_kept_text_from_the_other(evidence, row, benchmark, good, kept, bad, unkept):
    scope = scope_of(evidence, benchmark)
    assert rule_of(row).check(good(scope)).verdict is kept
    answer = rule_of(row).check(bad(scope))
    assert answer.verdict is unkept
    assert answer.found


@pytest.mark.parametrize(("row", "verdict"), ONE_SIDED.items())
def test_a_rule_without_another_side_says_why(evidence, row, verdict):
    answer = rule_of(row).check(scope_of(evidence, "throughput"))
    assert answer.verdict is verdict
    assert answer.found


def test_nothing_stated_is_nothing_met(evidence):
    scope = without_values(scope_of(evidence, "throughput"))
    assert rule_of("RFC2544-26.1-08").check(scope).verdict is NOT_APPLICABLE
    assert rule_of("RFC2544-26.1-10").check(scope).verdict is NOT_APPLICABLE


def answer(verdict):
    return Answer(verdict=verdict, expected="", found="so")


def test_a_row_that_nobody_read_fails_nobody():
    row = requirement("TST009-7")
    assert (row.basis, row.level) == (Basis.MEMORY, Level.MUST)
    for declared in (False, True):
        assert concluded(row, "x", answer(NOT_MET), declared=declared).verdict is NOT_ASSESSED


def test_a_row_that_asks_nothing_fails_nobody():
    made = concluded(requirement("RFC2544-23-04"), "x", answer(NOT_MET), declared=False)
    assert (made.verdict, made.original, made.declared) == (Verdict.DEVIATED, NOT_MET, False)


def test_a_declaration_keeps_what_was_found():
    row = requirement("RFC2544-24-01")
    assert concluded(row, "x", answer(NOT_MET), declared=False).verdict is NOT_MET
    made = concluded(row, "x", answer(NOT_MET), declared=True)
    assert (made.verdict, made.original) == (Verdict.DEVIATED, NOT_MET)
    assert concluded(row, "x", answer(MET), declared=True).verdict is MET
