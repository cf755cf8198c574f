"""A neighbour beside frames works on the CPUs of its name, is counted in each trial, and leaves nothing."""

import os
import signal
import time
from dataclasses import replace

import pytest
from tests.contract.paths_support import traces

from bmwg.drivers.actuators.acting import ActingTraffic, settle
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.containers import bundle
from bmwg.drivers.nodes import cgroups, counted_neighbour
from bmwg.drivers.paths import path_driver
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.watch import frame_neighbours
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import Cell, TrialSpec

pytestmark = pytest.mark.root
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
PERIOD_NS = bundle.PERIOD_US * 1000


def beside(name):
    return replace(CELL, axes=((neighbours.AXIS, name),))


def cgroups_of(bed):
    return [one.arguments["cgroup"] for one in bed.undo.pending if one.kind == "native_cgroup"]


def cgroup_of(bed):
    (cgroup,) = cgroups_of(bed)
    return cgroup


@pytest.mark.parametrize("name", ["cpu-on-dut", "memory-on-dut"])
def test_a_neighbour_works_on_the_cpus_of_its_name_and_nothing_of_it_stays(bed, name):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    assert frame_neighbours.lacking(bed, beside(name)) is None
    assert frame_neighbours.described(bed, beside(name))["cpus"] == list(bed.testbed.dut.cpus)
    with frame_neighbours.working(bed, beside(name)) as one:
        first = one.read()
        time.sleep(1.0)  # many ticks, by which the kernel tells CPU time
        end_s = time.monotonic() + 20.0
        while one.read()["operations"] < first["operations"] + 10 and time.monotonic() < end_s:
            time.sleep(0.1)
        counts = one.beside(first)
        assert set(counts) == set(neighbours.FRAMES_COUNTS)
        assert counts[neighbours.WORK] >= 10
        most_ns = counts[neighbours.WORK_NS] * counts[neighbours.CPUS] + PERIOD_NS  # a tick is less than this
        assert 0 < counts[neighbours.CPU_NS] <= most_ns
        assert counts[neighbours.BEFORE] > 0
        assert counts[neighbours.CPUS] == len(bed.testbed.dut.cpus)
        members = cgroups.members(cgroup_of(bed))
        assert [os.sched_getaffinity(pid) <= set(bed.testbed.dut.cpus) for pid in members] == [True] * len(
            members
        )
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


def test_a_neighbour_with_a_quota_has_no_more_cpu_time_than_that(bed):
    """Known truth: a fifth of a CPU, but for the periods at both ends."""
    quota = 0.2
    with frame_neighbours.working(bed, beside("cpu-on-dut"), cpu_limit=quota) as one:
        first = one.read()
        time.sleep(2.0)
        counts = one.beside(first)
    assert 0 < counts[neighbours.CPU_NS] <= quota * (counts[neighbours.WORK_NS] + 2 * PERIOD_NS)


def ended_amid(bed, *, whole):
    """Have a worker of it end, or all of it before it is read again."""
    with frame_neighbours.working(bed, beside("cpu-on-dut")) as one:
        worker = max(cgroups.members(cgroup_of(bed)))
        os.kill(worker, signal.SIGKILL)
        end_s = time.monotonic() + 10.0
        while whole and cgroups.members(cgroup_of(bed)) and time.monotonic() < end_s:
            time.sleep(0.02)
        while time.monotonic() < end_s:
            one.read()


@pytest.mark.parametrize("whole", [False, True])
def test_one_that_ends_by_itself_is_an_error_and_nothing_of_it_stays(bed, whole):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with pytest.raises(DriverError) as error:
        ended_amid(bed, whole=whole)
    assert error.value.error_id == "NEIGH-03"
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


def test_others_are_cpus_that_nobody_else_has(bed):
    every = {int(number) for number in os.sched_getaffinity(0)}
    used = [*bed.testbed.tester.cpus, *bed.testbed.dut.cpus, *bed.testbed.pods.cpus]
    found = counted_neighbour.others(used=sorted(set(used)), near=list(bed.testbed.dut.cpus))
    assert not set(found) & set(used)
    assert set(counted_neighbour.others(used=[], near=list(bed.testbed.dut.cpus))) <= every
    lack = frame_neighbours.lacking(bed, beside("cpu-on-others"))
    assert (lack is None) == bool(found)


@pytest.mark.quiet
def test_a_trial_beside_a_neighbour_tells_its_work_and_one_without_tells_none(bed, tmp_path):
    """Known truth: beside real-time threads that forward more than they can, it has little of their CPU."""
    spec = TrialSpec(frame_octets=64, load_fps=1_500_000, duration_s=1.0)
    found = {}
    for name in (neighbours.ALONE, "cpu-on-dut"):
        cell = beside(name)
        with (
            path_driver(cell, bed).deploy() as deployment,
            EmbeddedTraffic.for_testbed(bed.testbed, tmp_path, 0.1) as tester,
            ActingTraffic(tester, Place(cell=cell, bed=bed)) as acting,
        ):
            tester.attach(deployment.ports)
            found[name] = acting.run(spec)
            assert len(cgroups_of(bed)) == int(name != neighbours.ALONE)
            settle(acting)
            assert not cgroups_of(bed)
            tester.detach()
            threads = [one for queue in deployment.evidence["device_queues"] for one in queue["threads"]]
            assert {one["policy"] for one in threads} == {"fifo"}
    assert not set(neighbours.FRAMES_COUNTS) & set(dict(found[neighbours.ALONE].auxiliary))
    counts = dict(found["cpu-on-dut"].auxiliary)
    assert counts[neighbours.WORK] > 0
    assert 0 < counts[neighbours.CPU_NS] < counts[neighbours.WORK_NS] / 2
