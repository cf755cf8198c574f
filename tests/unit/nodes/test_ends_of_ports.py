"""A path of two ports on a testbed that names more: it goes through the first two."""

from pathlib import Path
from types import SimpleNamespace

from bmwg.drivers.paths.sides import ends_of, every_side, on_one_node
from bmwg.drivers.testbed.file import load_testbed

TESTBEDS = Path(__file__).resolve().parents[3] / "testbeds"


def test_of_four_ports_a_path_has_the_first_two_and_a_switch_has_all():
    bed = SimpleNamespace(testbed=load_testbed(TESTBEDS / "switch.yaml"), mac=str)
    assert [side.tester_interface for side in on_one_node(ends_of(bed))] == ["p0", "p1"]
    assert [side.tester_interface for side in every_side(bed)] == ["p0", "p1", "p2", "p3"]
