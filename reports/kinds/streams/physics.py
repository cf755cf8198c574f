"""What no execution of streams can show: less time than it took, more than its path carried.

The rules are those of `verify.timing`; here stands what an execution tells of its time and of its counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import (
    Exchange,
    StreamsResult,
    StreamsSpec,
    Transport,
    most_received,
)
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule
from bmwg.reports.kinds.repeated.physics import Physics
from bmwg.reports.verify.timing import Count, Within, in_order

_RATE_RATIO = 0.05  # choice: iperf3 paces by bursts, and both ends begin to count a little apart
_UNDER_WAY_RATIO = 0.5  # choice: of the time; sockperf's and netperf's own reports say 0.99 and more
_PROGRAMS_EXACT_NS = 20_000_000  # choice: both ends end by timers of their own


def _lasted(spec: StreamsSpec, result: StreamsResult) -> tuple[Within, ...]:
    if result.faults:
        return ()
    return (
        Within(what="of the asking program's life", needed_ns=result.process_ns),
        Within(
            what="of what counted and of what went before",
            needed_ns=result.elapsed_ns + spec.omit_s * 1e9,
            exact_ns=_PROGRAMS_EXACT_NS,
        ),
    )


def _counts(spec: StreamsSpec, result: StreamsResult) -> Iterator[Count]:
    if result.faults:
        return
    yield Count(what="received_octets", found=result.received_octets, most=most_received(spec, result))
    yield Count(what="received_messages", found=result.received_messages, most=result.sent_messages)
    for crossing in result.crossings:
        yield Count(what=f"octets on {crossing.at}", found=crossing.octets, least=result.received_octets)
        # a frame that goes over several interfaces is at least as long as its headers
        yield Count(
            what=f"octets on {crossing.at}",
            found=crossing.octets,
            least=crossing.frames * _LEAST_FRAME_OCTETS,
        )
    if spec.load_bps and spec.exchange is Exchange.BULK:
        most = int(spec.load_bps * (result.elapsed_ns + _PROGRAMS_EXACT_NS) / 8e9 * (1 + _RATE_RATIO))
        yield Count(what="sent_octets at the rate asked for", found=result.sent_octets, most=most)
    if spec.transport is Transport.UDP and spec.exchange is Exchange.BULK:
        octets = result.sent_messages * spec.message_octets
        yield Count(what="sent_octets", found=result.sent_octets, least=octets, most=octets)
    yield from in_order("round_trip_ns", result.round_trip_ns, result.mean_round_trip_ns)
    yield from in_order("operation_ns", result.operation_ns)
    if spec.exchange is Exchange.ALL_TO_ALL:
        octets = result.operations * spec.leaving_octets
        yield Count(what="octets that left a pod", found=result.sent_octets, least=octets, most=octets)
        yield Count(what="octets that arrived", found=result.received_octets, least=octets, most=octets)
        longest = result.operation_ns.get("max", 0)
        yield Count(what="time of one operation, ns", found=longest, most=result.elapsed_ns)
    if result.round_trips:
        busy_ns = result.mean_round_trip_ns * result.round_trips
        least_ns, most_ns = _least_busy_ns(spec, result), _most_busy_ns(spec, result)
        yield Count(what="time of all round trips, ns", found=busy_ns, least=least_ns, most=most_ns)


_LEAST_FRAME_OCTETS = 14  # an Ethernet header


def _most_busy_ns(spec: StreamsSpec, result: StreamsResult) -> int:
    return (result.elapsed_ns + _PROGRAMS_EXACT_NS) * spec.parallel


def _least_busy_ns(spec: StreamsSpec, result: StreamsResult) -> int:
    """Return how long messages were under way at least: one follows the other's answer, as fast as it goes.

    0 where nobody can say: after one that never came a client waits, and one with a rate waits before each.
    """
    if spec.exchange is not Exchange.PING_PONG or spec.load_bps:
        return 0
    if result.sent_messages != result.received_messages:
        return 0
    return int(_UNDER_WAY_RATIO * (result.elapsed_ns - _PROGRAMS_EXACT_NS)) * spec.parallel


PHYSICS = Physics(kind=STREAMS, lasted=_lasted, counts=_counts)


# VER-32 is not asked: no path of streams crosses the medium, which lies between tester and device
RULES: tuple[Rule[Evidence], ...] = PHYSICS.rules()
