"""Parts of a profile that contradict each other, beside those of its own search. Pure."""

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


def of_benchmarks(data: dict[str, Any]) -> list[Problem]:
    """Hold settings of benchmarks against each other, and against the search that the profile has itself."""
    benchmarks, algorithm = data.get("benchmarks", {}), data["search"].get("algorithm", "")
    found = [
        Problem(
            location=("benchmarks", algorithm, name),
            expected=f"none beside those of search, whose algorithm is {algorithm}",
            found=str(said),
        )
        for name, said in benchmarks.get(algorithm, {}).items()
        if name != "frame_octets"
    ]
    capacity = benchmarks.get("caching_capacity", {})
    first, most = capacity.get("first_addresses"), capacity.get("most_addresses")
    if first is not None and most is not None and first > most:
        location = ("benchmarks", "caching_capacity", "first_addresses")
        found.append(
            Problem(location=location, expected=f"at most {most} (most_addresses)", found=str(first))
        )
    return found
