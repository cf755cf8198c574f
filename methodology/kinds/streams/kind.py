"""The kind as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from bmwg.methodology.answers import repeated
from bmwg.methodology.answers.student import interval
from bmwg.methodology.kinds.repeated.kind import RepeatedKind
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.profile import (
    FORMAT,
    GOODPUT,
    OPERATION,
    PROFILES,
    ROUND_TRIP,
    cell_of_axes,
)
from bmwg.methodology.kinds.streams.records import (
    KIND,
    Exchange,
    StreamsResult,
    StreamsSpec,
    Transport,
    contradictions,
    shortcomings,
    unsent,
)
from bmwg.methodology.matrix import RELIABILITY, SPEED, Place
from bmwg.methodology.records import Cell, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas import load


class _Streams(RepeatedKind[StreamsSpec, StreamsResult]):
    """Streams among the kinds of load."""

    name = KIND
    unit = "bit/s"
    schema = load(KIND)
    profile_format = FORMAT
    families = (GOODPUT, ROUND_TRIP, OPERATION)
    headline = (f"{GOODPUT}.mean", f"{ROUND_TRIP}.mean", f"{OPERATION}.mean")
    places: ClassVar[Mapping[str, tuple[Place, ...]]] = {
        GOODPUT: (SPEED, replace(RELIABILITY, part="lost_ratio")),
        ROUND_TRIP: (SPEED,),
        OPERATION: (SPEED,),
    }
    spec_type = StreamsSpec
    result_type = StreamsResult
    profiles = PROFILES

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        return cell_of_axes(axes)

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Say how forms of sweeps took turns; empty where the cells are of none."""
        if not any(order.sweep_of(profile, cell) for cell in cells):
            return ""
        return (
            "hosting forms of a sweep take turns in randomized blocks, each of one execution of each size,"
            f" seed {seed}; cells of other experiments are measured one after the other"
        )

    def judged(self, spec: StreamsSpec, result: StreamsResult) -> Assessment:
        """Say whether an execution's payload went over the path, as fast and as long as asked."""
        if found := contradictions(spec, result):
            return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
        if short := unsent(spec, result):
            return Assessment(validity=Validity.SENT_SHORT, reason=short)
        if found := shortcomings(spec, result):
            return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
        return Assessment(validity=Validity.VALID)

    def values(self, planned: Planned[StreamsSpec], results: Sequence[StreamsResult]) -> tuple[Quantity, ...]:
        """Return goodput, of UDP with the share that was lost, or the time of round trips or operations.

        The share is of what the receiver did not read: what was on its way or in its socket at the end is in
        it. Where it tells what was missing before its last datagram, that is the least that was lost.
        """
        if planned.spec.exchange is Exchange.ALL_TO_ALL:
            means = [one.mean_operation_ns for one in results]
            each = repeated.percentiles(OPERATION, [one.operation_ns for one in results])
            return (*repeated.quantities(OPERATION, interval(means), "ns"), *each)
        if planned.spec.exchange is Exchange.PING_PONG:
            means = [float(one.mean_round_trip_ns) for one in results]
            each = repeated.percentiles(ROUND_TRIP, [result.round_trip_ns for result in results])
            return (*repeated.quantities(ROUND_TRIP, interval(means), "ns"), *each)
        found = repeated.quantities(
            GOODPUT, interval([streams_result.goodput_bps for streams_result in results]), "bit/s"
        )
        if planned.spec.transport is Transport.UDP:
            sent = sum(one.sent_messages for one in results)
            lost = sum(one.lost_messages for one in results)
            share = lost / sent if sent else 0.0
            found += (Quantity(metric=f"{GOODPUT}.lost_ratio", number=share, unit="ratio"),)
            missing = [one.missing_messages for one in results if one.missing_messages is not None]
            if len(missing) == len(results):
                least = min(share, sum(missing) / sent) if sent else 0.0
                found += (Quantity(metric=f"{GOODPUT}.missing_ratio", number=least, unit="ratio"),)
        return found


STREAMS = _Streams()
