"""Throughput beside changes of idle flows (LTD 3.2.2.5.1), against a switch that each change costs frames."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from vsperf_device import CODE, SEARCHING, Device, ask, cell

from bmwg.methodology import suites
from bmwg.methodology.benchmarks import flow_changes, flow_scale
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import FrameFormat, OutcomeType, TrialSpec

SWITCH = replace(cell("switch"), hosting="baremetal", function="ovs-netdev", network="none")


@dataclass(kw_only=True)
class Switch(Device):
    """Carries 100,000 frames/s less 5 for each change a second, and takes a share of the changes.

    Of trials that `misses` names, by what was asked for and their number, it takes no change. Their frames
    take `late_ns`. A trial takes `took` times as long as its frames.
    """

    takes: float = 1.0
    cost_fps: int = 5
    misses: Callable[[TrialSpec, int], bool] = lambda spec, number: False
    late_ns: int = 10_000
    took: float = 1.0
    seen: list[Coupling] = field(default_factory=list)

    def trial(self, spec, phase):
        found = flow_changes.coupling(spec.modifier or "")
        assert found is not None
        self.seen.append(found)
        self.rate_fps = 100_000 - self.cost_fps * found.changes_per_s
        late = self.misses(spec, len(self.trials) + 1)
        self.delay_ns = self.late_ns if late else 10_000
        judged = super().trial(spec, phase)
        changes = 0 if late else int(self.takes * found.changes_per_s * spec.duration_s)
        result = replace(
            judged.result,
            wall_time_ns=int(self.took * spec.duration_s * 1e9),
            auxiliary=((flow_changes.CHANGES, changes),),
        )
        self.trials[-1] = replace(judged, result=result)
        return self.trials[-1]


def answer(device, entries, rate, profile="vsperf"):
    name = f"flow_changes_{entries}_{rate}"
    return ask(device, name, wanted=SWITCH, throughput_fps=None, profile=profile)


@pytest.mark.parametrize("profile", SEARCHING)
@pytest.mark.parametrize("entries", flow_changes.ENTRIES)
@pytest.mark.parametrize("rate", flow_changes.RATES_PER_S)
def test_the_throughput_beside_each_coupling_is_found(entries, rate, profile):
    """Known truth: 100,000 frames/s less 5 a change."""
    device = Switch()
    outcome, told = answer(device, entries, rate, profile)
    assert outcome.type is OutcomeType.MEASURED
    assert told[f"{outcome.metric}.latency_mean"] == device.delay_ns
    coupling = Coupling(entries=entries, changes_per_s=rate)
    assert outcome.metric == coupling.metric + SEARCHING[profile]
    assert flow_changes.of_metric(outcome.metric) == coupling
    truth = 100_000 - 5 * rate
    assert 0.96 * truth <= told[outcome.metric] <= truth < outcome.upper.load_fps
    assert set(device.seen) == {Coupling(entries=entries, changes_per_s=rate)}
    assert outcome.requirements == ("LTD-3.2.2.5.1",)
    assert f"{entries} idle flows stood" in " ".join(outcome.quality)


@pytest.mark.parametrize("profile", SEARCHING)
def test_a_switch_that_takes_fewer_changes_than_are_due_has_another_rate_and_no_number(profile):
    outcome, told = answer(Switch(takes=0.95), 8, 10_000, profile)
    assert outcome.type is OutcomeType.MEASURED
    outcome, told = answer(Switch(takes=0.8), 8, 10_000, profile)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None
    assert "10000/s were not what went on" in outcome.reason


@pytest.mark.parametrize("profile", SEARCHING)
def test_changes_are_due_in_all_the_time_in_which_they_were_counted(profile):
    """1,000 that were confirmed in 0.16 s, 0.1 s of them with frames, are 6,250 a second."""
    outcome, told = answer(Switch(took=1.05), 8, 10_000, profile)
    assert outcome.type is OutcomeType.MEASURED
    outcome, told = answer(Switch(took=1.6), 8, 10_000, profile)
    assert outcome.type is OutcomeType.INVALID
    assert not told


@pytest.mark.parametrize("profile", SEARCHING)
def test_loss_beside_fewer_changes_is_loss_beside_more(profile):
    """A switch that takes no change while it is overloaded: the lower bound has them, the upper one loses."""
    outcome, told = answer(Switch(misses=lambda spec, _: spec.load_fps > 50_000), 8, 10_000, profile)
    assert outcome.type is OutcomeType.MEASURED
    assert 0.96 * 50_000 <= told[outcome.metric] <= 50_000 < outcome.upper.load_fps
    assert "fewer than 90% of the changes that were due: these prove no lower end" in outcome.quality[-1]


@pytest.mark.parametrize("profile", SEARCHING)
def test_a_load_that_held_without_the_changes_is_no_lower_end(profile):
    """LTD 3.2.2.5.1: without its changes it carries more; the trials at the lower end have none of them."""
    device = Switch(misses=lambda spec, _: 45_000 < spec.load_fps <= 50_000)
    outcome, told = answer(device, 8, 10_000, profile)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None


def held_at_the_end(device):
    """Return the numbers of the trials of a search at its lower end, by a first run on the same device."""
    outcome, _ = answer(device, 8, 10_000)
    load = outcome.lower.load_fps
    return [one.seq for one in device.trials if one.load == load and one.spec.duration_s == 0.1]


def test_a_goal_that_forgives_trials_forgives_as_many_without_the_changes_at_its_lower_end():
    """RFC 9971 4.8: half of its trials may lose, and 15 are at a load; the mean latency is of the others."""
    held = held_at_the_end(Switch())
    few, most = set(held[:2]), set(held[1:])
    outcome, told = answer(Switch(misses=lambda _, number: number in few, late_ns=90_000), 8, 10_000)
    assert outcome.type is OutcomeType.MEASURED
    assert told[f"{outcome.metric}.latency_mean"] == 10_000
    assert "beside 2 of" in outcome.quality[-1]
    outcome, told = answer(Switch(misses=lambda _, number: number in most), 8, 10_000)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert f"in trials {sorted(most)}" in outcome.reason


def test_a_long_trial_without_the_changes_says_nothing_of_what_is_sustained():
    outcome, told = answer(Switch(misses=lambda spec, _: spec.duration_s > 0.1), 8, 10_000)
    assert outcome.type is OutcomeType.INVALID
    assert not told


@pytest.mark.parametrize("profile", SEARCHING)
def test_less_than_the_lowest_load_is_told_where_changes_went_on(profile):
    outcome, _ = answer(Switch(cost_fps=10), 8, 10_000, profile)
    assert outcome.type is OutcomeType.AT_FLOOR
    outcome, _ = answer(Switch(cost_fps=10, takes=0.8), 8, 10_000, profile)
    assert outcome.type is OutcomeType.INVALID


def test_changes_that_cannot_be_due_within_a_trial_are_not_missed():
    assert Coupling(entries=8, changes_per_s=1).due_changes(0.5) == 0
    assert Coupling(entries=8, changes_per_s=100).due_changes(0.2) == 19
    outcome, _ = answer(Switch(takes=0.0), 8, 1)
    assert outcome.type is OutcomeType.MEASURED


@dataclass(kw_only=True)
class Table(Device):
    """Carries 120,000 frames/s less 1 for each entry; has so many entries as it was asked for, less some."""

    short_of: int = 0
    asked: set[str] = field(default_factory=set)

    def trial(self, spec, phase):
        self.asked.add(spec.modifier)
        entries = flow_scale.matched(spec.modifier)
        self.rate_fps = 120_000 - entries
        judged = super().trial(spec, phase)
        counts = ((flow_scale.MATCHED, entries - self.short_of),)
        self.trials[-1] = replace(judged, result=replace(judged.result, auxiliary=counts))
        return self.trials[-1]


@pytest.mark.parametrize("profile", SEARCHING)
@pytest.mark.parametrize("flows", flow_scale.FLOWS)
def test_each_flow_has_an_entry_or_there_is_no_number(flows, profile):
    """Known truth: 120,000 frames/s less 1 an entry."""
    asked = {"wanted": replace(SWITCH, flows=flows), "throughput_fps": None, "profile": profile}
    device = Table()
    outcome, told = ask(device, "flow_scale", **asked)
    assert outcome.type is OutcomeType.MEASURED
    truth = 120_000 - flows
    assert outcome.metric == flow_scale.METRIC + SEARCHING[profile]
    assert 0.96 * truth <= told[outcome.metric] <= truth < outcome.upper.load_fps
    assert device.asked == {f"matched-flows-{flows}"}
    assert {trial.spec.flows for trial in device.trials} == {flows}
    assert outcome.requirements == ("LTD-3.2.2.3.1",)
    fewest = min(one.result.sent_frames for one in device.trials if one.seq in outcome.lower.trials)
    assert (f"{flows - fewest} of {flows} flows had none" in " ".join(outcome.quality)) is (fewest < flows)
    outcome, told = ask(Table(short_of=1), "flow_scale", **asked)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None
    assert f"not {flows} entries stood" in outcome.reason


@dataclass(kw_only=True)
class Forgetful(Device):
    """Carries 120,000 frames/s less 1 for each entry that expires; `share` of those that have to do."""

    share: float = 1.0

    def trial(self, spec, phase):
        flows = flow_scale.expiring(spec.modifier)
        assert flows is not None
        self.rate_fps = 120_000 - flows
        judged = super().trial(spec, phase)
        gone = int(self.share * flows * spec.duration_s / flow_scale.TIMEOUT_S)
        result = replace(judged.result, auxiliary=((flow_scale.EXPIRED, gone),))
        self.trials[-1] = replace(judged, result=result)
        return self.trials[-1]


@pytest.mark.parametrize("flows", flow_scale.FLOWS)
def test_entries_expire_beside_the_search_or_there_is_no_number(flows):
    """Known truth: 120,000 frames/s less 1 an entry."""
    wanted = replace(SWITCH, flows=flows)
    outcome, told = ask(Forgetful(), "flow_expiry", wanted=wanted, throughput_fps=None)
    assert outcome.type is OutcomeType.MEASURED
    truth = 120_000 - flows
    metric = f"{flow_scale.EXPIRING_METRIC}.{CODE}"
    assert 0.96 * truth <= told[metric] <= truth < outcome.upper.load_fps
    assert f"{flows} flows, which the switch removed after 1 s" in " ".join(outcome.quality)
    outcome, told = ask(Forgetful(share=0), "flow_expiry", wanted=wanted, throughput_fps=None)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None
    assert "no entry expired" in outcome.reason


def test_entries_expire_once_in_twice_their_time_at_least():
    assert [flow_scale.due_expiries(1_000, seconds) for seconds in (0.2, 1.9, 2, 60)] == [0, 0, 1_000, 30_000]


def test_a_trial_in_which_fewer_entries_expired_leaves_no_number():
    wanted = replace(SWITCH, flows=1_000)
    asked = {"wanted": wanted, "throughput_fps": None, "profile": "rfc8204"}  # trials of 60 s
    outcome, _ = ask(Forgetful(share=0.5), "flow_expiry", **asked)
    assert outcome.type is OutcomeType.MEASURED
    outcome, told = ask(Forgetful(share=0.4), "flow_expiry", **asked)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert "fewer entries expired than had to" in outcome.reason


def test_flows_need_a_table_and_udp():
    profile, kind = load_profile("vsperf"), measurement("flow_scale")
    assert kind.applies(profile, SWITCH)
    assert kind.applies(profile, replace(SWITCH, function="ovs-dpdk"))
    assert not kind.applies(profile, replace(SWITCH, function="linux-bridge"))
    assert not kind.applies(profile, replace(SWITCH, frame_format=FrameFormat.IPV6_UDP))
    assert not kind.applies(profile, replace(SWITCH, axes=(("pattern", "full-mesh-4"),)))
    known = [one for one in suites.cases() if one.measurement in ("flow_scale", "flow_expiry")]
    assert [one.test_id for one in known] == ["LTD-FLOWS-1.1", "LTD-FLOWS-1.2"]
    assert {one.flows for one in known} == {flow_scale.FLOWS}


def test_names_are_read_back_and_others_are_none():
    for one in flow_changes.couplings():
        assert flow_changes.coupling(one.modifier) == one
        assert flow_changes.of_metric(one.metric) == one
        assert flow_changes.of_metric(f"{one.metric}.{CODE}") == one
    for other in ("", "filters-1", "flows-0-1", "flows-1-01", "flows-1", "flows-1-1-1"):
        assert flow_changes.coupling(other) is None
    for flows in flow_scale.FLOWS:
        assert flow_scale.matched(flow_scale.modifier(flows)) == flows
        assert flow_scale.expiring(flow_scale.expiring_modifier(flows)) == flows
        assert flow_scale.matched(flow_scale.expiring_modifier(flows)) is None
    assert [flow_scale.matched(other) for other in ("", "flows-8-0", "matched-flows-0")] == [None] * 3
    assert flow_changes.of_metric("throughput.rfc2544_26_1") is None


def test_a_profile_says_which_couplings_are_measured_and_only_of_a_table_of_flows():
    profile = replace(
        load_profile("vsperf"), benchmarks={"flow_changes": {"entries": [8], "changes_per_s": [0, 100]}}
    )
    able = [
        one
        for one in flow_changes.couplings()
        if measurement(f"flow_changes_{one.entries}_{one.changes_per_s}").applies(profile, SWITCH)
    ]
    assert able == [Coupling(entries=8, changes_per_s=0), Coupling(entries=8, changes_per_s=100)]
    kind = measurement("flow_changes_8_0")
    assert not kind.applies(profile, replace(SWITCH, function="linux-bridge"))
    assert not kind.applies(profile, replace(SWITCH, axes=(("pattern", "full-mesh-4"),)))


def test_each_coupling_has_its_test():
    mine = [one.measurement for one in suites.cases() if one.test_id.startswith("LTD-CPDP-")]
    assert mine == [f"flow_changes_{one.entries}_{one.changes_per_s}" for one in flow_changes.couplings()]
