"""MPI_Alltoall in real pods, in guests too: on one node and two, around the path, with a daemon killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import replace

import pytest
from tests.contract.guest_support import needs_guest
from tests.contract.streams_support import programs_of, spec
from tests.needs import skip_for

from bmwg.drivers import registry
from bmwg.drivers.nodes import bounded
from bmwg.drivers.workload import mpi_build
from bmwg.drivers.workload.mpi import Mpi
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Exchange
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.streams.bench import between_looks

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    pytest.mark.skipif(
        shutil.which("mpicc") is None or shutil.which("orted") is None,
        reason="no Open MPI; sh setup/install.sh workloads",
    ),
]


def asked(**changes):
    told = {"workload": "mpi", "exchange": Exchange.ALL_TO_ALL, "message_octets": 16384, "omit_s": 0}
    return spec(**{**told, "duration_s": 0.2, "number": 1, **changes})


@contextlib.contextmanager
def attached(bed, path, network, pods):
    cell = profile.cell_of(path, network, "all_to_all", asked(pods=pods))
    driver = registry.load(registry.PATH, path)(cell, bed)
    skip_for(driver.probe_pods())
    with driver.between_pods() as between:
        made = Mpi([bed.node(node.name) for node in bed.testbed.nodes])
        assert made.probe() is None
        made.attach((*between.ends, *between.more))
        yield between, made


@pytest.mark.parametrize(
    ("path", "network", "pods"),
    [("p2p", "bridge", 4), ("p2p-vxlan", "bridge", 4), ("p2p-cluster", "ovs-vlan", 4)],
)
def test_blocks_cross_every_interface_in_both_directions_and_no_program_stays(bed, path, network, pods):
    with attached(bed, path, network, pods) as (between, made):
        wanted = asked(pods=pods, parallel=2)
        found = between_looks(between, made)(wanted)
        assert found.faults == ()
        assert STREAMS.assessed(wanted, found).validity is Validity.VALID
        assert len(found.crossings) == 2 * len(between.crossed)
        assert found.received_octets == found.operations * wanted.leaving_octets
        for one in found.crossings:
            assert one.octets >= found.received_octets > 0, one.at
        assert found.effective["processes"] == 8
        left = [words for _, words in programs_of(between) if words[0].endswith((b"orted", b"alltoall"))]
        assert left == []


@pytest.mark.parametrize(
    ("path", "network", "pods", "way"),
    [
        pytest.param("bmp2vmp", "bridge", 4, ["dut1/vm0", "vm0/eth0"], marks=needs_guest),
        pytest.param(
            "vmp2vmp-remote",
            "macvlan",
            2,
            ["vm0/eth0", "dut1/vm0", "dut1/under0", "dut2/under0", "dut2/vm1", "vm1/eth0"],
            marks=needs_guest,
        ),
    ],
)
def test_blocks_cross_vnics_and_taps_in_both_directions_and_no_program_stays(bed, path, network, pods, way):
    with attached(bed, path, network, pods) as (between, made):
        wanted = asked(pods=pods)
        found = between_looks(between, made)(wanted)
        assert found.faults == ()
        judged = STREAMS.assessed(wanted, found)  # a stall amid the calibration makes too few operations
        assert judged.validity in (Validity.VALID, Validity.INCOMPLETE), judged
        assert {f"{at}{back}" for at in way for back in ("", ", back")} <= {one.at for one in found.crossings}
        for one in found.crossings:
            assert one.octets >= found.received_octets > 0, one.at
        assert found.effective["processes"] == pods
        assert (
            found.effective["cpus"] == 2
        )  # of a host and its guest, or of two guests: each has one for pods
        for end in (*between.ends, *between.more):
            names = made.ran_in(end.pod, ["sh", "-c", "cat /proc/[0-9]*/comm"], 30.0)["output"].split()
            assert "sleep" in names
            assert not {"mpirun", "orted", "alltoall"} & set(names)


def test_blocks_that_go_around_the_path_are_no_measurement(bed):
    """Both pods get a second wire, by which their kernels reach each other's address."""
    with attached(bed, "p2p", "bridge", 2) as (between, made):
        mine, other = between.ends

        def ip(pid: int, *words: str) -> None:
            subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words], check=True, timeout=10)

        peer = ("peer", "name", "around1", "netns", str(other.pod.pid))
        ip(mine.pod.pid, "link", "add", "around0", "type", "veth", *peer)
        for end, name, far in ((mine, "around0", other), (other, "around1", mine)):
            ip(end.pod.pid, "link", "set", name, "up")
            ip(end.pod.pid, "route", "add", f"{far.address}/32", "dev", name)
        found = between_looks(between, made)(asked())
        assert found.faults == ()
        assert STREAMS.assessed(asked(), found).validity is Validity.INCONSISTENT


def test_a_daemon_that_is_killed_is_a_fault_and_the_next_execution_holds(bed):
    with attached(bed, "p2p", "bridge", 2) as (between, made):
        killed: list[int] = []

        def kill() -> None:
            end_s = time.monotonic() + 10
            while not killed and time.monotonic() < end_s:
                for pid, words in programs_of(between):
                    if words[0] == b"orted":
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                            killed.append(pid)
                time.sleep(0.02)

        thread = threading.Thread(target=kill)
        thread.start()
        found = between_looks(between, made)(asked(duration_s=3.0))
        thread.join()
        assert killed
        assert found.faults, found
        assert STREAMS.assessed(asked(duration_s=3.0), replace(found, wall_ns=1)).validity is Validity.FAULT
        assert between_looks(between, made)(asked()).faults == ()


def test_the_99th_percentile_of_few_operations_is_the_longest_one():
    """A process alone, whose blocks are so long that it makes the fewest operations that there are."""
    done = bounded.run([str(mpi_build.ensure_built()), str(1 << 24), "1"], deadline_s=60.0)
    told = json.loads(done.stdout)
    assert told["operations"] == 10, done.stderr
    times = told["operation_ns"]
    assert times["p99"] == times["max"]
    assert times["min"] <= times["p50"] <= times["p90"] <= times["p99"]
