"""Patterns of cells: how they are written, what they send, and what of the tester's load they may ask for."""

import dataclasses

import pytest

from bmwg.methodology.benchmarks.frame_loss import LossGoal
from bmwg.methodology.cells import axes, patterns
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell
from bmwg.methodology.trial.traffic import Traffic

WRITTEN = {
    "full-mesh-3": (((1, 2), (2, 0), (0, 1)), False, 3),
    "one-to-many-4": (((1, 2, 3), (), (), ()), False, 1),
    "many-to-one-4": (((), (0,), (0,), (0,)), False, 3),
    "one-way-mesh-4": (((2, 3), (2, 3), (), ()), False, 2),
    "broadcast-4": (((1, 2, 3), (), (), ()), True, 3),
    "congestion-8": (((2, 3), (3,), (), (), (6, 7), (7,), (), ()), False, 4),
    "address-table-3": (((1,), (), ()), False, 1),
    "undersize-3": (((1, 2), (2, 0), (0, 1)), False, 3),
    "oversize-2": (((1,), (0,)), False, 2),
}


def cell(text=None):
    varied = () if text is None else (("pattern", text),)
    return Cell(
        path="switch",
        hosting=BAREMETAL,
        function="linux-bridge",
        network=NOTHING,
        frame_octets=64,
        axes=varied,
    )


@pytest.mark.parametrize("text", WRITTEN)
def test_a_pattern_is_what_is_written(text):
    to, broadcast, share = WRITTEN[text]
    found = patterns.of(cell(text).axes)
    assert (found.to, found.broadcast) == (to, broadcast)
    assert patterns.share_of_tester(cell(text).axes) == share
    assert axes.words(cell(text).axes) == [patterns.words(text)]
    assert Traffic.of(cell(text), loss_times=True).spec(1_000, 0.1).pattern == found


def test_several_addresses_of_each_port_are_written_behind_the_number_of_ports():
    found = patterns.of(cell("full-mesh-4x16").axes)
    assert found == dataclasses.replace(patterns.pattern("full-mesh-4"), sources=16, destinations=16)
    assert patterns.words("full-mesh-4x16").endswith("in turn, 16 addresses of each port")
    assert patterns.kind_of(cell("full-mesh-4x16").axes) == "full-mesh"
    assert patterns.pattern("full-mesh-4x1") == patterns.pattern("full-mesh-4")


def test_every_kind_is_tried_here():
    assert {text.rpartition("-")[0] for text in WRITTEN} == set(patterns.KINDS)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mesh-4", "full-mesh"),
        ("full-mesh", "full-mesh"),
        ("full-mesh-1", "2 to 8"),
        ("full-mesh-9", "2 to 8"),
        ("one-way-mesh-3", "even"),
        ("congestion-6", "4 or 8"),
        ("address-table-2", "three ports"),
        (4, "full-mesh"),
        ("full-mesh-4x3", "a power of two"),
        ("full-mesh-4x0", "full-mesh"),
        ("full-mesh-4x2097152", "a power of two of addresses up to 1048576"),
        ("broadcast-4x2", "one address of each port"),
        ("undersize-4x2", "one address of each port"),
    ],
)
def test_what_is_none_is_said(text, what):
    with pytest.raises(ValueError, match=what):
        patterns.pattern(text)
    found = list(axes.contradictions({"pattern": [text]}, ("pattern",)))
    assert [place for place, _, _ in found] == [("pattern", 0)]


def test_a_cell_without_one_is_a_pair():
    assert patterns.of(cell().axes) is None
    assert patterns.share_of_tester(cell().axes) == 1
    spec = Traffic.of(cell(), loss_times=True).spec(1_000, 0.1)
    assert spec.pattern is None
    assert spec.loss_times


def test_the_tester_is_qualified_by_a_pair():
    assert cell("full-mesh-4").qualification == dataclasses.replace(cell().qualification)


def test_a_loss_curve_goes_by_the_pattern_of_its_cell():
    goal = LossGoal(cell=cell("full-mesh-4x16"), max_load_fps=1_000, duration_s=0.1)
    assert goal.spec(500).pattern == patterns.pattern("full-mesh-4x16")


@pytest.mark.parametrize(
    "name", ["latency", "tagged_latency", "delay_variation", "ipdv", "back_to_back", "recovery"]
)
def test_what_knows_two_ports_takes_no_cell_of_a_pattern(name):
    profile = load_profile("quick")
    assert measurement(name).applies(profile, cell())
    assert not measurement(name).applies(profile, cell("full-mesh-4"))
