"""Every network option on every path: deployed, a real frame through it, removed without a trace, twice."""

import ipaddress
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.contract.paths_support import PacketTester, traces

from bmwg.drivers.api.protocols import Missing, TesterPort
from bmwg.drivers.network import datapath, ovs_parts
from bmwg.drivers.network.ovs_dpdk import vswitch_owner
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.addresses import BEHIND, consecutive
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.platform_record import netlink
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.port_kind import PortKind
from bmwg.drivers.undo.ledger import Ledger, cleanup
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Cell

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root (network namespaces)"),
    pytest.mark.skipif(
        not Path("/usr/lib/cni/bridge").exists(), reason="needs apt-get install containernetworking-plugins"
    ),
]


def _cell(path, network="none", function="kernel-l3", frame_octets=64, **axes):
    hosting = {"wire": "none", "node": "baremetal"}.get(path, "pod")
    function = "none" if path.startswith(("wire", "p2p")) else function
    return Cell(
        path=path,
        hosting=hosting,
        function=function,
        network=network,
        frame_octets=frame_octets,
        axes=tuple(axes.items()),
    )


CHAINS = [
    _cell("wire"),
    _cell("node"),
    _cell("pvp", "bridge"),
    _cell("pvp", "ptp"),
    _cell("pvp", "macvlan"),
    _cell("pvp", "host-device"),
    _cell("pvp", "ipvlan"),
    _cell("pvp", "vlan"),
    _cell("pvp", "bridge", "testpmd"),
    _cell("pvp", "ptp", "testpmd"),
    _cell("pvp", "ovs-dpdk", "testpmd"),
    _cell("pvp", "ebpf-tc"),
    _cell("pvp", "ebpf-tc", "testpmd"),
    _cell("pvp", "af-xdp", "testpmd"),
    _cell("chain", "bridge", chain="a>b>c"),
    _cell("chain", "ptp", chain="a>b>c"),
    _cell("chain", "bridge", "testpmd", chain="a>b"),
    _cell("chain", "ebpf-tc", chain="a>b>c"),
    _cell("chain", "ovs-dpdk", "testpmd", chain="a>b>c"),
    _cell("p2p", "bridge"),
    _cell("p2p", "ptp"),
    _cell("p2p", "macvlan"),
    _cell("p2p", "ebpf-tc"),
    _cell("p2p-underlay", "bridge"),
    _cell("p2p-vxlan", "bridge"),
]
LISTENED_S = 1.5


class Turn(NamedTuple):
    """What was seen of one deployment: while it stood, and once it was removed."""

    ports: tuple[TesterPort, ...]
    chatter: list[tuple[int, bytes]]  # frames that came by themselves
    came: dict[tuple[int, bool, int], bytes | None]  # by source, IP version 6 or not, and octets
    evidence: dict[str, Any]
    left: dict[str, Any]


class Twice(NamedTuple):
    cell: Cell
    before: dict[str, Any]
    turns: tuple[Turn, Turn]


def _seen(bed):
    """Return everything that a deployment may leave: on the machine and in every node."""
    nodes = {}
    for name in ("tester", "dut1", "dut2"):
        view = bed.node(name).call(datapath.observe)
        nodes[name] = {
            "interfaces": sorted(
                (item["name"], item["master"], tuple(item["addresses"])) for item in view["interfaces"]
            ),
            "routes": view["routes"],
            "rules": view["rules"],
            "taken": sorted(  # as a program in user space takes an interface
                (link["name"], link["promiscuous"], link["xdp"]["mode"], link["qdisc"])
                for link in bed.node(name).call(netlink.dump, what="links")
            ),
        }
    return {"machine": traces(bed.run_dir, bed.token), "nodes": nodes, "pending": bed.undo.pending}


def _driver(bed, cell):
    driver = path_driver(cell, bed)
    missing = driver.probe()
    if missing is not None:
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    return driver


@pytest.fixture(scope="module", params=CHAINS, ids=lambda cell: cell.cell_id)
def twice(request, bed):
    """Deploy a cell twice and keep what is seen; the tests of a cell look at that and deploy nothing."""
    driver = _driver(bed, request.param)
    before = _seen(bed)
    return Twice(request.param, before, (_turn(bed, driver, 0), _turn(bed, driver, 1)))


def _turn(bed, driver, turn):
    """Deploy, listen (the first time), send frames of two sizes and versions both ways, remove."""
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        chatter = [] if turn else tester.chatter(LISTENED_S)
        came = {
            (source, ipv6, frame_octets): tester.carry(
                source,
                f"turn {turn} from {source} v{ipv6}".encode(),
                ipv6=ipv6,
                frame_octets=frame_octets,
            )
            for source in (0, 1)
            for ipv6 in (False, True)
            for frame_octets in (96, 1468)
        }
        evidence = json.loads(json.dumps(deployment.evidence))
    return Turn(deployment.ports, chatter, came, evidence, _seen(bed))


def test_frames_go_through_both_ways_and_nothing_stays(twice):
    for turn in twice.turns:
        assert [about for about, frame in turn.came.items() if frame is None] == []
        for (source, _, frame_octets), frame in turn.came.items():
            assert len(frame) == frame_octets - 4
            assert frame[:6] == bytes.fromhex(turn.ports[1 - source].mac.replace(":", ""))
        if rights := turn.evidence.get("pod", {}).get("rights"):  # by crun
            assert all(one["asked"] and one["granted"] for one in rights["capabilities"].values())
            assert bool(rights["capabilities"]) == (twice.cell.function == "testpmd")
        assert turn.left == twice.before


def test_a_pod_with_af_xdp_sockets_is_recorded_as_one(bed):
    cell = _cell("pvp", "af-xdp", "testpmd")
    with _driver(bed, cell).deploy() as deployment:
        records = record_of.take(bed, cell, deployment, {"driver": "embedded", "cpus": [0]})
    told = records["dut1"]["fields"]["workload"]["pod0"]["af_xdp"]["value"]
    assert told == {"used_by": "testpmd", "busy_polling": False, "cpus": list(bed.testbed.pods.cpus)}
    assert records["dut1/pod0"]["fields"]["nic"]["net0"]["xdp"]["value"]["mode"] == "native"
    assert "/usr/lib/cni/host-device" in records["dut1"]["fields"]["cni"]["plugins"]["value"]


def _leaves_snoopers(frame):
    """Whether a bridge leaves the group of all snoopers (RFC 4286), as one that is silenced does once.

    It does so within milliseconds; a CPU that was away sends it late.
    """
    to, reports = frame[:6].hex(), frame[38:]  # behind the headers of Ethernet and IPv4, and within IPv6's
    if to == "01005e000016":  # IGMPv3
        return bytes((224, 0, 0, 106)) in reports
    return to == "333300000016" and bytes.fromhex("ff02" + "00" * 13 + "6a") in reports  # MLDv2


def test_nothing_speaks_by_itself(twice):
    frames = twice.turns[0].chatter
    assert [(number, frame[:60].hex()) for number, frame in frames if not _leaves_snoopers(frame)] == []


def test_evidence_names_the_datapath(twice):
    cell, evidence = twice.cell, twice.turns[0].evidence
    assert evidence["path"] == cell.path
    assert evidence["hops"]
    assert evidence["forwarding"]
    if cell.hosting == "pod":
        text = json.dumps(evidence)
        assert "sha256" in text
        assert "supported_versions" in text
    queues = [queue for queue in evidence["device_queues"] if queue["device_queue"] == "threaded"]
    for queue in queues:
        assert queue["threads"], queue
        assert all(thread["cpus"] == [queue["cpu"]] for thread in queue["threads"])
    if cell.path in {"node", "pvp", "chain"}:
        assert len(queues) == 2


class _BrokenError(Exception):
    pass


@pytest.mark.parametrize(
    ("network", "function"),
    [
        ("bridge", "kernel-l3"),
        ("ptp", "kernel-l3"),
        ("macvlan", "kernel-l3"),
        ("host-device", "kernel-l3"),
        ("ebpf-tc", "kernel-l3"),
        ("ovs-dpdk", "testpmd"),
    ],
)
def test_a_failure_at_any_step_leaves_nothing(bed, monkeypatch, network, function):
    """Let the n-th call on the node fail, for growing n, until a deployment gets through."""
    cell = _cell("pvp", network, function)
    _driver(bed, cell)
    before = _seen(bed)
    node = bed.node("dut1")
    real = node.call_named
    fail_at, through = 2, False
    while not through:
        count = 0

        def flaky(function, arguments, **more):
            nonlocal count
            count += 1
            if count == fail_at:  # noqa: B023 - read at the time of the call
                raise _BrokenError(function)
            return real(function, arguments, **more)

        monkeypatch.setattr(node, "call_named", flaky)
        try:
            with path_driver(cell, bed).deploy():
                through = True
                monkeypatch.setattr(node, "call_named", real)
        except _BrokenError:
            pass
        monkeypatch.setattr(node, "call_named", real)
        assert _seen(bed) == before, f"after a failure of call {fail_at}"
        fail_at += 3
    assert fail_at > 14


def test_a_failing_plugin_in_the_middle_leaves_nothing(bed):
    spec = bed.testbed.network("bridge")
    chain = {**spec.conflist, "plugins": [*spec.conflist["plugins"], {"type": "tuning", "mac": "no mac"}]}
    broken = replace(spec, name="broken", conflist=chain)
    testbed = replace(bed.testbed, networks=(*bed.testbed.networks, broken))
    before = _seen(bed)
    original, bed.testbed = bed.testbed, testbed
    try:
        missing = path_driver(_cell("pvp", "broken"), bed).probe()
        assert missing is not None
        assert "plugin tuning failed" in missing.reason
        bed._missing[("broken", "dut1")] = None
        with pytest.raises(TestbedError) as caught, path_driver(_cell("pvp", "broken"), bed).deploy():
            pass
        assert caught.value.error_id == "CNI-10"
    finally:
        bed.testbed = original
    assert _seen(bed) == before


def test_a_plugin_that_is_absent_is_missing_and_no_exception(bed):
    spec = replace(bed.testbed.network("bridge"), name="absent", plugin_dir="/nonexistent")
    original, bed.testbed = bed.testbed, replace(bed.testbed, networks=(*bed.testbed.networks, spec))
    try:
        missing = path_driver(_cell("pvp", "absent"), bed).probe()
    finally:
        bed.testbed = original
    assert missing.what == "CNI plugin bridge"
    assert "/nonexistent" in missing.reason
    assert missing.mend


def test_a_kernel_without_the_kind_is_missing_with_reason_and_mend(bed):
    for path, network, kind in (("p2p", "ipvlan", "ipvlan"), ("pvp", "vlan", "8021q")):
        missing = path_driver(_cell(path, network), bed).probe()
        if missing is not None:
            assert "the kernel refused a scratch" in missing.reason
            assert kind in missing.mend


@pytest.mark.parametrize("used", ["xdp", "af_xdp"])
def test_pods_whose_interfaces_run_no_program_are_missing_for_ports_inside_the_kernel(bed, monkeypatch, used):
    monkeypatch.setitem(vars(bed), "port_kind", PortKind(asked=used, used=used))
    assert path_driver(_cell("p2p", "bridge"), bed).probe() is None
    missing = path_driver(_cell("p2p", "macvlan"), bed).probe()
    assert (missing is None) is (used == "af_xdp")
    if missing is not None:
        assert "io: af_xdp" in missing.mend


def test_what_a_network_hands_over_and_nobody_drives_is_refused_by_name(bed):
    for cell, said in (
        (_cell("pvp", "ovs-dpdk"), "function kernel-l3 on network ovs-dpdk"),
        (_cell("pvp", "af-xdp"), "function kernel-l3 on network af-xdp"),
        (_cell("p2p", "ovs-dpdk"), "an end of a path in a pod on network ovs-dpdk"),
    ):
        assert path_driver(cell, bed).probe().what == said


def test_an_option_that_stands_on_the_nic_joins_no_two_pods_and_is_refused_by_name(bed):
    for network, function in (("macvlan", "kernel-l3"), ("af-xdp", "testpmd")):
        missing = path_driver(_cell("chain", network, function, chain="a>b"), bed).probe()
        assert missing.what == f"a chain of 2 on network {network}"


def test_a_chain_that_loops_is_refused_before_anything_is_made(bed):
    before = _seen(bed)
    with pytest.raises(ConfigError) as caught:
        path_driver(_cell("chain", "bridge", chain="a>b>a"), bed)
    assert caught.value.error_id == "PATH-04"
    assert "'a' comes twice" in caught.value.found
    assert _seen(bed) == before


def test_each_function_of_a_chain_is_recorded_with_its_own_interfaces(bed):
    cell = _cell("chain", "bridge", chain="a>b")
    with _driver(bed, cell).deploy() as deployment:
        records = record_of.take(bed, cell, deployment, {"driver": "embedded", "cpus": [0]})
        members = deployment.evidence["chain"]["members"]
    assert [one["name"] for one in members] == ["a", "b"]
    assert deployment.evidence["chain"]["activation_s"] > 0
    workloads = records["dut1"]["fields"]["workload"]
    assert {"pod0", "pod1"} <= workloads.keys()
    assert set(workloads["pod1"]["virtual_interfaces"]["value"]) == {"net0", "net1"}
    assert set(records["dut1"]["fields"]["cni"]["configurations"]["value"]) == {
        "a/net0",
        "a/net1",
        "b/net0",
        "b/net1",
    }
    assert records["tester"]["fields"]["topology"]["chain"]["value"] == ["kernel-l3", "kernel-l3"]


def test_a_forwarding_pod_on_ipvlan_is_refused_whatever_the_kernel_has(bed):
    missing = path_driver(_cell("pvp", "ipvlan"), bed).probe()
    assert "the kernel refused a scratch" in missing.reason or "addressed to one of its own" in missing.reason


def test_frames_that_do_not_fit_are_refused_by_name_before_anything_is_built(bed):
    driver = path_driver(_cell("p2p-vxlan", "bridge", frame_octets=1518), bed)
    assert "1468 octets" in driver.probe().reason
    with pytest.raises(TestbedError) as caught, driver.deploy():
        pass
    assert caught.value.error_id == "PATH-02"


def test_over_two_nodes_only_a_bridging_option_is_taken(bed):
    assert "uplink is routed" in path_driver(_cell("p2p-underlay", "ptp"), bed).probe().reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hosting": "vm"}, "hosting 'vm'"),
        ({"function": "vpp"}, "function 'vpp'"),
        ({"network": "none"}, "networks 'none'"),
    ],
)
def test_cells_that_cannot_be_are_refused(bed, change, said):
    with pytest.raises(ConfigError) as caught:
        path_driver(replace(_cell("pvp", "bridge"), **change), bed)
    assert caught.value.error_id == "PATH-04"
    assert said in caught.value.found


def test_an_unknown_path_is_named_with_a_near_one(bed):
    with pytest.raises(ConfigError, match="did you mean 'pvp'") as caught:
        path_driver(_cell("pvpp", "bridge"), bed)
    assert caught.value.error_id == "DRIVER-01"


def test_an_unknown_network_is_named_with_a_near_one(bed):
    with pytest.raises(ConfigError, match="did you mean 'bridge'"):
        path_driver(_cell("pvp", "brigde"), bed)


def test_a_pod_with_two_interfaces_comes_and_goes_again_and_again(bed):
    driver = _driver(bed, _cell("pvp", "bridge"))
    before = _seen(bed)
    for _ in range(7):  # how long it takes is a benchmark's: benchmarks/deploy_pod.py
        with driver.deploy():
            assert _seen(bed) != before
        assert _seen(bed) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from bmwg.drivers.undo.ledger import Ledger, cleanup
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.records import Cell
run_dir = Path(sys.argv[1])
with open_bed(load_testbed(), Ledger(run_dir / "ledger.jsonl", index_dir=run_dir / "index"), run_dir) as bed:
    cell = Cell(path="pvp", hosting="pod", function=sys.argv[3], network=sys.argv[2], frame_octets=64)
    with path_driver(cell, bed).deploy():
        print(bed.token, bed.node("dut1").pid, bed.tester.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("network", "function"),
    [
        ("bridge", "kernel-l3"),
        ("ptp", "kernel-l3"),
        ("macvlan", "kernel-l3"),
        ("host-device", "kernel-l3"),
        ("ebpf-tc", "kernel-l3"),
        ("af-xdp", "testpmd"),
        ("ovs-dpdk", "testpmd"),
    ],
)
def test_a_killed_run_is_cleaned_up_from_its_ledger(tmp_path, network, function):
    lack = ovs_parts.find() if network == "ovs-dpdk" else None
    if isinstance(lack, Missing):
        pytest.skip(f"{lack.what}: {lack.reason}; {lack.mend}")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), network, function],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    token, *agents = done.stdout.split()
    spaces = [Path(f"/proc/{pid}/ns/net") for pid in agents]
    assert cleanup(tmp_path, index_dir=tmp_path / "index") == []
    assert Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index").pending == ()
    deadline_s = time.monotonic() + 5
    while any(space.exists() for space in spaces) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert [space for space in spaces if space.exists()] == []
    left = traces(tmp_path, token)
    # interfaces by macvlan went with their node: what CNI noted of them is all that stays
    files = [name for name in left["files"] if network != "macvlan" or Path(name).parent.name != "cni"]
    assert (left["cgroups"], left["mounts"], files) == ([], [], [])
    running = [path.parent.name for path in Path("/proc").glob("[0-9]*/cgroup") if token in _text(path)]
    assert running == []
    assert process.owned_pids(vswitch_owner(tmp_path)) == []


def _text(path):
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def wide_bed(tmp_path_factory):
    """A bed whose paths lead to 256 networks behind each port."""
    run_dir = tmp_path_factory.mktemp("wide")
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=run_dir / "index")
    testbed = load_testbed()
    testbed = replace(testbed, tester=replace(testbed.tester, io="af_xdp"))
    with open_bed(testbed, ledger, run_dir, destination_networks=256) as opened:
        yield opened
    assert ledger.pending == ()


@pytest.mark.parametrize(
    ("cell", "places"),
    [
        (_cell("node"), {"dut1": 2}),
        (_cell("pvp", "bridge"), {"pod": 2}),
        (_cell("pvp", "ptp"), {"dut1": 4, "pod": 2}),
        (_cell("pvp", "macvlan"), {"pod": 2}),
    ],
    ids=lambda value: value.cell_id if isinstance(value, Cell) else "",
)
def test_every_router_of_a_path_has_a_route_for_each_network_and_none_stays(wide_bed, cell, places):
    bed = wide_bed
    driver = _driver(bed, replace(cell, destination_networks=256))
    before = _seen(bed)
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        evidence = deployment.evidence["destination_networks"]
        for place, ways in places.items():
            mine = [one for one in evidence if one["at"] == place]
            assert len(mine) == 2 * ways  # of both IP versions
            assert all(one["standing"] == 256 for one in mine)
        assert {one["at"] for one in evidence} == set(places)
        for source in (0, 1):
            for version, ipv6 in ((0, False), (1, True)):
                networks = consecutive(BEHIND[1 - source][version], 256)
                for network in (networks[0], networks[100], networks[255]):
                    address = str(ipaddress.ip_network(network)[2])
                    marker = f"from {source} to {address}".encode()
                    came = tester.carry(source, marker, ipv6=ipv6, frame_octets=128, to=address)
                    assert came is not None, f"{marker!r} did not come through"
    assert _seen(bed) == before


@pytest.mark.parametrize(
    "cell",
    [_cell("pvp", "bridge", "testpmd"), _cell("p2p", "bridge"), _cell("p2p-underlay", "bridge")],
    ids=lambda cell: cell.cell_id,
)
def test_paths_that_look_at_no_address_are_not_assessed_for_many_networks(wide_bed, cell):
    found = path_driver(replace(cell, destination_networks=256), wide_bed).probe()
    assert "256 destination networks" in found.what
    one = path_driver(cell, wide_bed).probe()
    assert one is None or "networks" not in one.what
