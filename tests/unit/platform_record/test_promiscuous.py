"""An interface takes frames of others for a packet socket too: its flag does not tell so (RFC8204-3.3-13)."""

from __future__ import annotations

from typing import Any

import pytest

from bmwg.drivers.platform_record import netlink
from bmwg.drivers.ports import interfaces


@pytest.mark.root
def test_an_interface_that_a_packet_socket_holds_is_promiscuous() -> None:
    before = _loopback()["promiscuous"]
    with interfaces.promiscuous(interface="lo"):
        assert _loopback()["promiscuous"] is True
    assert _loopback()["promiscuous"] is before is False


def _loopback() -> dict[str, Any]:
    links: Any = netlink.dump("links")
    (found,) = [one for one in links if one["name"] == "lo"]
    return dict(found)
