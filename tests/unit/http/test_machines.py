"""Counts of several hosts as one."""

from bmwg.resources.run.machines import together


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
