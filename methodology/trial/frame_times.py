"""How long received frames took, and when lost ones were lost: records of one direction of one trial."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyHistogram:
    """Latency of every received test frame, log-linear buckets (HDR).

    A bucket is `(lowest_ns, highest_ns, frames)`; buckets ascend, do not overlap and are never empty.
    `sum_ns` is exact, so the mean is. Latency is time stamp at receive minus time stamp at send in the
    tester's software (no clause: RFC 2544 26.2 has a metric of its own).
    """

    buckets: tuple[tuple[int, int, int], ...] = ()
    sum_ns: int = 0
    min_ns: int | None = None
    max_ns: int | None = None

    @property
    def frames(self) -> int:
        """How many frames the histogram holds."""
        return sum(count for _, _, count in self.buckets)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRun:
    """Frames in sequence that were missing when the next one came.

    `before_ns` and `after_ns` are when the frames before and after them arrived, None where there was none;
    times are nanoseconds since the trial's first frame was due.
    """

    first_frame: int
    frames: int
    before_ns: int | None
    after_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTimes:
    """When frames of one direction were lost; times are nanoseconds since the trial's first frame was due.

    `runs` counts all runs of missing frames, `longest` holds the longest of them in order. `last_lost_ns` is
    when the last frame that never came was due (None: none was lost); a frame leaves at most the stream's
    `largest_lateness_ns` after it is due. `reduced_at_ns` is when the second load began (None: none did),
    `first_received_frames` how many frames of the first load came.
    """

    runs: int
    first_received_frames: int
    longest: tuple[LossRun, ...] = ()
    reduced_at_ns: int | None = None
    last_lost_ns: int | None = None
