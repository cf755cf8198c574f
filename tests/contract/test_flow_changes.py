"""Idle flows of a real Open vSwitch, and their changes at a rate; frames go through meanwhile."""

import os
import signal
import time
from dataclasses import replace

import pytest

from bmwg.drivers.actuators.place import Place
from bmwg.drivers.network import ovs_parts
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import flow_table
from bmwg.drivers.workload.modifiers import modifiers
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(
        not isinstance(ovs_parts.find(), ovs_parts.OvsParts), reason="no Open vSwitch: sh setup/vswitch.sh"
    ),
]
CELL = Cell(path="switch", hosting=BAREMETAL, function="ovs-netdev", network=NOTHING, frame_octets=64)
WAIT_S = 60.0


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(load_testbed("testbeds/switch.yaml"), ledger, folder) as bed:
        with path_driver(CELL, bed).deploy():
            yield Place(cell=CELL, bed=bed)
        assert ledger.pending == ()


def standing(place):
    return place.node.call(flow_table.standing)


def beside(place, entries, rate):
    name = Coupling(entries=entries, changes_per_s=rate).modifier
    return modifiers(place, name)[name]()


@pytest.mark.parametrize("entries", [8, 1_000, 100_000])
def test_as_many_flows_stand_as_are_asked_for_and_none_afterwards(place, entries):
    with beside(place, entries, 0) as active:
        assert standing(place) == entries
        assert active.counts() == {"flow_changes": 0}
        program = active.evidence["program"]
    assert standing(place) == 0
    assert process.start_ticks(program["pid"]) != program["start_ticks"]


def test_changes_go_on_and_are_never_more_than_are_due(place):
    """Each is confirmed by the switch; after an odd one a flow more stands, after an even one none."""
    rate = 500
    began_s = time.monotonic()
    with beside(place, 8, rate) as active:
        first = active.counts()["flow_changes"]
        while active.counts()["flow_changes"] < first + 2 * rate:
            assert time.monotonic() < began_s + WAIT_S
            time.sleep(0.05)
        assert active.counts()["flow_changes"] <= rate * (time.monotonic() - began_s)
        assert standing(place) in (8, 9)
    assert standing(place) == 0


def test_a_control_plane_that_has_ended_is_told(place):
    with beside(place, 8, 1) as active:
        program = active.evidence["program"]
        os.kill(program["pid"], signal.SIGKILL)
        while process.start_ticks(program["pid"]) == program["start_ticks"]:
            time.sleep(0.01)
        with pytest.raises(ToolkitError) as error:
            active.counts()
        assert error.value.error_id == "MOD-06"
    with beside(place, 8, 0):  # what it left is taken away by the next
        assert standing(place) == 8


def test_other_functions_know_no_flows(place):
    name = Coupling(entries=8, changes_per_s=1).modifier
    other = Place(cell=replace(CELL, function="linux-bridge"), bed=place.bed)
    assert modifiers(other, name) == {}
    assert modifiers(place, "flows-none") == {}
