"""Trials that contradict an answer for little loss: loss that does not grow with load, loads out of order.

Pure. Thresholds are wide, since a shared machine moves a device's rate by a tenth and more from trial to
trial (docs/adr/0232); what they find is no such noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.mlrsearch.goal import Claim
from bmwg.methodology.search.offer import Tried
from bmwg.methodology.search.sequential import all_lossy_trials, refused

APART = 1.25  # choice: loads this far apart do not change places by a machine's noise
MOST_LOSS = 0.1  # choice: half of what a device loses of a load a quarter above what it carries
NEAR = 1.05  # choice: the load of a trial that has to forward what the answer says, or almost
FLAT = 2.0  # choice: a loss ratio that grows less than this over such a distance does not follow the load
_FALLS = 0.1  # choice: of trials that a neighbour on a shared machine slows so much (docs/adr/0371)
_PASSES = 0.1  # choice: of trials a quarter above the upper end, which luck lets pass
_LEAST_DURATION = 0.5  # choice: of the longest trial; in a shorter one a buffer may carry what no rate does


def contradiction(
    trials: Sequence[Tried],
    *,
    lower_fps: int | None,
    upper_fps: int | None,
    claim: Claim | None = None,
) -> str:
    """Say which valid trials contradict bounds for little loss; empty when none does.

    `lower_fps` is a load without loss, `upper_fps` the lowest with it, either None where there is none.
    With the `claim` of a goal its trials are those of its length, loss is what is more than it allows, and a
    share of them may lose. A goal that allows more than `MOST_LOSS` contradicts no trial.
    """
    valid = _long(trials) if claim is None else _of_length(trials, claim.duration_s)
    exceed_ratio = claim.exceed_ratio if claim is not None else 0.0
    allowed = claim.loss_ratio if claim is not None else 0.0
    if allowed > MOST_LOSS:
        return ""
    if lower_fps is not None:
        if below := _lossy_below(valid, lower_fps, exceed_ratio, allowed):
            return below
        highest = upper_fps if upper_fps is not None else lower_fps
        if fell := _fell(valid, lower_fps, highest, exceed_ratio, allowed):
            return fell
    if upper_fps is None:
        return ""
    if passed := _passed_above(valid, upper_fps, exceed_ratio, allowed):
        return passed
    return "" if allowed else _flat(valid, upper_fps, exceed_ratio)


def _long(trials: Iterable[Tried]) -> list[Tried]:
    valid = [trial for trial in trials if trial.valid]
    longest_s = max((trial.spec.duration_s for trial in valid), default=0.0)
    return [trial for trial in valid if trial.spec.duration_s >= _LEAST_DURATION * longest_s]


def _of_length(trials: Iterable[Tried], duration_s: float) -> list[Tried]:
    return [
        trial
        for trial in trials
        if trial.valid and _LEAST_DURATION * duration_s <= trial.spec.duration_s <= duration_s
    ]


def _lossy_below(trials: Sequence[Tried], lower_fps: int, exceed_ratio: float, allowed: float) -> str:
    by_load: dict[int, list[Tried]] = {}
    for trial in trials:
        if trial.load * APART <= lower_fps:
            by_load.setdefault(trial.load, []).append(trial)
    for load, found in sorted(by_load.items()):
        lossy = [trial.seq for trial in found if trial.loss_ratio > allowed]
        # a goal may forgive some trials, and a search then tried it again
        if len(lossy) == len(found) and len(lossy) >= all_lossy_trials(exceed_ratio):
            return (
                f"{_lost(load, found[0], allowed)} (trials {lossy}) and {lower_fps} {found[0].spec.unit}"
                f" {_kept(allowed)}: the device is not the same from load to load, or from trial to trial"
            )
    return ""


def _lost(load: int, trial: Tried, allowed: float) -> str:
    """Say that a load lost some of what it counts, in the unit of a trial, or more than is allowed."""
    unit = trial.spec.unit
    return f"{load} {unit} lost {'more than allowed' if allowed else unit.partition('/')[0]}"


def _kept(allowed: float) -> str:
    return "lost no more than allowed" if allowed else "lost none"


def _fell(
    trials: Sequence[Tried], lower_fps: int, upper_fps: int, exceed_ratio: float, allowed: float
) -> str:
    """Trials at about the load of the answer that forwarded far less than that, and than they were sent.

    One is enough, unless the goal forgives a share of trials: then more than one in ten of them, by a law
    that refuses a device of one in ten in one of a hundred cases.
    """
    near = [trial for trial in trials if trial.load <= NEAR * upper_fps]
    fallen = [(trial, fell) for trial in near if (fell := _fallen_fps(trial, lower_fps)) is not None]
    if not fallen or (exceed_ratio and not refused(len(fallen), len(near), _FALLS)):
        return ""
    trial, carried_fps = fallen[0]
    unit = trial.spec.unit
    often = f", one of {len(fallen)} such trials" if exceed_ratio else ""
    return (
        f"{trial.load} {unit} came through at {carried_fps:.0f} {unit} (trial"
        f" {trial.seq}{often}) and {lower_fps} {unit} {_kept(allowed)}: the device's speed changed between"
        " trials"
    )


def _fallen_fps(trial: Tried, lower_fps: int) -> float | None:
    carried_fps = trial.carried_per_s
    return carried_fps if APART * carried_fps < min(trial.sent_per_s, lower_fps) else None


def _passed_above(trials: Sequence[Tried], upper_fps: int, exceed_ratio: float, allowed: float) -> str:
    above = [trial for trial in trials if trial.load >= APART * upper_fps]
    passed = [trial for trial in above if trial.loss_ratio <= allowed]
    if not refused(len(passed), len(above), _PASSES if exceed_ratio else 0.0):
        return ""
    first = passed[0]
    return (
        f"{first.load} {first.spec.unit} {_kept(allowed)} (trial {first.seq}) and"
        f" {_lost(upper_fps, first, allowed)}: the device is not the same from load to load, or from trial to"
        " trial"
    )


def _flat(trials: Sequence[Tried], upper_fps: int, exceed_ratio: float) -> str:
    """Loss at the upper bound and far above it alike, in trials that forwarded more than that bound.

    One is enough, unless the goal forgives a share of trials: then as `_passed_above`.
    """
    at = [trial for trial in trials if trial.load == upper_fps]
    sent = sum(trial.sent for trial in at)
    lost = sum(trial.lost for trial in at)
    if not lost:
        return ""
    above = [trial for trial in trials if trial.load >= APART * upper_fps]
    alike = [
        trial
        for trial in above
        if not trial.lossless
        and trial.loss_ratio <= FLAT * lost / sent
        and trial.carried_per_s >= APART * upper_fps
    ]
    if not refused(len(alike), len(above), _PASSES if exceed_ratio else 0.0):
        return ""
    first, unit = alike[0], alike[0].spec.unit
    return (
        f"loss does not depend on load: a ratio of {lost / sent:.2g} at {upper_fps} {unit} and of"
        f" {first.loss_ratio:.2g} at {first.load} {unit} (trial {first.seq})"
    )
