"""A session over a link-local address is a use of an interface; the address alone is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from bmwg.drivers.ports import port_uses, routing

LINK_LOCAL = "fe80::5054:ff:fe12:3456/64"
TCP6 = """  sl  local_address                         remote_address                        st
   0: {local}:0016 000080FE00000000FF00545012345678:C350 {state} 00000000:00000000 00:00000000 00000000
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(port_uses, "_SYS_NET", tmp_path)
    monkeypatch.setattr(port_uses, "_PROC_NET", tmp_path)
    monkeypatch.setattr(routing, "routes", lambda ipv6: [])
    (tmp_path / "eth1" / "device").mkdir(parents=True)
    return tmp_path


def uses() -> list[str]:
    return port_uses.uses_of({"name": "eth1", "addresses": [LINK_LOCAL], "controller": ""})


@pytest.mark.parametrize(("state", "found"), [("01", 1), ("0A", 0)])  # established, listening
def test_a_session_at_a_link_local_address_is_a_use(host: Path, state: str, found: int) -> None:
    assert uses() == []
    # as Linux on a machine of small-endian order writes it
    (host / "tcp6").write_text(TCP6.format(local="000080FE00000000FF005450563412FE", state=state))
    assert len(uses()) == found


def test_virtual_functions_and_what_stands_on_an_interface_are_uses(host: Path) -> None:
    (host / "eth1" / "device" / "sriov_numvfs").write_text("2\n")
    (host / "eth1" / "upper_eth1.100").mkdir()
    assert uses() == ["the interface eth1.100 on it", "2 virtual functions of it"]


@pytest.mark.parametrize(
    ("destination", "said"),
    [
        ("default", ["a default route of IPv4", "a default route of IPv6"]),
        ("2001:db8::/32", ["a route to 2001:db8::/32"] * 2),
        ("fe80::/64", []),
        ("ff00::/8", []),
    ],
)
def test_routes_but_those_of_link_local_addresses_are_uses(
    host: Path, monkeypatch: pytest.MonkeyPatch, destination: str, said: list[str]
) -> None:
    route = {"destination": destination, "via": "", "interface": "eth1"}
    monkeypatch.setattr(routing, "routes", lambda ipv6: [route, {**route, "interface": "eth2"}])
    assert uses() == said
