"""Beside something else a profile that searches by goals asks its first one (RFC 9971 4.8), and says so."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from vsperf_device import CODE, OFFERED_FPS, Device, ask, cell

from bmwg.methodology.answers.ladder import device_metric
from bmwg.methodology.answers.throughput import METRIC, interval
from bmwg.methodology.benchmarks import beside_neighbour, flow_changes, flow_scale
from bmwg.methodology.measurements.modifiers import MEASUREMENTS as MODIFIERS
from bmwg.methodology.measurements.registry import measurement, recorded_as
from bmwg.methodology.mlrsearch.goal import apart
from bmwg.methodology.mlrsearch.outcome import claim, is_conditional
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.compare.samples import of_goal
from bmwg.reports.verify.tester_limits import envelope_respected

STRESS = beside_neighbour.STRESS.metric
ALONE = replace(cell("switch", neighbour="none"), hosting="baremetal", function="ovs-netdev", network="none")


def found(device, profile="vsperf"):
    return ask(device, "stress", wanted=ALONE, throughput_fps=None, profile=profile)


def test_the_first_goal_alone_is_asked_with_all_that_comes_after_a_search():
    device = Device()
    outcome, told = found(device)
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.metric == f"{STRESS}.{CODE}"
    assert 0.96 * device.rate_fps <= told[outcome.metric] <= device.rate_fps < outcome.upper.load_fps
    assert {name.removeprefix(f"{outcome.metric}") for name in told} == {
        "",
        ".relevant_lower_bound",
        ".relevant_upper_bound",
        ".sustained_load",
    }
    last = device.trials[-1].spec  # the long trial, after the checks
    assert last.duration_s > max(one.spec.duration_s for one in device.trials[:-1])
    assert interval(outcome) == (told[f"{outcome.metric}.sustained_load"], outcome.upper.load_fps)


class Restless(Device):
    """Loses a frame in one of three trials above 60,000 frames/s."""

    def trial(self, spec, phase):
        self.unlucky = lambda number: spec.load_fps > 60_000 and number % 3 == 0
        return super().trial(spec, phase)


def test_a_device_that_loses_a_frame_now_and_then_has_a_number():
    """The goal allows for half of the trials; RFC 2544's search allows for none."""
    outcome, told = found(Restless())
    assert outcome.type is OutcomeType.MEASURED
    assert 96_000 <= told[outcome.metric] <= 100_000
    outcome, told = found(Restless(), "rfc8204")
    assert not 96_000 <= told.get(outcome.metric, 0) <= 100_000


def test_no_value_is_a_throughput_of_rfc_2544_whatever_the_goal():
    outcome, told = found(Device(), "rfc9971")
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.metric == f"{STRESS}.60f60d0l0e"
    assert all(name.startswith(outcome.metric) for name in told)


def test_a_trial_is_recorded_as_what_is_beside_it_and_planned_for_its_goal():
    profile, kind = load_profile("vsperf"), measurement("flow_scale")
    wanted = replace(ALONE, axes=(), flows=1_000)
    (planned,) = planning.answers(profile, "flow_scale", "LTD-FLOWS-1.1", wanted, max_load_fps=OFFERED_FPS)
    assert planned.metric == f"{flow_scale.METRIC}.{CODE}"
    assert planned.outcome_id == f"LTD-FLOWS-1.1:{wanted.cell_id}"
    assert kind.recorded_as(profile, wanted) == recorded_as(planned.metric) == flow_scale.METRIC
    one_goal = replace(profile, search=replace(profile.search, goals=profile.search.goals[:1]))
    cost = measurement("throughput").cost(one_goal, wanted, OFFERED_FPS)
    assert kind.cost(profile, wanted, OFFERED_FPS) == cost
    assert kind.metrics(load_profile("rfc8204"), wanted) == (flow_scale.METRIC,)


def test_modifiers_of_rfc_2544_stay_with_its_search():
    profile = load_profile("quick")
    for one in MODIFIERS:
        assert one.metrics(profile, ALONE) == (one.metric,)
        assert one.cost(profile, ALONE, OFFERED_FPS).traffic_s < 10


@pytest.mark.parametrize("code", [CODE, "60f60d0l0e", "1e-05f1e+06d0.001l99.9e"])
def test_a_metric_is_read_back(code):
    for name in (STRESS, flow_changes.couplings()[0].metric, "conditional_throughput.rfc9971"):
        assert apart(f"{name}.{code}") == (name, code, "")
        assert apart(f"{name}.{code}.latency_mean") == (name, code, "latency_mean")
        assert claim(f"{name}.{code}") is not None
        assert claim(f"{name}.{code}.latency_mean") is claim(name) is None
    assert apart(STRESS) == (STRESS, "", "")
    assert claim(f"sustained_load.rfc9971.{code}") is None


def test_it_is_no_throughput_of_its_cell():
    beside = f"{STRESS}.{CODE}"
    assert not is_conditional(beside)
    assert not of_goal(beside)
    outcome, _ = found(Device())
    assert device_metric([outcome]) == METRIC  # of which the run has none


def test_a_number_at_the_testers_own_limit_is_found_by_verify():
    outcome, _ = found(Device())

    def shortfalls(envelope_fps):
        evidence = SimpleNamespace(run=None, outcomes=[outcome], envelope_fps=lambda _: envelope_fps)
        return list(envelope_respected.check(evidence))

    assert shortfalls(OFFERED_FPS) == []
    assert len(shortfalls(90_000)) == 1


def test_the_ends_of_an_interval_are_those_behind_its_own_metric():
    outcome, _ = found(Device())
    other = Quantity(metric=f"{STRESS}.sustained_load", number=1, unit="frames/s")
    assert interval(replace(outcome, values=(other, *outcome.values))) == interval(outcome)
