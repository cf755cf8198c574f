"""Counts of several hosts as one."""

from bmwg.resources.run import machines
from bmwg.resources.run.machines import Machines, together


def test_counts_add_and_frequencies_are_extremes():
    one = {"host.steal_ns": 5, "host.frequency_lowest_khz": 800, "host.frequency_highest_khz": 3000}
    two = {"host.steal_ns": 7, "host.frequency_lowest_khz": 900, "host.frequency_highest_khz": 3100}
    assert together([one, two]) == {
        "host.frequency_highest_khz": 3100,
        "host.frequency_lowest_khz": 800,
        "host.steal_ns": 12,
    }


def test_a_count_that_one_could_not_read_is_left_out():
    assert together([{"host.steal_ns": 5, "host.foreign_frames": 1}, {"host.steal_ns": 7}]) == {
        "host.steal_ns": 12
    }
    assert together([]) == {}


class Host:
    """A host on which a hundred polls were squeezed between two looks."""

    name = "dut1/host"

    def __init__(self) -> None:
        self.looks = 0

    def call_within(self, deadline_s, function):
        assert function is machines.sample
        self.looks += 1
        return 100 * self.looks

    def call(self, function):
        return "0.1.0", None, None  # the state of the toolkit there


def test_what_a_kind_counts_is_of_all_machines_and_not_of_this_one_alone(monkeypatch):
    here = iter((10, 17))
    monkeypatch.setattr(machines, "sample", lambda: next(here))
    monkeypatch.setattr(machines, "between", lambda first, last: last - first)
    monkeypatch.setattr(machines, "host_counts", lambda squeezed: [("host.polls_squeezed", squeezed)])
    run = Machines({"dut1": Host()}, under_test="dut1")
    with run.counted() as counts:
        assert counts == {}
    assert counts == {"host.polls_squeezed": 107}
