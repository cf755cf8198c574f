"""A chain of pods over two nodes: frames pass both, it is told where, and nothing stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.contract.deploying import all_seen, bed_in, cell_on
from tests.contract.frame_lab import GENERATOR, RUNNER, UNDERLAY, Cable, frame_lab
from tests.contract.lab_support import needs_sshd
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.testbed.file import embedded_file, load_testbed, parse_testbed
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.root, needs_cni]


def cell(chain: str = "a>b", network: str = "bridge", function: str = "kernel-l3") -> Cell:
    return cell_on("chain-underlay", network, function, chain=chain)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """The embedded testbed with the tester's second port at the second node."""
    data = yaml.safe_load(embedded_file().read_text())
    data["links"][1] = {"a": "tester/p1", "b": "dut2/nic1"}
    data["tester"]["io"] = "af_xdp"
    testbed = parse_testbed(yaml.safe_dump(data), Path("two.yaml"))
    with bed_in(tmp_path_factory.mktemp("run"), testbed) as opened:
        yield opened


@pytest.mark.parametrize(("chain", "function"), [("a>b", "kernel-l3"), ("a>b>c", "testpmd")])
def test_frames_pass_pods_of_both_nodes_and_nothing_stays(bed: Bed, chain: str, function: str) -> None:
    wanted = cell(chain, function=function)
    driver = able(path_driver(wanted, bed))
    before = all_seen(bed)
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            for ipv6 in (False, True):
                came = tester.carry(source, f"from {source} v{ipv6}".encode(), ipv6=ipv6, frame_octets=96)
                assert came is not None, (source, ipv6)
                if function == "kernel-l3" and not ipv6:  # each pod is a router
                    assert came[22] == 64 - len(chain.split(">"))
        evidence = json.loads(json.dumps(deployment.evidence))
        places = [pod.node.name for pod in bed.pods.values()]
        records = record_of.take(bed, wanted, deployment, {"driver": "embedded", "cpus": [0]})
        plane = DataPlane(bed, wanted, deployment)
    assert places == (["dut1", "dut2"] if chain == "a>b" else ["dut1", "dut1", "dut2"])
    assert all_seen(bed) == before
    at = [hop["at"] for hop in evidence["hops"]]
    assert at[0] == "tester/p0"
    assert at[-1] == "tester/p1"
    assert at.index("dut1/under0") < at.index("dut2/under0")
    last = f"pod{len(places) - 1}"
    assert {"tester", "dut1", "dut2", "dut1/pod0", f"dut2/{last}"} <= records.keys()
    topology = records["tester"]["fields"]["topology"]
    assert topology["locality"]["value"] == "inter-node"
    assert topology["internode"]["value"] == "L2 underlay"
    assert {queue["at"] for queue in evidence["device_queues"]} == {
        *("dut1/nic0", "dut2/nic1"),
        *("dut1/under0", "dut2/under0"),
    }
    assert {f"pod{number}" for number in range(len(places))} <= set(plane.parts)
    assert evidence["network"].keys() == {"dut1", "dut2"}


TWO: tuple[Cable, ...] = (
    ((RUNNER, "eth1"), ("dut1", "eth3")),
    ((RUNNER, "eth2"), ("dut2", "eth4")),
    ((RUNNER, "eth5"), (RUNNER, "eth6")),
    UNDERLAY,
)
PROFILE = """
extends: quick
name: over-nodes
title: A chain over two hosts, indicative only
paths:
  - {path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}
suites:
  chains-over-nodes:
    paths:
      - path: chain-underlay
        hosting: pod
        function: kernel-l3
        networks: [bridge]
        frame_octets: [64]
        axes: {chain: ["a>b"]}
"""


@pytest.mark.slow
@pytest.mark.quiet
@needs_sshd
@pytest.mark.parametrize("tester", [RUNNER, GENERATOR])
def test_a_chain_over_two_hosts_is_measured_and_verified(tmp_path: Path, tester: str) -> None:
    with frame_lab(tmp_path / "lab", TWO, ("dut1", "dut2"), tester=tester) as lab:
        data = yaml.safe_load(lab.testbed.read_text())
        data["links"][1]["b"] = "dut2/eth4"
        lab.testbed.write_text(yaml.safe_dump(data, sort_keys=False))
        (lab.folder / "lab.yaml").write_text(PROFILE)
        before = lab.listed()
        done = lab.run("--test", "CN-TPUT-12.1", "--test", "CN-LAT-12.1", within_s=600)
        assert "report:" in done.stdout, done.stdout + done.stderr
        (journal,) = lab.results.glob("*/trials.jsonl")
        run = read_run(journal.parent)
        assert lab.listed() == before
        assert lab.files() == []
    found = [one for one in run.outcomes if one.cell.path == "chain-underlay"]
    assert found
    assert {one.type.value for one in found} <= {"measured", "tester_limited", "at_ceiling"}, done.stdout
    verified = verify_folder(journal.parent)
    assert not verified.findings, [str(one) for one in verified.findings]
    places = {place for one in run.platform["records"].values() for place in one}
    assert {"tester/host", "dut1/pod0", "dut2/pod1", "dut2/host"} <= places
    (told,) = [one["data_plane"] for one in run.platform["deployments"].values() if one["path"] != "wire"]
    assert "two machines" in told["not_counted"]["kernel"]
    assert {"pod0", "pod1"} <= set(told["parts"])


def test_what_is_no_chain_over_two_nodes_is_named(bed: Bed) -> None:
    assert "its uplink is routed" in str(path_driver(cell(network="ptp"), bed).probe())
    assert "the chain has one" in str(path_driver(cell(chain="a"), bed).probe())
    one_node = Bed(load_testbed(), bed.undo, bed.run_dir)
    one_node._nodes = bed._nodes
    assert "both tester ports are at one node" in str(path_driver(cell(), one_node).probe())
    with pytest.raises(ConfigError, match="PATH-01  a path of one node needs both tester ports there"):
        path_driver(replace(cell(), path="chain"), bed).probe()
