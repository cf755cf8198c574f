"""Every network option on every path: deployed, a real frame through it, removed without a trace, twice."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.contract.deploying import all_seen, cell_on
from tests.contract.paths_support import PacketTester, traces
from tests.needs import able, needs_cni, skip_for
from tests.waiting import eventually

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Missing, TesterPort
from bmwg.drivers.network import ovs_parts
from bmwg.drivers.network.ovs_dpdk import vswitch_owner
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger, cleanup
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell

pytestmark = [pytest.mark.root, needs_cni]
CHAINS = [
    cell_on("wire"),
    cell_on("node"),
    cell_on("pvp", "bridge"),
    cell_on("pvp", "ptp"),
    cell_on("pvp", "macvlan"),
    cell_on("pvp", "host-device"),
    cell_on("pvp", "ipvlan"),
    cell_on("pvp", "vlan"),
    cell_on("pvp", "bridge", "testpmd"),
    cell_on("pvp", "ptp", "testpmd"),
    cell_on("pvp", "ovs-dpdk", "testpmd"),
    cell_on("pvp", "ebpf-tc"),
    cell_on("pvp", "ebpf-tc", "testpmd"),
    cell_on("pvp", "af-xdp", "testpmd"),
    cell_on("chain", "bridge", chain="a>b>c"),
    cell_on("chain", "ptp", chain="a>b>c"),
    cell_on("chain", "bridge", "testpmd", chain="a>b"),
    cell_on("chain", "ebpf-tc", chain="a>b>c"),
    cell_on("chain", "ovs-dpdk", "testpmd", chain="a>b>c"),
    cell_on("p2p", "bridge"),
    cell_on("p2p", "ptp"),
    cell_on("p2p", "macvlan"),
    cell_on("p2p", "ebpf-tc"),
    cell_on("p2p-underlay", "bridge"),
    cell_on("p2p-vxlan", "bridge"),
]
ELSEWHERE = {  # what has a contract test of its own
    *("ovs-vlan", "ovs-vxlan", "ovs-gre", "ovs-geneve"),
    *("firewall", "nat44"),
    *("vswitch-only", "switch", "chain-underlay", "parallel", "client-server", "c2c"),
    *("pvp-vm", "pvp-vm-vhost-user"),
    *("bmp2vmp", "vmp2vmp", "bmp2vmp-remote", "vmp2vmp-remote", "bmp2vmp-vxlan", "vmp2vmp-vxlan"),
    *("p2p-cluster", "p2p-service", "p2p-nodeport", "p2p-loadbalancer", "pvp-service", "pvp-moving"),
}


def _without_a_line():
    """Yield cells of each network option, function and path that is named nowhere here: a new one."""
    named = ELSEWHERE | {part for cell in CHAINS for part in (cell.path, cell.function, cell.network)}
    for option in load_testbed().networks:
        if option.name not in named:  # whichever of both does not drive what it hands over is refused by name
            yield from (cell_on("pvp", option.name, function) for function in ("kernel-l3", "testpmd"))
    for name in registry.names(registry.FUNCTION):
        if name not in named:
            yield cell_on("pvp", "bridge", name)
    for name in registry.names(registry.PATH):
        if name not in named:
            kind = registry.paths()[name]
            network = "bridge" if kind.networked else "none"
            yield replace(cell_on(name, network), hosting=kind.hostings[0], function=kind.functions[0])


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


@pytest.fixture(scope="module", params=[*CHAINS, *_without_a_line()], ids=lambda cell: cell.cell_id)
def twice(request, bed):
    """Deploy a cell twice and keep what is seen; the tests of a cell look at that and deploy nothing."""
    driver = able(path_driver(request.param, bed))
    before = all_seen(bed)
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
    return Turn(deployment.ports, chatter, came, evidence, all_seen(bed))


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
    cell = cell_on("pvp", "af-xdp", "testpmd")
    with able(path_driver(cell, bed)).deploy() as deployment:
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
    cell = cell_on("pvp", network, function)
    able(path_driver(cell, bed))
    before = all_seen(bed)
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
        assert all_seen(bed) == before, f"after a failure of call {fail_at}"
        fail_at += 3
    assert fail_at > 14


def test_a_failing_plugin_in_the_middle_leaves_nothing(bed):
    spec = bed.testbed.network("bridge")
    chain = {**spec.conflist, "plugins": [*spec.conflist["plugins"], {"type": "tuning", "mac": "no mac"}]}
    broken = replace(spec, name="broken", conflist=chain)
    testbed = replace(bed.testbed, networks=(*bed.testbed.networks, broken))
    before = all_seen(bed)
    original, bed.testbed = bed.testbed, testbed
    try:
        missing = path_driver(cell_on("pvp", "broken"), bed).probe()
        assert missing is not None
        assert "plugin tuning failed" in missing.reason
        bed._missing[("broken", "dut1")] = None
        with pytest.raises(TestbedError) as caught, path_driver(cell_on("pvp", "broken"), bed).deploy():
            pass
        assert caught.value.error_id == "CNI-10"
    finally:
        bed.testbed = original
    assert all_seen(bed) == before


def test_each_function_of_a_chain_is_recorded_with_its_own_interfaces(bed):
    cell = cell_on("chain", "bridge", chain="a>b")
    with able(path_driver(cell, bed)).deploy() as deployment:
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


def test_a_pod_with_two_interfaces_comes_and_goes_again_and_again(bed):
    driver = able(path_driver(cell_on("pvp", "bridge"), bed))
    before = all_seen(bed)
    for _ in range(7):  # how long it takes is a benchmark's: benchmarks/deploy_pod.py
        with driver.deploy():
            assert all_seen(bed) != before
        assert all_seen(bed) == before


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
    skip_for(lack if isinstance(lack, Missing) else None)
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
    assert eventually(lambda: not any(space.exists() for space in spaces)), spaces
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
