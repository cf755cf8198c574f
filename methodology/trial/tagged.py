"""Which frames of a trial are tagged: in even steps to the end of the load in which the first one is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bmwg.methodology.records import TrialSpec


def in_second_load(spec: TrialSpec) -> bool:
    """Whether the tagged frames are those of the second load."""
    return spec.then_load_fps is not None and (spec.tag_after_s or 0.0) >= spec.duration_s


def frames(spec: TrialSpec) -> tuple[int, ...]:
    """Return the sequence numbers of the tagged frames, from 0."""
    if spec.tag_after_s is None or spec.tags is None:
        return ()
    first, end = int(spec.tag_after_s * spec.load_fps), spec.first_frames
    if in_second_load(spec) and spec.then_load_fps is not None:
        first = end + int((spec.tag_after_s - spec.duration_s) * spec.then_load_fps)
        end = spec.intended_frames
    first = min(end - 1, first)
    step = max(1, (end - first) // spec.tags)
    count = min(spec.tags, 1 + (end - 1 - first) // step)
    return tuple(first + number * step for number in range(count))
