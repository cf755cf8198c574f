"""To which networks the frames of a trial go, as the tester is told: the first of each side, and a seed."""

from __future__ import annotations

import ipaddress
from typing import Any

from bmwg.drivers.api.protocols import TesterPort
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FrameFormat, TrialSpec
from bmwg.methodology.trial.destinations import SEED as SEED

LEARNING_FRAMES = 4  # choice: a network; of 256 networks drawn from 1,024 frames about five get none
_HOST = 2  # rfc2544 appendix C.2.2: of each network, the host that a tester is
_ADDRESS_OCTETS = 16
_UPPER_BITS = 64  # of an IPv6 address: a network is counted in its upper half


def refuse_undrawable(spec: TrialSpec, ports: tuple[TesterPort, ...]) -> None:
    """Raise ConfigError TST-17 where a trial asks for networks that are not behind both ports."""
    if spec.destination_networks == 1:
        return
    lacking = [port.name for port in ports if _behind(spec, port) is None]
    if lacking:
        raise ConfigError(
            "TST-17",
            f"{spec.destination_networks} destination networks of {spec.frame_format} frames; "
            "no traffic was sent",
            expected="networks behind both ports, to which the path has routes",
            found=f"none behind {', '.join(lacking)}",
            hint="the bed is opened with destination_networks",
        )


def drawn(spec: TrialSpec, ports: tuple[TesterPort, ...] | None, seed: int) -> dict[str, Any]:
    """Return the part of an order that says where frames go; frames of port 0 go behind port 1."""
    if spec.destination_networks == 1 or ports is None:
        return {"networks": 0, "step_bits": 0, "seed": 0, "destinations": []}
    behind = [_behind(spec, port) for port in reversed(ports[:2])]
    first = [ipaddress.ip_network(text) for text in behind if text is not None]
    host_bits = first[0].max_prefixlen - first[0].prefixlen
    return {
        "networks": spec.destination_networks,
        "step_bits": host_bits - (_UPPER_BITS if first[0].version == 6 else 0),
        "seed": seed,
        "destinations": [network[_HOST].packed.ljust(_ADDRESS_OCTETS, b"\0").hex() for network in first],
    }


def _behind(spec: TrialSpec, port: TesterPort) -> str | None:
    return {FrameFormat.IPV4_UDP: port.networks_ipv4, FrameFormat.IPV6_UDP: port.networks_ipv6}.get(
        spec.frame_format
    )
