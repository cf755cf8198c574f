"""Whether the attached ports can carry a trial's frames; what they cannot is refused before any is sent."""

from __future__ import annotations

from bmwg.drivers.api.protocols import TesterPort, TrafficLimits
from bmwg.drivers.traffic.embedded.destinations import refuse_undrawable
from bmwg.drivers.traffic.embedded.ports import TAG_OCTETS, min_frame_octets
from bmwg.drivers.traffic.of_frames import refuse_more_ports
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FrameFormat, TrialSpec
from bmwg.methodology.trial.capabilities import refuse_beyond
from bmwg.methodology.trial.trial_limits import FLOWS_OF_ONE_PORT

_PORTS = 64  # choice: destination ports that flows are sent to (src/signature.h)


def max_flows(lanes: int) -> int:
    """Return how many flows so many lanes send: of several, each chooses source ports."""
    return FLOWS_OF_ONE_PORT * (_PORTS if lanes == 1 else 1)


def check_trial(spec: TrialSpec, ports: tuple[TesterPort, ...], limits: TrafficLimits) -> None:
    """Raise TST-16 (size), TST-17 (flows, addresses, networks) or CAP-01 (what several lanes cannot)."""
    refuse_beyond(spec, limits.capabilities, "embedded")
    tagged = spec.vlan_id is not None
    least = max(limits.min_frame_octets, min_frame_octets(spec.frame_format, tagged))
    if not least <= spec.frame_octets <= limits.max_frame_octets:
        raise ConfigError(
            "TST-16",
            f"size of {'tagged ' if tagged else ''}{spec.frame_format} frames on {ports[0].io}; "
            "no traffic was sent",
            expected=f"{least}..{limits.max_frame_octets} octets",
            found=str(spec.frame_octets),
            hint="the lower limit is headers and signature, the upper the MTU of interface and device",
        )
    most_flows = FLOWS_OF_ONE_PORT if spec.destination_networks > 1 else max_flows(lanes=1)
    if spec.frame_format is FrameFormat.ETHERNET:
        most_flows = 1
    if spec.flows > most_flows:
        raise ConfigError(
            "TST-17",
            f"flows of {spec.frame_format} frames; no traffic was sent",
            expected=f"1..{most_flows}",
            found=str(spec.flows),
        )
    for port in ports:
        family = {FrameFormat.IPV4_UDP: port.ipv4, FrameFormat.IPV6_UDP: port.ipv6}
        if family.get(spec.frame_format, "none needed") is None:
            raise ConfigError(
                "TST-17",
                f"{spec.frame_format} frames; no traffic was sent",
                expected="such an address on all ports",
                found=f"none on {port.name}",
            )
    refuse_more_ports(spec, ports)
    refuse_undrawable(spec, ports[:2])


def most_octets(spec: TrialSpec) -> int:
    """Return the size of the largest frame that leaves or arrives, octets with FCS."""
    return spec.frame_octets + TAG_OCTETS * max(0, spec.added_tags)


def tags_8021q(spec: TrialSpec) -> dict[str, int]:
    """The number in the frames' tag (0: they have none), and how many more tags they arrive with."""
    return {"vlan": spec.vlan_id or 0, "added_tags": spec.added_tags}


def tagged(spec: TrialSpec) -> dict[str, int]:
    """Which frames are tagged, as the tester counts them."""
    frames = spec.tag_frames
    if not frames:
        return {"tag_first": 0, "tag_step": 1, "tags": 0}
    step = frames[1] - frames[0] if len(frames) > 1 else 1
    return {"tag_first": frames[0], "tag_step": step, "tags": len(frames)}
