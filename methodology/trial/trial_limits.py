"""What no trial of frames can be: the limits of its numbers, and which of them go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bmwg.methodology.records import TrialSpec

MIN_FRAME_OCTETS = 64  # rfc2544-9.1, smallest Ethernet frame
MIN_SENT_OCTETS = 60  # choice: the smallest with IPv4 and UDP headers and a signature; below 64 it is illegal
MAX_LEGAL_OCTETS = 1518  # rfc2889-5.9.3, largest Ethernet frame without a tag
MAX_FRAME_OCTETS = 9216  # choice: the largest jumbo frame that common NICs carry
MAX_NETWORKS = 256  # RFC2544-12-03
FLOWS_OF_ONE_PORT = 16_352  # rfc2544-C.2.6.4: UDP source ports from 0xc020 up, to one destination port
MAX_TAGS = 1024  # choice: twice what RFC 8219 7.2 asks for in a stream


def refuse(spec: TrialSpec) -> None:
    """Raise ValueError with the field, what was expected and what was found, where a trial cannot be."""
    least = MIN_FRAME_OCTETS if spec.pattern is None else MIN_SENT_OCTETS  # what no switch is to forward
    if not least <= spec.frame_octets <= MAX_FRAME_OCTETS:
        raise ValueError(f"frame_octets: expected {least}..{MAX_FRAME_OCTETS}, found {spec.frame_octets}")
    if spec.load_fps < 1:
        raise ValueError(f"load_fps: expected at least 1, found {spec.load_fps}")
    if not 0 < spec.duration_s < 1e7:
        raise ValueError(f"duration_s: expected above 0, found {spec.duration_s}")
    if spec.flows < 1:
        raise ValueError(f"flows: expected at least 1, found {spec.flows}")
    if not 1 <= spec.destination_networks <= MAX_NETWORKS:
        raise ValueError(
            f"destination_networks: expected 1..{MAX_NETWORKS}, found {spec.destination_networks}"
        )
    _refuse_bursts(spec)
    _refuse_beside_pattern(spec)
    if spec.vlan_id is not None and not 1 <= spec.vlan_id <= 4094:
        raise ValueError(f"vlan_id: expected 1..4094, found {spec.vlan_id}")
    if spec.added_tags not in ((0, 1) if spec.vlan_id is None else (-1, 0)):
        raise ValueError(
            f"added_tags: expected 0, 1 to frames without a tag or -1 to tagged ones, found {spec.added_tags}"
        )
    if (spec.then_load_fps is None) != (spec.then_duration_s is None):
        raise ValueError("then_load_fps, then_duration_s: expected both or none, found one")
    if spec.then_load_fps is not None and spec.then_load_fps < 1:
        raise ValueError(f"then_load_fps: expected at least 1, found {spec.then_load_fps}")
    if spec.then_duration_s is not None and not 0 < spec.then_duration_s < 1e7:
        raise ValueError(f"then_duration_s: expected above 0, found {spec.then_duration_s}")
    if (spec.act is None) != (spec.act_at_s is None):
        raise ValueError("act, act_at_s: expected both or none, found one")
    if spec.act_at_s is not None and not 0 <= spec.act_at_s < spec.total_s:
        raise ValueError(f"act_at_s: expected 0 to {spec.total_s}, found {spec.act_at_s}")
    if spec.broadcast_every is not None and spec.broadcast_every < 1:
        raise ValueError(f"broadcast_every: expected at least 1, found {spec.broadcast_every}")
    if (spec.tag_after_s is None) != (spec.tags is None):
        raise ValueError("tag_after_s, tags: expected both or none, found one")
    if spec.tag_after_s is not None and not 0 < spec.tag_after_s < spec.total_s:
        raise ValueError(f"tag_after_s: expected above 0, below {spec.total_s}, found {spec.tag_after_s}")
    if spec.tags is not None and not 1 <= spec.tags <= MAX_TAGS:
        raise ValueError(f"tags: expected 1..{MAX_TAGS}, found {spec.tags}")
    if spec.mix_octets and max(spec.mix_octets) != spec.frame_octets:
        raise ValueError(
            f"frame_octets: expected {max(spec.mix_octets)} (mix_octets), found {spec.frame_octets}"
        )
    if spec.mix_octets and min(spec.mix_octets) < MIN_FRAME_OCTETS:
        raise ValueError(f"mix_octets: expected {MIN_FRAME_OCTETS} or more, found {min(spec.mix_octets)}")


def _refuse_bursts(spec: TrialSpec) -> None:
    """Refuse bursts that no trial can have: their load is at most that within a burst."""
    if (spec.burst_frames is None) != (spec.burst_fps is None):
        raise ValueError("burst_frames, burst_fps: expected both or none, found one")
    if spec.burst_frames is None or spec.burst_fps is None:
        return
    if spec.burst_frames < 2:
        raise ValueError(f"burst_frames: expected at least 2, found {spec.burst_frames}")
    if spec.burst_fps < spec.load_fps:
        raise ValueError(f"burst_fps: expected {spec.load_fps} (load_fps) or more, found {spec.burst_fps}")
    if spec.burst or spec.then_load_fps is not None:
        raise ValueError("burst_frames: expected neither burst nor then_load_fps beside it")


def _refuse_beside_pattern(spec: TrialSpec) -> None:
    """Refuse what has no meaning between more ports than two: all that is told by direction."""
    if spec.pattern is None:
        return
    beside = {
        "direction": spec.direction != "forward",
        "then_load_fps": spec.then_load_fps is not None,
        "loss_times": spec.loss_times,
        "broadcast_every": spec.broadcast_every is not None,
        "modifier": spec.modifier is not None,
        "tags": spec.tags is not None,
        "mix_octets": bool(spec.mix_octets),
        "destination_networks": spec.destination_networks != 1,
        "added_tags": spec.added_tags != 0,
    }
    if found := ", ".join(name for name, there in beside.items() if there):
        raise ValueError(f"pattern: expected frames of one size at one load alone, found {found}")
