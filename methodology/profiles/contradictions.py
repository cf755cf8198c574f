"""Parts of a profile that contradict each other, beside those of its search. Pure."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.cells.patterns import AXIS as PATTERN
from bmwg.methodology.records import Direction
from bmwg.schemas.validation import Problem


def of_latency(data: dict[str, Any]) -> list[Problem]:
    """Hold the streams of latency against the lowest load of the search: each has a frame there."""
    said, lowest_fps = data["latency"], data["search"]["min_load_fps"]
    if said["duration_s"] * lowest_fps >= 1:
        return []
    return [
        Problem(
            location=("latency", "duration_s"),
            expected=f"at least one frame at the lowest load, {lowest_fps} frames/s",
            found=f"{said['duration_s']:g} s",
        )
    ]


def of_directions(data: dict[str, Any]) -> list[Problem]:
    """Hold the directions against cells whose pattern says who sends to whom: there both have no meaning."""
    said = data["traffic"]["directions"]
    suites = (*data.get("suites", {}).values(), data)
    patterned = any(PATTERN in plan.get("axes", {}) for suite in suites for plan in suite["paths"])
    if not patterned or said == [Direction.FORWARD.value]:
        return []
    expected = f"[{Direction.FORWARD.value}] beside cells with axis {PATTERN}, which says who sends to whom"
    return [Problem(location=("traffic", "directions"), expected=expected, found=str(said))]
