"""A lease has one holder: the dead, frozen and cut off are told from the living, by themselves too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.kubernetes.lease_server import Server

from bmwg.drivers.kubernetes.lease import Lease, lease_name
from bmwg.methodology.errors import TestbedError


class World:
    """A clock that programs move by waiting; `beside` is what others do meanwhile."""

    def __init__(self) -> None:
        self.server = Server()
        self.now_s = 0.0
        self.beside: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.beside()

    def lease(self, holder: str) -> Lease:
        return Lease(
            self.server,
            namespace="default",
            name="bmwg-testbed-a",
            holder=holder,
            duration_s=60,
            clock=lambda: self.now_s,
            sleep=self.sleep,
        )


@pytest.fixture
def world() -> World:
    return World()


def test_a_lease_that_is_given_back_is_had_at_once_and_its_number_grows(world: World) -> None:
    for number in range(3):
        mine = world.lease(f"holder-{number}")
        mine.take()
        assert (mine.transitions, mine.taken_over) == (number, "")
        mine.require()
        mine.release()
    assert world.now_s == 0.0


def test_a_living_holder_keeps_it(world: World) -> None:
    first, second = world.lease("first"), world.lease("second")
    first.take()
    world.beside = first.renew
    with pytest.raises(TestbedError, match="first has it") as refused:
        second.take()
    assert refused.value.error_id == "LEASE-01"
    first.require()


def test_a_dead_holder_is_outwaited_and_named(world: World) -> None:
    world.lease("dead").take()
    second = world.lease("second")
    second.take()
    assert (second.transitions, second.taken_over) == (1, "dead")
    assert world.now_s >= 60


def test_of_two_that_outwait_one_gets_it(world: World) -> None:
    world.lease("dead").take()
    second, third = world.lease("second"), world.lease("third")

    def meanwhile() -> None:
        if world.now_s >= 60:
            world.beside = lambda: None
            third.take()

    world.beside = meanwhile
    with pytest.raises(TestbedError) as refused:
        second.take()
    assert (refused.value.error_id, third.transitions) == ("LEASE-01", 1)


def test_a_frozen_holder_that_wakes_is_told_before_it_records_anything(world: World) -> None:
    frozen, second = world.lease("frozen"), world.lease("second")
    frozen.take()
    second.take()
    with pytest.raises(TestbedError, match="second has it") as lost:
        frozen.require()
    assert lost.value.error_id == "LEASE-02"
    second.release()
    for act in (frozen.require, frozen.renew):  # what is lost stays lost
        with pytest.raises(TestbedError, match="LEASE-02"):
            act()
    frozen.release()
    world.lease("fourth").take()


def test_a_frozen_holder_whose_lease_nobody_took_goes_on(world: World) -> None:
    frozen = world.lease("frozen")
    frozen.take()
    world.now_s += 1000
    frozen.require()
    assert frozen.transitions == 0


def test_a_holder_that_is_cut_off_stops_before_another_can_have_it(world: World) -> None:
    mine = world.lease("mine")
    mine.take()
    world.server.away = True
    world.now_s = 30
    mine.renew()  # the next time
    mine.require()
    world.now_s = 46
    with pytest.raises(TestbedError, match="KUBE-21") as lost:
        mine.require()
    assert lost.value.error_id == "LEASE-02"


def test_a_renewal_whose_answer_was_lost_loses_nothing(world: World) -> None:
    mine = world.lease("mine")
    mine.take()
    world.server.mute = True
    mine.renew()
    world.now_s = 50
    mine.require()


def test_a_taking_whose_answer_was_lost_is_ours(world: World) -> None:
    first = world.lease("first")
    first.take()
    first.release()
    second = world.lease("second")
    world.server.mute = True
    second.take()
    second.require()
    assert second.transitions == 1


def test_two_testbeds_have_two_names_that_a_cluster_takes() -> None:
    names = [lease_name(one) for one in ("lab-a", "Lab A", "lab a", "lab_a", "ü", "x" * 300)]
    assert len(set(names)) == len(names)
    assert names[0] == "bmwg-testbed-lab-a"
    for one in names:
        assert len(one) <= 253
        assert all(character in "abcdefghijklmnopqrstuvwxyz0123456789-" for character in one)
