"""One long trial at what short ones found: how much of that load was a buffer's, and no rate of the device.

A trial of a tenth of a second passes while a buffer fills that holds as much. Of a load that only a buffer
let pass, a trial five times as long loses most of what the buffer carried. So a longer trial at the same
load bounds what short ones add, whatever the buffer is: a queue, the bucket of a policer, a cache. What is
lost in it for another reason makes the bound wider, never narrower. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.search.closing import PHASE, Ended, named
from bmwg.methodology.search.offer import Offer, Tried
from bmwg.methodology.search.stepwise import Procedure, valid_trial

LONG_S = 0.5  # choice: five times a trial of 0.1 s, and no longer than what a shared machine leaves alone
TRIES = 3  # choice: a neighbour that lowers one of them is not there in all
ENOUGH = 0.015  # choice: half of a width of 3 %
FILLS = "a buffer fills"  # how the refusal begins
MOST = 0.25  # choice: of a load; with more of it in a buffer the number says little of a rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """What to try: `found` is what trials of `duration_s` of `offer` found for a `loss_ratio` (0..1).

    `load` is what is tried, at least as much: the goals of a search share it. `upper` is the upper end of the
    answer (None: there is none): trials at it lose, so no buffer is larger.
    """

    offer: Offer
    found: int
    load: int
    upper: int | None = None
    duration_s: float
    loss_ratio: float
    max_repeats: int
    short_limit: int

    @property
    def due(self) -> bool:
        """Whether the trials of the search were short enough for a buffer to matter."""
        return self.duration_s < LONG_S


def procedure(sustained: Sustained) -> Procedure[Ended]:
    """Try the load for `LONG_S` until little of it is lost, at most `TRIES` times; the least loss counts."""
    spec = sustained.offer.spec(sustained.load, LONG_S)
    lost: list[float] = []
    trials: list[Tried] = []
    while len(trials) < TRIES and (not lost or min(lost) > ENOUGH):
        trial = yield from valid_trial(
            spec, PHASE, max_repeats=sustained.max_repeats, short_limit=sustained.short_limit
        )
        if trial is None:
            break
        trials.append(trial)
        lost.append(
            held(
                trial.loss_ratio - sustained.loss_ratio,
                sustained.duration_s,
                at=sustained.load / sustained.found,
                over=(sustained.upper or sustained.load) / sustained.found,
            )
        )
    load = f"{sustained.found} {sustained.offer.unit}"
    if not lost:
        return Ended(
            remarks=(f"the tester fell short of {load} for {LONG_S:g} s: a buffer's part is unknown",)
        )
    share = min(lost)
    if share > MOST:
        tried = named([trial.seq for trial in trials])
        return Ended(
            refused=f"{FILLS}: {load} passes for {sustained.duration_s:g} s and no longer, by trials"
            f" of {LONG_S:g} s up to {share:.0%} of it is the buffer's ({tried}); longer trials tell its rate"
        )
    return Ended(
        came_through=1 - share,
        remarks=(f"up to {share:.1%} of {load} may be a buffer's, by a trial of {LONG_S:g} s",),
    )


def held(loss_ratio: float, duration_s: float, *, over: float, at: float = 1.0) -> float:
    """Return at most which share (0..1) of a load a buffer carried, by the loss of a long trial.

    That trial ran `at` times the load. A device of `c` per second with a buffer of `b` carries `c T + b` of a
    trial of `T` seconds. Since one of `t` seconds at `over` times the load loses, `b` is less than that load
    less `c`, for `t` seconds.
    """
    short = duration_s / LONG_S
    return min(1.0, max(0.0, 1 - (at * (1 - max(0.0, loss_ratio)) - over * short) / (1 - short)))
