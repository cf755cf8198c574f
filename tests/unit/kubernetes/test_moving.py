"""A pod that moves: its Deployment, its relay, and what its frames say of an outage."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import manifest, moving, nodes
from bmwg.drivers.kubernetes.moving import Moved
from bmwg.drivers.workload import drains
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.proofs import shortcomings
from bmwg.methodology.kinds.acts.records import ActsResult

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
    ("options", "found"),
    [
        ({"nodes": ["dut1", "dut2"]}, None),
        ({"nodes": ["dut1"]}, "the cluster has one node"),
        ({}, "the cluster has one node"),
    ],
)
def test_a_cluster_on_which_no_pod_can_move_is_named(options, found) -> None:
    missing = moving.missing(options)
    assert missing is None if found is None else found in missing.reason


class Forbidding:
    """An API that refuses an eviction, with the words of a real one or others."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.repeats: list[str] = []

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
    assert (out.bypassed, out.lost) == (1, 29)
    _, unseen = frames().outage(5 * MS, 130 * MS)  # frames of which none has come again yet
    assert unseen.again_ns is None
    _, none = frames().outage(41 * MS, 150 * MS)
    assert (none.stopped_ns, none.again_ns) == (None, None)


def test_frames_are_steady_when_all_of_the_last_half_second_came() -> None:
    assert not frames().steady(150 * MS)
    assert frames().steady(541 * MS)
    assert not frames().steady(2000 * MS)  # nothing was offered


def test_a_frame_that_came_twice_and_once_round_is_one_that_came() -> None:
    """It was taken off the lost ones once more, so of 30 lost frames 29 were told."""
    made = frames()
    made._bypassed.add(45)
    _, out = made.outage(5 * MS, 150 * MS)
    assert (out.received, out.bypassed, out.lost) == (15, 1, 29)
    seen = made.amid((50 * MS, out), None, None, (0, 0))
    assert (seen.offered, seen.received, seen.bypassed) == (45, 15, 1)
    assert made.oddities == (0, 1)


@pytest.fixture
def passing() -> Iterator[SimpleNamespace]:
    """Frames that are offered all the time and all come, past `way` routers."""
    made = frames()
    made._forget()
    now = SimpleNamespace(frames=made, way=1, lossy=False)
    ended = threading.Event()

    def offers() -> None:
        while not ended.wait(0.001):
            with made._lock:
                made._sent[made._number] = time.monotonic_ns()
                if not (now.lossy and made._number % 10 == 0):
                    made._count(made._number, time.monotonic_ns(), told=64 - now.way)
                made._number += 1

    sender = threading.Thread(target=offers)
    sender.start()
    yield now
    ended.set()
    sender.join()


(PLANNED,) = [one for one in profile.PROFILES.load("quick").plan() if one.test_id == "LC-DRAIN-1"]


def drained(
    passing: SimpleNamespace, *, to: str = "dut2", back: bool = False, lossy: bool = False
) -> drains.Life:
    """Drain a node whose pod goes on until the other relays: no frame is lost, or one of ten from then on."""

    @contextmanager
    def moves(*, within_s: float) -> Iterator[Moved]:
        asked_ns = time.monotonic_ns()
        time.sleep(0.7)  # longer than what is looked at before frames are steady
        passing.way, passing.lossy = 2, lossy
        yield Moved(asked_ns=asked_ns, from_node="dut1", to_node=to)

    spec = replace(PLANNED.spec, first_frame_s=1.0)
    moving = SimpleNamespace(drained=moves)
    return drains._life(moving, passing.frames, spec, time.monotonic_ns(), "dut1", back=back)


def test_a_drain_that_loses_nothing_has_its_first_frame_by_the_other_pod(passing) -> None:
    """Frames were steady before the first came by it, and were counted until then: it was in no count."""
    life = drained(passing)
    assert life.first_frame_ns is not None
    assert life.received_frames == life.offered_frames > 0
    assert life.outage_ns == 0


def test_frames_that_are_lost_without_an_end_are_no_outage_that_has_one(passing) -> None:
    """It lasted as long as was waited for it, and was told as the drain's."""
    life = drained(passing, lossy=True)
    assert life.lost_frames > 0
    assert life.outage_ns is None
    found = shortcomings(replace(PLANNED.spec, cycles=1, number=1), ActsResult(lives=(life,), wall_ns=10**12))
    assert "frames were lost, and it was not seen until when" in found[0]


@pytest.mark.parametrize(("to", "back"), [("dut1", False), ("dut2", True)])
def test_a_drain_that_goes_another_way_than_it_is_told_as_is_refused(passing, to, back) -> None:
    with pytest.raises(DriverError, match="KUBE-50") as caught:
        drained(passing, to=to, back=back)
    assert caught.value.found == f"from dut1 to {to}"
