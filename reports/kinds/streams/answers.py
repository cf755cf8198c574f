"""The answers of a run's streams, and what stands of the interfaces that they went through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.answers.order_statistics import CONFIDENCE
from bmwg.methodology.kinds.streams.records import StreamsResult, StreamsSpec
from bmwg.methodology.record.facts import below
from bmwg.reports.kinds.repeated import answers
from bmwg.reports.render.text import nanoseconds
from bmwg.reports.store import Run

Answered = answers.Answered[StreamsSpec, StreamsResult]


def interface_of(run: Run, deployment: str, interface: str) -> Mapping[str, Any]:
    """Return what the record tells of an interface of a deployment's first pod; empty if nothing."""
    records = run.platform.get("records", {})
    places = records.get(deployment, {})
    place = next((name for name in sorted(places) if name.endswith("/pod0")), None)
    return {} if place is None else interface_at(run, deployment, place, interface)


def interface_at(run: Run, deployment: str, place: str, interface: str) -> Mapping[str, Any]:
    """Return what the record tells of an interface at a place of a deployment; empty if nothing."""
    records = run.platform.get("records", {})
    whose = below(records, deployment, place, "equal_to") or deployment
    found = below(records, whose, place, "fields", "nic", interface)
    return found if isinstance(found, Mapping) else {}


def percentiles(one: Answered, names: Sequence[str]) -> str:
    """Return percentiles over the executions of an answer: each their median and interval; ends of all."""
    told, values = [], one.values
    for name in names:
        if name in values:
            told.append(f"{name} {nanoseconds(values[name])}")
        elif f"{name}.median" in values:
            middle, low, high = (values[f"{name}.{part}"] for part in ("median", "median_low", "median_high"))
            covers = values[f"{name}.median_covers"]
            share = f", {covers:.0%}" if covers < CONFIDENCE else ""
            ends = f"{nanoseconds(low)} to {nanoseconds(high)}{share}"
            told.append(f"{name} {nanoseconds(middle)} ({ends})")
    return ", ".join(told)
