"""Hosting forms of a sweep take turns in randomized blocks, by one rule for bench, resume and verify."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import pytest

from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.profile import CLAIM, PROFILES
from bmwg.methodology.plan import blocks
from bmwg.resources.kinds.repeated.measure import DeploymentBrokenError
from bmwg.resources.kinds.streams.turns import Turns

QUICK = PROFILES.load("quick")
SWEEP = "socket_sizes"
PLAN = [one for one in QUICK.plan() if order.sweep_of(QUICK.data, one.cell) == SWEEP]
FORMS = order.forms(QUICK.data, [one.cell for one in PLAN], SWEEP)
HERE = ("baremetal", "pod", "docker")
CELLS = {one.cell.cell_id: one for one in PLAN}


def form(cell: str) -> str:
    return CELLS[cell].cell.hosting


class Made:
    """Executions of a cell, without any."""

    def __init__(self, planned, done=0) -> None:
        self.planned = planned
        self.done = list(range(done))

    @property
    def ended(self) -> bool:
        return len(self.done) >= self.planned.asked.wanted


class Forms:
    """What is deployed, in order: a form that stands, and the cells that ran on it."""

    def __init__(self, left, stop_after=10**9) -> None:
        self.left = left
        self.visits: list[tuple[str, list[str]]] = []
        self.ran: list[str] = []
        self.stop_after = stop_after

    def visit(self, mine, due) -> None:
        here: list[str] = []
        self.visits.append((form(next(iter(mine))), here))
        while (cell := due()) in mine:
            if len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            mine[cell].done.append(len(mine[cell].done))
            here.append(cell)
            self.ran.append(cell)
        for cell, one in mine.items():
            if one.ended:
                del self.left[cell]


def unwanted(*told) -> None:
    raise AssertionError(told)


def whole(seed: int = 3) -> Forms:
    left = {cell: Made(one) for cell, one in CELLS.items() if form(cell) in HERE}
    forms = Forms(left)
    Turns(SWEEP, FORMS, left, seed).take(forms.visit, unwanted, unwanted)
    return forms


def test_each_block_has_each_size_of_every_form_once_in_an_order_of_its_own() -> None:
    ran = whole().ran
    size = sum(form(cell) in HERE for cell in CELLS)
    orders = set()
    for first in range(0, len(ran), size):
        block = ran[first : first + size]
        assert sorted(block) == sorted(cell for cell in CELLS if form(cell) in HERE)
        forms = tuple(name for name, _ in groupby(map(form, block)))
        assert sorted(forms) == sorted(HERE), "a form stands once in a block"
        orders.add(forms)
    assert len(ran) == size * QUICK.data["repetitions"]
    assert len(orders) > 1


def test_the_same_seed_gives_the_same_order_and_another_another() -> None:
    assert whole(3).ran == whole(3).ran
    assert whole(3).ran != whole(4).ran


def test_neighbours_of_one_form_stand_once() -> None:
    visits = [name for name, _ in whole().visits]
    assert all(first != second for first, second in pairwise(visits))


@pytest.mark.parametrize("cut", range(1, 75, 6))
def test_a_run_that_was_cut_off_goes_on_in_its_order(cut) -> None:
    left = {cell: Made(one) for cell, one in CELLS.items() if form(cell) in HERE}
    first = Forms(left, stop_after=cut)
    with pytest.raises(KeyboardInterrupt):
        Turns(SWEEP, FORMS, left, 3).take(first.visit, unwanted, unwanted)
    done = Counter(first.ran)
    again = {cell: Made(CELLS[cell], done[cell]) for cell in left}
    second = Forms(again)
    Turns(SWEEP, FORMS, again, 3).take(second.visit, unwanted, unwanted)
    assert first.ran + second.ran == whole(3).ran


def test_a_form_that_breaks_has_another_turn_and_then_leaves_the_others_alone() -> None:
    left = {cell: Made(one) for cell, one in CELLS.items() if form(cell) in HERE}
    forms = Forms(left)
    given_up: list[str] = []

    def visit(mine, due) -> None:
        if form(next(iter(mine))) != "docker":
            forms.visit(mine, due)
            return
        cell = due()
        mine[cell].done.append(0)
        raise DeploymentBrokenError("its pod has ended")

    def broke(over, error) -> None:
        given_up.extend(one.planned.cell.cell_id for one in over)

    Turns(SWEEP, FORMS, left, 3).take(visit, broke, unwanted)
    assert sorted(given_up) == sorted(cell for cell in CELLS if form(cell) == "docker")
    assert Counter(map(form, forms.ran)) == {"baremetal": 25, "pod": 25}


def test_a_form_that_cannot_be_made_takes_no_other_with_it() -> None:
    left = {cell: Made(one) for cell, one in CELLS.items() if form(cell) in HERE}
    forms = Forms(left)
    told: list[str] = []

    def visit(mine, due) -> None:
        if form(next(iter(mine))) == "pod":
            raise DriverError("CRUN-01", "a pod", expected="one", found="none")
        forms.visit(mine, due)

    Turns(SWEEP, FORMS, left, 3).take(
        visit, unwanted, lambda over, error: told.extend(one.planned.cell.cell_id for one in over)
    )
    assert sorted(told) == sorted(cell for cell in CELLS if form(cell) == "pod")
    assert Counter(map(form, forms.ran)) == {"baremetal": 25, "docker": 25}


def test_frames_that_may_have_left_end_the_run() -> None:
    def visit(mine, due) -> None:
        raise TestbedError("ISO-03", "frames left", expected="none", found="one")

    left = {cell: Made(one) for cell, one in CELLS.items() if form(cell) in HERE}
    with pytest.raises(TestbedError):
        Turns(SWEEP, FORMS, left, 3).take(visit, unwanted, unwanted)


def test_a_profile_that_claims_nothing_has_no_turns_and_its_limit_of_time() -> None:
    silent = {name: value for name, value in QUICK.data.items() if name != CLAIM}
    assert {order.sweep_of(silent, one.cell) for one in PLAN} == {""}
    earlier = PROFILES.of(silent).plan()
    assert {one.asked.limit_s for one in earlier} == {float(QUICK.data["cell_limit_s"])}
    assert {one.asked.limit_s for one in PLAN} == {float("inf")}
    assert [
        replace(one, asked=PLAN[0].asked) for one in earlier if one.cell in {e.cell for e in PLAN}
    ] == PLAN


def test_beside_a_neighbour_forms_have_turns_of_their_own() -> None:
    beside = PROFILES.of({**QUICK.data, "neighbours": ["none", "cpu-on-tester"]}).plan()
    names = {order.sweep_of(QUICK.data, one.cell) for one in beside} - {""}
    assert {SWEEP, f"{SWEEP}/beside-cpu-on-tester"} <= names


def test_no_form_left_is_nobodys_turn() -> None:
    assert blocks.next_up([["a"], ["b"]], {}, {"a", "b"}, seed=1, experiment="x") is None
