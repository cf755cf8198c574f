"""Trials after a search: does what it found still hold at its end, and at half of it?

A search that tries a load once and never again (TST009, MLRsearch) answers for a device that is no longer
what it was: one that tires is found at what it carried first, or at what it carries last. Bisection verifies
its bounds itself. These trials ask for the goal itself: where it lets a share of trials lose more, that share
is what is tested, with a declared error (`sequential`). Pure, as stepwise's procedures are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.contradictions import APART
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search.offer import Offer, Tried
from bmwg.methodology.search.sequential import Verdict, all_lossy_trials, refused, verdict
from bmwg.methodology.search.stepwise import Procedure, Run, valid_trial

PHASE = "closing"
USUAL_TRIALS = 5  # three at what was found, one at half of it and one above it
MOST_WIDTH = 0.2  # choice: of the upper end; a wider interval tells little of a device
EDGE_RATIO = 0.5  # choice: of the trials at an upper bound for no loss, in an indicative profile
CONTROL_TRIALS = 20  # choice: a device that loses in a quarter of all trials then passes in 1 of 11 cases
CONTROL_FROM = 0.1  # choice: of the trials at what was found; below it the control has nothing to explain
CONTROL_RATIO = 0.02  # choice: of trials at the lowest load; more of them is loss that needs no load


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What to try again: `load` is what was found of `offer`, by trials of `duration_s`.

    A share of `exceed_ratio` (0..1) of the trials may lose more than `loss_ratio` (0..1), as the goal of the
    search allows; the other fields as in `ThroughputGoal`. `above_fps` is a load that has to lose frames,
    also when the device has rested (None: none is known).

    `upper` is the bound above (None: it is not tried again). More than a share of `upper_ratio` (0..1) of its
    trials have to lose, `tried` (the valid trials of the search of `duration_s`) among them. Where they do
    not, the upper end may be moved in steps of `step` (0..1 of it) up to `max_load`; without a step there is
    no answer. `lowest` is a load at which a share of lossy trials would need no load (None: it is not asked).
    """

    offer: Offer
    load: int
    duration_s: float
    loss_ratio: float
    exceed_ratio: float
    max_repeats: int
    short_limit: int
    above_fps: int | None = None
    tried: tuple[Tried, ...] = ()
    upper: int | None = None
    upper_ratio: float = 0.0
    step: float = 0.0
    max_load: int = 0
    lowest: int | None = None

    def lost(self, trial: Tried) -> bool:
        """Whether a trial lost more than the goal allows."""
        return trial.loss_ratio > self.loss_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What trials after a search say: why the answer does not stand (empty: it does), and what is beside it.

    `upper` is the upper end of the answer's interval where it is above the upper bound.
    `came_through` (0..1) is the share of the frames of a long trial at the load that was found.
    """

    refused: str = ""
    remarks: tuple[str, ...] = ()
    upper: int | None = None
    came_through: float | None = None


def joined(first: Ended, then: Ended) -> Ended:
    """Return what two steps after a search say together."""
    return Ended(
        refused=first.refused or then.refused,
        remarks=(*first.remarks, *then.remarks),
        upper=first.upper if then.upper is None else then.upper,
        came_through=first.came_through if then.came_through is None else then.came_through,
    )


def above_fps(upper_fps: int, max_load_fps: int) -> int | None:
    """Return a load so far above an upper bound that no device of that bound passes it.

    None where that is above the highest load. A device that falls when it is overloaded, and is itself again
    after half its load, does pass it (docs/adr/0263).
    """
    load = math.ceil(APART * upper_fps)
    return load if load <= max_load_fps else None


def procedure(closing: Closing) -> Procedure[Ended]:
    """Try half the load, one above it, the load, its upper end, and the lowest load where that is due."""
    load, unit = closing.load, closing.offer.unit
    half = yield from _until_good(closing, max(1, load // 2))
    if half and all(map(closing.lost, half)):
        worse = [trial.seq for trial in half]
        return Ended(refused=f"{load // 2} {unit} did not hold, half of what was found ({named(worse)})")
    if closing.above_fps is not None:  # what this trial says is said by `contradictions`
        yield from _valid(closing, closing.above_fps)
    again, short = yield from _tested(closing, load, closing.exceed_ratio)
    worse = [trial.seq for trial in again if closing.lost(trial)]
    if short or verdict(map(closing.lost, again), closing.exceed_ratio) is Verdict.EXCEEDS:
        fell = ", and the tester fell short of it" if short else ""
        return Ended(
            refused=f"{load} {unit} did not hold at the end of the search: {len(worse)} of {len(again)}"
            f" trials lost more than allowed ({named(worse)}){fell}"
        )
    ended = yield from _everywhere(closing, again, half)
    if ended.refused:
        return ended
    return joined(ended, (yield from upper_end(closing)))


def named(trials: Sequence[int]) -> str:
    """Name trials by their numbers, many by the first and the last."""
    if not trials:
        return "no trial"
    return f"trial {trials[0]}" if len(trials) == 1 else f"trials {trials[0]} to {trials[-1]}"


def _until_good(closing: Closing, load: int) -> Procedure[list[Tried]]:
    """Try a load until a trial loses no more than allowed, or too many in a row do."""
    trials: list[Tried] = []
    for _ in range(all_lossy_trials(closing.exceed_ratio)):
        trial = yield from _valid(closing, load)
        if trial is not None:
            trials.append(trial)
        if trial is not None and not closing.lost(trial):
            break
    return trials


def _tested(
    closing: Closing, load: int, ratio: float, before: tuple[Tried, ...] = ()
) -> Procedure[tuple[list[Tried], bool]]:
    """Try a load until its trials tell whether more than a share loses; say whether the tester fell short."""
    trials = list(before)
    while verdict(map(closing.lost, trials), ratio) is Verdict.OPEN:
        trial = yield from _valid(closing, load)
        if trial is None:
            return trials, True
        trials.append(trial)
    return trials, False


def _everywhere(closing: Closing, again: list[Tried], half: list[Tried]) -> Procedure[Ended]:
    """Where trials at the answer lose, try the lowest load: what loses there as well has no throughput.

    A goal that forgives a share of trials forgives a device that loses in as many at any load.
    """
    here = [*_at(closing, closing.load), *again]
    lossy = sum(map(closing.lost, here))
    if closing.lowest is None or lossy < CONTROL_FROM * len(here) or closing.lowest >= closing.load:
        return Ended()
    there = []
    for _ in range(CONTROL_TRIALS):
        trial = yield from _valid(closing, closing.lowest)
        there += [] if trial is None else [trial]
    low = sum(map(closing.lost, there))
    said = (
        f"{lossy} of {len(here)} trials at {closing.load} {closing.offer.unit} lost frames,"
        f" {sum(map(closing.lost, half))} of {len(half)} at half of it and {low} of {len(there)} at"
        f" {closing.lowest} {closing.offer.unit}"
    )
    if refused(low, len(there), CONTROL_RATIO):
        return Ended(refused=f"loss does not depend on load: {said}")
    return Ended(remarks=(said,))


def upper_end(closing: Closing) -> Procedure[Ended]:
    """Try the upper bound until clearly more than a share of its trials loses, or move it up."""
    if closing.upper is None:
        return Ended()
    tried = load = closing.upper
    unit, share = closing.offer.unit, f"{closing.upper_ratio:.0%}"
    while True:
        trials, short = yield from _tested(closing, load, closing.upper_ratio, _at(closing, load))
        if short and load != closing.upper:  # what the tester cannot send shows no end
            return Ended(
                refused=f"{tried} {unit} held in part of its trials, and the tester fell short of {load}"
            )
        if short or verdict(map(closing.lost, trials), closing.upper_ratio) is Verdict.EXCEEDS:
            break
        tried, load = load, min(closing.max_load, math.ceil(load / (1 - closing.step)))
        if load == tried or load - closing.load > MOST_WIDTH * load:
            lossy = sum(map(closing.lost, trials))
            return Ended(
                refused=f"the device's rate moves: {closing.load} {unit} held, and {tried} {unit} lost frames"
                f" in {lossy} of {len(trials)} trials, not in clearly more than {share}"
            )
    if load == closing.upper:
        return Ended()
    said = f"the upper end moved from {closing.upper} to {load} {unit}: part of the trials below it held"
    return Ended(upper=load, remarks=(said,))


def _at(closing: Closing, load: int) -> tuple[Tried, ...]:
    return tuple(trial for trial in closing.tried if trial.load == load)


def _valid(closing: Closing, load: int) -> Procedure[Tried | None]:
    spec = closing.offer.spec(load, closing.duration_s)
    return (
        yield from valid_trial(spec, PHASE, max_repeats=closing.max_repeats, short_limit=closing.short_limit)
    )


def closed(outcome: Outcome, ended: Run[Ended]) -> Outcome:
    """Return an outcome of a search as it stands after its closing trials.

    One whose closing trials broke off has no bounds either: what the search found was never confirmed.
    """
    found = ended.found
    if found is None:
        why = f"what was found could not be tried again: {ended.reason}"
        if ended.type is OutcomeType.INVALID:
            return replace(
                outcome, type=ended.type, values=(), lower=None, upper=None, statement="", reason=why
            )
        return replace(outcome, type=ended.type, values=(), statement=why, reason=why)
    outcome = replace(outcome, quality=(*outcome.quality, *found.remarks))
    if not found.refused:
        return outcome
    return replace(
        outcome, type=OutcomeType.UNSTABLE, values=(), statement=found.refused, reason=found.refused
    )
