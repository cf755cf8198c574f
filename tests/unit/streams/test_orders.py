"""Document 003's order of networks: claims that hold, that do not, and that nothing can be said of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bmwg.methodology.kinds.streams.orders import Measured, orders
from bmwg.methodology.kinds.streams.records import Exchange, StreamsSpec, Transport, Way
from bmwg.reports.kinds.streams import order_tables
from bmwg.reports.render.forms.rst import restructured

TCP = StreamsSpec(
    workload="iperf3",
    transport=Transport.TCP,
    exchange=Exchange.BULK,
    way=Way.FORWARD,
    parallel=1,
    message_octets=131_072,
    window_octets=0,
    load_bps=0,
    duration_s=1.0,
    omit_s=0,
)
UDP = replace(TCP, transport=Transport.UDP, exchange=Exchange.PING_PONG, message_octets=64)
MPI = replace(TCP, workload="mpi", exchange=Exchange.ALL_TO_ALL, pods=4)


def measured(network: str, mean: float, **changes: Any) -> Measured:
    told: dict[str, Any] = {"experiment": "tcp", "path": "p2p", "spec": TCP, **changes}
    values = [mean * (1 + number / 1000) for number in (-2, -1, 0, 1, 2)]
    return Measured(network=network, values=values, **told)


def signs(*found: Measured) -> dict[tuple[str, str], int | None]:
    return {
        (one.larger.network, one.smaller.network): one.gap.sign if one.gap else None for one in orders(found)
    }


def test_each_pair_of_the_order_is_held_by_itself():
    told = signs(
        measured("macvlan", 9e9), measured("ovs-vlan", 7e9), measured("sr-iov", 7e9), measured("ipvlan", 8e9)
    )
    assert told == {
        ("macvlan", "ovs-vlan"): 1,
        ("macvlan", "sr-iov"): 1,
        ("macvlan", "ipvlan"): 1,
        ("ovs-vlan", "sr-iov"): 0,
        ("ovs-vlan", "ipvlan"): -1,
        ("sr-iov", "ipvlan"): -1,
    }


def test_between_nodes_nothing_is_claimed_of_sriov():
    networks = ("macvlan", "sr-iov", "ipvlan", "ovs-vxlan", "flannel")
    falling = [measured(name, 9e9 - number * 1e9) for number, name in enumerate(networks)]
    told = signs(*(replace(one, path="p2p-cluster") for one in falling))
    assert told == {("ovs-vxlan", "flannel"): 1, ("macvlan", "ipvlan"): 1}


def test_networks_of_two_paths_or_loads_are_held_against_nothing():
    assert signs(measured("macvlan", 9e9), measured("ovs-vlan", 7e9, path="p2p-cluster")) == {}
    for path in ("bmp2vmp", "vmp2vmp", "c2c"):
        assert signs(measured("macvlan", 9e9, path=path), measured("ovs-vlan", 7e9, path=path)) == {}
    small = replace(TCP, message_octets=64)
    assert signs(measured("macvlan", 9e9), measured("ovs-vlan", 7e9, spec=small)) == {}
    assert signs(measured("bridge", 9e9), measured("ptp", 7e9)) == {}
    assert signs(measured("macvlan", 9e9, experiment="udp"), measured("ipvlan", 7e9, experiment="udp")) == {}


def test_the_order_of_latencies_is_of_udp():
    asked = {"experiment": "round_trip", "spec": replace(UDP, transport=Transport.TCP)}
    assert signs(measured("ovs-vlan", 4e4, **asked), measured("macvlan", 3e4, **asked)) == {}


@pytest.mark.parametrize(("octets", "count"), [(64, 6), (16_384, 6), (65_536, 3)])
def test_the_latency_of_sriov_is_claimed_up_to_16_kib(octets, count):
    asked = {"experiment": "round_trip", "spec": replace(UDP, message_octets=octets)}
    networks = ("sr-iov", "ovs-vlan", "ipvlan", "macvlan")
    told = signs(*(measured(name, 4e4 - number * 5e3, **asked) for number, name in enumerate(networks)))
    assert len(told) == count
    assert set(told.values()) == {1}
    assert any("sr-iov" in pair for pair in told) is (octets <= 16_384)


def test_tunnels_need_more_time_than_vlans_for_all_to_all():
    asked = {"experiment": "all_to_all", "spec": MPI, "path": "p2p-cluster"}
    told = signs(measured("ovs-vxlan", 16e6, **asked), measured("ovs-vlan", 15e6, **asked))
    assert told == {("ovs-vxlan", "ovs-vlan"): 1}


def test_too_few_executions_say_nothing():
    one = replace(measured("macvlan", 9e9), values=[9e9])
    assert signs(one, replace(measured("ovs-vlan", 7e9), values=[7e9])) == {("macvlan", "ovs-vlan"): None}
    assert signs(one, replace(measured("ovs-vlan", 7e9), values=[])) == {}
    assert signs(one, replace(measured("ovs-vlan", 7e9), values=[0.0])) == {}


def test_the_report_says_each_claim_with_its_ratio_and_unit():
    asked = {"experiment": "round_trip", "spec": UDP}
    found = [
        measured("macvlan", 9e9),
        measured("ovs-vlan", 7.5e9),
        measured("ovs-vlan", 20_000, **asked),
        measured("macvlan", 25_000, **asked),
    ]
    page = restructured(order_tables.lines(found)).replace("\\", "")
    for words in ("macvlan above ovs-vlan", "1.200", "+1500.0", "as in the document"):
        assert words in page
    for words in ("ovs-vlan above macvlan", "0.800", "the other way", "round trip over UDP"):
        assert words in page
    assert order_tables.lines([measured("bridge", 9e9)]) == []
