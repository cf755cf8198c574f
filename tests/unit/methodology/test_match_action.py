"""Throughput by what flows match and do (LTD 3.2.2.1.15), against a switch that each action costs frames."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from vsperf_device import CODE, SEARCHING, Device, ask, cell

from bmwg.methodology import suites
from bmwg.methodology.benchmarks import match_action
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import FrameFormat, OutcomeType

SWITCH = replace(cell("switch"), hosting="baremetal", function="ovs-netdev", network="none", flows=256)
COST_FPS = {"normal": 10_000, "dec_ttl": 40_000, "dec_ttl_half": 20_000}


@dataclass(kw_only=True)
class Table(Device):
    """Carries 100,000 frames/s less what an action costs; its flows count the frames, less some."""

    short_of: int = 0
    more: int = 0
    seen: set[str] = field(default_factory=set)

    def trial(self, spec, phase):
        one = match_action.of_modifier(spec.modifier)
        self.seen.add(one.code)
        assert spec.vlan_id == one.vlan_id  # the flow matches no other frames
        assert spec.added_tags == one.added_tags
        self.rate_fps = 100_000 - COST_FPS.get(one.code, 0)
        judged = super().trial(spec, phase)
        counted = int(judged.result.sent_frames * one.share) - self.short_of + self.more
        told = ((match_action.FRAMES, counted),)
        self.trials[-1] = replace(judged, result=replace(judged.result, auxiliary=told))
        return self.trials[-1]


def answer(device, code, profile="vsperf"):
    return ask(device, f"match_action_{code}", wanted=SWITCH, throughput_fps=None, profile=profile)


@pytest.mark.parametrize("profile", SEARCHING)
@pytest.mark.parametrize("code", match_action.KNOWN)
def test_the_throughput_with_each_action_is_found(code, profile):
    """Known truth: 100,000 frames/s less the action's cost."""
    device = Table()
    outcome, told = answer(device, code, profile)
    assert outcome.type is OutcomeType.MEASURED
    truth = 100_000 - COST_FPS.get(code, 0)
    assert told[f"{outcome.metric}.latency_mean"] == device.delay_ns
    assert outcome.metric == match_action.KNOWN[code].metric + SEARCHING[profile]
    assert 0.96 * truth <= told[outcome.metric] <= truth < outcome.upper.load_fps
    assert device.seen == {code}
    assert outcome.requirements == ("LTD-3.2.2.1.15",)
    assert match_action.of_metric(outcome.metric).code == code
    assert match_action.KNOWN[code].words in " ".join(outcome.quality)


@pytest.mark.parametrize(
    ("code", "device"),
    [
        ("source", Table(short_of=1)),
        ("source", Table(more=1)),
        ("dec_ttl_half", Table(short_of=2)),
        ("dec_ttl_half", Table(more=2)),
    ],
)
def test_flows_that_did_not_match_the_frames_leave_no_number(code, device):
    outcome, told = answer(device, code)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None
    assert "did not match the frames" in outcome.reason


def test_a_half_allows_for_the_last_turn_and_needs_an_even_number_of_flows():
    assert answer(Table(more=1), "dec_ttl_half")[0].type is OutcomeType.MEASURED
    profile = load_profile("vsperf")
    half, every = measurement("match_action_dec_ttl_half"), measurement("match_action_dec_ttl")
    assert half.applies(profile, SWITCH)
    assert not half.applies(profile, replace(SWITCH, flows=1))
    assert every.applies(profile, replace(SWITCH, flows=1))
    assert not measurement("match_action_flood").applies(profile, SWITCH)  # the profile leaves it out
    for other in (
        replace(SWITCH, function="linux-bridge"),
        replace(SWITCH, frame_format=FrameFormat.ETHERNET),
        replace(SWITCH, axes=(("neighbour", "none"),)),
    ):
        assert not every.applies(profile, other)


def test_each_has_a_test_and_a_name_that_is_read_back():
    mine = [one.measurement for one in suites.cases() if one.test_id.startswith("LTD-MATCH-")]
    assert mine == [f"match_action_{code}" for code in match_action.KNOWN]
    for one in match_action.KNOWN.values():
        assert match_action.of_modifier(one.modifier) == one
        assert match_action.of_metric(one.metric) == one
        assert match_action.of_metric(f"{one.metric}.{CODE}") == one
        assert one.share in (1, Fraction(1, 2))
        assert one.added_tags == {"push_vlan": 1, "pop_vlan": -1}.get(one.code, 0)
        words = ("from", "to", "sender_mac", "receiver_mac", "sender_ip")
        assert "{" not in (one.match + one.actions).format(**dict.fromkeys(words, ""))
    assert match_action.of_modifier("matched-flows-8") is None
    assert match_action.of_metric("throughput.rfc2544_26_1") is None
