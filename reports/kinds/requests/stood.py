"""Whether what answered requests is what their cell names: how many proxies, their cache, how TLS ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.kinds.requests import ip
from bmwg.methodology.kinds.requests.records import KIND, Workload
from bmwg.methodology.kinds.requests.tls import PLAIN
from bmwg.methodology.record.facts import below
from bmwg.methodology.record.seals import is_hidden
from bmwg.methodology.records import NOTHING
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule


@rule("VER-55", "", "each repetition of requests was answered by what its cell names")
def answered_by_what_was_asked(evidence: Evidence) -> Iterator[Shortfall]:
    """What a deployment tells of itself is what the cells ask for whose repetitions ran there.

    Path, hosting and function are compared of every kind of load. Of a start, an instance is made for each.
    """
    cells = {planned.cell.cell_id: planned.cell for planned in evidence.plan if planned.cell.kind == KIND}
    lines = ((one.cell_id, one.deployment_id) for one in evidence.executions if one.body.kind == KIND)
    for cell_id, deployment in dict.fromkeys(lines):
        described = evidence.deployments.get(deployment)
        if cell_id not in cells or not isinstance(described, Mapping):
            continue
        asked = dict(cells[cell_id].axes)
        if asked["workload"] == Workload.START:
            continue
        for what, found in _told(described).items():
            wanted = _wanted(asked)[what]
            if found is not None and not is_hidden(found) and found != wanted:
                yield f"{cell_id}: {what} of {deployment}", _shown(wanted), _shown(found)


def _wanted(asked: Mapping[str, Any]) -> dict[str, object]:
    return {
        "proxies": asked["proxies"],
        "cache": bool(asked["cache"]),
        "stress_cpus": asked["stress_cpus"],
        "tls": asked.get("tls", PLAIN),
        "HTTP/2": bool(asked.get("http")),
        "ip": ip.words(str(asked.get("ip", ip.V4))),
    }


def _told(described: Mapping[str, Any]) -> dict[str, object]:
    """Return what a deployment tells of the same, None of what it does not; without TLS it tells of none."""
    instances, ends = described.get("instances"), below(described, "tls", "asked")
    return {
        "proxies": len(instances) if isinstance(instances, list) else None,
        "cache": described.get("cache"),
        "stress_cpus": described.get("stress_cpus"),
        "tls": below(ends, "set") if ends else PLAIN,
        "HTTP/2": bool(below(ends, "http2")),
        "ip": below(described, "addresses", "versions"),
    }


def _shown(value: object) -> str:
    return str(value) or NOTHING


RULES: tuple[Rule[Evidence], ...] = (answered_by_what_was_asked,)
