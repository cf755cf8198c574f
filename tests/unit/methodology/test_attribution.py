"""Loss belongs to a stall only where the frames were due while a watchdog shows that a CPU was gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.simulated_devices.attribution import attribution, windows
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.simulated_devices.stalled import StalledBench, StallLaw
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LossRun, LossTimes
from bmwg.methodology.trial.judging import TrialPolicy

SPEC = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=1.0, loss_times=True)
MS = 1_000_000


def watch(*intervals: tuple[int, int], tester: bool = False, **changes: int) -> CpuWatch:
    lengths = [end - begin for begin, end in intervals]
    made = CpuWatch(
        cpu=1,
        tester=tester,
        absences=len(intervals),
        absent_ns=sum(lengths),
        longest_ns=max(lengths, default=0),
        intervals=intervals,
    )
    return replace(made, **changes)


def trial(
    runs: list[tuple[int, int]], *watches: CpuWatch, lost: int | None = None, reordered: int = 0
) -> TrialResult:
    """Return a trial of 100 frames a millisecond; `runs` are first frame and number of lost ones."""
    missing = sum(frames for _, frames in runs) if lost is None else lost
    losses = LossTimes(
        runs=len(runs),
        first_received_frames=100_000 - missing,
        longest=tuple(
            LossRun(first_frame=first, frames=frames, before_ns=None, after_ns=None) for first, frames in runs
        ),
    )
    stream = StreamCounts(
        intended_frames=100_000,
        sent_frames=100_000,
        received_frames=100_000 - missing,
        reordered_frames=reordered,
        losses=losses,
    )
    return TrialResult(
        spec=SPEC, streams=(stream,), wall_time_ns=10**9, disturbance=HostDisturbance(watches=watches)
    )


GONE = (100 * MS, 110 * MS)  # frames 10,000 to 11,000 are due then


@pytest.mark.parametrize(
    ("runs", "masked"),
    [
        ([(10_256, 744)], 744),  # what a queue of 256 frames does not hold
        ([(9_900, 1_200)], 1_200),  # a millisecond before: an absence is told that much later
        ([(9_800, 1_200)], 1_100),
        ([(11_000, 300)], 257),  # until the queue has drained at this load
        ([(20_000, 5)], 0),
        ([(10_256, 744), (20_000, 5)], 744),
        ([(0, 100_000)], 1_357),  # a device that loses all has lost nearly all outside
    ],
)
def test_only_frames_that_were_due_in_a_window_are_masked(runs: list[tuple[int, int]], masked: int) -> None:
    found = attribution(trial(runs, watch(GONE)), depth_frames=256)
    assert found is not None
    assert found.masked_frames == masked
    assert found.covered_ratio == pytest.approx(0.01356)


def test_a_tester_that_was_gone_catches_up_for_as_long() -> None:
    assert windows([watch(GONE, tester=True)], load_fps=100_000, depth_frames=256) == ((99 * MS, 120 * MS),)
    both = windows([watch(GONE), watch((105 * MS, 125 * MS))], load_fps=100_000, depth_frames=0)
    assert both == ((99 * MS, 125 * MS),)


def test_losses_whose_time_nobody_knows_count() -> None:
    found = attribution(trial([(10_256, 744)], watch(GONE), lost=5_000), depth_frames=256)
    assert found is not None
    assert found.masked_frames == 744


def test_frames_that_only_came_late_mask_nothing() -> None:
    found = attribution(trial([(10_256, 744)], watch(GONE), lost=500, reordered=244), depth_frames=256)
    assert found is not None
    assert found.masked_frames == 500
    late = attribution(trial([(10_256, 744)], watch(GONE), lost=500, reordered=744), depth_frames=256)
    assert late is not None
    assert late.masked_frames == 0


@pytest.mark.parametrize(
    "seen",
    [
        (),
        (watch(GONE, throttled=1),),
        (watch(GONE, lost=1),),
        (watch(GONE, absences=2),),  # one interval of two is told
        (watch(GONE), watch(GONE, tester=True, lost=1)),
    ],
)
def test_who_did_not_watch_excuses_nothing(seen: tuple[CpuWatch, ...]) -> None:
    assert attribution(trial([(10_256, 744)], *seen), depth_frames=256) is None


def test_a_trial_without_times_of_loss_is_not_attributed() -> None:
    whole = trial([(10_256, 744)], watch(GONE))
    untimed = replace(whole, spec=replace(SPEC, loss_times=False))
    assert attribution(untimed, depth_frames=256) is None
    bare = replace(whole, streams=(replace(whole.streams[0], losses=None),))
    assert attribution(bare, depth_frames=256) is None


@pytest.mark.parametrize("which", ["sut", "generator"])
def test_the_model_tells_the_times_of_what_it_loses(which: str) -> None:
    """Below its limit a model loses frames in stalls alone, and all of them are within their windows."""
    law = {which: StallLaw(per_s=5.0)}
    bench = StalledBench(
        device=HardLimit(limit_fps=400_000), carries_fps=400_000, seed=4, policy=TrialPolicy(), **law
    )
    lossy = 0
    for _ in range(50):
        result = bench.measure(replace(SPEC, load_fps=300_000)).result
        found = attribution(result, depth_frames=256)
        assert found is not None
        assert found.masked_frames == result.lost_frames
        lossy += result.lost_frames > 0
    assert lossy > 40
    above = bench.measure(replace(SPEC, load_fps=450_000)).result
    found = attribution(above, depth_frames=256)
    assert found is not None
    assert above.lost_frames - found.masked_frames > 40_000
