"""The profiles of the other searches, what a run of them costs, and what to cut."""

import random

import pytest
import yaml
from fake_measurers import Device

from bmwg.cli.main import main
from bmwg.methodology.answers import throughput_search
from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan import budget, planning
from bmwg.methodology.profiles import builtin_names, load_profile, parse_profile, profile_of
from bmwg.methodology.records import Cell, OutcomeType

CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
NETWORKS = {"bridge": None, "ptp": None}


def test_the_profiles_of_the_documents_are_there():
    assert {"quick", "rfc2544", "rfc9971", "tst009", "rfc8204"} <= set(builtin_names())
    goals = load_profile("rfc9971").search.goals
    assert [goal.code for goal in goals] == ["60f60d0l0e", "60f120d0l50e", "60f120d0.5l50e"]
    assert goals[0].rfc2544_grade == "unconditional"
    assert load_profile("tst009").search.max_trials == 2
    assert [goal.code for goal in load_profile("quick").search.goals] == ["0.1f1.5d0l50e", "0.1f1.5d0.5l50e"]
    assert load_profile("guest").search.algorithm == "bisection"


@pytest.mark.parametrize("name", ["quick", "rfc2544", "tst009", "rfc9971", "rfc8204"])
def test_each_profile_finds_the_truth_by_its_own_search(name):
    profile = load_profile(name)
    dice = random.Random(name)
    for _ in range(20):
        truth = dice.randint(20_000, 900_000)
        answered = throughput_search.search(
            Device(truth_fps=truth), profile, CELL, outcome_id="CN", max_load_fps=1_000_000
        )
        first = answered.outcomes[0]
        assert first.outcome_id == "CN"
        assert first.type is OutcomeType.MEASURED
        assert first.lower.load_fps <= truth < first.upper.load_fps
        assert len({outcome.outcome_id for outcome in answered.outcomes}) == len(answered.outcomes)
    metrics = [outcome.metric for outcome in answered.outcomes]
    assert metrics == {
        "tst009": ["throughput.tst009_12_3"],
        "rfc9971": [f"conditional_throughput.rfc9971.{goal.code}" for goal in profile.search.goals],
        "quick": [f"conditional_throughput.rfc9971.{goal.code}" for goal in profile.search.goals],
    }.get(name, ["throughput.rfc2544_26_1"])


def test_a_plan_costs_what_the_search_then_takes():
    for name in ("quick", "rfc2544", "tst009", "rfc9971"):
        profile = load_profile(name)
        device = Device(truth_fps=700_001)
        asked = Asked(
            profile=profile,
            cell=CELL,
            outcome_id="CN",
            trial=lambda spec, phase, device=device: device(spec),
            max_load_fps=1_000_000,
        )
        measurement("throughput").measure(asked)
        spent = sum(trial.spec.duration_s for trial in device.trials)
        cost = measurement("throughput").cost(profile, CELL, 1_000_000)
        assert cost.traffic_s == pytest.approx(spent, rel=0.25)
        assert cost.trials == pytest.approx(len(device.trials), rel=0.25)


@pytest.mark.parametrize("name", ["tst009", "rfc9971"])
def test_a_profile_of_another_search_is_never_bisected(name):
    profile = load_profile(name)
    with pytest.raises(ToolkitBug, match="PRF-05"):
        profile.goal(CELL, max_load_fps=1_000_000)
    assert profile.goal(CELL, max_load_fps=1_000_000, qualifies_tester=True).max_load_fps == 1_000_000


def changed(name, **search):
    data = dict(load_profile(name).data)
    data["search"] = {**data["search"], **search}
    return parse_profile(yaml.safe_dump(data), source="made.yaml")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("guest", {"step_fps": 5}, "only with algorithm tst009"),
        ("guest", {"goals": [{"name": "a"}]}, "goals"),
        ("guest", {"algorithm": "mlrsearch"}, "goals, for algorithm mlrsearch"),
        ("guest", {"algorithm": "tst009"}, "step_fps, for algorithm tst009"),
        ("guest", {"algorithm": "tst009", "step_fps": 1}, "at least one frame in 0."),
        ("guest", {"algorithm": "bisect"}, "bisection"),
    ],
)
def test_searches_that_contradict_themselves_are_refused(name, change, words):
    with pytest.raises(ConfigError) as refused:
        changed(name, **change)
    assert words in str(refused.value)
    assert "nothing was started" in str(refused.value)


def test_goals_that_contradict_themselves_are_refused_all_at_once():
    goals = [dict(goal) for goal in load_profile("rfc9971").data["search"]["goals"]]
    goals[0]["goal_duration_sum_s"] = 30
    goals[1]["goal_exceed_ratio"] = 1.0
    goals[2]["goal_initial_trial_duration_s"] = 90
    with pytest.raises(ConfigError, match=r"^PRF-04 ") as refused:
        changed("rfc9971", goals=goals)
    for words in (
        "goals[0].goal_duration_sum_s",
        "RFC 9971 4.6.2",
        "goals[1].goal_exceed_ratio",
        "RFC 9971 4.6.4",
        "RFC 9971 4.6.6",
    ):
        assert words in str(refused.value)


@pytest.mark.parametrize("name", ["rfc2544", "rfc9971", "tst009"])
def test_cuts_fit_the_budget_or_say_that_they_do_not(name):
    profile = load_profile(name)
    whole = planning.duration_s(planning.cells(profile, NETWORKS))
    for wanted in (whole * 2, whole / 2, whole / 20, 1.0):
        proposal = budget.propose(profile, NETWORKS, wanted)
        assert proposal.before_s == whole
        assert proposal.after_s == pytest.approx(whole - sum(cut.saves_s for cut in proposal.cuts))
        assert proposal.fits is (proposal.after_s <= wanted)
        assert all(cut.saves_s > 0 for cut in proposal.cuts)
    assert budget.propose(profile, NETWORKS, whole * 2).cuts == ()
    assert not budget.propose(profile, NETWORKS, 1.0).fits
    known = {cut.requirement for cut in budget.propose(profile, NETWORKS, 1.0).cuts} - {""}
    assert "RFC2544-24-01" in known
    with pytest.raises(ValueError):
        budget.propose(profile, NETWORKS, 0)


def test_the_command_proposes(capsys):
    assert main(["plan", "--profile", "rfc2544", "--budget", "36000"]) == 0
    text = capsys.readouterr().out
    assert "[RFC2544-9.1]: saves" in text
    assert text.rstrip().endswith("fits")
    assert main(["plan", "--budget", "0"]) == 2
    assert "PLAN-01" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "at"), [("tst009", 1), ("rfc9971", 1), ("rfc9971", 6)])
def test_a_measurer_that_fails_in_the_closing_trials_leaves_no_plain_number(name, at):
    """Not every goal was tried again: none has a number, nor a bound that others would be measured at."""
    device, closing = Device(truth_fps=300_000), []

    def trial(spec, phase):
        if phase == "closing":
            closing.append(spec)
            if len(closing) == at:
                raise OSError("the tester is gone")
        return device(spec)

    asked = Asked(profile=load_profile(name), cell=CELL, outcome_id="CN", trial=trial, max_load_fps=1_000_000)
    answered = measurement("throughput").measure(asked)
    assert isinstance(answered.error, OSError)
    for one in answered.outcomes:
        assert (one.type, one.values, one.lower, one.upper) == (OutcomeType.INVALID, (), None, None)
        assert "the tester is gone" in one.reason
        assert one.trials == tuple(range(1, len(device.trials) + 1))


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("throughput", ["CN-TPUT-1.1", *(f"R2544-TPUT-1.{number}" for number in range(1, 6))]),
        ("imix", [f"R2544-IMIX-{number}.1" for number in range(1, 4)]),
    ],
)
def test_sizes_of_a_benchmark_are_those_of_each_test_of_it(name, tests):
    """No cell has 65 octets: whoever lists them alone has no cell of any search for that throughput."""
    data = load_profile("rfc2544").data
    benchmarks = {**data["benchmarks"], name: {"frame_octets": [65]}}
    without = profile_of({**data, "benchmarks": benchmarks}, source="made")
    left = {test_id: planning.cells(without, {}, test_ids={test_id}) for test_id in tests}
    assert left == dict.fromkeys(tests, ())
    assert all(planning.cells(load_profile("rfc2544"), {}, test_ids={test_id}) for test_id in tests)
