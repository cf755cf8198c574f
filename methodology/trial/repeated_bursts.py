"""Bursts that repeat within a trial (RFC 2544 section 21): how they were to leave, and how they left.

A trial of repeated bursts has a mean load; within a burst the frames have the least gap that there is. From
the mean load follow period and interval: `burst_frames / load_fps` from the begin of a burst to that of the
next, less `burst_frames / burst_fps` for the burst itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstTimes:
    """The bursts of one direction of one trial as they left; times are sums and extremes, nanoseconds.

    `bursts` left whole. `lengths_ns` is from the first to the last frame of a burst, `intervals_ns` from the
    last frame of a burst to the first of the next one.
    """

    bursts: int
    lengths_ns: int
    longest_ns: int
    intervals_ns: int
    shortest_interval_ns: int


def interval_ns(burst_frames: int, load_fps: int, burst_fps: int) -> int:
    """Return the interval between two bursts at a mean load, whole nanoseconds; 0 is a constant load."""
    return max(0, round(_NS * (Fraction(burst_frames, load_fps) - Fraction(burst_frames, burst_fps))))


def bursts_in(burst_frames: int, load_fps: int, duration_s: float) -> int:
    """Return how many bursts a trial of this length has, at least one."""
    return max(1, round(load_fps * duration_s / burst_frames))


def due_s(burst_frames: int, load_fps: int, burst_fps: int, bursts: int) -> float:
    """Return when the last frame of the last burst is due, seconds since the first frame was."""
    return (bursts - 1) * burst_frames / load_fps + (burst_frames - 1) / burst_fps
