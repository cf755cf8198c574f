"""What no repetition of requests can show: less time than its requests took, answers that nobody asked for.

The rules are those of `timing`; here stands what a repetition tells of its time and of its counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.mixes import APPLICATIONS
from bmwg.methodology.kinds.requests.origin_failure import OriginFailed
from bmwg.methodology.kinds.requests.own_clients import EXACT_NS, OwnClients
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.kinds.repeated.physics import Physics
from bmwg.reports.verify.timing import Count, Within, in_order

_CLIENTS_EXACT_NS = 2_000_000  # choice: ab and JMeter tell of whole milliseconds, at both ends
_CLIENTS_CPU_NS = (
    1_000_000_000  # choice: it looks at its CPU time when it comes to it, late where it is overrun
)
_RATE_RATIO = 1e-3  # choice: as of frames
_DUE_RATIO = 0.5  # choice: a generator that is overrun leaves requests out, but no such share
_CLOSED_LOOP = (Workload.AB, Workload.JMETER, Workload.JMETER_PODS)
_ADDED_UP = ("requests", "failed", "non_2xx", "body_octets", "warm_up_requests")


def _lasted(_: RequestsSpec, one: RequestsResult) -> tuple[Within, ...]:
    """Return what a repetition had to last: its client's life, and its requests with those that warmed up."""
    if one.faults:
        return ()
    return (
        Within(what="of the client program's life", needed_ns=one.process_ns),
        Within(
            what="of its requests, with those that warmed up",
            needed_ns=one.elapsed_ns + one.warm_up_ns,
            exact_ns=_CLIENTS_EXACT_NS,
        ),
    )


def _counts(spec: RequestsSpec, one: RequestsResult) -> Iterator[Count]:
    if one.faults:
        return
    yield Count(what="requests", found=one.requests, most=one.asked_requests)
    yield Count(what="failed", found=one.failed, most=max(one.requests, one.asked_requests))
    yield from in_order("request_ns", one.request_ns)
    yield from in_order("ttfb_ns", one.ttfb_ns)
    if one.hits is not None and one.proxied is not None:
        yield Count(what="hits", found=one.hits, most=one.proxied)
    if spec.workload is Workload.OPEN_LOOP and spec.rate_rps:
        due = spec.rate_rps * one.elapsed_ns / 1e9
        least, most = int(due * (1 - _DUE_RATIO)) - 1, int(due * (1 + _RATE_RATIO)) + 1
        yield Count(what="requests that were due", found=one.asked_requests, least=least, most=most)
    if one.sustain is not None:
        yield from _phase(spec, one, one.sustain)
    if one.failure is not None:
        yield from _failure(one, one.failure)
    if one.own_clients is not None:
        yield from _each(one, one.own_clients)
    if spec.workload not in _CLOSED_LOOP or not one.requests:
        return
    right = max(0, one.requests - one.failed - one.non_2xx)
    yield Count(what="body_octets", found=one.body_octets, least=right * spec.object_octets)
    if spec.workload is Workload.AB:  # the mean is computed from the time taken
        mean_ns = one.elapsed_ns * spec.clients // one.requests
        yield Count(what="mean_request_ns", found=one.mean_request_ns, least=mean_ns, most=mean_ns)
    busy_ns = (one.mean_request_ns - 1_000_000) * one.requests  # JMeter rounds the time of each request
    most_ns = one.elapsed_ns * spec.clients + _CLIENTS_EXACT_NS
    yield Count(what="time of all requests, ns", found=max(0, busy_ns), most=most_ns)
    if "max" in one.request_ns:
        longest = one.request_ns["max"]
        if spec.workload is not Workload.AB or spec.clients == 1:  # ab's mean of many clients is none
            yield Count(what="longest request, ns", found=longest, least=one.mean_request_ns - 1_000_000)
        yield Count(what="longest request, ns", found=longest, most=one.elapsed_ns + _CLIENTS_EXACT_NS)


def _phase(spec: RequestsSpec, one: RequestsResult, phase: Sustained) -> Iterator[Count]:
    """A sustain phase has what its load makes due, and no more right answers than it tried."""
    each = phase.requests_per_connection
    yield Count(
        what="intervals", found=len(phase.completed), least=int(spec.duration_s), most=int(spec.duration_s)
    )
    yield Count(
        what="intervals of open connections",
        found=len(phase.open_ns),
        least=len(phase.completed),
        most=len(phase.completed),
    )
    yield Count(what="transactions tried", found=phase.tried, least=one.requests, most=one.requests)
    yield Count(what="transactions failed", found=phase.failed, least=one.failed, most=one.failed)
    if phase.held_connections:
        yield Count(
            what="connections to hold", found=phase.due_connections, least=0, most=spec.held_connections
        )
    else:
        due = spec.rate_rps * len(phase.completed) * phase.interval_ns / 1e9 / each
        yield Count(
            what="connections that were due",
            found=phase.due_connections,
            least=int(due) - 1,
            most=int(due) + 2,
        )
        yield Count(what="transactions tried", found=phase.tried, most=phase.opened * each)
    yield Count(what="connections opened", found=phase.opened, most=phase.due_connections)
    busy_ns = phase.interval_ns * len(phase.completed) + _CLIENTS_CPU_NS
    yield Count(what="client_ns", found=phase.client_ns, most=busy_ns)
    yield Count(what="resets", found=phase.resets, most=phase.opened)
    right = phase.tried - phase.failed
    answered = sum(count for _, count in phase.objects)
    within = sum(phase.completed) if phase.held_connections else None  # of held ones those within the phase
    most = right if within is None else min(right, within)
    yield Count(what="right answers by object", found=answered, least=within, most=most)
    octets = sum(size * count for size, count in phase.objects)
    yield Count(what="body_octets", found=phase.body_octets, least=octets, most=octets)
    other = set(spec.sizes_octets) ^ {size for size, _ in phase.objects}
    yield Count(what="objects that were not asked for, or not told", found=len(other), most=0)
    if spec.turns:
        yield from _by_applications(spec, phase)
    elif (
        not phase.held_connections
    ):  # asked for by turns: but for what was lost, no object more than once more
        counts = [count for _, count in phase.objects]
        lost = phase.due_connections * each - sum(counts)
        apart = max(counts, default=0) - min(counts, default=0)
        yield Count(what="right answers of objects, apart", found=apart, most=lost + 1)
    agreed = sum(phase.negotiated.values())
    yield Count(what="TLS handshakes", found=agreed, most=phase.opened)
    yield Count(what="resumed sessions", found=phase.resumed, most=agreed)
    yield from in_order("first_octet_ns", phase.first_octet_ns)
    yield from in_order("last_octet_ns", phase.last_octet_ns)


def _failure(one: RequestsResult, failure: OriginFailed) -> Iterator[Count]:
    """Each request of a failing origin is in one count, and the repetition's own counts are their sums."""
    for of in failure.asked:
        yield Count(what="requests by what became of them", found=of.told, least=of.sent, most=of.sent)
        yield from in_order("right_ns", of.right_ns)
        yield from in_order("error_ns", of.error_ns)
    sums = {
        "requests": (one.requests, sum(of.sent for of in failure.asked)),
        "failed": (one.failed, sum(sum(of.failures.values()) for of in failure.asked)),
        "non_2xx": (one.non_2xx, sum(sum(of.statuses.values()) for of in failure.asked)),
    }
    for what, (found, summed) in sums.items():
        yield Count(what=what, found=found, least=summed, most=summed)
    yield Count(what="looks that failed", found=failure.failed_looks, most=failure.looks)
    seen_ns = failure.failed_ns + failure.resolution_ns
    yield Count(what="failure with its resolution, ns", found=seen_ns, most=one.elapsed_ns)
    after = sum(of.right_after for of in failure.afterwards.values())
    yield Count(what="right after the return, of those sent after it", found=after, most=0)


def _each(one: RequestsResult, own: OwnClients) -> Iterator[Count]:
    """What all clients did together is what each did; none of them was quicker than its own requests."""
    for name in _ADDED_UP:
        summed = sum(getattr(client, name) for client in own.each)
        yield Count(what=f"{name} of each client", found=getattr(one, name), least=summed, most=summed)
    mean_ns = sum(client.busy_ns for client in own.each) // max(1, one.requests)
    yield Count(what="mean_request_ns of each client", found=one.mean_request_ns, least=mean_ns, most=mean_ns)
    ran = [(client.began_ns, client.ended_ns, client) for client in own.each]
    spans = [
        (began, ended, client) for began, ended, client in ran if began is not None and ended is not None
    ]
    if spans:
        span_ns = max(ended for _, ended, _ in spans) - min(began for began, _, _ in spans)
        yield Count(what="elapsed_ns of all clients", found=one.elapsed_ns, least=span_ns, most=span_ns)
    for began, ended, client in spans:  # the time of each request is in whole milliseconds
        busy_ns = max(0, client.busy_ns - client.requests * 1_000_000)
        what = f"time of the requests of client {client.number}, ns"
        yield Count(what=what, found=busy_ns, most=ended - began + EXACT_NS)
    yield Count(what="stood_ns", found=own.stood_ns, most=one.process_ns)


def _by_applications(spec: RequestsSpec, phase: Sustained) -> Iterator[Count]:
    """Each object is there as often as the turns of its connections make it, but for what was lost."""
    each, rounds = phase.requests_per_connection, phase.due_connections // len(spec.turns)
    right = dict(phase.objects)
    lost = phase.due_connections * each - sum(right.values())
    of = APPLICATIONS[spec.mix]
    for one in of.applications:
        for size in one.sizes_octets:
            in_round = of.share(one.name) * each // len(one.sizes_octets)
            yield Count(
                what=f"right answers of {size} octets",
                found=right.get(size, 0),
                least=max(0, rounds * in_round - lost),
                most=(rounds + 1) * in_round,
            )
    agreed, most = sum(phase.negotiated.values()), (rounds + 1) * of.encrypted_turns
    yield Count(what="TLS handshakes of the mix", found=agreed, most=most)


PHYSICS = Physics(kind=REQUESTS, lasted=_lasted, counts=_counts, answers_invalid=True)


@rule("VER-32", "", "no more octets than the medium can carry", exit_code=2)
def within_line_rate(evidence: Evidence) -> Iterator[Shortfall]:
    """No repetition moves more octets of bodies than the medium carries at its declared rate."""
    rate_bps = evidence.line_rate_bps
    for where, _, one in PHYSICS.lines(evidence) if rate_bps is not None else ():
        # transactions of a sustain phase end after it, and held connections ask before it
        took_ns = one.elapsed_ns if one.sustain is None else one.process_ns
        most = (rate_bps or 0) * (took_ns + _CLIENTS_EXACT_NS) / 8e9 * (1 + _RATE_RATIO)
        if one.body_octets > most and not one.faults:
            yield f"{where}: body_octets", f"at most {most:.0f} on the medium", str(one.body_octets)


RULES: tuple[Rule[Evidence], ...] = (*PHYSICS.rules(), within_line_rate)
