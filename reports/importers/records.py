"""What a foreign result file says, in our units. It is kept apart from runs: no checker or comparison
reads it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bmwg.methodology.records import Direction, Quantity, StreamCounts

FILE, KNOWN = "the file", "a known setting of the tool, not in the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFigure:
    """One headline number of a foreign file, and what it is.

    `load_fps` is frames/s in the `scope` (`one direction`, `sum of directions`); None where the tool
    printed a number that is none (`irregular` says why). `loss_ratio_allowed` is 0..1; None where the
    number has no loss criterion. `trial_duration_s` is how long traffic had flowed when the counters were
    read; `sources` says, for duration and loss criterion, whether the file holds it. `frame_octets` is None
    for mixes and where the file is silent.
    """

    source_label: str
    metric: str
    load_fps: float | None
    scope: str
    direction: Direction | None
    frame_octets: int | None
    frame_text: str
    loss_ratio_allowed: float | None
    loss_ratio_seen: float | None
    trial_duration_s: float | None
    sources: tuple[tuple[str, str], ...] = ()
    latency: tuple[Quantity, ...] = ()
    irregular: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTrial:
    """One trial that the file holds. `streams` has one entry a direction, or one with the sum (`is_sum`)."""

    number: int
    load_fps: float | None
    duration_s: float | None
    streams: tuple[StreamCounts, ...]
    is_sum: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResult:
    """A foreign file as read. `trials` is empty where the tool keeps none."""

    tool: str
    tool_version: str | None
    source_name: str
    source_sha256: str
    figures: tuple[ForeignFigure, ...]
    trials: tuple[ForeignTrial, ...] = ()


def as_json(result: ForeignResult) -> dict[str, Any]:
    """Return the document of schema foreign/1.0; `foreign` and `graded` are constants of it."""
    trials = [
        {
            "number": trial.number,
            "load_fps": trial.load_fps,
            "duration_s": trial.duration_s,
            "is_sum": trial.is_sum,
            "streams": [
                {
                    "intended_frames": stream.intended_frames,
                    "sent_frames": stream.sent_frames,
                    "received_frames": stream.received_frames,
                }
                for stream in trial.streams
            ],
            "remarks": list(trial.remarks),
        }
        for trial in result.trials
    ]
    figures = [
        asdict(figure)
        | {
            "sources": dict(figure.sources),
            "latency": [asdict(value) for value in figure.latency],
            "remarks": list(figure.remarks),
        }
        for figure in result.figures
    ]
    return {
        "schema": "foreign/1.0",
        "foreign": True,
        "graded": False,
        "tool": result.tool,
        "tool_version": result.tool_version,
        "source": {"name": result.source_name, "sha256": result.source_sha256},
        "figures": figures,
        "trials": trials,
    }
