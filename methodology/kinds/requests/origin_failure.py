"""An origin that fails behind a cache: what is asked for, what clients get meanwhile, the answer. Pure.

None of it is a document's: the experiment is one of ours. Classes of objects by what a cache may have of them
when the origin fails: `fresh` were asked before and may be kept for a day, `stale` were asked before and may
be kept for a time that is over, `new` were never asked. Each request is for the next class by turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bmwg.methodology.answers.repeated import percentiles, quantities
from bmwg.methodology.answers.student import interval
from bmwg.methodology.records import Quantity

REFUSES, ERROR, STALLS = FAILURES = ("refuses", "error", "stalls")
FRESH, STALE, NEW = CLASSES = ("fresh", "stale", "new")
RIGHT, WRONG, SENT, RIGHT_AFTER = "right", "wrong", "sent", "right_after"
RECOVERY = "recovery"
UNIT = "requests"
MOST_BEHIND = 0.05  # choice: of all requests; with more, the load was not the one that was asked for
LEAST_FAILED = 0.8  # choice: of the time that was asked for; in less, other requests met the failure


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginFails:
    """How an origin fails: for `fail_s`, and `return_s` of load follow; `rate_rps` requests per second.

    `fails` says how: it refuses connections (its program is ended), answers each request with status 503, or
    stalls (connections are accepted, nothing is answered). `objects` are as many of `fresh` and of `stale`. A
    client gives up `answer_s` after it asked. `cache` says whether the function may keep anything.
    """

    fails: str
    rate_rps: int
    fail_s: float
    return_s: float
    answer_s: float
    objects: int
    cache: bool

    def __post_init__(self) -> None:
        """Refuse a failure that nothing here makes."""
        if self.fails not in FAILURES:
            raise ValueError(f"fails: expected {', '.join(FAILURES)}, found {self.fails!r}")

    @property
    def asked_requests(self) -> int:
        """Requests of one repetition, from the failure on."""
        return round(self.rate_rps * (self.fail_s + self.return_s))

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds of it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of the requests of one class that were sent in one stretch, each in one count.

    `right` had the right body, `right_after` too, but only once the origin had returned. The others are in
    `statuses` (an answer of that status, by its digits) or in `failures` (no whole answer, or another body,
    by words). `right_ns` are times of `right`, `error_ns` those of answers in `statuses`: percentiles.
    """

    sent: int = 0
    right: int = 0
    right_after: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    right_ns: Mapping[str, int] = field(default_factory=dict)
    error_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def wrong(self) -> int:
        """Requests without a right answer."""
        return sum(self.statuses.values()) + sum(self.failures.values())

    @property
    def told(self) -> int:
        """Requests of which it is known what became of them."""
        return self.right + self.right_after + self.wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginFailed:
    """One failure of an origin, all times by the clock of the clients' node.

    `filled` objects were asked rightly before it. The node looks at the origin directly all the time, past
    the function: `looks`, of which `failed_looks` got no right body. The failure is seen from the beginning
    of the load until the last look that failed (`failed_ns`); `resolution_ns` later the first right one
    ended. `meanwhile` are the requests that were sent until then, `afterwards` those after, by class.
    `recovery_ns` runs from the last look that failed to the end of the first right answer for a new object
    (None: none came). `behind` requests were sent late by the client's own fault.
    """

    filled: int
    looks: int
    failed_looks: int
    failed_ns: int
    resolution_ns: int
    meanwhile: Mapping[str, Asked]
    afterwards: Mapping[str, Asked]
    recovery_ns: int | None = None
    behind: int = 0

    @property
    def asked(self) -> tuple[Asked, ...]:
        """Each class of each stretch."""
        return (*self.meanwhile.values(), *self.afterwards.values())

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds of it."""
        return asdict(self)

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> OriginFailed:
        """Read what `as_builtins` gave."""
        stretches = {
            name: {of: Asked(**told) for of, told in data[name].items()}
            for name in ("meanwhile", "afterwards")
        }
        return cls(**{**data, **stretches})


def shortcomings(of: OriginFails, found: OriginFailed | None) -> Iterator[str]:
    """Say what did not come about as asked; nothing when the origin failed and returned under this load."""
    if found is None:
        yield "no failure of the origin was recorded"
        return
    wanted = 2 * of.objects
    if found.filled != wanted:
        yield f"{found.filled} of {wanted} objects were answered rightly before the origin failed"
    sent = sum(one.sent for one in found.asked)
    if sent != of.asked_requests:
        yield f"{sent} of {of.asked_requests} requests were sent"
    if found.behind > MOST_BEHIND * of.asked_requests:
        yield f"{found.behind} of {of.asked_requests} requests were sent late by the client"
    if not found.resolution_ns:
        yield "no look at the origin told that it returned"
    elif found.failed_ns < LEAST_FAILED * of.fail_s * 1e9:
        yield f"the origin was seen to fail for {found.failed_ns / 1e9:.3f} s, {of.fail_s:g} s were asked for"
    for name, one in found.meanwhile.items():
        if not one.sent:
            yield f"no {name} object was asked for while the origin failed"


def contradictions(found: OriginFailed, *, cache: bool) -> Iterator[str]:
    """Say which right answers nobody can have given while the origin failed; nothing without its return."""
    if not found.resolution_ns:
        return
    for name, one in found.meanwhile.items():
        if one.right and (name == NEW or not cache):
            why = "were never asked before" if cache else "nothing keeps"
            yield f"{one.right} {name} objects, which {why}, were answered rightly while the origin failed"


def values(metric: str, results: Sequence[OriginFailed]) -> tuple[Quantity, ...]:
    """Return the share of right answers while the origin failed, the counts that it is of, and the return.

    The share's mean is of repetitions. Counts are of all of them together, and times their percentiles.
    """
    shares = [
        sum(one.right for one in each.meanwhile.values()) / sum(one.sent for one in each.meanwhile.values())
        for each in results
    ]
    found = list(quantities(metric, interval(shares), "ratio"))
    for name in CLASSES:
        mine = [each.meanwhile[name] for each in results]
        counts = {
            SENT: sum(one.sent for one in mine),
            RIGHT: sum(one.right for one in mine),
            RIGHT_AFTER: sum(one.right_after for one in mine),
            WRONG: sum(one.wrong for one in mine),
        }
        found += [
            Quantity(metric=f"{metric}.{name}.{what}", number=count, unit=UNIT)
            for what, count in counts.items()
        ]
        found += percentiles(f"{metric}.{name}.{RIGHT}", [one.right_ns for one in mine if one.right_ns])
        found += percentiles(f"{metric}.{name}.error", [one.error_ns for one in mine if one.error_ns])
    returned = [float(each.recovery_ns) for each in results if each.recovery_ns is not None]
    if returned:
        found += quantities(f"{metric}.{RECOVERY}", interval(returned), "ns")
    return tuple(found)


def remarks(results: Sequence[OriginFailed]) -> Iterator[str]:
    """Say which repetitions saw no right answer for a new object after the origin's return."""
    without = sum(each.recovery_ns is None for each in results)
    if without:
        of = f"{without} of {len(results)} repetitions"
        yield f"in {of} no new object was answered rightly after the origin's return"
