"""A switch that stands: how it is waited for, and which trials it would forget addresses in."""

from types import SimpleNamespace

import pytest

from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, TrialSpec
from bmwg.methodology.trial.pattern import Pattern, full_mesh
from bmwg.resources.kinds.frames.standing_switch import StandingSwitch


class Clock:
    now_ns = 0

    def monotonic_ns(self):
        return self.now_ns

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)


def trial(duration_s, pattern):
    return TrialSpec(frame_octets=64, load_fps=10, duration_s=duration_s, pattern=pattern)


def test_it_is_waited_for_until_its_table_is_empty():
    clock = Clock()
    switch = StandingSwitch(ageing_s=10, known=lambda: int(clock.now_ns < 10.5e9))
    switch.forget(clock)
    assert 10.5e9 <= clock.now_ns < 11e9


def test_one_that_does_not_forget_is_named():
    with pytest.raises(TestbedError, match="SWITCH-03"):
        StandingSwitch(ageing_s=10, known=lambda: 3).forget(Clock())


TAUGHT = Pattern(to=((), (0,), ()), sources=50, unprepared=True)


@pytest.mark.parametrize(
    ("spec", "held"),
    [
        (trial(9.0, full_mesh(3)), True),
        (trial(9.9, full_mesh(3)), False),  # a tenth of a second lies between its learning frames and it
        (trial(4.9, TAUGHT), True),
        (trial(5.0, TAUGHT), False),  # what asks for the addresses takes as long again
        (trial(60.0, None), True),  # two ports that both send, or a path without a table
    ],
)
def test_a_trial_in_which_addresses_age_is_refused(spec, held):
    switch = StandingSwitch(ageing_s=10, known=lambda: 0)
    if held:
        switch.require_longer(spec, before_s=0.1)
        return
    with pytest.raises(TestbedError, match="SWITCH-02"):
        switch.require_longer(spec, before_s=0.1)


def test_only_what_has_an_ageing_time_is_a_switch():
    cell = Cell(path="node", hosting=BAREMETAL, function="kernel-l3", network=NOTHING, frame_octets=64)
    bed = SimpleNamespace()
    for evidence in ({}, {"function": None}, {"function": "x"}, {"function": {"settings": {}}}):
        assert StandingSwitch.of(bed, cell, evidence) is None
