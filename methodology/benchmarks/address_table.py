"""Address tables of a switch (RFC 2889 5.7, 5.8): how many addresses it knows, and how fast it learns them.

Port 0 tests, port 1 learns, all others listen. One turn is three trials on an empty table: port 0 tells its
own address; port 1 tells so many of its own; port 0 sends a frame to each. A frame at a listening port went
to an address that the switch did not know.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

from bmwg.methodology.cells import patterns
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.search.stepwise import NoValidTrialError, Step, TesterShortError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.pattern import MOST_ADDRESSES, Pattern
from bmwg.methodology.trial.traffic import Traffic

OWN, TEACH, ASK = "own address", "learning", "test"  # phases of a turn, in this order
TESTER, LEARNER = 0, patterns.LEARNER
_OWN_FRAMES = 10  # choice: one is enough, and one may be lost
TAUGHT_FPS = 1000  # choice: of a capacity; RFC 2889 3 has switches that learn 50 a second
LEAST_TAUGHT_FPS = 50  # rfc2889-3
MOST = MOST_ADDRESSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """So many addresses, told at `taught_fps` (frames/s) and asked for at `asked_fps`.

    With `all_arrived` learning frames that do not come to port 0 are told again: the table is what is asked
    for. Without, the rate is: what was lost was not learned in time.
    """

    cell: Cell
    addresses: int
    taught_fps: int
    asked_fps: int
    all_arrived: bool
    max_repeats: int = 5

    def own(self) -> TrialSpec:
        """Return the trial that tells the testing port's address."""
        return self._spec({TESTER: LEARNER}, _OWN_FRAMES, self.asked_fps)

    def teach(self) -> TrialSpec:
        """Return the trial that tells all addresses, each once."""
        return self._spec({LEARNER: TESTER}, self.addresses, self.taught_fps, sources=self.addresses)

    def ask(self) -> TrialSpec:
        """Return the trial that sends to all addresses, to each once."""
        return self._spec({TESTER: LEARNER}, self.addresses, self.asked_fps, destinations=self.addresses)

    def _spec(
        self, ways: dict[int, int], frames: int, load_fps: int, *, sources: int = 1, destinations: int = 1
    ) -> TrialSpec:
        traffic = Traffic.of(self.cell)
        assert traffic.pattern is not None
        to = tuple((ways[port],) if port in ways else () for port in range(traffic.pattern.ports))
        pattern = Pattern(to=to, sources=sources, destinations=destinations, unprepared=True)
        return replace(traffic, pattern=pattern).spec(load_fps, frames / load_fps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the last trial of a turn says, and how many of all addresses were not known; its three trials."""

    flooded_frames: int
    lost_frames: int
    trials: tuple[int, ...]

    @property
    def all(self) -> bool:
        """Whether every address was known and every frame came to it (rfc2889-5.7.3)."""
        return not self.flooded_frames and not self.lost_frames


Turning = Generator[Step, JudgedTrial, Known]


def turn(asked: Turn) -> Turning:
    """Run the three trials; StopError where one is never valid or sent, or learning frames never arrive."""
    own = yield from _whole(asked, asked.own(), OWN, arrived=True)
    taught = yield from _whole(asked, asked.teach(), TEACH, arrived=asked.all_arrived)
    known = Known(flooded_frames=0, lost_frames=0, trials=())
    for _ in range(1 + asked.max_repeats):
        trial = yield from _whole(asked, asked.ask(), ASK, arrived=False)
        flooded = sum(one.flooded_frames for one in trial.result.streams[LEARNER + 1 :])
        lost = trial.result.streams[LEARNER].lost_frames
        known = Known(flooded_frames=flooded, lost_frames=lost, trials=(own.seq, taught.seq, trial.seq))
        if flooded or not lost:  # a frame that was lost and not flooded tells nothing of its address
            break
    return known


def _whole(
    asked: Turn, spec: TrialSpec, phase: str, *, arrived: bool
) -> Generator[Step, JudgedTrial, JudgedTrial]:
    """Take a valid trial of which every frame was sent, and arrived where that is asked for."""
    for _ in range(1 + asked.max_repeats):
        trial = yield from valid_trial(
            spec, phase, max_repeats=asked.max_repeats, short_limit=1 + asked.max_repeats
        )
        if trial is None:
            raise TesterShortError(f"{phase}: the tester could not send {spec.load_fps} frames/s a port")
        sent = all(one.sent_frames == one.intended_frames for one in trial.result.streams)
        if sent and (not arrived or not trial.result.lost_frames):
            return trial
    raise NoValidTrialError(
        f"{phase}: no trial of {asked.addresses} addresses at {spec.load_fps} frames/s of which all frames"
        f" {'arrived' if arrived else 'were sent'}"
    )


def middle(lower: int, upper: int) -> int:
    """Return the load between two in the middle of their ratio."""
    return min(max(math.isqrt(lower * upper), lower + 1), upper - 1)
