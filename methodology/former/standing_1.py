"""What stood beside an answer in version 1: the share of trials set aside for the SUT's host alone.

Frozen. Commits up to 77e44c9b3248 wrote it; docs/adr/0260 says what version 2 does otherwise. Trials in
which the tester stalled are neither in the share nor in what it calls "over all trials".
"""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import Validity
from bmwg.methodology.trial import JudgedTrial

VERSION = 1
_COUNTED = (Validity.VALID, Validity.HOST_STALLED)
_CONTINUED = "the run was cut off in the midst of these trials and continued"


def remarks(trials: Sequence[JudgedTrial], *, continued: bool) -> tuple[str, ...]:
    """Return what version 1 said beside an answer."""
    counted = [trial for trial in trials if trial.validity in _COUNTED]
    aside = sum(trial.validity is Validity.HOST_STALLED for trial in counted)
    said: tuple[str, ...] = ()
    if aside:
        best = _lossless_over_all(counted)
        value = f"{best} frames/s" if best is not None else "no load"
        share = f"{aside / len(counted):.0%} of trials set aside for stalls of the SUT's host"
        said = (f"{share}; without loss over all trials: {value}",)
    return (*said, _CONTINUED) if continued else said


def _lossless_over_all(counted: Sequence[JudgedTrial]) -> int | None:
    lossy_by_load: dict[int, bool] = {}
    for trial in counted:
        load = trial.result.spec.load_fps
        lossy = any(stream.lost_frames for stream in trial.result.streams)
        lossy_by_load[load] = lossy_by_load.get(load, False) or lossy
    best: int | None = None
    for load in sorted(lossy_by_load):
        if lossy_by_load[load]:
            break
        best = load
    return best
