"""Frames that came and were not known again are no loss: something on the way rewrote their headers."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import StreamCounts

# choice: neighbours and routers say far less beside a trial than one frame in a hundred of its own
LEAST_RATIO = 0.01


def renamed(streams: Sequence[StreamCounts]) -> str | None:
    """Say where foreign frames came in place of test frames: such a trial tells nothing of loss.

    That is at least `LEAST_RATIO` of the frames sent, where none of them came, or half of those missing.
    """
    for stream in streams:
        foreign, missing = stream.foreign_frames, stream.lost_frames
        if not missing or foreign < LEAST_RATIO * stream.sent_frames:
            continue
        if not stream.received_frames or 2 * foreign >= missing:
            return (
                f"{foreign} frames came that are no test frames, where {missing} of {stream.sent_frames} test"
                " frames are missing: something on the way rewrites their headers (address translation?)"
            )
    return None
