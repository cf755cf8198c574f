"""Requests per second as a load: what a search offers, and repetitions of an open loop as its trials.

Load is requests per second; sent are those that were due, lost those that failed, came late or could not
leave. Of transactions the criteria of RFC 9411 say whether a load is carried (`criteria`); where connections
are held in place of a rate, load, sent and lost are connections. A generator that tells of its own limit
(`unsent_requests`) was short, and no bound comes of it; so was a client that was busy nearly all of the time
where a criterion is not met, since that may be its own doing. The key figure is RFC 9411's application
transactions per second, beside its time to the first and the last octet. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.kinds.requests import criteria
from bmwg.methodology.kinds.requests.records import CONNECTIONS_UNIT, UNIT, RequestsResult, RequestsSpec
from bmwg.methodology.records import Validity
from bmwg.methodology.trial.judging import Assessment

BUSY = 0.9  # choice: of a CPU; a thread with less left of it may open late, read late, and tell longer times


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRate:
    """What the search offers: requests at a rate, or connections to hold, all else as the cell has it."""

    of: RequestsSpec
    holds: bool = False

    @property
    def unit(self) -> str:
        """The unit of its load."""
        return CONNECTIONS_UNIT if self.holds else UNIT

    @property
    def thing(self) -> str:
        """What the load counts, one of it."""
        return "connection" if self.holds else "request"

    def spec(self, load: int, duration_s: float) -> RequestsSpec:
        """Return the repetition at a load for a time."""
        of = replace(self.of, duration_s=duration_s, asked_requests=0, search=None)
        return replace(of, held_connections=load) if self.holds else replace(of, rate_rps=load)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTrial:
    """A recorded repetition of an open loop, as searches read trials (`search.offer.Tried`)."""

    seq: int
    spec: RequestsSpec
    validity: Validity
    reason: str
    sent: int
    lost: int
    unmet: tuple[str, ...] | None = None  # criteria; None: a lost request is what counts

    @property
    def load(self) -> int:
        """Requests per second that were asked for, or connections."""
        return self.spec.load

    @property
    def valid(self) -> bool:
        """Whether it may be part of a bound."""
        return self.validity is Validity.VALID

    @property
    def lossless(self) -> bool:
        """Valid, and every request was answered rightly and in time, or all criteria are met."""
        return self.valid and not (self.lost if self.unmet is None else self.unmet)

    @property
    def loss_ratio(self) -> float:
        """Share of the requests that were lost, 0..1."""
        return self.lost / self.sent if self.sent else 0.0

    @property
    def sent_per_s(self) -> float:
        """Requests that were due in a second; of held connections how many."""
        return self.sent / self._over_s

    @property
    def carried_per_s(self) -> float:
        """Requests that were answered in a second; of held connections how many stayed."""
        return (self.sent - self.lost) / self._over_s

    @property
    def _over_s(self) -> float:
        return 1.0 if self.spec.held_connections else self.spec.duration_s


def judged(seq: int, result: RequestsResult, spec: RequestsSpec) -> RateTrial:
    """Return a repetition as a trial of the search."""
    found = assessed(result)
    sent, lost = result.asked_requests, result.asked_requests - max(0, result.requests - result.failed)
    unmet = None
    if result.sustain is not None:
        unmet = criteria.breaches(result.sustain)
        if spec.held_connections:
            sent, lost = spec.held_connections, max(0, spec.held_connections - result.sustain.least_open)
    return RateTrial(
        seq=seq,
        spec=spec,
        validity=found.validity,
        reason=found.reason,
        sent=sent,
        lost=lost,
        unmet=unmet,
    )


def assessed(result: RequestsResult) -> Assessment:
    """Say whether a repetition of an open loop may be part of a bound."""
    if result.faults:
        return Assessment(validity=Validity.FAULT, reason="; ".join(result.faults))
    bad = [status for status, right in result.probes if status != 200 or not right]
    if bad:
        reason = f"the probes beside it were not answered rightly: status {bad[0]}"
        reason += f"; {_unsent(result)}" if result.unsent_requests else ""
        return Assessment(validity=Validity.FAULT, reason=reason)
    if not result.asked_requests:
        return Assessment(validity=Validity.FAULT)
    if astray := past_the_function(result):
        return Assessment(validity=Validity.INCONSISTENT, reason=astray)
    if result.unsent_requests:
        return Assessment(validity=Validity.SENT_SHORT, reason=_unsent(result))
    phase = result.sustain
    if phase is not None and phase.client_share >= BUSY and (unmet := criteria.breaches(phase)):
        reason = f"the client itself used {phase.client_share:.0%} of a CPU: {unmet[0]}"
        return Assessment(validity=Validity.SENT_SHORT, reason=reason)
    return Assessment(validity=Validity.VALID)


def _unsent(result: RequestsResult) -> str:
    """Say what a client did not offer, and why by its own words where it counts transactions."""
    said = f"{result.unsent_requests} of {result.asked_requests} requests not offered as asked"
    if result.sustain is None or not result.generator:
        return said
    why = ", ".join(f"{name}: {count}" for name, count in sorted(result.generator.items()))
    return f"{said} (connections: {why})"


def past_the_function(result: RequestsResult) -> str:
    """Say that a function or the origin counted less than the clients: by another way, or from a cache."""
    for name, count in result.whole.items():
        own = result.function_counts.get(name, count)
        if own < count:
            return f"the function itself counted {own} {name}, its clients {count}: the others went past it"
    answered, origin = result.whole.get("requests", 0), result.origin_requests
    if origin is not None and origin < answered:
        return f"the origin answered {origin} requests, the clients got {answered}: the others are of a cache"
    return ""
