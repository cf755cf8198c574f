"""What the display says of a search by frames: its bounds so far, and each trial."""

from __future__ import annotations

from bmwg.methodology.records import TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.judging import JudgedTrial


class Bounds:
    """The bounds of a search so far, frames/s; a bound that a trial contradicts is not known any more."""

    def __init__(self) -> None:
        self._lower_fps: int | None = None
        self._upper_fps: int | None = None

    def note(self, trial: JudgedTrial) -> None:
        """Take one more trial; one that was set aside moves nothing."""
        if trial.validity not in (Validity.VALID, Validity.SENT_SHORT):
            return
        load_fps = trial.result.spec.load_fps
        if trial.lossless:
            self._lower_fps = max(load_fps, self._lower_fps or 0)
            if self._upper_fps is not None and self._upper_fps <= self._lower_fps:
                self._upper_fps = None
        else:
            self._upper_fps = min(load_fps, self._upper_fps or load_fps)
            if self._lower_fps is not None and self._lower_fps >= self._upper_fps:
                self._lower_fps = None

    @property
    def text(self) -> str:
        """Both with their unit; a question mark for what is not yet known."""
        lower = f"{self._lower_fps:,}" if self._lower_fps is not None else "?"
        upper = f"{self._upper_fps:,}" if self._upper_fps is not None else "?"
        return f"{lower}..{upper} fps"


def trial_text(spec: TrialSpec, result: TrialResult, validity: Validity) -> str:
    """Format one trial: load, loss in frames and percent, and why it is not used when it is not."""
    loss = f"lost {result.lost_frames:,} of {result.sent_frames:,} ({result.loss_ratio:.4%})"
    text = f"{spec.load_fps:>9,} fps, {loss}"
    return text if validity is Validity.VALID else f"{text}; not used: {validity.value}"
