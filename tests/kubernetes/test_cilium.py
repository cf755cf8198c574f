"""Cilium on a real cluster of two nodes: frames from pod to pod, on one node and on two."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.kubernetes.conftest import lacking

from bmwg.drivers.kubernetes import cilium
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import Cell, FrameFormat, TrialSpec

TESTBED = Path(__file__).parents[2] / "testbeds" / "kubernetes-cilium.yaml"
PATHS = pytest.mark.parametrize("path", ["p2p", "p2p-cluster"])


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    if reason := lacking():
        pytest.skip(reason)
    if found := cilium.missing():
        pytest.skip(f"needs {found['what']}: {found['reason']} ({found['mend']})")
    folder = tmp_path_factory.mktemp("run")
    testbed = load_testbed(TESTBED)
    pods = replace(testbed.pods, options={**testbed.pods.options, "ready_s": 150})
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(replace(testbed, pods=pods), ledger, folder) as opened:
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


def cell(path, **more):
    asked = {"frame_octets": 64, **more}
    return Cell(path=path, hosting="pod", function="none", network="cilium", **asked)


@PATHS
def test_ciliums_programs_carry_frames_between_pods(bed, path):
    driver = path_driver(cell(path), bed)
    assert driver.probe() is None
    before = _links(bed)
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            came = tester.carry(source, f"from {source} by Cilium".encode(), frame_octets=512)
            assert came is not None, f"from port {source}"
            assert came[22] < 64  # the time to live: it was routed
        told = deployment.evidence
        described = told["network"]["dut1"]
        assert described["agent"]["state"] == "Ok"
        assert described["agent"]["configuration"]["EnableTCX"] is True
        assert described["agent"]["configuration"]["RoutingMode"] == "native"
        assert described["programs"]["sha256"]["cilium-agent"]
        assert told["pod_runtime"]["cilium"]["agents"].keys() == {"node0", "node1"}
        assert told["known_to_network"]
    assert _links(bed) == before


@PATHS
def test_the_embedded_tester_sends_and_receives_through_cilium(bed, tmp_path, path):
    spec = TrialSpec(frame_octets=64, load_fps=2000, duration_s=0.5)
    with (
        path_driver(cell(path), bed).deploy() as deployment,
        EmbeddedTraffic.for_testbed(bed.testbed, tmp_path, 0.05) as tester,
    ):
        tester.attach(deployment.ports)
        tester.learn(spec)
        result = tester.run(spec)
        tester.detach()
    (counts,) = result.streams
    assert counts.sent_frames > 0
    assert counts.received_frames > counts.sent_frames // 2, result


@pytest.mark.parametrize(
    ("path", "function", "more", "words"),
    [
        ("p2p-cluster", "none", {"frame_octets": 2000}, "1500"),
        ("p2p", "none", {"frame_format": FrameFormat.IPV6_UDP}, "IPv4"),
        ("p2p-service", "none", {}, "does not route"),
        ("pvp", "kernel-l3", {}, "another source address"),
    ],
)
def test_what_cilium_does_not_carry_here_is_refused_by_name(bed, path, function, more, words):
    found = path_driver(replace(cell(path, **more), function=function), bed).probe()
    assert words in found.reason


def _links(bed):
    """Interfaces of both nodes, without those of the pods' own network, which come and go."""
    found = {
        (name, one["name"]) for name in ("dut1", "dut2") for one in bed.node(name).call(interfaces.listing)
    }
    return {one for one in found if not one[1].startswith("veth")}
