"""What a trial needs of a tester, by name."""

import dataclasses

import pytest

from bmwg.methodology.records import Direction, FrameFormat, TrialSpec
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability, LackingError, needed, refuse_beyond
from bmwg.methodology.trial.pattern import full_mesh

PLAIN = TrialSpec(frame_octets=128, load_fps=1000, duration_s=1.0)


def test_a_constant_load_needs_its_format_alone():
    assert needed(PLAIN) == {Capability.IPV4_UDP}


@pytest.mark.parametrize(
    ("change", "capability"),
    [
        ({"frame_format": FrameFormat.ETHERNET}, Capability.ETHERNET),
        ({"frame_format": FrameFormat.IPV6_UDP}, Capability.IPV6_UDP),
        ({"vlan_id": 7}, Capability.VLAN),
        ({"direction": Direction.BOTH}, Capability.BOTH_DIRECTIONS),
        ({"then_load_fps": 10, "then_duration_s": 0.1}, Capability.SECOND_LOAD),
        ({"loss_times": True}, Capability.LOSS_TIMES),
        ({"broadcast_every": 100}, Capability.BROADCAST),
        ({"tag_after_s": 0.5, "tags": 20}, Capability.TAGGED_LATENCY),
        ({"mix_octets": (64, 128)}, Capability.MIX),
        ({"destination_networks": 256}, Capability.NETWORKS),
        ({"burst_frames": 16, "burst_fps": 2_000}, Capability.REPEATED_BURSTS),
        ({"pattern": full_mesh(4)}, Capability.PATTERN),
        ({"frame_octets": 63, "pattern": full_mesh(4)}, Capability.UNDERSIZE),
        ({"flows": 16_353}, Capability.MANY_FLOWS),
        ({"added_tags": 1}, Capability.TAGS_CHANGED),
        ({"added_tags": -1, "vlan_id": 7}, Capability.TAGS_CHANGED),
    ],
)
def test_each_demand_needs_its_capability(change, capability):
    spec = dataclasses.replace(PLAIN, **change)
    assert capability in needed(spec)
    refuse_beyond(spec, EVERYTHING, "embedded")
    with pytest.raises(LackingError, match=r"^CAP-01 ") as caught:
        refuse_beyond(spec, EVERYTHING - {capability}, "trex")
    assert "trex" in caught.value.what
    assert capability in caught.value.what
