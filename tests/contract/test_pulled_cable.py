"""A link of the testbed that goes and comes back amid a trial: no loss of the device, but a fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.deploying import bed_in, embedded

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.records import Cell

pytestmark = pytest.mark.root
NODE = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    with bed_in(tmp_path, embedded(io="af_xdp")) as opened:
        yield opened


def pull_and_put_back(bed: Bed) -> None:
    """What both ends of the second link see of a cable that is pulled: no carrier, and then one again.

    A virtual pair has no cable, so its end at the tester is set down and up.
    """
    bed.tester.call(interfaces.down, interface="p1")
    bed.tester.call(interfaces.up, interface="p1")


def test_a_cable_that_is_pulled_and_put_back_is_a_fault_of_that_trial(bed: Bed) -> None:
    with path_driver(NODE, bed).deploy():
        liveness = Liveness(bed)
        assert liveness.fault() is None
        pull_and_put_back(bed)
        assert liveness.fault() == "interface p1 on node tester lost its link"
        assert liveness.fault() == "interface nic1 on node dut1 lost its link"  # the other end, next
        assert liveness.fault() is None


def test_a_trial_that_interrupts_links_itself_is_none(bed: Bed) -> None:
    """A reset of RFC 6201 takes the device's own interface down, which the tester's end sees."""
    with path_driver(NODE, bed).deploy():
        liveness = Liveness(bed)
        bed.node("dut1").call(interfaces.down, interface="nic1")
        assert liveness.fault(acted=True) == "interface nic1 on node dut1 was set down"  # and stays so
        bed.node("dut1").call(interfaces.up, interface="nic1")
        assert liveness.fault(acted=True) is None
        assert liveness.fault() is None


def test_a_tester_that_makes_its_links_anew_for_each_trial_is_not_held_to_them(bed: Bed) -> None:
    with path_driver(NODE, bed).deploy():
        bed.testbed = replace(bed.testbed, tester=replace(bed.testbed.tester, driver="moongen"))
        liveness = Liveness(bed)
        pull_and_put_back(bed)
        assert liveness.fault() is None
