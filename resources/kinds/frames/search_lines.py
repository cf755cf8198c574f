"""What the display says of a search by frames: its bounds so far, and each trial."""

from __future__ import annotations

from bmwg.methodology.records import TrialResult, TrialSpec, Validity


def narrowed(
    lower_fps: int | None, upper_fps: int | None, load_fps: int, *, lossless: bool
) -> tuple[int | None, int | None]:
    """Return the bounds after one more load, frames/s; a bound that it contradicts is not known any more."""
    if lossless:
        lower_fps = max(load_fps, lower_fps or 0)
        return lower_fps, None if upper_fps is not None and upper_fps <= lower_fps else upper_fps
    upper_fps = min(load_fps, upper_fps or load_fps)
    return None if lower_fps is not None and lower_fps >= upper_fps else lower_fps, upper_fps


def bounds_text(lower_fps: int | None, upper_fps: int | None) -> str:
    """Format the bounds of a search so far with their unit; a question mark for what is not yet known."""
    lower = f"{lower_fps:,}" if lower_fps is not None else "?"
    upper = f"{upper_fps:,}" if upper_fps is not None else "?"
    return f"{lower}..{upper} fps"


def trial_text(spec: TrialSpec, result: TrialResult, validity: Validity) -> str:
    """Format one trial: load, loss in frames and percent, and why it is not used when it is not."""
    loss = f"lost {result.lost_frames:,} of {result.sent_frames:,} ({result.loss_ratio:.4%})"
    text = f"{spec.load_fps:>9,} fps, {loss}"
    return text if validity is Validity.VALID else f"{text}; not used: {validity.value}"
