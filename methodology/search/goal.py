"""The goal that a throughput search is given, and the result that it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bmwg.methodology.records import Bound, OutcomeType
from bmwg.methodology.search.offer import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputGoal:
    """What to search. Loads are in the unit of `offer`, which is what is offered at them.

    `relative_width` (0..1) is of the upper one.
    `envelope_fps` is the rate up to which the tester itself is qualified on this kind of port (None: there is
    no qualification, or this search is it). With `qualifies_tester` the tester itself is measured (the wire
    rung): where it falls short is then the answer and no limitation. `medium_fps` is the medium's
    theoretical maximum for the frame size (None where it has none, as on veth). A load counts as beyond the
    tester after `short_limit` short trials. `verification_trials` is how many more valid trials each bound
    gets. `most_relative_width` is how wide the interval may become when its verification contradicts a
    narrower one (None: no wider than `relative_width`). `max_repeats` bounds the repeats of trials that are
    not valid, at one load in one step.
    """

    offer: Offer
    duration_s: float
    min_load_fps: int
    max_load_fps: int
    relative_width: float
    envelope_fps: int | None = None
    medium_fps: int | None = None
    qualifies_tester: bool = False
    max_repeats: int = 5
    short_limit: int = 2
    verification_trials: int = 1
    max_reopenings: int = 1
    most_relative_width: float | None = None

    def __post_init__(self) -> None:
        """Refuse a goal that no search can reach."""
        if not 1 <= self.min_load_fps <= self.max_load_fps:
            raise ValueError(
                f"min_load_fps: expected 1..{self.max_load_fps} (max_load_fps), found {self.min_load_fps}"
            )
        if not 0 < self.relative_width < 1:
            raise ValueError(f"relative_width: expected above 0 and below 1, found {self.relative_width}")
        most = self.most_relative_width
        if most is not None and not self.relative_width <= most < 1:
            raise ValueError(
                f"most_relative_width: expected {self.relative_width} (relative_width) or more and below 1,"
                f" found {most}"
            )
        if self.max_repeats < 0 or self.max_reopenings < 0:
            raise ValueError("max_repeats and max_reopenings: expected at least 0")
        if self.qualifies_tester and self.envelope_fps is not None:
            raise ValueError("envelope_fps: expected none where the search qualifies the tester")
        if not 1 <= self.verification_trials <= 10:
            raise ValueError(f"verification_trials: expected 1..10, found {self.verification_trials}")
        if not 1 <= self.short_limit <= 1 + self.max_repeats:
            raise ValueError(f"short_limit: expected 1..{1 + self.max_repeats}, found {self.short_limit}")
        if self.medium_fps is not None and self.max_load_fps > self.medium_fps:
            raise ValueError(
                f"max_load_fps: expected at most {self.medium_fps} (the medium), found {self.max_load_fps}"
            )
        self.spec(self.max_load_fps)

    def spec(self, load: int) -> Any:
        """Return the trial of this goal at one load."""
        return self.offer.spec(load, self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found. `lower` and `upper` name the valid trials that prove them, by sequence number.

    `value_fps` is set only when `type` is MEASURED. `statement` is one computed line for the other types,
    `quality` holds remarks to print beside the number. `trials` are all of the search, in order.
    """

    type: OutcomeType
    trials: tuple[int, ...]
    lower: Bound | None = None
    upper: Bound | None = None
    reopenings: int = 0
    statement: str = ""
    reason: str = ""
    quality: tuple[str, ...] = ()
    error: Exception | None = None

    @property
    def value_fps(self) -> int | None:
        """The throughput (RFC 1242 3.17) per port and direction, when it is a plain number."""
        return self.lower.load_fps if self.type is OutcomeType.MEASURED and self.lower else None
