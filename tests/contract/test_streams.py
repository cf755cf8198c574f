"""Real programs in real pods: every way between them, both directions, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.contract.deploying import all_seen
from tests.contract.streams_support import WAYS, needs, offered, path_of, programs_of, spec, udp
from tests.needs import needs_vswitch, skip_for

from bmwg.drivers.containers import pod_programs
from bmwg.drivers.nodes import process
from bmwg.drivers.platform_record.deployment import take_between
from bmwg.drivers.watch.isolation import require_closed
from bmwg.drivers.workload.iperf3 import PORT, Iperf3
from bmwg.drivers.workload.sockperf import Sockperf
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Exchange, Transport, Way
from bmwg.methodology.records import ENGINES, Validity

pytestmark = needs("iperf3")
_OURS = str(100_000 + os.getpid())  # seconds by which a process of this test is known on the machine


def workload(bed) -> Iperf3:
    return Iperf3([bed.node(node.name) for node in bed.testbed.nodes])


@pytest.mark.parametrize(("path", "network"), WAYS)
def test_streams_go_over_every_interface_of_the_path_both_ways_and_nothing_stays(bed, path, network):
    driver = path_of(bed, path, network)
    before = all_seen(bed)
    with driver.between_pods() as between:
        require_closed(bed)
        for asked in (spec(), spec(way=Way.REVERSE), udp(), udp(way=Way.REVERSE)):
            found = offered(workload(bed), between, asked)
            assert found.faults == ()
            judged = STREAMS.assessed(
                asked, found
            ).validity  # on a busy machine a sender may be short of its rate
            assert judged in (Validity.VALID, Validity.SENT_SHORT), (asked.way, found)
            wanted = 2 if network == "macvlan" else 4 if path == "p2p" else 6 if path == "p2p-underlay" else 8
            assert len(found.crossings) == wanted
            for one in found.crossings:
                assert one.octets >= found.received_octets > 0
    assert all_seen(bed) == before


def test_the_record_names_pods_offloads_and_programs(bed):
    path, network = "p2p", "bridge"
    cell = profile.cell_of(path, network, "tcp", spec())
    with path_of(bed, path, network).between_pods() as between:
        made = workload(bed)
        records = take_between(bed, cell, between, {"iperf3": dict(made.describe())})
    nic = records["dut1/pod0"]["fields"]["nic"]["net0"]
    assert nic["offloads"]["value"]
    tester = records["tester"]["fields"]["tester"]
    assert tester["name"]["value"] == "iperf3"
    assert "iperf 3." in str(tester["version"]["value"])
    assert between.evidence["hops"]


def ip(pid: int, *words: str) -> None:
    """An act in a pod's network namespace."""
    subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words], check=True, timeout=10)


def test_a_stream_that_goes_around_the_path_is_no_measurement(bed):
    """Both pods get a second wire, by which their kernels reach each other's address."""
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        mine, other = between.ends
        peer = ("peer", "name", "around1", "netns", str(other.pod.pid))
        ip(mine.pod.pid, "link", "add", "around0", "type", "veth", *peer)
        for end, name, far in ((mine, "around0", other), (other, "around1", mine)):
            ip(end.pod.pid, "link", "set", name, "up")
            ip(end.pod.pid, "route", "add", f"{far.address}/32", "dev", name)
        found = offered(workload(bed), between, spec())
        assert found.faults == ()
        assert found.received_octets > 0
        judged = STREAMS.assessed(spec(), found)
        assert judged.validity is Validity.INCONSISTENT
        assert "pod0/net0 carried" in judged.reason


@pytest.mark.parametrize("transport", list(Transport))
def test_a_round_trip_whose_answers_come_by_another_way_is_no_measurement(bed, transport):
    """Requests keep to the path; the second pod has a wire of its own back to the first one."""
    asked = spec(workload="sockperf", exchange=Exchange.PING_PONG, transport=transport, message_octets=1024)
    made = Sockperf([bed.node(node.name) for node in bed.testbed.nodes])
    skip_for(made.probe())
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        mine, other = between.ends
        peer = ("peer", "name", "around1", "netns", str(other.pod.pid))
        ip(mine.pod.pid, "link", "add", "around0", "type", "veth", *peer)
        ip(mine.pod.pid, "link", "set", "around0", "up")
        ip(other.pod.pid, "link", "set", "around1", "up")
        ip(other.pod.pid, "route", "add", f"{mine.address}/32", "dev", "around1")
        found = offered(made, between, asked)
        assert found.faults == ()
        assert found.round_trips > 0
        forward = [one for one in found.crossings if not one.at.endswith(", back")]
        assert forward
        assert all(one.octets >= found.received_octets for one in forward)
        judged = STREAMS.assessed(asked, found)
        assert judged.validity is Validity.INCONSISTENT
        assert "pod0/net0, back carried" in judged.reason


def test_a_server_that_is_killed_is_a_fault_in_the_programs_words(bed):
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        killed: list[int] = []

        def kill() -> None:
            end_s = time.monotonic() + 8
            while not killed and time.monotonic() < end_s:
                for pid, words in programs_of(between):
                    if words[:2] == [b"iperf3", b"--server"]:
                        time.sleep(0.5)
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                time.sleep(0.05)

        thread = threading.Thread(target=kill)
        thread.start()
        asked = spec(duration_s=3.0)
        found = offered(workload(bed), between, asked)
        thread.join()
        assert killed
        assert found.faults, found
        assert STREAMS.assessed(asked, found).validity is Validity.FAULT
        again = offered(workload(bed), between, spec())
        assert again.faults == ()


def test_a_port_that_is_taken_is_named_and_nothing_is_sent(bed):
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        made = workload(bed)
        made.attach(between.ends)
        other = ["iperf3", "--server", "--port", str(PORT)]
        with (
            made.serving(between.ends[1], other, port=PORT, transport="tcp"),
            pytest.raises(DriverError, match="PROG-03"),
        ):
            made.run(spec())


def test_programs_have_the_limits_of_their_pod_and_end_with_it(bed):
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        pod = between.ends[0].pod
        folder = f"/run/bmwg-streams/{pod.pod_id}"
        started = pod.node.call(
            pod_programs.start,
            pid=pod.pid,
            start_ticks=pod.start_ticks,
            command=["sleep", _OURS],
            folder=folder,
        )
        time.sleep(0.2)
        inner = next(pid for pid, words in process.each("cmdline") if words[:2] == [b"sleep", _OURS.encode()])
        assert os.readlink(f"/proc/{inner}/ns/net") == os.readlink(f"/proc/{pod.pid}/ns/net")
        assert os.readlink(f"/proc/{inner}/ns/pid") == os.readlink(f"/proc/{pod.pid}/ns/pid")
        groups = [Path(f"/proc/{pid}/cgroup").read_text() for pid in (inner, pod.pid)]
        assert groups[0] == groups[1]
        assert os.sched_getaffinity(inner) == set(bed.testbed.pods.cpus)
        ticks = process.start_ticks(inner)
    assert not process.same(inner, ticks)
    pod.node.call(pod_programs.stop, folder=folder, **started)
    assert not Path(f"/proc/{started['pid']}").exists()  # waited for as well


def test_what_a_driver_does_not_take_is_refused_by_name(bed):
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        made = workload(bed)
        with pytest.raises(DriverError, match="LOAD-02"):
            made.run(spec())
        with pytest.raises(ConfigError, match="LOAD-01"):
            made.attach(between.ends[:1])


def test_a_program_that_is_absent_is_told_with_the_line_that_supplies_it(bed):
    class Absent(Iperf3):
        program = "no-such-program"

    made = Absent([bed.node("dut1")])
    missing = made.probe()
    assert missing is not None
    assert missing.mend == "sh setup/install.sh workloads"
    assert workload(bed).probe() is None
    with (
        path_of(bed, "p2p", "bridge").between_pods() as between,
        pytest.raises(TestbedError, match="PROG-01"),
    ):
        made.asked(between.ends[0], ["no-such-program"], 1.0)


@pytest.mark.parametrize("runtime", ["crun", *ENGINES])
def test_two_containers_of_a_pod_speak_over_its_loopback(bed, runtime):
    mine = copy.copy(bed)
    mine.__dict__["runtime"] = bed.engine(runtime)
    skip_for(mine.runtime.probe(bed.node("dut1")))
    before = all_seen(bed)
    with path_of(mine, "c2c", "none").between_pods() as between:
        require_closed(bed)
        first, second = (os.readlink(f"/proc/{end.pod.pid}/ns/net") for end in between.ends)
        assert first == second
        assert between.evidence["pod_runtime"]["runtime"] == runtime
        found = offered(workload(bed), between, spec())
        assert found.faults == ()
        assert STREAMS.assessed(spec(), found).validity is Validity.VALID
        assert [one.at for one in found.crossings] == ["pod0/lo"]
        assert found.crossings[0].octets >= found.received_octets > 0
    assert all_seen(bed) == before


@needs_vswitch
@pytest.mark.parametrize(
    ("path", "network", "crossed"),
    [("p2p", "ovs-vlan", 4), ("p2p-cluster", "ovs-vlan", 6), ("p2p-cluster", "ovs-vxlan", 6)],
)
def test_streams_go_through_open_vswitch_both_ways_and_nothing_stays(bed, path, network, crossed):
    driver = path_of(bed, path, network)
    before = all_seen(bed)
    with driver.between_pods() as between:
        require_closed(bed)
        for asked in (spec(), spec(way=Way.REVERSE)):
            found = offered(workload(bed), between, asked)
            assert found.faults == ()
            assert STREAMS.assessed(asked, found).validity is Validity.VALID
            assert len(found.crossings) == crossed
            for one in found.crossings:
                assert one.octets >= found.received_octets > 0
    assert all_seen(bed) == before
