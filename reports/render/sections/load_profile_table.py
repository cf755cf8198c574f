"""Loss, rate and latency at five loads around the throughput (LTD 3.2.2.1.3 and 3.2.2.3.4)."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.records import Outcome
from bmwg.reports.render.blocks import Block, table
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.sections.common_columns import section, value
from bmwg.reports.render.text import NONE, nanoseconds, percent, unit

METRICS = (load_profile.METRIC, load_profile.CHAIN_METRIC)
_FPS = "frames/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One load of a profile (frames/s per port and direction); latencies are ns, None where none is known."""

    delta_percent: int
    load_fps: int
    loss_ratio: float
    forwarded_fps: int
    mean_ns: float | None
    p99_ns: float | None


def points(outcome: Outcome) -> list[Point]:
    """Return the loads that have a valid trial, rising."""
    found = []
    for delta in load_profile.DELTAS_PERCENT:
        at = f"{outcome.metric}.{load_profile.name_of(delta)}"
        load, loss = value(outcome, f"{at}.{load_profile.LOAD}"), value(outcome, f"{at}.{load_profile.LOSS}")
        forwarded = value(outcome, f"{at}.{load_profile.FORWARDED}")
        if load is None or loss is None or forwarded is None:
            continue
        found.append(
            Point(
                delta_percent=delta,
                load_fps=int(load),
                loss_ratio=float(loss),
                forwarded_fps=int(forwarded),
                mean_ns=value(outcome, f"{at}.{load_profile.MEAN}"),
                p99_ns=value(outcome, f"{at}.{load_profile.P99}"),
            )
        )
    return found


def profiles(facts: Facts) -> list[Block]:
    """Return one table a cell with a row for each load, and what is said of each cell."""
    outcomes = [one for one in facts.outcomes if one.metric in METRICS]
    lines: list[Block] = []
    for one in outcomes:
        if rows := [_row(point) for point in points(one)]:
            name = f"{option(one.cell)}, {unit(one.cell.frame_octets, 'octets')}"
            head = ["delta", "load per port and direction", "frames lost", "forwarded"]
            lines += table([*head, "mean latency", "latency of 99 % at most"], rows, name)
    return section(
        "Loss and latency around the throughput (RFC 8204 5.6 and 5.8, LTD 3.2.2.1.3 and 3.2.2.3.4)",
        (),
        outcomes,
        lambda _: (),
        f"Metrics {' and '.join(dict.fromkeys(one.metric for one in outcomes))}",
        lines,
    )


def _row(point: Point) -> list[str]:
    return [
        load_profile.words_of(point.delta_percent),
        unit(point.load_fps, _FPS),
        percent(point.loss_ratio),
        unit(point.forwarded_fps, _FPS),
        *(NONE if one is None else nanoseconds(one) for one in (point.mean_ns, point.p99_ns)),
    ]
