"""Tester ports of one MAC address: refused where a switch stands between them."""

from dataclasses import replace

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.ports import check_ports
from bmwg.methodology.errors import ConfigError


def ports(*macs):
    return tuple(
        TesterPort(name=f"tester/p{number}", io="af_packet", device=f"p{number}", mac=mac)
        for number, mac in enumerate(macs)
    )


def test_two_macs_alike_around_a_switch_are_named():
    with pytest.raises(ConfigError, match="TST-24") as refused:
        check_ports(ports("02:00:00:00:00:0a", "02:00:00:00:00:01", "02:00:00:00:00:0A"), ())
    assert "02:00:00:00:00:0a at tester/p0 and tester/p2" in str(refused.value)


def test_a_pair_that_would_send_to_itself_is_refused_and_one_beyond_a_router_is_not():
    pair = ports("02:00:00:00:00:0a", "02:00:00:00:00:0a")
    check_ports(pair, ())
    with pytest.raises(ConfigError, match="TST-24"):
        check_ports(tuple(replace(port, peer_mac=port.mac) for port in pair), ())


def test_macs_that_differ_or_are_not_known_are_fine():
    check_ports(ports("02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"), ())
    check_ports(ports(None, None, None), ())
