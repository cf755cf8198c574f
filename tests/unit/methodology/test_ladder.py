"""The cost of layers, the theoretical rates, and outcomes of throughput."""

import dataclasses

import pytest
from fake_measurers import Device

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.answers.ladder import ladder
from bmwg.methodology.plan import planning
from bmwg.methodology.records import Bound, Cell, Direction, Outcome, OutcomeType, Quantity
from bmwg.methodology.requirements.rows import catalogue
from bmwg.methodology.search.bisection import search
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.trial.medium import ethernet_fps
from bmwg.methodology.trial.traffic import Traffic


def an_outcome(path, number, network="none", size=64, type_=OutcomeType.MEASURED):
    hosting = {"wire": "none", "node": "baremetal"}.get(path, "pod")
    function = "none" if path in ("wire", "p2p") else "kernel-l3"
    cell = Cell(path=path, hosting=hosting, function=function, network=network, frame_octets=size)
    values = (Quantity(metric=throughput.METRIC, number=number, unit="frames/s"),) if number else ()
    return Outcome(outcome_id=path, metric=throughput.METRIC, cell=cell, type=type_, values=values)


def test_ratios_between_plain_numbers():
    rungs = ladder(
        [
            an_outcome("pvp", 200_000, "bridge"),
            an_outcome("pvp", 100_000, "ptp"),
            an_outcome("wire", 1_000_000),
            an_outcome("node", 400_000),
            an_outcome("node", 5, size=512),
            an_outcome("p2p", 5),
        ],
        frame_octets=64,
    )
    assert [rung.outcome.cell.path for rung in rungs] == ["wire", "node", "pvp", "pvp"]
    assert [rung.to_wire for rung in rungs] == [None, 0.4, 0.2, 0.1]
    assert [rung.to_below for rung in rungs] == [None, 0.4, 0.5, 0.25]


@pytest.mark.parametrize("type_", [kind for kind in OutcomeType if kind is not OutcomeType.MEASURED])
def test_no_ratio_to_what_is_no_plain_number(type_):
    node = dataclasses.replace(an_outcome("node", 400_000), type=type_)
    rungs = ladder([an_outcome("wire", 1_000_000), node, an_outcome("pvp", 100_000)], frame_octets=64)
    assert rungs[1].to_wire is None
    assert rungs[2].to_below is None
    assert rungs[2].to_wire == 0.1
    assert rungs[2].note == f"node is {type_}"


def test_the_envelope_is_the_lowest_rung_and_latency_none():
    wire = dataclasses.replace(an_outcome("wire", 1_000_000), metric=throughput.ENVELOPE_METRIC)
    late = dataclasses.replace(an_outcome("node", 12_000), metric=latency.METRIC)
    rungs = ladder([late, an_outcome("node", 400_000), wire], frame_octets=64)
    assert [rung.to_wire for rung in rungs] == [None, 0.4]


@pytest.mark.parametrize(
    "traffic",
    [
        {"direction": Direction.BOTH},
        {"imix": "aaaf"},
        {"axes": (("pattern", "many-to-one-3"),)},
        {"axes": (("neighbour", "cpu-on-dut"),)},
    ],
)
def test_unequal_traffic_is_not_compared(traffic):
    """A mix of sizes is no rung over frames of its largest one, nor is what stands beside a neighbour."""
    other = an_outcome("node", 1)
    other = dataclasses.replace(other, cell=dataclasses.replace(other.cell, **traffic))
    with pytest.raises(ValueError, match="equal traffic"):
        ladder([an_outcome("wire", 2), other], frame_octets=64)


@pytest.mark.parametrize(
    ("bit_rate", "octets", "fps"),
    [
        (10**10, 64, 14_880_952),
        (10**10, 1518, 812_743),
        (10**8, 64, 148_809),
        (10**7, 1518, 812),
        (25 * 10**9, 64, 37_202_380),
    ],
)
def test_theoretical_rates_as_appendix_b_prints_them(bit_rate, octets, fps):
    assert ethernet_fps(bit_rate, octets) == fps


def test_no_medium_without_rate():
    with pytest.raises(ValueError, match="bit_rate"):
        ethernet_fps(0, 64)


def test_an_outcome_holds_a_number_only_when_measured():
    cell = an_outcome("pvp", 1).cell
    goal = ThroughputGoal(
        offer=Traffic.of(cell), duration_s=1.0, min_load_fps=1000, max_load_fps=10**6, relative_width=0.03
    )
    good = throughput.outcome(search(Device(truth_fps=10**5), goal), cell, outcome_id="a")
    assert good.values[0].number == good.lower.load_fps
    assert good.values[0].unit == "frames/s"
    floor = throughput.outcome(search(Device(truth_fps=10), goal), cell, outcome_id="a")
    assert floor.type is OutcomeType.AT_FLOOR
    assert floor.values == ()
    assert floor.reason
    assert set(good.requirements) <= catalogue().keys()


def bounded(path, lower_fps, upper_fps):
    return dataclasses.replace(
        an_outcome(path, lower_fps),
        lower=Bound(load_fps=lower_fps, trials=(1,)),
        upper=Bound(load_fps=upper_fps, trials=(2,)),
    )


def test_no_ratio_is_taken_of_an_answer_with_a_wide_interval():
    wire, node = bounded("wire", 970_000, 1_000_000), bounded("node", 400_000, 500_000)
    pvp = bounded("pvp", 200_000, 205_000)
    rungs = ladder([wire, node, pvp], frame_octets=64)
    assert [rung.to_below for rung in rungs] == [None, None, None]
    assert [rung.to_wire for rung in rungs] == [None, None, pytest.approx(200 / 970)]
    assert [rung.note for rung in rungs] == ["", "node has a wide interval", "node has a wide interval"]


def test_a_tester_is_qualified_up_to_what_the_medium_carries():
    cell = Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64)
    assert planning.qualification_max_fps(cell, None) == planning.highest_fps(None) == 2_500_000
    assert planning.qualification_max_fps(cell, 10**9) == 1_488_095
    assert planning.qualification_max_fps(cell, 10**10) == 14_880_952  # it was 2.5 million
    assert planning.qualification_max_fps(cell, 10**10, 2_500_000) == 2_500_000  # as an earlier run said
    assert planning.qualification_max_fps(cell, 10**10, planning.highest_fps(10**10)) == 14_880_952
    assert planning.highest_fps(10**9) == 2_500_000  # runs on slower media say what they said
