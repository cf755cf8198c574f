"""A pod that moves: its Deployment, its relay, and what its frames say of an outage."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import manifest, moving, nodes
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.methodology.errors import DriverError, TestbedError

MS = 1_000_000
SPEC = PodSpec(pod_id="bmwg-1", cpus="1", memory_octets=256 << 20, endpoint=True, root=False, least=True)


def test_the_deployment_says_where_its_pod_may_be_and_has_no_quota() -> None:
    body = manifest.pod(SPEC, namespace="run", owner="a", image="i", networks=())
    made = moving.deployment(body, name="bmwg-1", places=["dut1", "dut2"])
    assert made["spec"]["replicas"] == 1
    template = made["spec"]["template"]
    assert template["metadata"]["labels"].items() >= made["spec"]["selector"]["matchLabels"].items()
    affinity = template["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["dut1", "dut2"]
    (rather,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert rather["preference"]["matchExpressions"][0]["values"] == ["dut1"]
    resources = template["spec"]["containers"][0]["resources"]
    assert "cpu" in resources["requests"]
    assert "cpu" not in resources["limits"]


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_the_relay_sends_on_what_comes_and_ends_when_told_to() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as beyond, socket.socket(type=socket.SOCK_DGRAM) as free:
        beyond.bind(("127.0.0.1", 0))
        beyond.settimeout(0.2)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        process = subprocess.Popen(moving.relay(port, "127.0.0.1", beyond.getsockname()[1]))
        try:
            with socket.socket(type=socket.SOCK_DGRAM) as tester:
                end_s = time.monotonic() + 10.0
                came = b""
                while not came and time.monotonic() < end_s:
                    tester.sendto(b"\0mark\xff", ("127.0.0.1", port))
                    try:
                        came = beyond.recv(64)
                    except TimeoutError:
                        continue
            assert came == b"\0mark\xff"
        finally:
            process.terminate()
        assert process.wait(5.0) == 0


@pytest.mark.parametrize(
    ("options", "own", "found"),
    [
        ({"nodes": ["dut1", "dut2"]}, True, None),
        ({"nodes": ["dut1"]}, True, "the cluster has one node"),
        ({}, True, "the cluster has one node"),
        ({"kubeconfig": "k"}, False, "cordons no node of a cluster that is not its own"),
    ],
)
def test_a_cluster_on_which_no_pod_can_move_is_named(options, own, found) -> None:
    missing = moving.missing(options, owns_cluster=own)
    assert missing is None if found is None else found in missing.reason


class Forbidding:
    """An API that refuses an eviction, with the words of a real one or others."""

    def __init__(self, message: str) -> None:
        self.message = message

    def create(self, path, body, *, within_s):
        assert path.endswith("/pods/one/eviction")
        assert body["apiVersion"] == "policy/v1"
        raise DriverError("KUBE-21", f"POST {path}", expected="an answer", found=self.message)

    def get(self, path, **_):
        budget = {"metadata": {"name": "all"}, "status": {"disruptionsAllowed": 0}}
        return {"items": [budget]} if path.endswith("poddisruptionbudgets") else None


def test_a_budget_that_forbids_an_eviction_is_told_apart_from_a_server_that_is_busy() -> None:
    forbids = Forbidding("429: Cannot evict pod as it would violate the pod's disruption budget.")
    with pytest.raises(TestbedError, match="KUBE-44") as caught:
        nodes.evict(forbids, "run", "one", grace_s=2, within_s=1.0)
    assert "all allows 0" in caught.value.hint
    with pytest.raises(DriverError, match="KUBE-21"):
        nodes.evict(Forbidding("429: too many requests"), "run", "one", grace_s=2, within_s=1.0)


def frames() -> MovingFrames:
    """Frames of which one is offered each millisecond: 10 come by one way, 30 are lost, 10 by the other."""
    port = TesterPort(
        name="p", io="af_packet", device="p", netns="", mac="02:00:00:00:00:01", ipv4="", ipv6=""
    )
    made = MovingFrames((port, port), frame_octets=64, interval_us=1000, ways=(1, 2))
    for number in range(50):
        made._sent[number] = number * MS
    made._number = 50
    for number in range(10):
        made._count(number, number * MS + 1000, told=63)
    for number in range(40, 50):
        made._count(number, number * MS + 1000, told=62)
    made._count(25, 26 * MS, told=61)  # round all pods
    return made


def test_the_way_of_each_frame_says_which_pod_relayed_it() -> None:
    made = frames()
    assert made.first_by(2, 0) == (40 * MS + 1000, 39 * MS)
    assert made.first_by(2, 45 * MS) == (45 * MS + 1000, 44 * MS)
    assert made.last_by(1, 0) == 9 * MS + 1000
    assert made.first_by(1, 20 * MS) is None
    assert made.oddities == (0, 1)


def test_an_outage_is_from_the_first_lost_frame_until_one_came_after_the_last() -> None:
    until_ns, out = frames().outage(5 * MS, 150 * MS)
    assert until_ns == 50 * MS
    assert (out.offered, out.received) == (45, 15)
    assert (out.before_ns, out.stopped_ns, out.again_ns) == (9 * MS, 10 * MS, 40 * MS + 1000)
    _, unseen = frames().outage(5 * MS, 130 * MS)  # frames of which none has come again yet
    assert unseen.again_ns is None
    _, none = frames().outage(41 * MS, 150 * MS)
    assert (none.stopped_ns, none.again_ns) == (None, None)


def test_frames_are_steady_when_all_of_the_last_half_second_came() -> None:
    assert not frames().steady(150 * MS)
    assert frames().steady(541 * MS)
    assert not frames().steady(2000 * MS)  # nothing was offered
