"""A foreign result as blocks: each number with its loss limit, duration and direction beside it."""

from __future__ import annotations

from bmwg.reports.importers.records import ForeignFigure, ForeignResult, ForeignTrial
from bmwg.reports.render.blocks import Block, banner, pairs, paragraph, table, title
from bmwg.reports.render.text import NONE, percent, quantity_text, unit, whole

MAX_TRIALS = 400


def foreign_page(result: ForeignResult) -> list[Block]:
    """Return the page."""
    lines = title(f"Foreign result of {result.tool}", 0)
    said = "Foreign: read from another tool, not measured by this one, and never graded."
    lines += banner("indicative", said)
    lines += pairs(
        [
            ("file", result.source_name),
            ("SHA-256", result.source_sha256),
            ("version", result.tool_version or "not in the file"),
            ("trials in the file", str(len(result.trials))),
        ]
    )
    lines += title("What its numbers are")
    if not result.figures:
        lines += paragraph("The file holds no frame rate.")
    for figure in result.figures:
        lines += _figure(figure)
    if result.trials:
        lines += title("Trials")
        head = ["trial", "load", "duration", "sent", "received", "loss", "remarks"]
        lines += table(head, map(_trial, result.trials[:MAX_TRIALS]))
        if len(result.trials) > MAX_TRIALS:
            lines += paragraph(f"{len(result.trials) - MAX_TRIALS} more trials are in the JSON form.")
    return lines


def _figure(figure: ForeignFigure) -> list[Block]:
    sources = dict(figure.sources)
    rows = [
        ("called there", figure.source_label),
        ("what it is", figure.metric),
        ("value", _value(figure)),
        ("loss allowed", _ratio(figure.loss_ratio_allowed, "no loss criterion")),
        ("loss limit from", sources.get("loss limit", NONE)),
        ("loss seen", _ratio(figure.loss_ratio_seen, "not in the file")),
        ("trial duration", _seconds(figure.trial_duration_s)),
        ("duration from", sources.get("duration", NONE)),
        ("direction", figure.direction.value if figure.direction else "not in the file"),
        ("frames", figure.frame_text),
    ]
    rows += [(value.metric, quantity_text(value.number, value.unit)) for value in figure.latency]
    rows += [(f"remark {number}", text) for number, text in enumerate(figure.remarks, start=1)]
    return [*title(f"{figure.source_label}, {figure.frame_text}", 2), *pairs(rows)]


def _value(figure: ForeignFigure) -> str:
    if figure.load_fps is None:
        return f"no number: {figure.irregular}"
    return f"{unit(figure.load_fps, 'frames/s')}, {figure.scope}"


def _ratio(ratio: float | None, none: str) -> str:
    return none if ratio is None else percent(ratio, 5)


def _seconds(seconds: float | None) -> str:
    return "not in the file" if seconds is None else f"{seconds:g}\u00a0s"


def _trial(trial: ForeignTrial) -> list[str]:
    sent = sum(stream.sent_frames for stream in trial.streams)
    received = sum(stream.received_frames for stream in trial.streams)
    return [
        str(trial.number),
        NONE if trial.load_fps is None else unit(round(trial.load_fps), "frames/s"),
        _seconds(trial.duration_s),
        whole(sent),
        whole(received),
        percent((sent - received) / sent, 5) if sent else NONE,
        "; ".join(trial.remarks) or NONE,
    ]
