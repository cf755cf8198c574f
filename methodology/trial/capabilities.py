"""What a tester may be able to send and to count, by name; what a trial needs of it."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Direction, FrameFormat, TrialSpec
from bmwg.methodology.trial.trial_limits import FLOWS_OF_ONE_PORT, MIN_FRAME_OCTETS


class Capability(StrEnum):
    """One thing that not every tester can do. The value stands in messages, after "the tester has no"."""

    ETHERNET = "bare Ethernet frames"
    IPV4_UDP = "UDP over IPv4"
    IPV6_UDP = "UDP over IPv6"
    VLAN = "802.1Q tags"
    BOTH_DIRECTIONS = "two directions at once"
    SECOND_LOAD = "second load that follows at once"  # rfc2544-26.5
    LOSS_TIMES = "times of losses"  # rfc6201
    BROADCAST = "broadcast frames beside the load"  # rfc2544-11.1
    TAGGED_LATENCY = "latency of single frames"  # rfc2544-26.2
    MIX = "frames of several sizes in turn"  # rfc6985
    LATENCY = "latency of all frames"
    NETWORKS = "random destination networks"  # rfc2544-12
    REPEATED_BURSTS = "bursts that repeat"  # rfc2544-21
    PATTERN = "pattern of more than two ports"  # rfc2889-5.1
    UNDERSIZE = "frames below 64 octets"  # rfc2889-5.9.3
    MANY_FLOWS = "more than 16,352 flows"  # ltd-3.2.2.3.1
    TAGS_CHANGED = "frames that arrive with a tag more or less"  # ltd-3.2.2.1.2


EVERYTHING = frozenset(Capability)
_FORMATS = {
    FrameFormat.ETHERNET: Capability.ETHERNET,
    FrameFormat.IPV4_UDP: Capability.IPV4_UDP,
    FrameFormat.IPV6_UDP: Capability.IPV6_UDP,
}


class LackingError(ConfigError):
    """The tester cannot do what a trial asks: the cell is not assessed, and nothing was sent for it."""


def needed(spec: TrialSpec) -> frozenset[Capability]:
    """Return what a tester must be able to do for a trial."""
    asked = {
        _FORMATS[spec.frame_format]: True,
        Capability.VLAN: spec.vlan_id is not None,
        Capability.BOTH_DIRECTIONS: spec.direction is Direction.BOTH,
        Capability.SECOND_LOAD: spec.then_load_fps is not None,
        Capability.LOSS_TIMES: spec.loss_times,
        Capability.BROADCAST: spec.broadcast_every is not None,
        Capability.TAGGED_LATENCY: spec.tag_after_s is not None,
        Capability.MIX: bool(spec.mix_octets),
        Capability.NETWORKS: spec.destination_networks > 1,
        Capability.REPEATED_BURSTS: spec.burst_frames is not None,
        Capability.PATTERN: spec.pattern is not None,
        Capability.UNDERSIZE: spec.frame_octets < MIN_FRAME_OCTETS,
        Capability.MANY_FLOWS: spec.flows > FLOWS_OF_ONE_PORT,
        Capability.TAGS_CHANGED: spec.added_tags != 0,
    }
    return frozenset(capability for capability, wanted in asked.items() if wanted)


def refuse_beyond(
    spec: TrialSpec, able: Collection[Capability], tester: str, also: Collection[Capability] = ()
) -> None:
    """Raise LackingError CAP-01 when a trial asks for more than the tester can do; `tester` is its name.

    `also` is what the answer takes of the trial, and its spec does not say.
    """
    lacking = sorted((needed(spec) | set(also)) - set(able))
    if lacking:
        raise LackingError(
            "CAP-01",
            f"the tester {tester} has no {', no '.join(lacking)}; no traffic was sent",
            expected="a tester that has it, such as driver embedded",
            found=", ".join(sorted(able)) or "nothing that it declares",
        )
