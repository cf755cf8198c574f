"""What is known of a searched load, as ends that can be drawn: never more than the trials showed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bmwg.methodology.answers.ladder import plain_number
from bmwg.methodology.answers.throughput import interval, is_wide
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search.agreed import agreed_fps
from bmwg.reports.render import searches
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import whole


class Known(StrEnum):
    """The kinds of knowledge, each drawn in a way of its own."""

    NUMBER = "plain number"
    INTERVAL = "wide interval: the answer lies between its ends"
    AT_LEAST = "at least: the search, or the tester, ends there"
    UNCONFIRMED = "unstable: trials agree outside these ends, no bound was confirmed"
    AT_MOST = "less than"
    NOTHING = "no load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What is known: it passed at `low_fps`, and failed at `high_fps` (frames/s per port and direction).

    The lower end is the one number that is told of a cell, wherever it is told. An end that is not known is
    None. `least_fps` is what no buffer carried of it, where that is less (docs/adr/0461). `word` says what
    the numbers alone do not, `kept_and_lost` what was lost up to an end and from one on (`searches`).
    """

    known: Known
    low_fps: int | None = None
    high_fps: int | None = None
    least_fps: int | None = None
    word: str = ""
    kept_and_lost: tuple[str, str] = ("no loss", "loss")

    @property
    def lowest_fps(self) -> int | None:
        """The lower end of the interval: what no buffer carried, else the load that passed."""
        return self.low_fps if self.least_fps is None else self.least_fps

    def __str__(self) -> str:
        """Format as a label: `193,189`, `193,189 to 198,486`, `at least 485,343, tester limited`."""
        low, high = (None if end is None else whole(end) for end in (self.low_fps, self.high_fps))
        confirmed = self.known is not Known.UNCONFIRMED
        kept, lost = self.kept_and_lost
        if self.least_fps is not None and low is not None:
            text = f"{low}\u00a0({whole(self.least_fps)}\u00a0to\u00a0{high})"
        elif low is not None and high is not None:
            text = f"{low}\u00a0to\u00a0{high}" if confirmed else f"between {low} and {high}"
        elif low is not None:
            text = f"at least {low}" if confirmed else f"{kept} up to {low}"
            text = low if self.known is Known.NUMBER else text
        else:
            text = "" if high is None else f"less than {high}" if confirmed else f"{lost} from {high} on"
        return ", ".join(part for part in (text, self.word) if part)


def measured_extent(outcome: Outcome) -> Extent:
    """Return what the number of a measured outcome says: its own bounds."""
    number = outcome.lower.load_fps if outcome.lower is not None else plain_number(outcome)
    if number is None:
        return Extent(known=Known.NOTHING, word=outcome.type.value)
    known = Known.INTERVAL if is_wide(outcome) else Known.NUMBER
    between = interval(outcome)
    high_fps = between[1] if between is not None else None
    least_fps = between[0] if between is not None and between[0] < number else None
    return Extent(known=known, low_fps=round(number), high_fps=high_fps, least_fps=least_fps)


def _agreed(facts: Facts, outcome: Outcome) -> tuple[int | None, int | None]:
    """Return between which loads trials disagree; of a goal those of its length, by the share it allows."""
    trials, claim = facts.judged(outcome), goal_outcomes.claim(outcome.metric)
    if claim is None:
        return agreed_fps(trials)
    whole = [one for one in trials if one.spec.duration_s == claim.duration_s]
    return agreed_fps(whole, loss_ratio=claim.loss_ratio, exceed_ratio=claim.exceed_ratio)


def extent(facts: Facts, outcome: Outcome) -> Extent:
    """Return what an outcome of a search says: its own bounds, or what all its trials agree on."""
    lower, upper = outcome.lower, outcome.upper
    high_fps = upper.load_fps if upper is not None else None
    word = outcome.type.value.replace("_", " ")
    match outcome.type:
        case OutcomeType.MEASURED:
            return measured_extent(outcome)
        case OutcomeType.AT_CEILING | OutcomeType.TESTER_LIMITED if lower is not None:
            return Extent(known=Known.AT_LEAST, low_fps=lower.load_fps, word=word)
        case OutcomeType.AT_FLOOR if upper is not None:
            return Extent(known=Known.AT_MOST, high_fps=upper.load_fps, word=word)
        case OutcomeType.UNSTABLE:
            low_fps, high_fps = _agreed(facts, outcome)
            if low_fps is not None or high_fps is not None:
                words = searches.kept_and_lost(outcome.metric)
                return Extent(
                    known=Known.UNCONFIRMED,
                    low_fps=low_fps,
                    high_fps=high_fps,
                    word=word,
                    kept_and_lost=words,
                )
    return Extent(known=Known.NOTHING, word=word)
