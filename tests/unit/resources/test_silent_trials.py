"""A trial of which nothing came: machines whose provider is slow to tell are asked whether they stand."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.records import VM, Cell, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.capabilities import needed
from bmwg.methodology.trial.judging import TrialPolicy
from bmwg.resources.kinds.frames.measure import CellMeasurement

CELL = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)
SPEC = TrialSpec(frame_octets=64, load_fps=100, duration_s=0.1)


class Sender:
    """A tester whose frames come, or do not, in each of two directions."""

    def __init__(self, *received_frames):
        self._received = received_frames

    def learn(self, spec):
        pass

    def run(self, spec):
        streams = tuple(
            StreamCounts(intended_frames=10, sent_frames=10, received_frames=count)
            for count in self._received
        )
        return TrialResult(spec=spec, streams=streams, wall_time_ns=1)


class Here:
    """A node of the file that is this machine."""

    name = "dut1"

    def call(self, function, **arguments):
        return function(**arguments)


class Machine:
    """A machine that counts how often it was asked."""

    def __init__(self, why):
        self.why = why
        self.asked = 0

    def fault(self):
        self.asked += 1
        return self.why


def liveness(machine):
    tester = SimpleNamespace(driver="embedded")
    return Liveness(
        SimpleNamespace(
            nodes={"dut1": Here()},
            host=lambda name: Here(),
            pods={},
            programs={},
            standing_machines={"pvp-1": machine},
            testbed=SimpleNamespace(tester=tester, links=()),
        )
    )


def judged(received, machine):
    return CellMeasurement(
        planned=SimpleNamespace(cell=CELL, test_id="t"),
        metric="m",
        deployment_id="a",
        traffic=Sender(*received),
        limits=SimpleNamespace(capabilities=needed(SPEC)),
        tester="embedded",
        store=MagicMock(),
        policy=TrialPolicy(max_stall_ns=10**9),
        display=MagicMock(),
        fault=liveness(machine).fault,
        clock=MagicMock(monotonic_ns=lambda: 0),
    ).trial(SPEC, "search")


@pytest.mark.parametrize(
    ("received", "asked"), [((10,), 0), ((1,), 0), ((0,), 1), ((10, 0), 1), ((0, 0), 1)], ids=str
)
def test_a_machine_is_asked_when_nothing_came_in_some_direction_and_not_for_each_trial(received, asked):
    machine = Machine(None)
    assert judged(received, machine).result.fault is None
    assert machine.asked == asked


def test_a_machine_that_ended_is_a_fault_and_not_a_device_that_loses_all():
    found = judged((0,), Machine("the server is SHUTOFF"))
    assert found.validity is Validity.FAULT
    assert found.result.fault == "machine pvp-1 no longer stands: the server is SHUTOFF"


def test_a_trial_that_ends_a_machine_itself_does_not_ask():
    machine = Machine("the server is SHUTOFF")
    assert liveness(machine).fault(acted=True, silent=True) is None
    assert machine.asked == 0
