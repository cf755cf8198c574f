"""Functions in a kernel's forwarding, with packets: they count what the tester counts, and nothing stays."""

import time
from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in
from tests.contract.paths_support import PacketTester
from tests.contract.trials_support import lossless
from tests.needs import able, needs_cni

from bmwg.drivers.function import tables
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import path_driver
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.ports import connections
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.answers.data_plane_functions import disagreements, told_of
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import Cell, Direction, FrameFormat
from bmwg.methodology.trial.traffic import Traffic

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(tables.missing() is not None, reason="needs apt-get install nftables"),
    needs_cni,
]
RULES, LOOKUP, PORTS = "functions.firewall.rules", "functions.firewall.lookup", "functions.nat44.ports"


def cell(path, function, network="none", axes=(), **more):
    hosting = "baremetal" if path == "node" else "pod"
    return Cell(
        path=path,
        hosting=hosting,
        function=function,
        network=network,
        frame_octets=64,
        axes=tuple(sorted(dict(axes).items())),
        **more,
    )


LISTED = {RULES: 10, LOOKUP: "list"}
COUNTING = [  # each function on each path, by each network; NAT44 by ptp is shown by its frames, below
    cell("node", "firewall", axes=LISTED),
    cell("node", "firewall", axes={RULES: 1000, LOOKUP: "set"}, direction=Direction.BOTH),
    cell("node", "nat44", axes={PORTS: "50000-50999"}, flows=256),
    cell("pvp", "firewall", "bridge", axes={RULES: 1, LOOKUP: "set"}),
    cell("pvp", "firewall", "ptp", axes=LISTED, direction=Direction.BOTH),
    cell("pvp", "nat44", "bridge", flows=256),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def bed(folder):
    with bed_in(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def tester(bed, folder):
    with EmbeddedTraffic.for_testbed(bed.testbed, folder, 0.1) as opened:
        yield opened


def left(bed):
    node = bed.node("dut1")
    return node.call(tables.remove), node.call(connections.forget, addresses=["198.19.0.2"], port=7)


def counted(tester, plane, spec, within_s=60.0):
    """The first trial whose frames all left and came, with the counts: a lost one may meet no rule."""
    end_s = time.monotonic() + within_s
    while True:
        before = plane.read()
        result = tester.run(spec)
        result = replace(result, auxiliary=tuple(sorted(plane.used(before))))
        assert list(disagreements(result)) == []
        if lossless(result) or time.monotonic() > end_s:
            return result


@pytest.mark.quiet
@pytest.mark.parametrize("one", COUNTING, ids=lambda one: one.cell_id)
def test_a_functions_counts_are_those_of_the_tester(bed, tester, one):
    with able(path_driver(one, bed)).deploy() as deployment:
        function = deployment.evidence["function"]
        assert function["name"] == one.function
        assert function["sha256"]
        tester.attach(deployment.ports)
        spec = Traffic.of(one).spec(5_000, 0.3)
        tester.learn(spec)
        time.sleep(0.1)
        result = counted(tester, DataPlane(bed, one, deployment), spec)
        tester.detach()
    found = {told.way: told for told in told_of(result)}
    ways = ("forward", "reverse") if one.direction is Direction.BOTH else ("forward",)
    assert not result.lost_frames
    for way, stream in zip(ways, result.streams, strict=True):
        assert stream.foreign_frames == 0
        assert stream.received_frames == stream.sent_frames == 1500
        assert found[way].offered_frames == found[way].passed_frames == 1500
        assert found[way].refused_frames == found[way].evicted_sessions == 0
    assert sum(told.offered_frames for told in found.values()) == 1500 * len(ways)
    assert left(bed) == (False, 0)


@pytest.mark.parametrize(("path", "network"), [("node", "none"), ("pvp", "ptp"), ("pvp", "bridge")])
def test_a_translated_frame_has_another_source_and_a_port_of_the_range(bed, path, network):
    one = cell(path, "nat44", network, axes={PORTS: "50000-50009"})
    with able(path_driver(one, bed)).deploy() as deployment, PacketTester(deployment.ports) as packets:
        came = packets.carry(0, b"translate me")
        address = deployment.evidence["function"]["translates_to"]
    assert came is not None
    assert ".".join(map(str, came[26:30])) == address != "198.18.0.2"
    assert 50000 <= int.from_bytes(came[34:36], "big") <= 50009
    assert left(bed) == (False, 0)


def test_a_frame_that_no_rule_names_is_dropped_and_counted(bed):
    one = cell("node", "firewall", axes=LISTED)
    with able(path_driver(one, bed)).deploy() as deployment, PacketTester(deployment.ports) as packets:
        node = bed.node("dut1")
        assert packets.carry(0, b"let me through") is not None
        assert node.call(tables.counts)["passed_frames.forward"] == 1
        mine = packets.ports[0]
        head = packets.resolve(0) + bytes.fromhex(mine.mac.replace(":", ""))
        ping = bytes.fromhex("4500001c00000000400100000000000000000000") + b"\x08" + b"\0" * 7
        ping = ping[:12] + bytes([198, 18, 0, 2]) + bytes([198, 19, 0, 2]) + ping[20:]
        total = sum(int.from_bytes(ping[at : at + 2], "big") for at in range(0, 20, 2))
        total = (total & 0xFFFF) + (total >> 16)
        ping = ping[:10] + (~total & 0xFFFF).to_bytes(2, "big") + ping[12:]
        packets.sockets[0].send((head + b"\x08\x00" + ping).ljust(60, b"\0"))
        assert packets.receive(1, lambda frame: frame[23] == 1, 0.5) is None
        assert node.call(tables.counts)["dropped_frames"] == 1


@pytest.mark.slow
def test_a_hundred_thousand_rules_stand_and_let_a_frame_through(bed):
    one = cell("pvp", "firewall", "ptp", axes={RULES: 100_000, LOOKUP: "list"})
    with able(path_driver(one, bed)).deploy() as deployment, PacketTester(deployment.ports) as packets:
        assert packets.carry(0, b"past every rule") is not None
        (pod,) = bed.pods.values()
        assert pod.inside(tables.counts)["passed_frames.forward"] == 1
        assert len(deployment.evidence["function"]["rule_set"]) < 100
        records = record_of.take(bed, one, deployment, {"driver": "embedded", "cpus": [0]})
    assert records["dut1/pod0"]["fields"]["datapath"]["firewall"]["value"] == {"rules": 0}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (cell("node", "firewall", axes=LISTED, frame_format=FrameFormat.IPV6_UDP), "ipv6-udp frames"),
        (cell("node", "nat44", frame_format=FrameFormat.ETHERNET), "ethernet frames"),
        (cell("node", "nat44", direction=Direction.REVERSE), "direction reverse"),
        (cell("pvp", "nat44", "ptp", direction=Direction.BOTH), "direction both"),
        (cell("node", "nat44", destination_networks=256), "256 destination networks"),
        (cell("chain", "nat44", "ptp", axes={"chain": "a>b"}), "function nat44 on path chain"),
        (cell("pvp", "nat44", "ptp", axes={PORTS: "50000-50003"}, flows=5), "5 flows"),
        (cell("pvp", "firewall", "ovs-dpdk", axes=LISTED), "function firewall on network ovs-dpdk"),
        (cell("node", "testpmd"), "function testpmd on path node"),
    ],
)
def test_what_a_function_cannot_take_is_refused_by_name_before_anything_is_made(bed, one, said):
    driver = path_driver(one, bed)
    assert driver.probe().what.startswith(said)
    with pytest.raises(TestbedError) as caught, driver.deploy():
        pass
    assert caught.value.error_id == "PATH-02"
    assert left(bed) == (False, 0)


@pytest.mark.parametrize(
    ("one", "error_id"),
    [
        (cell("node", "firewall"), "FUNC-01"),
        (cell("node", "kernel-l3", axes={RULES: 10}), "PATH-04"),
        (cell("pvp", "nat44", "ptp", axes={"functions.nat44.ports": "1-2"}), "FUNC-01"),
    ],
)
def test_settings_that_cannot_be_are_refused(bed, one, error_id):
    with pytest.raises(ConfigError) as caught:
        path_driver(one, bed)
    assert caught.value.error_id == error_id


def test_a_rule_set_that_does_not_load_is_named_and_leaves_nothing(bed):
    node = bed.node("dut1")
    lines = [f"table ip {tables.TABLE} {{", " chain rules {", "  udp dport 7 permitted", " }", "}"]
    with pytest.raises(DriverError, match="permitted") as caught:
        node.call(tables.load, lines=lines)
    assert caught.value.error_id == "FUNC-02"
    assert node.call(tables.remove) is False


def test_a_function_that_does_not_load_fails_its_deployment_alone_and_leaves_nothing(bed):
    node = bed.node("dut1")
    before = node.call(datapath.observe)
    node.call(tables.load, lines=[f"table ip {tables.TABLE} {{", "}"])
    with (
        pytest.raises(DriverError) as caught,
        path_driver(cell("node", "firewall", axes=LISTED), bed).deploy(),
    ):
        pass
    assert caught.value.error_id == "FUNC-06"
    assert left(bed) == (False, 0)
    after = node.call(datapath.observe)
    assert (after["routes"], after["rules"]) == (before["routes"], before["rules"])
    assert bed.undo.pending == ()
    with path_driver(cell("node", "firewall", axes=LISTED), bed).deploy() as deployment:
        assert deployment.evidence["function"]["rules"] == 10
