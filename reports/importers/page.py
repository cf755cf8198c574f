"""A foreign result as reStructuredText: each number with its loss limit, duration and direction beside it."""

from __future__ import annotations

from bmwg.reports.importers.records import ForeignFigure, ForeignResult, ForeignTrial
from bmwg.reports.render.results import quantity_text
from bmwg.reports.render.text import NONE, esc, pairs, percent, table, title, unit, whole

MAX_TRIALS = 400


def foreign_page(result: ForeignResult) -> str:
    """Return the page."""
    name = esc(f"Foreign result of {result.tool}")
    lines = ["=" * len(name), name, "=" * len(name), ""]
    lines += [".. container:: banner banner-indicative", ""]
    lines += [f"   {esc('Foreign: read from another tool, not measured by this one, and never graded.')}", ""]
    lines += pairs(
        [
            ("file", esc(result.source_name)),
            ("SHA-256", esc(result.source_sha256)),
            ("version", esc(result.tool_version or "not in the file")),
            ("trials in the file", str(len(result.trials))),
        ]
    )
    lines += title("What its numbers are", 1)
    if not result.figures:
        lines += ["The file holds no frame rate.", ""]
    for figure in result.figures:
        lines += _figure(figure)
    if result.trials:
        lines += title("Trials", 1)
        head = ["trial", "load", "duration", "sent", "received", "loss", "remarks"]
        lines += table(head, map(_trial, result.trials[:MAX_TRIALS]))
        if len(result.trials) > MAX_TRIALS:
            lines += [esc(f"{len(result.trials) - MAX_TRIALS} more trials are in the JSON form."), ""]
    return "\n".join(lines) + "\n"


def _figure(figure: ForeignFigure) -> list[str]:
    sources = dict(figure.sources)
    rows = [
        ("called there", esc(figure.source_label)),
        ("what it is", esc(figure.metric)),
        ("value", esc(_value(figure))),
        ("loss allowed", esc(_ratio(figure.loss_ratio_allowed, "no loss criterion"))),
        ("loss limit from", esc(sources.get("loss limit", NONE))),
        ("loss seen", esc(_ratio(figure.loss_ratio_seen, "not in the file"))),
        ("trial duration", esc(_seconds(figure.trial_duration_s))),
        ("duration from", esc(sources.get("duration", NONE))),
        ("direction", esc(figure.direction.value if figure.direction else "not in the file")),
        ("frames", esc(figure.frame_text)),
    ]
    rows += [(value.metric, esc(quantity_text(value.number, value.unit))) for value in figure.latency]
    rows += [(f"remark {number}", esc(text)) for number, text in enumerate(figure.remarks, start=1)]
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
        esc(NONE if trial.load_fps is None else unit(round(trial.load_fps), "frames/s")),
        esc(_seconds(trial.duration_s)),
        whole(sent),
        whole(received),
        esc(percent((sent - received) / sent, 5) if sent else NONE),
        esc("; ".join(trial.remarks) or NONE),
    ]
