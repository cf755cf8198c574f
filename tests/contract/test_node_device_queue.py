"""The device queue of a veth end: overload is a drop there, never a slower sender."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bmwg.drivers.nodes.links import connect, mac_of
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import device_queue, interfaces, routing
from bmwg.methodology.errors import TestbedError

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs: one sends, one forwards"),
]

KTHREADD = Path("/proc/2/comm")
SEES_KERNEL_THREADS = pytest.mark.skipif(
    not KTHREADD.exists() or KTHREADD.read_text().strip() != "kthreadd",
    reason="needs the host's PID namespace: kernel threads are not visible here",
)
FRAMES = 60_000
TSO = (
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
)
SENDER = """
import errno, os, socket, struct, sys
target, frames, cpu = bytes.fromhex(sys.argv[1].replace(":", "")), int(sys.argv[2]), int(sys.argv[3])
os.sched_setaffinity(0, {cpu})
source, destination = bytes([198, 18, 0, 2]), bytes([198, 19, 0, 2])
header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, source, destination)
total = sum(struct.unpack("!10H", header))
total = (total & 0xFFFF) + (total >> 16)
header = header[:10] + struct.pack("!H", ~total & 0xFFFF) + header[12:]
frame = target + bytes(6) + b"\\x08\\x00" + header + struct.pack("!HHHH", 9, 9, 26, 0) + bytes(18)
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
port.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE: else the buffer holds it back
port.bind(("p0", 0))
for _ in range(frames):
    try:
        port.send(frame)
    except OSError as error:
        if error.errno != errno.ENOBUFS:  # so the kernel says that the far end's queue was full
            raise
"""
BURNER = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    sys.exit("refused")
print(1, flush=True)
while True: pass
"""


@contextlib.contextmanager
def busy(cpu: int) -> Iterator[None]:
    """Have a CPU taken by a real-time program inside the block."""
    command = [sys.executable, "-c", BURNER, str(cpu)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as burner:
        try:
            assert burner.stdout is not None
            said = burner.stdout.readline()
            if said == b"refused\n":
                pytest.skip("needs a control group with a share of real-time time (cpu.rt_runtime_us)")
            assert said == b"1\n"
            yield
        finally:
            burner.kill()


@dataclass(frozen=True)
class Bed:
    dut: NamespaceNode
    tester: NamespaceNode

    def count(self, node: NamespaceNode, interface: str) -> dict[str, int]:
        return node.call(interfaces.counters, interface=interface)  # type: ignore[no-any-return]

    def counts(self) -> tuple[dict[str, int], ...]:
        return (self.count(self.tester, "p0"), self.count(self.dut, "nic0"), self.count(self.tester, "p1"))

    def settled(self) -> tuple[dict[str, int], ...]:
        """Give the counters once they stand still for 0.3 s: at most 256 frames are in the queue."""
        deadline = time.monotonic() + 20
        found = self.counts()
        while time.monotonic() < deadline:
            time.sleep(0.3)
            before, found = found, self.counts()
            if before == found:
                return found
        pytest.fail(f"the counters still move: {found}")

    def send(self) -> dict[str, int]:
        """Send FRAMES while a real-time program has the DUT's CPU; gives how far the counters moved.

        The kernel leaves other threads of that CPU 50 ms of each second. So the queue overflows however long
        the sender is held up, which a busy program of equal rank does not ensure.
        """
        before = self.counts()
        enter = ["nsenter", f"--net={self.tester.netns_path}"]
        with busy(CPUS[-1]):
            subprocess.run(
                [*enter, sys.executable, "-c", SENDER, mac_of("dut1", "nic0"), str(FRAMES), str(CPUS[0])],
                timeout=60,
                check=True,
            )
        after = self.settled()
        return {
            "sent": after[0]["tx_packets"] - before[0]["tx_packets"],
            "dropped": after[0]["tx_dropped"] - before[0]["tx_dropped"],
            "into_dut": after[1]["rx_packets"] - before[1]["rx_packets"],
            "forwarded": after[2]["rx_packets"] - before[2]["rx_packets"],
        }


@pytest.fixture
def bed() -> Iterator[Bed]:
    with NamespaceNode("dut1") as dut, NamespaceNode("tester") as tester:
        connect(tester, "p0", dut, "nic0")
        connect(tester, "p1", dut, "nic1")
        dut.call(routing.set_forwarding, enabled=True)
        tester.call(device_queue.prepare_sender, interface="p0")
        for side, name in ((18, "nic0"), (19, "nic1")):
            dut.call(interfaces.add_address, interface=name, address=f"198.{side}.0.1/24")
        dut.call(routing.set_neighbour, interface="nic1", address="198.19.0.2", mac=mac_of("tester", "p1"))
        yield Bed(dut, tester)


@SEES_KERNEL_THREADS
def test_overload_of_the_duts_cpu_is_loss_at_the_queue(bed: Bed) -> None:
    evidence = bed.dut.call(device_queue.isolate, interface="nic0", cpu=CPUS[-1])
    moved = bed.send()
    assert moved["dropped"] > 0
    assert moved["sent"] + moved["dropped"] == FRAMES
    assert moved["into_dut"] == moved["sent"]
    assert moved["forwarded"] == moved["into_dut"]
    assert evidence["queue_frames"] == 256


def test_without_the_queue_the_sender_does_the_duts_work_and_nothing_is_lost(bed: Bed) -> None:
    assert bed.send() == {"sent": FRAMES, "dropped": 0, "into_dut": FRAMES, "forwarded": FRAMES}


@SEES_KERNEL_THREADS
def test_the_thread_runs_on_the_stated_cpu_and_the_evidence_says_where(bed: Bed) -> None:
    for cpu in CPUS:
        evidence = bed.dut.call(device_queue.isolate, interface="nic0", cpu=cpu)
        (thread,) = evidence["threads"]
        assert thread["comm"].startswith("napi/nic0")
        assert os.sched_getaffinity(thread["pid"]) == {cpu}
    assert evidence["forwarding"]["runs_in"] == "kernel thread (threaded NAPI)"
    assert evidence["forwarding"]["inside_pod_cgroup"] is False
    bed.dut.call(device_queue.inspect, interface="nic0", threads=[thread["pid"]], cpu=CPUS[-1])
    assert not os.path.exists("/sys/class/net/nic0")  # the machine's own namespace was not touched


def test_the_sender_bypasses_the_queue_unless_it_is_prepared(bed: Bed) -> None:
    assert bed.tester.call(device_queue.prepare_sender, interface="p1") == list(TSO)
    assert bed.tester.call(device_queue.prepare_sender, interface="p1") == []
    bed.tester.call(device_queue.let_sender, interface="p1", offloads=list(TSO))
    assert bed.tester.call(device_queue.prepare_sender, interface="p1") == list(TSO)


@SEES_KERNEL_THREADS
@pytest.mark.parametrize("gro", [True, False])
def test_an_interface_is_given_back_as_it_was(bed: Bed, gro: bool) -> None:
    before = {"threaded": "0", "gro": gro}
    bed.dut.call(device_queue.release, interface="nic0", **before)
    assert bed.dut.call(device_queue.standing, interface="nic0") == before
    bed.dut.call(device_queue.isolate, interface="nic0", cpu=CPUS[-1])
    assert bed.dut.call(device_queue.standing, interface="nic0") == {"threaded": "1", "gro": True}
    assert bed.dut.call(device_queue.release, interface="nic0", **before)
    assert bed.dut.call(device_queue.standing, interface="nic0") == before


@SEES_KERNEL_THREADS
def test_down_and_up_loses_the_queue_and_is_noticed(bed: Bed) -> None:
    first = bed.dut.call(device_queue.isolate, interface="nic0", cpu=CPUS[-1])
    threads = [thread["pid"] for thread in first["threads"]]
    bed.dut.call(interfaces.down, interface="nic0")
    bed.dut.call(interfaces.up, interface="nic0")
    with pytest.raises(TestbedError) as caught:
        bed.dut.call(device_queue.inspect, interface="nic0", threads=threads, cpu=CPUS[-1])
    assert caught.value.error_id == "QUEUE-03"
    again = bed.dut.call(device_queue.isolate, interface="nic0", cpu=CPUS[-1])
    threads = [thread["pid"] for thread in again["threads"]]
    bed.dut.call(device_queue.inspect, interface="nic0", threads=threads, cpu=CPUS[-1])


@SEES_KERNEL_THREADS
def test_a_thread_moved_by_somebody_is_noticed(bed: Bed) -> None:
    evidence = bed.dut.call(device_queue.isolate, interface="nic0", cpu=CPUS[-1])
    pid = evidence["threads"][0]["pid"]
    os.sched_setaffinity(pid, {CPUS[0]})
    with pytest.raises(TestbedError) as caught:
        bed.dut.call(device_queue.inspect, interface="nic0", threads=[pid], cpu=CPUS[-1])
    assert caught.value.error_id == "QUEUE-03"


CONTAINED = """
import json
from bmwg.drivers.ports import device_queue, interfaces
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.links import connect
with NamespaceNode("dut1") as dut, NamespaceNode("tester") as tester:
    connect(tester, "p0", dut, "nic0")
    evidence = dut.call(device_queue.isolate, interface="nic0", cpu=0)
    dut.call(device_queue.inspect, interface="nic0", threads=[], cpu=0)
    dut.call(interfaces.down, interface="nic0")
    try:
        dut.call(device_queue.inspect, interface="nic0", threads=[], cpu=0)
    except Exception as error:
        print(json.dumps([evidence, error.error_id]))
"""


def test_where_the_thread_cannot_be_seen_the_evidence_does_not_claim_a_cpu() -> None:
    contained = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", sys.executable, "-c", CONTAINED]
    done = subprocess.run(contained, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    evidence, error_id = json.loads(done.stdout)
    assert evidence["cpu"] is None
    assert "not pinned" in evidence["cpu_reason"]
    assert evidence["threads"] == []
    assert error_id == "QUEUE-03"


@pytest.mark.parametrize(
    ("interface", "cpu", "error_id"), [("nic9", CPUS[-1], "LINK-01"), ("nic0", 4095, "QUEUE-01")]
)
def test_what_is_not_there_is_named(bed: Bed, interface: str, cpu: int, error_id: str) -> None:
    with pytest.raises(TestbedError) as caught:
        bed.dut.call(device_queue.isolate, interface=interface, cpu=cpu)
    assert caught.value.error_id == error_id


def test_an_idle_link_is_silent(bed: Bed) -> None:
    """No DAD, RS, MLD or anything else towards the tester, also with IPv6 addresses."""
    bed.dut.call(interfaces.add_address, interface="nic0", address="2001:2::1/64")
    time.sleep(0.3)  # what leaves at once, leaves before a trial
    before = bed.count(bed.tester, "p0")["rx_packets"]
    time.sleep(4)
    assert bed.count(bed.tester, "p0")["rx_packets"] == before
    assert bed.count(bed.tester, "p1")["rx_packets"] == 0


def test_threads_are_an_interfaces_own_where_no_other_one_has_its_name() -> None:
    """A NIC keeps its threads when they are switched off: by their names alone they are found again."""
    with NamespaceNode("one") as one, NamespaceNode("two") as two:
        connect(one, "bmwgq7", two, "bmwgq8")
        assert device_queue._alone_of_its_name("bmwgq7")
        connect(one, "bmwgq9", two, "bmwgq7")
        assert not device_queue._alone_of_its_name("bmwgq7")  # in another namespace
        assert not device_queue._alone_of_its_name("bmwgq6")  # which nobody has
