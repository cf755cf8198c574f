"""Network options on a real cluster of two nodes: flannel by VXLAN and by routes, programs at the tc hook."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.contract.streams_support import offered, spec
from tests.kubernetes.conftest import lacking

from bmwg.drivers import registry
from bmwg.drivers.kubernetes import flannel
from bmwg.drivers.network import ebpf_build
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Way
from bmwg.methodology.records import Cell, TrialSpec, Validity

TESTBED = Path(__file__).parents[2] / "testbeds" / "kubernetes.yaml"
once = pytest.mark.parametrize("bed", [flannel.BACKENDS[0]], indirect=True)  # flannel's backend plays no part


def flannel_is_built():
    if found := flannel.missing():
        pytest.skip(f"needs {found['what']}: {found['reason']} ({found['mend']})")


@pytest.fixture(scope="module", params=flannel.BACKENDS)
def bed(request, tmp_path_factory):
    if reason := lacking():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("run")
    testbed = load_testbed(TESTBED)
    networks = tuple(
        replace(one, options={**one.options, "backend": request.param}) if one.driver == "flannel" else one
        for one in testbed.networks
    )
    pods = replace(testbed.pods, options={**testbed.pods.options, "ready_s": 300})
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(replace(testbed, networks=networks, pods=pods), ledger, folder) as opened:
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


def cell(path, network, function="none", **more):
    return Cell(path=path, hosting="pod", function=function, network=network, frame_octets=64, **more)


def test_pods_of_two_nodes_reach_each_other_by_what_flanneld_made(bed):
    flannel_is_built()
    (network,) = [bed.network(one.name) for one in bed.testbed.networks if one.driver == "flannel"]
    driver = path_driver(cell("p2p-cluster", "flannel"), bed)
    assert driver.probe() is None
    before = {name: _links(bed, name) for name in ("dut1", "dut2")}
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            came = tester.carry(source, f"from {source} by flannel".encode(), frame_octets=512)
            assert came is not None, f"from port {source}"
        told = deployment.evidence
        routes = [one for node in told["routes"].values() for one in node]
        assert len(routes) == 2
        tunnelled = network.backend == "vxlan"
        assert {one["interface"] for one in routes} == {flannel.TUNNEL if tunnelled else "under0"}
        described = told["network"]["dut1"]
        assert described["backend"] == network.backend
        assert described["mtu_octets"] == (1450 if tunnelled else 1500)
        assert described["programs"]["sha256"]["flanneld"]
        assert told["endpoints"][0]["attachment"]["result"]
        assert told["pod_runtime"]["flannel"]["backend"] == network.backend
    assert {name: _links(bed, name) for name in ("dut1", "dut2")} == before


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3: sh setup/install.sh workloads")
def test_programs_of_the_node_stream_between_pods_whose_image_has_none(bed):
    flannel_is_built()
    (network,) = [bed.network(one.name) for one in bed.testbed.networks if one.driver == "flannel"]
    asked = profile.cell_of("p2p-cluster", "flannel", "tcp", spec())
    driver = registry.load(registry.PATH, "p2p-cluster")(asked, bed)
    assert driver.probe_pods() is None
    made = Iperf3([bed.node("dut1"), bed.node("dut2")])
    with driver.between_pods() as between:
        for way in (Way.FORWARD, Way.REVERSE):
            told = spec(way=way)
            found = offered(made, between, told)
            assert found.faults == ()
            assert STREAMS.assessed(told, found).validity is Validity.VALID, found
            assert {"dut1/under0", "dut2/under0"} <= {one.at for one in found.crossings}
        held = made.asked(between.ends[0], ["sh", "-c", "cat /proc/self/cgroup; hostname"], 5.0)
        assert "kubepods" in held["output"], "a program has the limits of the pod's container"
        assert held["output"].split()[-1] == between.ends[0].pod.pod_id
    tunnelled = network.backend == "vxlan"
    assert found.effective["maximum_segment_octets"] == (1398 if tunnelled else 1448)


def test_a_frame_that_does_not_fit_the_tunnel_is_refused_by_name(bed):
    flannel_is_built()
    (network,) = [bed.network(one.name) for one in bed.testbed.networks if one.driver == "flannel"]
    found = path_driver(replace(cell("p2p-cluster", "flannel"), frame_octets=1518), bed).probe()
    assert (found is None) == (network.backend == "host-gw")
    if found is not None:
        assert "1450" in found.reason


@once
@pytest.mark.parametrize("path", ["p2p", "p2p-underlay", "p2p-vxlan"])
def test_flannel_is_refused_by_name_on_other_paths(bed, path):
    assert path_driver(cell(path, "flannel"), bed).probe() is not None


@once
def test_bridge_is_refused_by_name_where_the_network_must_join_nodes(bed):
    assert "makes nothing between nodes" in path_driver(cell("p2p-cluster", "bridge"), bed).probe().reason


@once
def test_programs_at_the_tc_hook_carry_frames_to_a_pod_of_kubernetes(bed):
    if missing := ebpf_build.missing():
        pytest.skip(f"needs {missing.what}: {missing.reason}")
    driver = path_driver(cell("pvp", "ebpf-tc", "kernel-l3"), bed)
    assert driver.probe() is None
    before = _links(bed, "dut1")
    for _ in range(2):
        with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
            for source in (0, 1):
                for ipv6 in (False, True):
                    came = tester.carry(source, f"tc from {source} {ipv6}".encode(), ipv6=ipv6)
                    assert came is not None, f"from port {source}, IPv6 {ipv6}"
            for side, told in enumerate(deployment.evidence["attachments"]):
                ends = {told["mapping"]["nic"], told["mapping"]["host_interface"]}
                members = told["programs"]["members"]
                assert ends == {one["interface"] for one in members} == {one["target"] for one in members}
                assert f"nic{side}" in ends
                assert all(one["program_tag"] for one in members)
            runs_on = deployment.evidence["pod"]["threads"]
            assert all(one["cpus"] == [1] for one in runs_on)
        assert _links(bed, "dut1") == before


@once
def test_a_service_leads_from_the_clusters_address_to_the_pod(bed):
    driver = path_driver(cell("p2p-service", "ptp"), bed)
    assert driver.probe() is None
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        told = deployment.evidence["service"]
        assert told["translated"] is True
        assert told["kube_proxy"] == {"mode": "nftables", "by": "kube-proxy"}
        assert deployment.ports[1].ipv4 == f"{told['cluster_ip']}/32"
        came = tester.carry(0, b"to the service", frame_octets=256)
        assert came is not None
        assert came[30:34] == bytes((198, 19, 128, 2))  # the destination, no longer the cluster's address
        assert came[26:30] == bytes((198, 18, 128, 2))  # the source stays
    assert bed.runtime.api.get(f"/api/v1/namespaces/{bed.runtime.namespace}/services")["items"] == []


@once
def test_a_node_port_leads_from_the_nodes_address_to_the_pod(bed):
    driver = path_driver(cell("p2p-nodeport", "ptp"), bed)
    assert driver.probe() is None
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        told = deployment.evidence["service"]
        assert (told["kind"], told["front"], told["port"]) == ("NodePort", "198.18.224.1", 7)
        assert told["kube_proxy"] == {"mode": "nftables", "by": "kube-proxy"}
        assert deployment.ports[1].ipv4 == "198.18.224.1/32"
        came = tester.carry(0, b"to the node's port", frame_octets=256)
        assert came is not None
        assert came[30:34] == bytes((198, 19, 128, 2))
        assert told["external_traffic_policy"] == "Local"
        assert came[26:30] == bytes((198, 18, 128, 2))  # by that policy the source stays
    assert bed.runtime.api.get(f"/api/v1/namespaces/{bed.runtime.namespace}/services")["items"] == []


@once
def test_a_load_balancer_is_refused_by_name_where_no_implementation_answers(bed):
    missing = path_driver(cell("p2p-loadbalancer", "ptp"), bed).probe()
    assert missing.what == "a Service of type LoadBalancer"
    assert "no implementation in the cluster gave it an address" in missing.reason
    assert bed.runtime.api.get(f"/api/v1/namespaces/{bed.runtime.namespace}/services")["items"] == []


@once
def test_frames_go_to_the_address_that_an_implementation_gives_a_load_balancer(bed, monkeypatch):
    """The test is the implementation: it writes the Service's status, as one of a vendor does."""
    api, services = bed.runtime.api, f"/api/v1/namespaces/{bed.runtime.namespace}/services"
    ended = threading.Event()

    def implementation() -> None:
        while not ended.wait(0.1):
            for one in (api.get(services) or {}).get("items", []):
                if one["spec"]["type"] == "LoadBalancer" and not one["status"].get("loadBalancer"):
                    given = {"loadBalancer": {"ingress": [{"ip": "198.18.225.7"}]}}
                    api.merge(f"{services}/{one['metadata']['name']}/status", {"status": given})

    thread = threading.Thread(target=implementation)
    thread.start()
    try:
        monkeypatch.setattr(type(bed.runtime), "unbalanced", lambda self: None)
        driver = path_driver(cell("p2p-loadbalancer", "ptp"), bed)
        with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
            assert deployment.evidence["service"]["front"] == "198.18.225.7"
            came = tester.carry(0, b"to the balancer", frame_octets=256)
            assert came is not None
            assert came[30:34] == bytes((198, 19, 128, 2))
    finally:
        ended.set()
        thread.join(10.0)


@once
def test_a_service_is_refused_by_name_where_the_node_does_not_route(bed):
    assert "does not route" in path_driver(cell("p2p-service", "bridge"), bed).probe().reason


@once
@pytest.mark.parametrize(
    ("path", "network"), [("p2p-cluster", "flannel"), ("p2p-service", "ptp"), ("p2p-nodeport", "ptp")]
)
def test_the_embedded_tester_sends_and_receives_on_paths_of_a_cluster(bed, tmp_path, path, network):
    if network == "flannel":
        flannel_is_built()
    asked = cell(path, network)
    spec = TrialSpec(frame_octets=64, load_fps=2000, duration_s=0.5)
    with (
        path_driver(asked, bed).deploy() as deployment,
        EmbeddedTraffic.for_testbed(bed.testbed, tmp_path, 0.05) as tester,
    ):
        tester.attach(deployment.ports)
        tester.learn(spec)
        result = tester.run(spec)
        tester.detach()
    assert result.sent_frames > 0
    assert result.received_frames > result.sent_frames // 2, result


def _links(bed, name):
    """Interfaces of a node, without those that the cluster's own network gives and takes at its own time."""
    found = {one["name"] for one in bed.node(name).call(interfaces.listing)}
    return {one for one in found if not one.startswith("veth")}
