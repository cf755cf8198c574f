"""Trials of frames as a journal's reader has them: light, whole when somebody asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.records import FRAMES, LARGEST_COUNT, TrialResult, TrialSpec, Validity
from bmwg.reports.store.frame_codec import result_from_json, spec_from_json
from bmwg.reports.store.upgrade import of_today

_COUNTED = ("intended_frames", "sent_frames", "received_frames")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTrial:
    """One recorded trial. Counts are frames over all its directions; `result` decodes everything else.

    It stays light on purpose: a run may hold ten thousand trials with full histograms.
    """

    seq: int
    cell_id: str
    deployment_id: str
    metric: str
    test_id: str
    phase: str
    spec: TrialSpec
    validity: Validity
    reason: str
    at: str
    intended_frames: int
    sent_frames: int
    received_frames: int
    largest_gap_ns: int
    largest_lateness_ns: int
    fault: str | None
    line_hash: str
    line: bytes = field(repr=False)

    @property
    def loss_ratio(self) -> float:
        """Share of sent frames lost, 0..1."""
        return (self.sent_frames - self.received_frames) / self.sent_frames if self.sent_frames else 0.0

    @property
    def result(self) -> TrialResult:
        """The whole trial, with latency buckets, decoded anew on each call."""
        return result_from_json(of_today(json.loads(self.line)))


def _pairs_of(disturbance: Mapping[str, Any]) -> list[list[int]]:
    watches = [watch["intervals"] for watch in disturbance.get("watches", ())]
    return [disturbance["steal_ns"], disturbance["largest_stall_ns"], *watches]


def _check(data: Mapping[str, Any]) -> None:
    result = data["result"]
    streams = result["streams"]
    if any(len(stream["latency"]["buckets"]) % 3 for stream in streams):
        raise ValueError("latency buckets: not in threes")
    if result["disturbance"] and any(len(flat) % 2 for flat in _pairs_of(result["disturbance"])):
        raise ValueError("disturbance: not in pairs")
    if data["assessment"]["validity"] == Validity.VALID.value:
        _check_counts(streams)


def _read(data: Mapping[str, Any], line: bytes) -> JournalTrial:
    _check(data)
    streams, assessment = data["result"]["streams"], data["assessment"]
    return JournalTrial(
        seq=data["seq"],
        cell_id=data["cell"],
        deployment_id=data["deployment"],
        metric=data["metric"],
        test_id=data["test"],
        phase=data["phase"],
        spec=spec_from_json(data["spec"]),
        validity=Validity(assessment["validity"]),
        reason=assessment["reason"],
        at=data["at"],
        intended_frames=sum(stream["intended_frames"] for stream in streams),
        sent_frames=sum(stream["sent_frames"] for stream in streams),
        received_frames=sum(stream["received_frames"] for stream in streams),
        largest_gap_ns=max((stream["largest_gap_ns"] for stream in streams), default=0),
        largest_lateness_ns=max((stream["largest_lateness_ns"] for stream in streams), default=0),
        fault="; ".join(data["faults"]) or None,
        line_hash=data["hash"],
        line=line,
    )


def _check_counts(streams: Sequence[Mapping[str, Any]]) -> None:
    if min((stream[key] for stream in streams for key in _COUNTED), default=0) < 0:
        raise ValueError("a valid trial of negative counts")
    for stream in streams:
        latency = stream["latency"]
        numbers = [n for part in (stream, latency) for n in part.values() if isinstance(n, int | float)]
        tagged = (n for name in ("tagged_ns", "tagged_at_ns") for n in stream.get(name, ()) if n is not None)
        if max(*numbers, max(latency["buckets"], default=0), max(tagged, default=0)) > LARGEST_COUNT:
            raise ValueError("a valid trial with a number that no counter of 64 bits holds")


Recorded = JournalTrial | Execution  # what a line of the journal gives


class Light(NamedTuple):
    """How lines of a kind of load are read, and only checked. Both raise ValueError for what no trial has."""

    read: Callable[[Mapping[str, Any], bytes], Recorded]
    check: Callable[[Mapping[str, Any]], None]


LIGHT = {
    FRAMES: Light(_read, _check)
}  # kinds whose trials stay light; those of others are read as they stand
