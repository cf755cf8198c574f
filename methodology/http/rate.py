"""Requests per second that a proxy carries without a failed or late one: the packets' search, over requests.

Load is requests per second; sent are those that were due, lost those that failed, came late or could not
leave. A generator that tells of its own limit (`unsent_requests`) was short, and no bound comes of it. The
key figure is RFC 9411's application transactions per second, beside its time to the first and the last octet.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.methodology.http.judge import MEASURED
from bmwg.methodology.http.records import HttpCell, HttpOutcome, Repetition
from bmwg.methodology.records import OutcomeType, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.search import bisection
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.trial import Assessment, JudgedTrial

_FRAME_OCTETS = 64  # the search needs some size and uses it for nothing else


def goal(settings: Mapping[str, Any]) -> ThroughputGoal:
    """Return what the search is to find, from a profile's `rate` entry; loads are requests per second."""
    return ThroughputGoal(
        frame_octets=_FRAME_OCTETS,
        duration_s=float(settings["duration_s"]),
        min_load_fps=settings["min_rps"],
        max_load_fps=settings["max_rps"],
        relative_width=float(settings["relative_width"]),
        max_repeats=settings.get("max_repeats", 1),
        short_limit=1,
    )


def judged(seq: int, repetition: Repetition, spec: TrialSpec) -> JudgedTrial:
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
    counts = StreamCounts(
        intended_frames=repetition.asked_requests,
        sent_frames=repetition.asked_requests,
        received_frames=good,
    )
    fault = found.reason if found.validity is Validity.FAULT else ""
    result = TrialResult(spec=spec, streams=(counts,), wall_time_ns=repetition.wall_ns, fault=fault or None)
    return JudgedTrial(seq=seq, result=result, validity=found.validity, reason=found.reason)


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

    def one(spec: TrialSpec) -> JudgedTrial:
        seq, repetition = measure(spec.load_fps)
        return judged(seq, repetition, spec)

    return bisection.search(one, goal(settings))


def outcome(
    cell: HttpCell, repetitions: Sequence[tuple[int, Repetition]], settings: Mapping[str, Any]
) -> HttpOutcome:
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
        return HttpOutcome(
            cell=cell,
            type=found.type,
            requests=at_bound[-1].asked_requests,
            rate_rps=found.lower.load_fps,
            upper_rps=found.upper.load_fps if found.upper else None,
            request_ns=at_bound[-1].request_ns,
            ttfb_ns=at_bound[-1].ttfb_ns,
            repetitions=numbers,
        )
    reason = found.reason.replace("frames/s", "requests/s")
    if found.type is OutcomeType.TESTER_LIMITED and found.lower is not None:
        reason = f"{reason}; no request was lost up to {found.lower.load_fps} requests/s"
    reason = reason or {
        OutcomeType.AT_CEILING: f"no request lost up to {settings['max_rps']} requests/s, the highest load",
        OutcomeType.AT_FLOOR: f"requests were lost at {settings['min_rps']} requests/s, the lowest load",
    }.get(found.type, "")
    return HttpOutcome(cell=cell, type=found.type, repetitions=numbers, reason=reason)
