"""Trials after a search: does what it found still hold at its end, and at half of it?

A search that tries a load once and never again (TST009, MLRsearch) answers for a device that is no longer
what it was: one that tires is found at what it carried first, or at what it carries last. Bisection verifies
its bounds itself. These trials ask for the goal itself: where it lets a share of trials lose more, that share
is what is tested, with a declared error (`sequential`). Pure, as stepwise's procedures are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search.contradictions import APART
from bmwg.methodology.search.offer import Offer, Tried
from bmwg.methodology.search.sequential import Verdict, all_lossy_trials, verdict
from bmwg.methodology.search.stepwise import Procedure, Run, valid_trial

PHASE = "closing"
USUAL_TRIALS = 5  # three at what was found, one at half of it and one above it
MOST_WIDTH = 0.4  # choice: of the upper end; from a half on both states of a device of two would lie in it
RESTED_TRIALS = 3  # choice: most of them hold where a device only has to rest
MOST_AT_END = 15  # choice: trials at an end that may move on; eleven lossy ones in a row tell an upper one
MOST_STEP = 0.15  # choice: of an end; a longer one would tell a wide interval wider than it is
NEAR_STEP = 0.4  # choice: of a step of an upper end; what the search tried so near stands for it
EDGE_RATIO = 0.5  # choice: of the trials at an upper bound for no loss, in an indicative profile
CONTROL_RATIO = 0.02  # choice: of trials at the lowest load; more of them is loss that needs no load
CONTROL_WORSE = 0.25  # choice: the share of such loss that is told apart
CONTROL_MISSED = 0.09  # choice: that share passes in 1 of 11 cases, and nine good trials are enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What to try again: `load` is what was found of `offer`, by trials of `duration_s`.

    `half` is half of it, or less. A share of `exceed_ratio` (0..1) of the trials may lose more than
    `loss_ratio` (0..1), as the goal of the search allows; the other fields as in `ThroughputGoal`.
    `above_fps` is a load that has to lose frames, also when the device has rested (None: none is known).

    `upper` is the bound above (None: it is not tried again). More than a share of `upper_ratio` (0..1) of its
    trials have to lose, `tried` (the valid trials of the search of `duration_s`) among them. Where they do
    not, the upper end may be moved up to `max_load`, and where the load does not hold any more, the lower end
    down: first by a `step` (0..1), then by twice as much each time, `MOST_STEP` at most; together no further
    apart than `MOST_WIDTH`. Without a step there is no answer.
    `lowest` is a load at which a share of lossy trials would need no load (None: it is not asked).
    """

    offer: Offer
    load: int
    half: int
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

    `lower` and `upper` are the ends of the answer's interval where they are not the bounds of the search: a
    load below that held to the end, and one above that lost frames. `fell` is a load that did not hold, where
    that is why it was refused.
    `came_through` (0..1) is the share of the frames of a long trial at the load that was found.
    """

    refused: str = ""
    remarks: tuple[str, ...] = ()
    lower: int | None = None
    upper: int | None = None
    fell: int | None = None
    came_through: float | None = None


def joined(first: Ended, then: Ended) -> Ended:
    """Return what two steps after a search say together."""
    return Ended(
        refused=first.refused or then.refused,
        remarks=(*first.remarks, *then.remarks),
        lower=first.lower if then.lower is None else then.lower,
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
    unit = closing.offer.unit
    half = yield from _until_good(closing, closing.half)
    if half and all(map(closing.lost, half)):
        worse = [trial.seq for trial in half]
        return Ended(refused=f"{closing.half} {unit} did not hold, half of what was found ({named(worse)})")
    if closing.above_fps is not None:  # where no trial may lose, `contradictions` says what this one says
        above = yield from _valid(closing, closing.above_fps)
        passed = closing.exceed_ratio and above is not None and not closing.lost(above)
        if passed and (said := (yield from _rested(closing, closing.above_fps))):
            return Ended(refused=f"{closing.above_fps} {unit} is far above the upper bound, and {said}")
    moved, load, again = yield from _lower_end(closing, closing.load)
    if moved.refused:
        return moved
    ended = joined(moved, (yield from _everywhere(closing, load, again, half)))
    if ended.refused:
        return ended
    return joined(ended, (yield from upper_end(closing, load)))


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
    closing: Closing,
    load: int,
    ratio: float,
    before: tuple[Tried, ...] = (),
    *,
    wanted: Verdict,
    most: int | None = None,
) -> Procedure[tuple[list[Tried], Verdict, bool]]:
    """Try a load until its trials tell whether more than a share loses; say whether the tester fell short.

    With `most` trying ends where `wanted` cannot be told any more by so many trials after those `before`.
    """
    trials = list(before)
    while (told := verdict(map(closing.lost, trials), ratio)) is Verdict.OPEN:
        left = 0 if most is None else len(before) + most - len(trials)
        best = [*map(closing.lost, trials), *[wanted is Verdict.EXCEEDS] * left]
        if most is not None and verdict(best, ratio) is not wanted:
            break
        trial = yield from _valid(closing, load)
        if trial is None:
            return trials, told, True
        trials.append(trial)
    return trials, told, False


def lower_end(closing: Closing, below: Ended) -> Procedure[Ended]:
    """Go down from a load that fell after the search, which `below` names; without such a load it stands."""
    if below.fell is None or not closing.step:
        return below
    lowest = _lowest(closing)
    if below.fell <= lowest:
        return below
    if said := (yield from _rested(closing, below.fell)):
        return Ended(refused=f"{below.refused}; {said}")
    start = max(lowest, int(below.fell * (1 - closing.step)))
    moved, _, _ = yield from _lower_end(closing, start, below.refused)
    return moved


def _lowest(closing: Closing) -> int:
    return math.ceil((closing.upper or closing.load) * (1 - MOST_WIDTH))


def _lower_end(closing: Closing, load: int, refused: str = "") -> Procedure[tuple[Ended, int, list[Tried]]]:
    """Try a load, and go down while it does not hold; say which load held, with its trials.

    `refused` says why a load above it did not hold (empty: there is none). Below that load few trials are
    enough to go on: a lower one still makes the interval wider, and whether the device only has to rest was
    asked above.
    """
    step, unit, wanted = closing.step, closing.offer.unit, Verdict.KEEPS
    while True:
        most = MOST_AT_END if refused and load > _lowest(closing) else None
        again, told, short = yield from _tested(closing, load, closing.exceed_ratio, wanted=wanted, most=most)
        if not short and told is Verdict.KEEPS:
            said = f"the lower end moved to {load} {unit}, which held to the end: {refused}"
            return Ended(lower=load, remarks=(said,)) if refused else Ended(), load, again
        worse = [trial.seq for trial in again if closing.lost(trial)]
        fell = ", and the tester fell short of it" if short else ""
        refused = refused or (
            f"{load} {unit} did not hold at the end of the search: {len(worse)} of {len(again)}"
            f" trials lost more than allowed ({named(worse)}){fell}"
        )
        if short or not step or load <= _lowest(closing):
            return Ended(refused=refused), load, again
        if load == closing.load and (said := (yield from _rested(closing, load))):
            return Ended(refused=f"{refused}; {said}"), load, again
        load, step = max(_lowest(closing), int(load * (1 - step))), _longer(step)


def _rested(closing: Closing, load: int) -> Procedure[str]:
    """Try a load that should not hold, each time after half of what was found; say that it holds then.

    Such a device has no one rate: what it carries depends on the loads before. Where the ends of an answer
    may move, the load is then tried as often after one that overloads the device: what holds there too does
    not depend on them, and the machine has become better meanwhile (docs/adr/0633).
    """
    held = yield from _held_after(closing, closing.half, load)
    if len(held) <= RESTED_TRIALS // 2:
        return ""
    over = min(closing.max_load, math.ceil(APART * load))
    asks = closing.step and over > load
    if asks and len((yield from _held_after(closing, over, load))) > RESTED_TRIALS // 2:
        return ""
    unit = closing.offer.unit
    return (
        f"{load} {unit} held after {closing.half} {unit} ({named(held)}): what the device carries depends on"
        " the loads before"
    )


def _held_after(closing: Closing, before: int, load: int) -> Procedure[list[int]]:
    """Try a load some times, each time after another one; return which of its trials kept the goal."""
    held = []
    for _ in range(RESTED_TRIALS):
        yield from _valid(closing, before, in_turn=True)
        trial = yield from _valid(closing, load, in_turn=True)
        held += [trial.seq] if trial is not None and not closing.lost(trial) else []
    return held


def _everywhere(closing: Closing, load: int, again: list[Tried], half: list[Tried]) -> Procedure[Ended]:
    """Where trials at the answer lose, try the lowest load: what loses there as well has no throughput.

    A goal that forgives a share of trials forgives a device that loses in as many at any load.
    """
    here = [*_at(closing, load), *again]
    lossy = sum(map(closing.lost, here))
    if closing.lowest is None or not lossy or closing.lowest >= load:
        return Ended()
    there: list[Tried] = []
    while (said := _without_load(map(closing.lost, there))) is Verdict.OPEN:
        trial = yield from _valid(closing, closing.lowest)
        if trial is None:
            break
        there.append(trial)
    low, unit = sum(map(closing.lost, there)), closing.offer.unit
    counted = (
        f"{lossy} of {len(here)} trials at {load} {unit} lost frames,"
        f" {sum(map(closing.lost, half))} of {len(half)} at {closing.half} {unit}"
        f" and {low} of {len(there)} at {closing.lowest} {unit}"
    )
    if said is Verdict.EXCEEDS:
        return Ended(refused=f"loss does not depend on load: {counted}")
    return Ended(remarks=(counted,))


def _without_load(lossy: Iterable[bool]) -> Verdict:
    """Say whether more than a few of the trials at the lowest load lose."""
    return verdict(lossy, CONTROL_RATIO, worse=CONTROL_WORSE, missed=CONTROL_MISSED)


def upper_end(closing: Closing, lower: int | None = None) -> Procedure[Ended]:
    """Try the upper bound until clearly more than a share of its trials loses, or move it up.

    `lower` is the lower end of the interval (None: the load that was found).
    """
    if closing.upper is None:
        return Ended()
    tried = load = closing.upper
    unit, share, step = closing.offer.unit, f"{closing.upper_ratio:.0%}", closing.step
    held = closing.load if lower is None else lower
    highest = min(closing.max_load, int(held / (1 - MOST_WIDTH)))
    while True:
        most = MOST_AT_END if step and load < highest else None
        trials, told, short = yield from _tested(
            closing, load, closing.upper_ratio, _at(closing, load), wanted=Verdict.EXCEEDS, most=most
        )
        if short and load != closing.upper:  # what the tester cannot send shows no end
            return Ended(
                refused=f"{tried} {unit} held in part of its trials, and the tester fell short of {load}"
            )
        if short or told is Verdict.EXCEEDS:
            break
        if not step or load >= highest:
            lossy = sum(map(closing.lost, trials))
            return Ended(
                refused=f"the device's rate moves: {held} {unit} held, and {load} {unit} lost frames"
                f" in {lossy} of {len(trials)} trials, not in clearly more than {share}"
            )
        tried, load, step = load, _above(closing, load, step, highest), _longer(step)
    if load == closing.upper:
        return Ended()
    said = f"the upper end moved from {closing.upper} to {load} {unit}: part of the trials below it held"
    return Ended(upper=load, remarks=(said,))


def upper_end_again(closing: Closing, upper: int | None, lower: int) -> Procedure[Ended]:
    """Try the upper end last of all: where it holds by now, move it on from there, by these trials alone."""
    if upper is None or not closing.step:
        return Ended()
    held: list[Tried] = []
    while verdict(map(closing.lost, held), closing.upper_ratio) is Verdict.OPEN:
        trial = yield from _valid(closing, upper)
        if trial is None or closing.lost(trial):
            return Ended()
        held.append(trial)
    return (yield from upper_end(replace(closing, upper=upper, tried=tuple(held)), lower))


def _longer(step: float) -> float:
    """Return the step (0..1) of an end after one that was not enough."""
    return max(step, min(MOST_STEP, 2 * step))


def _above(closing: Closing, load: int, step: float, highest: int) -> int:
    """Return the load a step (0..1) above another one, or one near it that the search has tried."""
    wanted = math.ceil(load / (1 - step))
    near = {trial.load for trial in closing.tried if abs(trial.load - wanted) <= NEAR_STEP * (wanted - load)}
    return min(highest, min(near, key=lambda one: abs(one - wanted), default=wanted))


def _at(closing: Closing, load: int) -> tuple[Tried, ...]:
    return tuple(trial for trial in closing.tried if trial.load == load)


def _valid(closing: Closing, load: int, *, in_turn: bool = False) -> Procedure[Tried | None]:
    return (
        yield from valid_trial(
            closing.offer.spec(load, closing.duration_s),
            PHASE,
            max_repeats=closing.max_repeats,
            short_limit=closing.short_limit,
            in_turn=in_turn,
        )
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
