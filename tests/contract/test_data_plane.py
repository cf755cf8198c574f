"""What a deployment's data plane used, read from real pods, a real vSwitch and real kernel threads."""

import os
import threading
import time

import pytest
from tests.contract.deploying import bed_in, cell_on
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_cni

from bmwg.drivers.nodes import cycles
from bmwg.drivers.paths import path_driver
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.answers.data_plane import counts_of, use_of
from bmwg.methodology.records import Cell, StreamCounts, TrialResult, TrialSpec

pytestmark = [pytest.mark.root, needs_cni]
ALWAYS = {"ksoftirqd", "queues"}


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with bed_in(tmp_path_factory.mktemp("run")) as opened:
        yield opened


def deployed(bed, one):
    return able(path_driver(one, bed)).deploy()


def used(plane, seconds):
    """Let some time go by and return what was used meanwhile as a trial would hold it."""
    before = plane.read()
    time.sleep(seconds)
    told = plane.used(before)
    stream = StreamCounts(intended_frames=10, sent_frames=10, received_frames=10)
    spec = TrialSpec(frame_octets=64, load_fps=100, duration_s=0.1)
    return TrialResult(spec=spec, streams=(stream,), wall_time_ns=1, auxiliary=tuple(sorted(told)))


@pytest.mark.parametrize(
    ("one", "parts"),
    [
        (cell_on("wire"), set()),
        (cell_on("node"), ALWAYS),
        (cell_on("pvp", "bridge"), ALWAYS | {"pod0"}),
        (cell_on("pvp", "bridge", "testpmd"), ALWAYS | {"pod0"}),
        (cell_on("pvp", "ebpf-tc"), ALWAYS | {"pod0"}),
        (cell_on("pvp", "af-xdp", "testpmd"), ALWAYS | {"pod0"}),
        pytest.param(  # one vSwitch at a time polls the machine's CPU
            cell_on("pvp", "ovs-dpdk", "testpmd"), ALWAYS | {"pod0", "vswitch"}, marks=pytest.mark.quiet
        ),
        (cell_on("chain", "bridge", chain="a>b"), ALWAYS | {"pod0", "pod1"}),
    ],
    ids=lambda value: value.cell_id if isinstance(value, Cell) else "",
)
def test_every_part_of_a_deployment_is_counted_and_nothing_uses_more_than_there_is(bed, one, parts):
    with deployed(bed, one) as deployment:
        plane = DataPlane(bed, one, deployment)
        assert set(plane.parts) == parts
        told = used(plane, 0.3)
        assert counts_of(told).keys() == parts
        use = use_of([told])
        assert (use is None) is not bool(parts)
        for part in use.parts if use else ():
            assert 0 <= part.cpu_ns <= part.window_ns * (os.cpu_count() or 1)
            assert (part.memory_octets is None) is part.name.startswith(("queues", "ksoftirqd"))
        if "vswitch" in parts:
            (switch,) = (part for part in use.parts if part.name == "vswitch")
            # its threads and the whole are read one after the other, and a CPU may be taken away in between
            assert 0 < switch.polling_cpu_ns <= switch.window_ns * (os.cpu_count() or 1)
            assert switch.memory_octets > 0


def test_a_poller_uses_more_than_a_pod_that_only_forwards_in_the_kernel(bed):
    found = {}
    for function in ("kernel-l3", "testpmd"):
        one = cell_on("pvp", "bridge", function)
        with deployed(bed, one) as deployment, PacketTester(deployment.ports) as tester:
            plane = DataPlane(bed, one, deployment)
            before = plane.read()
            for number in range(20):
                assert tester.carry(0, f"frame {number}".encode()) is not None
            counts = dict(plane.used(before))
            found[function] = counts["host.dut.pod0.cpu_ns"]
    assert found["testpmd"] > found["kernel-l3"]


def test_a_threads_own_clock_is_what_the_event_counts():
    """The interface of processor cycles, by a clock that every kernel has: it counts what the thread ran.

    A hypervisor may take the CPU away between both clocks' readings, so the nearest of five tries counts.
    """
    told = []

    def work():
        event = cycles.Event.of_thread(threading.get_native_id(), cycles.TASK_CLOCK)
        began_ns, began = time.thread_time_ns(), event.read()
        while time.thread_time_ns() - began_ns < 50_000_000:
            pass
        told.append((time.thread_time_ns() - began_ns, event.read() - began))
        event.close()
        event.close()

    for _ in range(5):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    apart = [abs(counted_ns - ran_ns) / ran_ns for ran_ns, counted_ns in told]
    assert len(apart) == 5
    assert min(apart) < 0.05


def test_what_cannot_be_counted_is_named(bed):
    one = cell_on("pvp", "bridge")
    with deployed(bed, one) as deployment:
        evidence = DataPlane(bed, one, deployment).evidence()
    refused = ""
    try:
        cycles.Event.of_thread(threading.get_native_id()).close()
    except OSError as error:
        refused = error.strerror
    assert refused in evidence["not_counted"].get("cycles", "")
    assert bool(refused) is ("cycles" in evidence["not_counted"])
