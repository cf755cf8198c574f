"""Measurements beside a neighbour, held against the same alone: one part of the report for every kind.

RFC 8172 section 3.3 asks for a baseline and a run with noisy neighbours; sections 3.4 and 4.2 that what is
internal (the neighbour's own work) stands beside, and is no benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import geometric_mean

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import SpecT
from bmwg.methodology.records import Validity
from bmwg.reports.kinds.repeated.answers import Answered, answers_of, without_numbers
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, percent, sequence
from bmwg.reports.store import Run

_HOW = (
    "A neighbour is a program with a cgroup of its own on the CPUs that its name says; its share of these is "
    "that of a pod. It works from before each execution until after it. Ratio: mean beside over mean alone, "
    "with a 95 % interval from the two half-widths, which are taken as independent: within the deployments "
    "that stand beside the means. The neighbour's own work "
    "is its operations per second beside the measurement over those in the second before it, when it was "
    "alone: the geometric mean over the executions. It is told by the neighbour itself (auxiliary, RFC 8172 "
    "section 4.2), so it is no benchmark; it works longer than the execution lasts, so its share is "
    "above that of the execution's time alone. Rows: RFC8172-3.3-02, RFC8172-3.4-04, RFC8172-3.4-05, "
    "RFC8172-3.4-06."
)


def lines(run: Run, kind: RepeatedKind[SpecT, ResultT]) -> list[Block]:
    """Return the part of a kind's section; empty where nothing ran beside a neighbour."""
    mine = answers_of(run, kind, beside=True)
    if not mine:
        return []
    alone = {answer.outcome.cell.cell_id: answer for answer in answers_of(run, kind)}
    works = _works(run, kind)
    rows = []
    for answered in mine:
        if not answered.measured:
            continue
        name = neighbours.of(answered.outcome.cell)
        base = alone.get(neighbours.alone(answered.outcome.cell).cell_id)
        rows.append(
            [
                neighbours.alone(answered.outcome.cell).cell_id,
                f"{name}: {neighbours.parts(name)[0].what}",
                _mean(base) if base and base.measured else NONE,
                _mean(answered),
                _ratio(answered, base) if base and base.measured else NONE,
                _work([works[seq] for seq in answered.outcome.trials if seq in works]),
                sequence(answered.outcome.trials),
            ]
        )
    head = [
        "cell",
        "neighbour",
        "alone",
        "beside it",
        "ratio",
        "neighbour's own work, beside / alone",
        "trials",
    ]
    return [
        *title("Beside neighbours", 2),
        *paragraph(_HOW),
        *table(head, rows, "Measured alone and beside a neighbour"),
        *without_numbers(run, mine, f"{kind.name} beside neighbours"),
    ]


def _part(one: Answered[SpecT, ResultT]) -> str | None:
    """Return what names an answer's first figure behind its metric, a dot after it; empty of its own.

    None of an answer that is a share, which has no mean.
    """
    means = [name for name in one.values if name == "mean" or name.endswith(".mean")]
    if not means:
        return None
    return "" if "mean" in means else means[0].removesuffix("mean")


def _mean(one: Answered[SpecT, ResultT]) -> str:
    part = _part(one)
    if part is None:
        return _share(one)
    half = one.values.get(f"{part}half_width_95")
    spread = f" ± {half:.4g}" if half is not None else ""
    unit = next((each.unit for each in one.outcome.values if each.metric.endswith(f".{part}mean")), "")
    mean = f"{one.values[f'{part}mean']:.6g}{spread} {unit} ({of_repetitions(one.values, part)})"
    return f"{part.removesuffix('.')} {mean}".strip()


def _share(one: Answered[SpecT, ResultT]) -> str:
    name = next(name for name in one.values if f"{name}_low_95" in one.values)
    low, high = (percent(one.values[f"{name}_{end}_95"], 2) for end in ("low", "high"))
    return f"{name} {percent(one.values[name])} ({low} to {high})"


def _ratio(one: Answered[SpecT, ResultT], base: Answered[SpecT, ResultT]) -> str:
    """Return a ratio of means; none of shares, nor to what is 0."""
    part = _part(one)
    if part is None or not base.values[f"{part}mean"]:
        return NONE
    ratio = one.values[f"{part}mean"] / base.values[f"{part}mean"]
    parts = [
        half / each.values[f"{part}mean"]
        for each in (one, base)
        if ratio and (half := each.values.get(f"{part}half_width_95")) is not None
    ]
    if len(parts) < len((one, base)):
        return f"{ratio:.3f}"
    relative = math.hypot(*parts)
    return f"{ratio:.3f} ({ratio * (1 - relative):.3f} to {ratio * (1 + relative):.3f})"


def _works(run: Run, kind: RepeatedKind[SpecT, ResultT]) -> Mapping[int, float]:
    """Return by trial what a neighbour did beside it, over what it did alone; of those that make up means."""
    found = {
        execution.seq: neighbours.share(execution.body.host)
        for execution in run.executions
        if execution.body.kind == kind.name and kind.assess(execution.body).validity is Validity.VALID
    }
    return {seq: share for seq, share in found.items() if share}


def _work(shares: list[float]) -> str:
    return f"{geometric_mean(shares):.3f} ({min(shares):.3f} to {max(shares):.3f})" if shares else NONE
