"""Requests per second that a proxy carries without a failed or late one, by the search of any kind of load.

Load is requests per second; sent are those that were due, lost those that failed, came late or could not
leave. A generator that tells of its own limit (`unsent_requests`) was short, and no bound comes of it. The
key figure is RFC 9411's application transactions per second, beside its time to the first and the last octet.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.http.judge import MEASURED
from bmwg.methodology.http.records import HttpAnswer, HttpCell, Repetition
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search import bisection
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.trial import Assessment

UNIT = "requests/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSpec:
    """One repetition of an open loop as the search asks for it: `load` requests per second for a time."""

    load: int
    duration_s: float
    unit: str = UNIT

    @property
    def intended(self) -> int:
        """Requests that are due."""
        return max(1, round(self.load * self.duration_s))

    @property
    def words(self) -> str:
        """All of it in words."""
        return f"{self.load} {UNIT} for {self.duration_s:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRate:
    """What the search offers: requests at a rate."""

    unit: str = UNIT
    thing: str = "request"

    def spec(self, load: int, duration_s: float) -> RateSpec:
        """Return the repetition at a rate for a time."""
        return RateSpec(load=load, duration_s=duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTrial:
    """A recorded repetition of an open loop, as searches read trials (`search.offer.Tried`)."""

    seq: int
    spec: RateSpec
    validity: Validity
    reason: str
    sent: int
    lost: int

    @property
    def load(self) -> int:
        """Requests per second that were asked for."""
        return self.spec.load

    @property
    def valid(self) -> bool:
        """Whether it may be part of a bound."""
        return self.validity is Validity.VALID

    @property
    def lossless(self) -> bool:
        """Valid, and every request was answered rightly and in time."""
        return self.valid and not self.lost

    @property
    def loss_ratio(self) -> float:
        """Share of the requests that were lost, 0..1."""
        return self.lost / self.sent if self.sent else 0.0

    @property
    def sent_per_s(self) -> float:
        """Requests that were due in a second."""
        return self.sent / self.spec.duration_s

    @property
    def carried_per_s(self) -> float:
        """Requests that were answered in a second."""
        return (self.sent - self.lost) / self.spec.duration_s


def goal(settings: Mapping[str, Any]) -> ThroughputGoal:
    """Return what the search is to find, from a profile's `rate` entry; loads are requests per second."""
    return ThroughputGoal(
        offer=RequestRate(),
        duration_s=float(settings["duration_s"]),
        min_load_fps=settings["min_rps"],
        max_load_fps=settings["max_rps"],
        relative_width=float(settings["relative_width"]),
        max_repeats=settings.get("max_repeats", 1),
        short_limit=1,
    )


def judged(seq: int, repetition: Repetition, spec: RateSpec) -> RateTrial:
    """Return a repetition as a trial of the search."""
    good = max(0, repetition.requests - repetition.failed)
    fault = "; ".join(repetition.faults)
    found = assessed(
        asked_requests=repetition.asked_requests,
        unsent_requests=repetition.unsent_requests,
        probes=repetition.probes,
    )
    if fault:
        found = Assessment(validity=Validity.FAULT, reason=fault)
    return RateTrial(
        seq=seq,
        spec=spec,
        validity=found.validity,
        reason=found.reason,
        sent=repetition.asked_requests,
        lost=repetition.asked_requests - good,
    )


def assessed(*, asked_requests: int, unsent_requests: int, probes: Sequence[tuple[int, bool]]) -> Assessment:
    """Say whether a repetition of an open loop without a fault may be part of a bound."""
    bad = [status for status, right in probes if status != 200 or not right]
    if bad:
        reason = f"the probes beside it were not answered rightly: status {bad[0]}"
        return Assessment(validity=Validity.FAULT, reason=reason)
    if not asked_requests:
        return Assessment(validity=Validity.FAULT)
    if unsent_requests:
        reason = f"{unsent_requests} of {asked_requests} requests not offered as asked"
        return Assessment(validity=Validity.SENT_SHORT, reason=reason)
    return Assessment(validity=Validity.VALID)


def search(measure: Callable[[int], tuple[int, Repetition]], settings: Mapping[str, Any]) -> SearchResult:
    """Search; `measure` runs and records one repetition at so many requests per second."""

    def one(spec: RateSpec) -> RateTrial:
        seq, repetition = measure(spec.load)
        return judged(seq, repetition, spec)

    return bisection.search(one, goal(settings))


def outcome(
    cell: HttpCell, repetitions: Sequence[tuple[int, Repetition]], settings: Mapping[str, Any]
) -> HttpAnswer:
    """Answer a cell from its recorded repetitions, by the search run again over them."""
    mine = [(seq, rep) for seq, rep in repetitions if rep.cell_id == cell.cell_id and rep.phase == MEASURED]
    # a deployment that broke ends its search; the next one begins anew
    last = mine[-1][1].deployment if mine else ""
    left = iter([(seq, rep) for seq, rep in mine if rep.deployment == last])

    def recorded(rate_rps: int) -> tuple[int, Repetition]:
        seq, repetition = next(left)
        if repetition.rate_rps != rate_rps:
            raise ValueError(
                f"repetition {seq}: at {repetition.rate_rps}/s, the search asks for {rate_rps}/s"
            )
        return seq, repetition

    found = search(recorded, settings)
    numbers = tuple(seq for seq, _ in mine)
    if found.type is OutcomeType.MEASURED and found.lower is not None:
        at_bound = [rep for seq, rep in mine if seq in found.lower.trials]
        return HttpAnswer(
            cell=cell,
            type=found.type,
            requests=at_bound[-1].asked_requests,
            rate_rps=found.lower.load_fps,
            upper_rps=found.upper.load_fps if found.upper else None,
            request_ns=at_bound[-1].request_ns,
            ttfb_ns=at_bound[-1].ttfb_ns,
            repetitions=numbers,
        )
    reason = found.reason
    if found.type is OutcomeType.TESTER_LIMITED and found.lower is not None:
        reason = f"{reason}; no request was lost up to {found.lower.load_fps} requests/s"
    reason = reason or {
        OutcomeType.AT_CEILING: f"no request lost up to {settings['max_rps']} requests/s, the highest load",
        OutcomeType.AT_FLOOR: f"requests were lost at {settings['min_rps']} requests/s, the lowest load",
    }.get(found.type, "")
    return HttpAnswer(cell=cell, type=found.type, repetitions=numbers, reason=reason)
