"""How many functions or CPUs equal a named physical device: proven numbers alone decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.factors.physical import FUNCTIONS, OF_A_POD, Device, against, device_of
from bmwg.methodology.records import Bound, Cell, Direction, FrameFormat, Outcome, OutcomeType, Quantity

DEVICE = Device(name="router", source="its data sheet, page 3", frame_octets=64, throughput_fps=300_000)
MEASURED = OutcomeType.MEASURED


def cell(path, octets=64, **axes):
    return Cell(
        path=path,
        hosting="pod",
        function="kernel-l3",
        network="ptp",
        frame_octets=octets,
        direction=Direction.FORWARD,
        frame_format=FrameFormat.IPV4_UDP,
        flows=1,
        axes=tuple(sorted((name.replace("_", "."), value) for name, value in axes.items())),
    )


def outcome(of, low, high, kind=MEASURED):
    return Outcome(
        outcome_id=str(of),
        metric="throughput.rfc2544_26_1",
        cell=of,
        type=kind,
        lower=None if low is None else Bound(load_fps=low, trials=(1,)),
        upper=None if high is None else Bound(load_fps=high, trials=(2,)),
        trials=(1, 2),
    )


def functions(*numbers):
    """Return the one series of functions beside each other: (functions, lower, upper, type)."""
    made = [
        outcome(cell("pvp") if n == 1 else cell("parallel", chains="+".join("abcd"[:n])), low, high, kind)
        for n, low, high, kind in numbers
    ]
    (found,) = against(DEVICE, made)
    assert found.way == FUNCTIONS
    return found


def test_the_smallest_number_that_is_proven_to_carry_it():
    found = functions(
        (3, 320_000, 330_000, MEASURED), (1, 150_000, 155_000, MEASURED), (2, 300_000, 310_000, MEASURED)
    )
    assert [(one.number, one.carries) for one in found.tried] == [(1, False), (2, True), (3, True)]
    assert found.smallest.number == 2
    assert found.open_below == ()


def test_an_end_that_moved_beyond_the_figure_decides_nothing():
    end = Quantity(metric="upper_end.rfc9971.0.1f1.5d0l50e", number=310_000, unit="frames/s")
    held = Quantity(metric="sustained_load.rfc9971.0.1f1.5d0l50e", number=290_000, unit="frames/s")
    one = outcome(cell("pvp"), 250_000, 255_000)
    other = outcome(cell("parallel", chains="a+b"), 305_000, 314_000)
    moved = [replace(one, values=(end,)), replace(other, values=(held,))]
    (found,) = against(DEVICE, moved)
    assert [tried.carries for tried in found.tried] == [None, None]


def test_bounds_around_the_figure_decide_nothing():
    found = functions((1, 290_000, 310_000, MEASURED), (2, 400_000, 410_000, MEASURED))
    assert found.smallest.number == 2
    assert found.open_below == (1,)


@pytest.mark.parametrize(
    ("low", "high", "kind", "carries"),
    [
        (400_000, None, OutcomeType.AT_CEILING, True),
        (200_000, None, OutcomeType.AT_CEILING, None),
        (400_000, None, OutcomeType.TESTER_LIMITED, True),
        (200_000, 250_000, OutcomeType.TESTER_LIMITED, None),  # the tester ended there, not the functions
        (None, 10_000, OutcomeType.AT_FLOOR, False),
        (400_000, 410_000, OutcomeType.UNSTABLE, None),
        (100_000, 110_000, OutcomeType.INVALID, None),
    ],
)
def test_what_is_no_plain_number_decides_only_what_it_proves(low, high, kind, carries):
    found = functions((1, 1_000, 2_000, MEASURED), (2, low, high, kind))
    assert found.tried[1].carries is carries


def test_the_limit_is_the_highest_load_that_was_proven():
    found = functions(
        (1, 150_000, 155_000, MEASURED),
        (2, 140_000, 160_000, MEASURED),
        (3, None, 10_000, OutcomeType.AT_FLOOR),
    )
    assert found.smallest is None
    assert found.most.number == 1


def test_a_function_that_two_chains_share_counts_once():
    one = outcome(cell("parallel", chains="a>s+b>s"), 320_000, 330_000)
    (found,) = against(DEVICE, [one])
    assert found.smallest.number == 3


def test_cpus_of_a_pod_are_counted_as_the_list_says():
    made = [
        outcome(cell("pvp", pods_cpus=text), low, low + 5_000)
        for text, low in (("1", 150_000), ("1,1-2,5", 400_000))
    ]
    (found,) = against(DEVICE, made)
    assert found.way == OF_A_POD
    assert [(one.number, one.carries) for one in found.tried] == [(1, False), (3, True)]


def test_other_sizes_and_lone_functions_are_not_held_to_it():
    assert against(DEVICE, [outcome(cell("parallel", 1518, chains="a+b"), 400_000, 410_000)]) == ()
    assert against(DEVICE, [outcome(cell("pvp"), 400_000, 410_000)]) == ()


def test_a_profile_without_a_device_has_none():
    assert device_of({"name": "quick"}) is None


def test_what_is_no_list_of_cpus_is_not_counted():
    assert against(DEVICE, [outcome(cell("pvp", pods_cpus="many"), 400_000, 410_000)]) == ()
