"""What is known of a searched load, as ends that can be drawn: never more than the trials showed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bmwg.methodology.ladder import plain_number
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search.agreed import agreed_fps
from bmwg.methodology.throughput import is_wide
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import unit, whole


class Known(StrEnum):
    """The kinds of knowledge, each drawn in a way of its own."""

    NUMBER = "plain number"
    INTERVAL = "interval: no loss at its lower end, loss from its upper end on"
    AT_LEAST = "at least: the search, or the tester, ends there"
    UNCONFIRMED = "unstable: trials agree outside these ends, no bound was confirmed"
    AT_MOST = "less than"
    NOTHING = "no load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What is known: no loss up to `low_fps`, loss from `high_fps` on (frames/s per port and direction).

    An end that is not known is None. `word` says what the numbers alone do not.
    """

    known: Known
    low_fps: int | None = None
    high_fps: int | None = None
    word: str = ""

    def __str__(self) -> str:
        """Format as a label: `193 189`, `193 189 to 241 486`, `at least 485 343, tester limited`."""
        low, high = (None if end is None else whole(end) for end in (self.low_fps, self.high_fps))
        confirmed = self.known is not Known.UNCONFIRMED
        if low is not None and high is not None:
            text = f"{low} to {high}"
        elif low is not None:
            text = f"at least {low}" if confirmed else f"no loss up to {low}"
            text = low if self.known is Known.NUMBER else text
        else:
            text = "" if high is None else f"less than {high}" if confirmed else f"loss from {high} on"
        return ", ".join(part for part in (text, self.word) if part)

    @property
    def sentence(self) -> str:
        """What is known in words with its unit; empty when nothing is."""
        parts = [f"no loss up to {unit(self.low_fps, 'frames/s')}"] if self.low_fps is not None else []
        parts += [f"loss from {unit(self.high_fps, 'frames/s')} on"] if self.high_fps is not None else []
        return ", ".join(parts)


def extent(facts: Facts, outcome: Outcome) -> Extent:
    """Return what an outcome of a search says: its own bounds, or what all its trials agree on."""
    lower, upper = outcome.lower, outcome.upper
    word = outcome.type.value.replace("_", " ")
    match outcome.type:
        case OutcomeType.MEASURED:
            number = plain_number(outcome)
            if number is None:
                return Extent(known=Known.NOTHING, word=word)
            if is_wide(outcome) and upper is not None:
                return Extent(known=Known.INTERVAL, low_fps=round(number), high_fps=upper.load_fps)
            return Extent(known=Known.NUMBER, low_fps=round(number))
        case OutcomeType.AT_CEILING | OutcomeType.TESTER_LIMITED if lower is not None:
            return Extent(known=Known.AT_LEAST, low_fps=lower.load_fps, word=word)
        case OutcomeType.AT_FLOOR if upper is not None:
            return Extent(known=Known.AT_MOST, high_fps=upper.load_fps, word=word)
        case OutcomeType.UNSTABLE:
            low_fps, high_fps = agreed_fps(facts.judged(outcome))
            if low_fps is not None or high_fps is not None:
                return Extent(known=Known.UNCONFIRMED, low_fps=low_fps, high_fps=high_fps, word=word)
    return Extent(known=Known.NOTHING, word=word)
