"""What executions of jobs prove, what a cell's answer says, and in which order forms take turns."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest
from tests.unit.jobs.made import CPU, PLAN, POD_CPU, QUICK, STREAM, S, planned, result, spec

from bmwg.drivers import registry
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS, PROFILES
from bmwg.methodology.kinds.jobs.records import JobsResult
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.plan.blocks import against, next_up
from bmwg.methodology.records import BAREMETAL, OutcomeType, Validity
from bmwg.reports.compare.samples import headline_of
from bmwg.reports.render.sections.results import central
from bmwg.resources.kinds.jobs.bench import JobsBench
from bmwg.schemas.validation import problems


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"faults": ("sysbench: exit status 1",)}, Validity.FAULT, "exit status 1"),
        ({"elapsed_ns": S // 2, "counts": {"events": 3}}, Validity.INCOMPLETE, "0.500 s of 1 s"),
        ({"counts": {}}, Validity.INCOMPLETE, "told no events"),
        ({"counts": {"events": 0}}, Validity.INCOMPLETE, "events is 0"),
        ({"elapsed_ns": 3600 * S}, Validity.INCONSISTENT, "the clock that it reads was set"),
    ],
)
def test_an_execution_is_valid_only_when_it_told_its_figures_in_its_time(changes, validity, said) -> None:
    found = JOBS.assessed(spec(), result(**changes))
    assert found.validity is validity
    assert said in found.reason


def test_a_figure_that_is_missing_never_is_a_zero() -> None:
    without = result(STREAM, told={"copy": 1e9, "scale": 1e9, "add": 1e9})
    assert JOBS.assessed(STREAM.spec, without).validity is Validity.INCOMPLETE
    assert "told no triad" in JOBS.assessed(STREAM.spec, without).reason


def test_the_answer_has_the_mean_of_each_figure() -> None:
    done = [
        JOBS.tried(n, spec(STREAM, n), result(STREAM, factor))
        for n, factor in enumerate((0.9, 1.0, 1.1, 1.0, 1.0), 1)
    ]
    found = JOBS.answered(STREAM, done)
    told = {one.metric: (one.number, one.unit) for one in found.values}
    assert told["stream.copy.mean"] == (pytest.approx(1e9), "octets/s")
    assert told["stream.triad.mean"] == (pytest.approx(1e9), "octets/s")
    assert told["stream.triad.repetitions"] == (5, "repetitions")
    assert told["stream.copy.half_width_95"][0] > 0
    assert "stream.mean" not in told, "it would read as the mean of all four"


def test_too_few_valid_ones_are_no_answer() -> None:
    done = [JOBS.tried(n, spec(number=n), JobsResult(faults=("killed",))) for n in range(1, 4)]
    found = JOBS.answered(CPU, done)
    assert (found.type, found.values) == (OutcomeType.INVALID, ())
    assert "killed" in found.reason


def test_what_the_journal_holds_keeps_to_the_schema_and_is_read_back() -> None:
    for one in PLAN:
        for came in (result(one), JobsResult(faults=("x",))):
            body = JOBS.body_of(spec(one), came, {})
            assert problems({"spec": body.spec, "result": body.result}, "jobs") == []
            assert (JOBS.spec_of(body), JOBS.result_of(body)) == (spec(one), came)
            if not came.faults:
                assert JOBS.assess(body).validity is Validity.VALID, one.metric


def test_cells_are_read_back_from_a_runs_files() -> None:
    for one in PLAN:
        cell = one.cell
        axes = {name: getattr(cell, name) for name in ("path", "hosting", "function", "network")}
        assert JOBS.cell({**axes, "axes": dict(cell.axes)}) == cell
    with pytest.raises(ValueError, match="axes"):
        JOBS.cell({**axes, "axes": {"experiment": "stream"}})


def test_each_profile_plans_each_experiment_in_each_form() -> None:
    for name in ("quick", "full"):
        profile = PROFILES.load(name)
        left_out = {"bonnie_whole": "HB-BONNIE-2"} if name == "quick" else {}  # it takes a minute
        assert {one.metric for one in profile.plan()} == set(EXPERIMENTS) - set(left_out)
        assert {one.test_id for one in profile.plan()} == {one.test_id for one in EXPERIMENTS.values()} - set(
            left_out.values()
        )
        assert next(iter(profile.plan())).cell.hosting == BAREMETAL
    full = PROFILES.load("full")
    assert {one.asked.wanted for one in full.plan()} == {15}  # as document 002
    (bonnie,) = {one.spec.size_octets for one in full.plan() if one.metric == "bonnie"}
    assert bonnie == 3 << 30


def test_each_experiment_has_a_workload_of_this_kind() -> None:
    for one in EXPERIMENTS.values():
        assert one.job in registry.workload(one.workload, kind=JOBS.name).jobs


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "nethack"}, "nethack"),
        ({"threads": 0}, "threads"),
        ({"size_octets": 0}, "size_octets and block_octets are wanted"),
    ],
)
def test_a_profile_that_cannot_be_planned_by_is_refused(change, said) -> None:
    data = copy.deepcopy(dict(QUICK.data))
    entry = next(one for one in data["experiments"] if one["id"] == "dd_write")
    entry.update(change)
    assert said in PROFILES.wrong(data)


def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="JPROF-01") as caught:
        PROFILES.load("quik")
    assert "did you mean 'quick'" in str(caught.value)


FORMS = ["baremetal", "pod", "docker"]


def taken(seed: int, blocks: int, ended_at=lambda form, done: False) -> list[str]:
    """Which form ran when, until each has so many."""
    done: Counter[str] = Counter()
    order = []
    while True:
        ended = {form for form in FORMS if done[form] >= blocks or ended_at(form, done[form])}
        one = next_up([[form] for form in FORMS], done, ended, seed=seed, experiment="stream")
        if one is None:
            return order
        order.append(one)
        done[one] += 1


def test_each_block_has_each_form_once_in_an_order_of_its_own() -> None:
    order = taken(7, 40)
    blocks = [tuple(order[at : at + 3]) for at in range(0, 120, 3)]
    assert all(sorted(one) == sorted(FORMS) for one in blocks)
    assert len(set(blocks)) == 6  # every order comes up
    led_by = Counter(one[0] for one in blocks)
    assert max(led_by.values()) <= 24
    assert order == taken(7, 40)
    assert order != taken(8, 40)


def test_a_run_that_was_cut_off_goes_on_where_it_was() -> None:
    whole = taken(3, 10)
    done = Counter(whole[:14])
    ended = {form for form in FORMS if done[form] >= 10}
    assert next_up([[form] for form in FORMS], done, ended, seed=3, experiment="stream") == whole[14]


def test_a_form_that_cannot_be_had_leaves_the_order_of_the_others() -> None:
    without = taken(3, 10, lambda form, done: form == "docker")
    assert without == [form for form in taken(3, 10) if form != "docker"]


def test_a_form_is_held_against_native_of_the_same_block() -> None:
    # the machine becomes half as fast from block to block, and the form takes a tenth off each time
    native = {number: 1000 / 2**number for number in range(1, 6)}
    form = {number: 0.9 * value for number, value in native.items()}
    found = against(form, native)
    assert found is not None
    assert found.ratio == pytest.approx(0.9)
    assert (found.low, found.high) == (pytest.approx(0.9), pytest.approx(0.9))
    assert found.blocks == 5
    assert against({}, native) is None
    assert against({1: 5.0}, native).low is None


def test_an_execution_that_was_not_planned_is_named() -> None:
    good = Execution(
        seq=1,
        cell_id=CPU.cell.cell_id,
        deployment_id="d",
        metric=CPU.metric,
        test_id=CPU.test_id,
        phase=MEASURED,
        validity=Validity.VALID,
        reason="",
        at="",
        body=JOBS.body_of(spec(), result(), {}),
    )
    assert JOBS.not_as_planned(QUICK.data, good) is None
    other = replace(good.body, spec={**good.body.spec, "threads": 8})
    assert JOBS.not_as_planned(QUICK.data, replace(good, body=other)) is not None
    assert JOBS.not_as_planned(QUICK.data, replace(good, cell_id=POD_CPU.cell.cell_id)) is None
    assert JOBS.not_as_planned(QUICK.data, replace(good, metric="stream")) is not None
    assert planned("dd_write").spec.direct


def test_an_experiment_stands_in_a_profile_once() -> None:
    """Turns and ratios to native know a form's cell by its experiment: of two sizes one would be lost."""
    data = copy.deepcopy(dict(QUICK.data))
    entry = next(one for one in data["experiments"] if one["id"] == "fio_write")
    data["experiments"].append({**entry, "size_octets": 2 * entry["size_octets"]})
    assert "experiment fio_write stands 2 times" in PROFILES.wrong(data)


def test_a_figure_among_several_is_told_by_its_name() -> None:
    done = [JOBS.tried(n, spec(STREAM, n), result(STREAM)) for n in range(1, 6)]
    outcome = JOBS.answered(STREAM, done)
    assert "stream.copy.mean" in JOBS.headline
    assert "sysbench_cpu.mean" in JOBS.headline
    assert headline_of(outcome) == ("stream.copy.mean",)
    assert central(outcome).startswith("copy 1,000\u00a0MB/s ± ")
    told = {value.metric.removeprefix("stream."): value.number for value in outcome.values}
    assert JobsBench.figures(None, outcome, told).startswith("copy 1000.0 +/- ")


def test_repetitions_that_follow_each_other_alike_are_remarked_of_several_figures_too() -> None:
    factors = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09]
    done = [JOBS.tried(n, spec(STREAM, n), result(STREAM, one)) for n, one in enumerate(factors, 1)]
    assert any("like the one before" in remark for remark in JOBS.answered(STREAM, done).quality)


def test_what_a_program_doubts_itself_stands_beside_its_answer() -> None:
    """NBench says where a result is not 95 % certain; of its indexes nobody could see it (RFC8172-2)."""
    nbench, doubts = planned("nbench"), ({"doubted": "STRING SORT, HUFFMAN"}, {"doubted": "HUFFMAN"}, {})
    said = [doubts[n] if n < len(doubts) else {} for n in range(5)]
    done = [
        JOBS.tried(n, spec(nbench, n), result(nbench, effective=one)) for n, one in enumerate(said, start=1)
    ]
    told = JOBS.answered(nbench, done)
    assert told.type is OutcomeType.MEASURED
    assert (
        "the program doubts its own results in 2 of 5 executions: STRING SORT (1), HUFFMAN (2)"
        in told.quality
    )
    assert not any("doubts" in remark for remark in JOBS.answered(nbench, done[2:] * 2).quality)
