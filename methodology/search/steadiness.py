"""Short trials after a search: is the device in one state, or was it luck which one it was found in?

A search takes few trials near its answer. A device that is in another state in a share q of its trials
passes k checks with a probability of (1 - q)^k; one that changes its state between two trials with a
probability of p is still in the one that it was found in with (1 - p)^k: both 4 % for a tenth and 30 checks.
A state that lasts longer than search and checks is not seen, and none that carries the load of a check.

Each check is short, since a device that carries a load for a whole trial carries it for its first seconds.
Two loads take turns: one below what was found, which has to come through, and one far above it, whose rate
tells the state whatever it is. Equal trials are held against each other, so buffers and slow starts, which
are the same in each of them, say nothing. In a conformance profile one check that deviates is enough. In an
indicative one, which shares its machine, there are as many checks again when one deviates, and what is then
refused is a device of which more than a share of the checks do: a neighbour slows some, a state comes back
(docs/adr/0371). Where many of the checks were set aside for stalls, a trial at the lowest load has to meet
one as well: those that only the load brings about are the SUT's own, and setting them aside raised the
answer (docs/adr/0373). Pure, as stepwise's procedures are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from bmwg.methodology.records import Validity
from bmwg.methodology.search.closing import PHASE, Ended
from bmwg.methodology.search.contradictions import APART
from bmwg.methodology.search.offer import Offer, Tried
from bmwg.methodology.search.sequential import Verdict, verdict
from bmwg.methodology.search.stepwise import Procedure, Step, StopError, valid_trial

CHECKS = 30  # choice: a state in a tenth of the trials then passes in 4 of 100 searches (docs/adr/0286)
INDICATIVE_CHECKS = 4  # choice: one in 40 % of them in 13 of 100; a quick search is about 20 trials
MORE = 2  # choice: times as many checks in an indicative profile, when one of the first deviates
MORE_OF_SHARE = 5  # choice: the same where a goal forgives a share of trials, which takes more to tell
APART_RATIO = 0.25  # choice: of the checks at one load; rarer ones are a shared machine's (docs/adr/0371)
CONTROLS = 20  # choice: where a quarter of trials stall, one of so many does in 997 of 1,000 cases
CONTROL_FROM = 0.25  # choice: of the checks set aside for one reason; below it little stands on them
LOSSY_RATIO = 0.25  # choice: of the lower checks; the same
CHECK_S = 2.0  # choice: a hundred times what a queue of 256 frames needs, and a thirtieth of a trial
BELOW = 0.05  # choice: of what was found; rates that move by less are the search's own business
ABOVE = 1.5  # choice: of the upper bound; what carries half of its rate at times shows either state there
STATE = 1.4  # choice: times what was found; 1.25 times the upper bound of an answer up to a tenth wide
_STALLS = {Validity.HOST_STALLED: "a CPU of the SUT", Validity.TESTER_STALLED: "the tester"}
_LEAST_FRAMES = 1000  # choice: fewer say little of a rate
_FEW_FRAMES = 10  # choice: a difference that is none, at loads of some frames a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What to check: `load` is what was found of `offer` by trials of `duration_s`, in `count` checks.

    `upper` is the bound above it (None: there is none), `max_load` the highest load. The lower load is
    `below` (0..1) under what was found. The loss and exceed ratios are the goal's, the other fields as in
    `Closing`. While one of the checks deviates there are up to `most`; of those at one load a share of
    `apart_ratio` (0..1) may come through at another rate, and `lossy_ratio` of the lower ones may lose
    frames. `control_load` is the load at which stalls have to be met as well (None: none are set aside).
    """

    offer: Offer
    load: int
    upper: int | None
    max_load: int
    duration_s: float
    count: int
    below: float
    loss_ratio: float
    exceed_ratio: float
    max_repeats: int
    short_limit: int
    most: int = 0
    apart_ratio: float = 0.0
    lossy_ratio: float = 0.0
    control_load: int | None = None

    @property
    def lower_load(self) -> int:
        """The load that has to come through."""
        return max(1, int(self.load * (1 - self.below)))

    @property
    def higher_load(self) -> int | None:
        """The load whose rate tells the state; None where the highest load is too near to what was found."""
        if self.upper is None or self.max_load < APART * self.upper:
            return None
        return min(self.max_load, int(ABOVE * self.upper))

    @property
    def check_s(self) -> float:
        """How long a check lasts, seconds."""
        return min(self.duration_s, max(CHECK_S, float(-(-_LEAST_FRAMES // self.lower_load))))


def procedure(checks: Checks) -> Procedure[Ended]:
    """Try both loads in turns; say why the answer does not stand, or what deviated although it does."""
    loads = (checks.lower_load, checks.higher_load or checks.lower_load)
    by_load: dict[int, list[Tried]] = {load: [] for load in loads}
    number = 0
    attempts: list[Tried] = []
    while number < checks.count or (number < checks.most and _deviating(by_load, checks)):
        load = loads[number % 2]
        number += 1
        if number > checks.count and checks.exceed_ratio and load not in _deviating(by_load, checks):
            continue
        wanted = valid_trial(
            checks.offer.spec(load, checks.check_s),
            PHASE,
            max_repeats=checks.max_repeats,
            short_limit=checks.short_limit,
        )
        trial = yield from _noted(wanted, attempts)
        if trial is not None:
            by_load[load].append(trial)
            if not checks.apart_ratio and (said := _apart(by_load[load], load, checks)):
                return Ended(refused=said)
    found = _concluded(by_load, checks)
    if found.refused or checks.control_load is None:
        return found
    by_load_alone = yield from _controlled(checks, checks.control_load, attempts)
    return replace(found, refused=by_load_alone)


def _noted(procedure: Procedure[Tried | None], attempts: list[Tried]) -> Procedure[Tried | None]:
    """Run a procedure and note each of its trials, those that are repeated as well."""
    step = next(procedure)
    while True:
        trial = yield step
        attempts.append(trial)
        try:
            step = procedure.send(trial)
        except StopIteration as end:
            found: Tried | None = end.value
            return found


def _controlled(checks: Checks, load: int, attempts: list[Tried]) -> Procedure[str]:
    """Try the lowest load until it meets each kind of stall for which many of the checks were set aside."""
    counted = Counter(trial.validity for trial in attempts)
    often = {kind for kind in _STALLS if counted[kind] >= CONTROL_FROM * max(1, len(attempts))}
    met: set[Validity] = set()
    for attempt in range(CONTROLS):
        if often <= met:
            return ""
        trial = yield Step(spec=checks.offer.spec(load, checks.check_s), phase=PHASE, attempt=attempt)
        if trial.validity in (Validity.FAULT, Validity.INCONSISTENT):
            raise StopError(f"trial {trial.seq} at {load} {checks.offer.unit}: {trial.reason}")
        met.add(trial.validity)
    if often <= met:
        return ""
    missing = [kind for kind in _STALLS if kind in often - met]
    said = " and ".join(f"{counted[kind]} of {len(attempts)} checks ({_STALLS[kind]})" for kind in missing)
    return (
        f"stalls come with the load: they set aside {said}, and none of {CONTROLS} trials at {load}"
        f" {checks.offer.unit} met one"
    )


def _deviating(by_load: dict[int, list[Tried]], checks: Checks) -> list[int]:
    """Return the loads of which more checks have to tell: both where rates differ, else what lost frames.

    None are left to tell where more differ already than may of all checks.
    """
    unlike = max(_others(alike, _floor(load, checks)) for load, alike in by_load.items())
    if unlike > checks.apart_ratio * -(-checks.most // len(by_load)):
        return []
    if unlike:
        return list(by_load)
    below = by_load[checks.lower_load]
    if checks.exceed_ratio:
        lossy = verdict((bool(trial.lost) for trial in below), checks.exceed_ratio) is Verdict.OPEN
    else:
        lossy = bool(_lossy(below, checks))
    return [checks.lower_load] if lossy else []


def _concluded(by_load: dict[int, list[Tried]], checks: Checks) -> Ended:
    remarks: list[str] = []
    for load, alike in by_load.items():
        if said := _apart(alike, load, checks):
            if _others(alike, _floor(load, checks)) > checks.apart_ratio * len(alike):
                return Ended(refused=said)
            remarks.append(said)
    below = by_load[checks.lower_load]
    if lossy := _lossy(below, checks):
        said = _lost(lossy, below, checks)
        if checks.exceed_ratio:  # the goal allows some; too many are told by the same test as at the answer
            if verdict((bool(trial.lost) for trial in below), checks.exceed_ratio) is Verdict.EXCEEDS:
                return Ended(refused=said, fell=checks.lower_load)
        elif len(lossy) > checks.lossy_ratio * len(below):
            return Ended(refused=said)
        else:
            remarks.append(said)
    return Ended(remarks=(f"checks after the search deviated: {'; '.join(remarks)}",) if remarks else ())


def _floor(load: int, checks: Checks) -> float:
    """Return the rate that a check at a load has to come through at to tell of another state; 0: any.

    Under overload many a device carries less than it can, now more and now less of it. Where a goal forgives
    trials, only what comes through above the upper bound there is another state: a worse one is seen below.
    However wide the interval is, what comes through so far above what was found is another state.
    """
    above = checks.exceed_ratio and load != checks.lower_load and checks.upper is not None
    return min(APART * (checks.upper or 0), STATE * checks.load) if above else 0.0


def _others(alike: list[Tried], floor_per_s: float) -> int:
    """Count the equal trials that came through at another rate than most of them."""
    fast = max(alike, key=_carried, default=None)
    if fast is None or _carried(fast) <= floor_per_s:
        return 0
    slow = [trial for trial in alike if _slower(trial, fast)]
    return min(len(slow), len(alike) - len(slow))


def _slower(trial: Tried, fast: Tried) -> bool:
    by_frames = (_carried(fast) - _carried(trial)) * trial.spec.duration_s
    return by_frames > _FEW_FRAMES and _carried(fast) > APART * _carried(trial)


def _apart(alike: list[Tried], load: int, checks: Checks) -> str:
    """Say that two equal trials came through at rates that no one device has."""
    slow, fast = min(alike, key=_carried, default=None), max(alike, key=_carried, default=None)
    floor_per_s = _floor(load, checks)
    if slow is None or fast is None or not _slower(slow, fast) or _carried(fast) <= floor_per_s:
        return ""
    unit = checks.offer.unit
    unlike = _others(alike, floor_per_s)
    counted = f", {unlike} of {len(alike)} unlike the others" if checks.apart_ratio else ""
    return (
        f"{load} {unit} came through at {_carried(slow):.0f} {unit} (trial {slow.seq}) and at"
        f" {_carried(fast):.0f} {unit} (trial {fast.seq}){counted}: the device's speed changed between"
        " trials"
    )


def _carried(trial: Tried) -> float:
    return trial.carried_per_s


def _lossy(trials: list[Tried], checks: Checks) -> list[int]:
    """Return which trials at a load below the answer lost frames; a goal that allows loss may lose all."""
    return [] if checks.loss_ratio else [trial.seq for trial in trials if trial.lost]


def _lost(lossy: list[int], trials: list[Tried], checks: Checks) -> str:
    return (
        f"{checks.lower_load} {checks.offer.unit}, {checks.below:.0%} below what was found, lost frames in"
        f" {len(lossy)} of {len(trials)} checks after the search (trials {lossy[:10]})"
    )
