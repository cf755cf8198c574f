"""Where the embedded tester is told to send: the networks behind the far port, and a seed."""

import ipaddress
from dataclasses import replace

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.paths.addresses import BEHIND, INNER, OUTER, UNDERLAY, consecutive
from bmwg.drivers.traffic.embedded.destinations import drawn, refuse_undrawable
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FrameFormat, TrialSpec

PORTS = tuple(
    TesterPort(
        name=f"p{side}",
        io="xdp",
        device=f"p{side}",
        networks_ipv4=BEHIND[side][0],
        networks_ipv6=BEHIND[side][1],
    )
    for side in (0, 1)
)
SPEC = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, destination_networks=256)


def test_networks_are_free_and_of_the_benchmarking_ranges():
    taken = [ipaddress.ip_network(text) for one in (*OUTER, *INNER, UNDERLAY) for text in one.subnets]
    for side in (0, 1):
        for version in (0, 1):
            names = consecutive(BEHIND[side][version], 256)
            networks = [ipaddress.ip_network(name) for name in names]
            assert len(set(networks)) == 256
            whole = ipaddress.ip_network(("198.18.0.0/15", "2001:2::/48")[version])
            assert all(network.subnet_of(whole) for network in networks)
            for network in networks:
                same = [other for other in taken if other.version == network.version]
                assert not any(network.overlaps(other) for other in same)
            taken += networks


def test_frames_of_a_port_go_behind_the_other():
    order = drawn(SPEC, PORTS, 7)
    assert order == {
        "networks": 256,
        "step_bits": 4,
        "seed": 7,
        "destinations": ["c613f002".ljust(32, "0"), "c612f002".ljust(32, "0")],
    }
    order = drawn(replace(SPEC, frame_format=FrameFormat.IPV6_UDP, frame_octets=84), PORTS, 7)
    assert order["step_bits"] == 0
    assert order["destinations"][0] == "200100020000f1000000000000000002"


def test_one_network_is_the_frame_as_it_was():
    assert drawn(replace(SPEC, destination_networks=1), PORTS, 7)["networks"] == 0


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        (SPEC, (PORTS[0], replace(PORTS[1], networks_ipv4=None))),
        (replace(SPEC, frame_format=FrameFormat.ETHERNET), PORTS),
    ],
)
def test_networks_that_are_not_behind_a_port_are_refused(spec, ports):
    with pytest.raises(ConfigError, match=r"^TST-17 "):
        refuse_undrawable(spec, ports)
