"""Trials after a search: does what it found still hold at its end, and at half of it?

A search that tries a load once and never again (TST009, MLRsearch) answers for a device that is no longer
what it was: one that tires is found at what it carried first, or at what it carries last. Bisection verifies
its bounds itself. Pure, as stepwise's procedures are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search.offer import Offer, Tried
from bmwg.methodology.search.stepwise import Procedure, Run, valid_trial

PHASE = "closing"
TRIALS = 3  # choice: the number by which a quick bisection verifies a bound
USUAL_TRIALS = TRIALS + 1  # with the one at half the load
MOST_AT_HALF = 10  # choice: an exceed ratio of 0.9 and more has no more tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What to try again: `load` is what was found of `offer`, by trials of `duration_s`.

    A share of `exceed_ratio` (0..1) of the trials may lose more than `loss_ratio` (0..1), as the goal of the
    search allows; the other fields as in `ThroughputGoal`.
    """

    offer: Offer
    load: int
    duration_s: float
    loss_ratio: float
    exceed_ratio: float
    max_repeats: int
    short_limit: int


def procedure(closing: Closing) -> Procedure[str]:
    """Try half the load, then `TRIALS` times the load itself; say why it did not hold, nothing when it did.

    Half the load has one trial, and more where the goal lets a share of trials lose more: with an exceed
    ratio of 0.5 two, of which one is enough.
    """
    load, unit = closing.load, closing.offer.unit
    worse: list[int] = []
    for _ in range(min(MOST_AT_HALF, round(1 / (1 - closing.exceed_ratio)))):
        trial = yield from _valid(closing, max(1, load // 2))
        if trial is not None and trial.loss_ratio <= closing.loss_ratio:
            break
        worse += [] if trial is None else [trial.seq]
    else:
        return f"{load // 2} {unit} did not hold, half of what was found (trials {worse})"
    worse, short = [], 0
    for _ in range(TRIALS):
        trial = yield from _valid(closing, load)
        short += trial is None
        if trial is not None and trial.loss_ratio > closing.loss_ratio:
            worse.append(trial.seq)
    if short or len(worse) > closing.exceed_ratio * TRIALS:
        fell = f", and the tester fell short of it {short} times" if short else ""
        return (
            f"{load} {unit} did not hold at the end of the search: {len(worse)} of {TRIALS} trials lost"
            f" more than allowed (trials {worse}){fell}"
        )
    return ""


def _valid(closing: Closing, load: int) -> Procedure[Tried | None]:
    spec = closing.offer.spec(load, closing.duration_s)
    return (
        yield from valid_trial(spec, PHASE, max_repeats=closing.max_repeats, short_limit=closing.short_limit)
    )


def closed(outcome: Outcome, ended: Run[str]) -> Outcome:
    """Return an outcome of a search as it stands after its closing trials.

    One whose closing trials broke off has no bounds either: what the search found was never confirmed.
    """
    if ended.found == "":
        return outcome
    kind, why = OutcomeType.UNSTABLE, ended.found
    if why is None:
        kind, why = ended.type, f"what was found could not be tried again: {ended.reason}"
    if kind is OutcomeType.INVALID:
        return replace(outcome, type=kind, values=(), lower=None, upper=None, statement="", reason=why)
    return replace(outcome, type=kind, values=(), statement=why, reason=why)
