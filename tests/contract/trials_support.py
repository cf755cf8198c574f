"""Trials of exact counts on a machine whose CPUs are taken away: the first that was offered whole."""

from __future__ import annotations

from collections.abc import Callable

from bmwg.drivers.api.protocols import TrafficDriver
from bmwg.methodology.records import TrialResult, TrialSpec

TRIES = 8


def offered_whole(result: TrialResult) -> bool:
    """Whether all frames left that were to: a tester that is held up at the end of a trial sends fewer."""
    return all(stream.sent_frames == stream.intended_frames for stream in result.streams)


def lossless(result: TrialResult) -> bool:
    """Whether it was, and nothing was lost: a device without a CPU loses what its queue does not hold."""
    return offered_whole(result) and result.lost_frames == 0


def whole(
    tester: TrafficDriver, spec: TrialSpec, as_wanted: Callable[[TrialResult], bool] = offered_whole
) -> TrialResult:
    """Run a trial until one is as wanted; the last one where none is, for the test to say what is wrong."""
    for _ in range(TRIES):
        result = tester.run(spec)
        if as_wanted(result):
            break
    return result
