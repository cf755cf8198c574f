"""A neighbour works beside an execution on the CPUs of its name, tells its work, and leaves nothing."""

from __future__ import annotations

import time

import pytest
from tests.contract.paths_support import traces
from tests.contract.streams_support import needs

from bmwg.drivers.containers import native_cgroup
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.watch import neighbours
from bmwg.methodology.cells.neighbours import BEFORE, BEFORE_NS, KINDS, WORK, WORK_NS, share
from bmwg.methodology.errors import DriverError

pytestmark = needs("stress-ng")


@pytest.mark.parametrize("what", KINDS)
def test_a_neighbour_works_beside_what_is_measured_and_nothing_of_it_stays(bed, what):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    name = f"{what}-on-tester"
    assert neighbours.lacking(bed, name) is None
    with neighbours.beside(bed, name) as counts:
        time.sleep(1.5)
        (cgroup,) = {one.arguments["cgroup"] for one in bed.undo.pending if one.kind == "native_cgroup"}
        limits = cgroups.read_limits(cgroup)
        assert limits["cpuset_cpus"] == ",".join(map(str, bed.testbed.tester.cpus))
    assert counts[BEFORE] > 0
    assert counts[WORK] >= 0
    assert counts[BEFORE_NS] > 0.5e9
    assert counts[WORK_NS] > 1e9
    assert share(counts) is None or share(counts) > 0
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


def ended_amid(bed) -> None:
    with neighbours.beside(bed, "cpu-on-tester"):
        (cgroup,) = {one.arguments["cgroup"] for one in bed.undo.pending if one.kind == "native_cgroup"}
        bed.node("dut1").call(native_cgroup.remove, cgroup=cgroup)


def test_one_that_ends_by_itself_is_an_error_and_nothing_of_it_stays(bed):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with pytest.raises(DriverError, match="NEIGH"):
        ended_amid(bed)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before
