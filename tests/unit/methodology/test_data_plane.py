"""Sums of what the data plane used: parts, windows, frames, and trials that lack a part."""

from __future__ import annotations

import os

import pytest

from bmwg.drivers.nodes import cycles
from bmwg.drivers.watch import data_plane
from bmwg.drivers.watch.data_plane import between
from bmwg.methodology.answers.data_plane import use_of
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec

MS = 1_000_000


def trial(frames=1000, **counts):
    spec = TrialSpec(frame_octets=64, load_fps=5000, duration_s=0.2)
    stream = StreamCounts(intended_frames=frames, sent_frames=frames, received_frames=frames)
    told = {f"host.dut.{name.replace('__', '.')}": value for name, value in counts.items()}
    return TrialResult(
        spec=spec, streams=(stream,), wall_time_ns=210 * MS, auxiliary=(("other", 1), *sorted(told.items()))
    )


POLLER = {
    "vswitch__cpu_ns": 250 * MS,
    "vswitch__polling_cpu_ns": 240 * MS,
    "vswitch__window_ns": 250 * MS,
    "vswitch__memory_octets": 7,
}
POD = {"pod0__cpu_ns": 50 * MS, "pod0__window_ns": 250 * MS}


def test_cpus_and_time_for_a_frame_are_those_of_all_parts_over_all_trials():
    use = use_of([trial(**POLLER, **POD), trial(3000, **POLLER, **POD)])
    assert [(part.name, part.cpus) for part in use.parts] == [("pod0", 0.2), ("vswitch", 1.0)]
    assert use.cpus == pytest.approx(1.2)
    assert (use.frames, use.trials) == (4000, 2)
    assert use.cpu_ns_per_frame == pytest.approx(600 * MS / 4000)
    assert use.parts[1].polling_cpu_ns == 480 * MS
    assert [part.memory_octets for part in use.parts] == [None, 7]


def test_ten_times_the_cpu_at_the_same_load_shows():
    slow, fast = (use_of([trial(queues__cpu_ns=cpu * MS, queues__window_ns=250 * MS)]) for cpu in (200, 20))
    assert slow.frames == fast.frames
    assert slow.cpus == pytest.approx(10 * fast.cpus)
    assert slow.cpu_ns_per_frame == pytest.approx(10 * fast.cpu_ns_per_frame)


def test_a_trial_that_lacks_a_part_is_left_out_and_never_counts_as_nothing():
    use = use_of([trial(**POLLER, **POD), trial(**POD)])
    assert (use.trials, use.frames) == (1, 1000)
    assert use.cpus == pytest.approx(1.2)


def test_without_counts_there_is_nothing_to_say():
    assert use_of([]) is None
    assert use_of([trial()]) is None
    assert use_of([trial(pod0__cpu_ns=5)]) is None  # no window
    assert use_of([trial(0, **POD)]).cpu_ns_per_frame is None


def test_cycles_are_told_only_where_every_part_counts_them():
    assert use_of([trial(**POLLER, **POD, pod0__cycles=9)]).cycles_per_frame is None
    assert use_of([trial(**POD, pod0__cycles=9000)]).cycles_per_frame == 9.0


def test_soft_interrupts_stand_beside_and_are_not_added():
    use = use_of([trial(**POD, cpus__softirq_ns=10 * MS)])
    assert use.softirq_ns == 10 * MS
    assert use.cpus == pytest.approx(0.2)


def test_between_two_readings_a_part_that_was_started_anew_is_left_out():
    before = {
        "pod0": {"at_ns": 100, "cpu_ns": 50, "memory_octets": 3},
        "vswitch": {"at_ns": 100, "cpu_ns": 70, "pid": 9},
        "gone": {"at_ns": 100, "cpu_ns": 1},
    }
    after = {
        "pod0": {"at_ns": 300, "cpu_ns": 90, "memory_octets": 5},
        "vswitch": {"at_ns": 300, "cpu_ns": 10, "pid": 11},
        "come": {"at_ns": 300, "cpu_ns": 1},
    }
    assert dict(between(before, after)) == {
        "host.dut.pod0.cpu_ns": 40,
        "host.dut.pod0.window_ns": 200,
        "host.dut.pod0.memory_octets": 5,
    }


def test_the_share_of_pollers_is_not_told_where_one_of_them_ended_meanwhile():
    """RFC8204-3.1-03: its time was lost, so the share was too low."""

    def read(at, *threads):
        return {"vswitch": {"at_ns": at, "cpu_ns": at, "polling_cpu_ns": at, "pollers": list(threads)}}

    assert dict(between(read(1, 7, 8), read(3, 7, 8)))["host.dut.vswitch.polling_cpu_ns"] == 2
    found = dict(between(read(1, 7, 8), read(3, 7, 9)))
    assert "host.dut.vswitch.polling_cpu_ns" not in found
    assert found["host.dut.vswitch.cpu_ns"] == 2


def test_upcalls_are_summed_over_trials_and_unknown_where_one_lacks_them():
    counted = trial(**POLLER, vswitch__upcalls=2, vswitch__failed_upcalls=1)
    assert use_of([counted, counted]).upcalls == 6
    assert use_of([trial(**POLLER, vswitch__upcalls=0, vswitch__failed_upcalls=0)]).upcalls == 0
    assert use_of([counted, trial(**POLLER)]).upcalls is None
    assert use_of([trial(**POLLER)]).upcalls is None


def test_upcalls_between_two_readings_are_their_difference_and_none_of_a_new_switch():
    def read(at, upcalls):
        return {"vswitch": {"at_ns": at, "cpu_ns": at, "upcalls": upcalls, "failed_upcalls": 0}}

    assert dict(between(read(1, 5), read(2, 9)))["host.dut.vswitch.upcalls"] == 4
    assert "host.dut.vswitch.upcalls" not in dict(between(read(1, 5), read(2, 0)))


def test_a_part_whose_event_did_not_count_all_the_time_has_no_cycles(monkeypatch):
    """The kernel ends what it tells of such an event at once, as a pipe does that nobody writes to."""
    reading, writing = os.pipe()
    os.close(writing)
    event = cycles.Event(descriptor=reading)
    monkeypatch.setattr(data_plane, "_events", {"pod0": [event]})
    with pytest.raises(OSError, match="others have all counters"):
        event.read()
    found = data_plane.kernel(queues=[], cpus=[0])
    event.close()
    assert "pod0" not in found
    assert "softirq_ns" in found["cpus"]
