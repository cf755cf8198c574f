"""Requests per second as a load: what a search offers, and repetitions of an open loop as its trials.

Load is requests per second; sent are those that were due, lost those that failed, came late or could not
leave. A generator that tells of its own limit (`unsent_requests`) was short, and no bound comes of it. The
key figure is RFC 9411's application transactions per second, beside its time to the first and the last octet.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.kinds.requests.records import Repetition
from bmwg.methodology.records import Validity
from bmwg.methodology.trial.judging import Assessment

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
