"""What contradicted an answer for zero loss in version 2 of `standing`.

Frozen. docs/adr/0263 says what version 3 finds beside: a trial near the answer that came through far slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.trial import JudgedTrial

APART = 1.25  # choice: loads this far apart do not change places by a machine's noise
FLAT = 2.0  # choice: a loss ratio that grows less than this over such a distance does not follow the load
_LEAST_DURATION = 0.5  # choice: of the longest trial; in a shorter one a buffer may carry what no rate does


def contradiction(trials: Sequence[JudgedTrial], *, lower_fps: int | None, upper_fps: int | None) -> str:
    """Say which valid trials contradict bounds for zero loss (frames/s); empty when none does.

    `lower_fps` is a load without loss, `upper_fps` the lowest with it, either None where there is none.
    """
    valid = _long(trials)
    if lower_fps is not None and (below := _lossy_below(valid, lower_fps)):
        return below
    if upper_fps is None:
        return ""
    return _passed_above(valid, upper_fps) or _flat(valid, upper_fps)


def _long(trials: Iterable[JudgedTrial]) -> list[JudgedTrial]:
    valid = [trial for trial in trials if trial.valid]
    longest_s = max((trial.result.spec.duration_s for trial in valid), default=0.0)
    return [trial for trial in valid if trial.result.spec.duration_s >= _LEAST_DURATION * longest_s]


def _lossy_below(trials: Sequence[JudgedTrial], lower_fps: int) -> str:
    by_load: dict[int, list[JudgedTrial]] = {}
    for trial in trials:
        if trial.result.spec.load_fps * APART <= lower_fps:
            by_load.setdefault(trial.result.spec.load_fps, []).append(trial)
    for load, found in sorted(by_load.items()):
        lossy = [trial.seq for trial in found if not trial.lossless]
        if len(lossy) == len(found):  # a goal may forgive some trials, and a search then tried it again
            return (
                f"{load} frames/s lost frames (trials {lossy}) and {lower_fps} frames/s lost none: the device"
                " is not the same from load to load, or from trial to trial"
            )
    return ""


def _passed_above(trials: Sequence[JudgedTrial], upper_fps: int) -> str:
    for trial in trials:
        load = trial.result.spec.load_fps
        if trial.lossless and load >= APART * upper_fps:
            return (
                f"{load} frames/s lost none (trial {trial.seq}) and {upper_fps} frames/s lost frames: the"
                " device is not the same from load to load, or from trial to trial"
            )
    return ""


def _flat(trials: Sequence[JudgedTrial], upper_fps: int) -> str:
    """Loss at the upper bound and far above it alike, in trials that forwarded more than that bound."""
    at = [trial for trial in trials if trial.result.spec.load_fps == upper_fps]
    sent = sum(trial.result.sent_frames for trial in at)
    lost = sum(trial.result.lost_frames for trial in at)
    if not lost:
        return ""
    for trial in trials:
        result = trial.result
        load = result.spec.load_fps
        forwarded_fps = min(stream.received_frames for stream in result.streams) / result.spec.duration_s
        if load < APART * upper_fps or forwarded_fps < APART * upper_fps or trial.lossless:
            continue
        if result.loss_ratio <= FLAT * lost / sent:
            return (
                f"loss does not depend on load: a ratio of {lost / sent:.2g} at {upper_fps} frames/s and of"
                f" {result.loss_ratio:.2g} at {load} frames/s (trial {trial.seq})"
            )
    return ""
