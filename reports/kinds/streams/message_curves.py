"""Curves over the size of a message: ways between pods beside each other (document 003's figures)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.methodology.cells.vnics import AXIS
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import SERVED
from bmwg.methodology.kinds.streams.records import Exchange, Way
from bmwg.reports.kinds.repeated.answers import answers_of
from bmwg.reports.kinds.streams import nested, places
from bmwg.reports.kinds.streams.answers import Answered
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

LEAST_SIZES = 3  # choice: fewer make no curve; the table of answers has them
_LOADS = (Exchange.BULK, Exchange.PING_PONG)
_UNIT = {Exchange.BULK: ("goodput", "Mbit/s", 1e6), Exchange.PING_PONG: ("mean round trip", "us", 1e3)}
_LOCAL, _REMOTE, _GUESTS = "pods of one host", "pods of two hosts", "pods in machines"
_LINES = ("-", "--", ":")  # of the first six ways, of the next six, of the rest
_WORDS = (
    "By the size of a message: what one call hands to the socket, as document 003 draws it. TCP cuts or "
    "gathers such messages to segments; a datagram above the MTU travels in fragments, and one lost fragment "
    "loses it whole. Bars are 95 % intervals of the mean."
)

Curves = Mapping[str, Mapping[int, Answered]]


def lines(
    run: Run, experiment: str, answers: Sequence[Answered], figure: Callable[[str], list[Block]]
) -> list[Block]:
    """Return the figures and the table of an experiment with so many sizes; nothing for one with fewer."""
    if experiment in SERVED:  # its ways are forms, which a table has
        return []
    found = _by_place(run, answers)
    out: list[Block] = []
    for place, curves in found.items():
        _, unit, per = _UNIT[Exchange(answers[0].planned.spec.exchange)]
        out += figure(_name(experiment, place)) if any(map(_drawn, curves.values())) else []
        sizes = sorted({size for curve in curves.values() for size in curve})
        rows = [[f"{size}", *(_number(curve.get(size), per) for curve in curves.values())] for size in sizes]
        head = ["octets of a message", *(f"{way}, {unit}" for way in curves)]
        out += table(head, rows, f"By the size of a message, {place}: mean and half-width at 95 %")
    return [*paragraph(_WORDS), *out] if out else []


def plots(run: Run) -> tuple[Plot, ...]:
    """Draw each experiment's curves, those of one host, of two, and in machines apart."""
    by_experiment: dict[str, list[Answered]] = {}
    for answer in answers_of(run, STREAMS):
        by_experiment.setdefault(str(dict(answer.outcome.cell.axes)["experiment"]), []).append(answer)
    return tuple(
        _plot(experiment, place, curves)
        for experiment, answers in by_experiment.items()
        if experiment not in SERVED
        for place, curves in _by_place(run, answers).items()
        if any(map(_drawn, curves.values()))
    )


def _by_place(run: Run, answers: Sequence[Answered]) -> dict[str, Curves]:
    """Return curves by where the pods stood and by way; a translated machine's figures draw none."""
    found: dict[str, dict[str, dict[int, Answered]]] = {}
    for answer in answers:
        cell, spec = answer.outcome.cell, answer.planned.spec
        if spec.exchange not in _LOADS or not places.nodes(run, answer) or nested.apart(run, answer):
            continue
        way = f"{cell.path} {cell.network}" + (f" {spec.way}" if spec.way is not Way.FORWARD else "")
        vnic = dict(cell.axes).get(AXIS)
        way += f", vNIC {vnic}" if vnic else ""
        way += f", buffers of {spec.window_octets} octets" if spec.window_octets else ""
        way += f", {spec.load_bps} bit/s" if spec.load_bps else ""
        way += f", {spec.parallel} streams" if spec.parallel != 1 else ""
        curve = found.setdefault(_place(run, answer), {}).setdefault(way, {})
        curve[spec.message_octets] = answer
    return {
        place: {way: curve for way, curve in curves.items() if len(curve) >= LEAST_SIZES}
        for place, curves in found.items()
        if any(len(curve) >= LEAST_SIZES for curve in curves.values())
    }


def _place(run: Run, one: Answered) -> str:
    """Say where the pods stood: by the record, so that a path of anybody's has its place."""
    if AXIS in dict(one.outcome.cell.axes):
        return _GUESTS
    return _LOCAL if places.nodes(run, one) == 1 else _REMOTE


def _drawn(curve: Mapping[int, Answered]) -> list[int]:
    return sorted(size for size, answer in curve.items() if answer.measured)


def _plot(experiment: str, place: str, curves: Curves) -> Plot:
    first = next(answer for curve in curves.values() for answer in curve.values())
    metric, unit, per = _UNIT[Exchange(first.planned.spec.exchange)]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        sizes = sorted({size for curve in curves.values() for size in _drawn(curve)})
        for number, (way, curve) in enumerate(curves.items()):
            drawn = _drawn(curve)
            at = number % len(SERIES)
            axes.errorbar(
                drawn,
                [curve[size].values["mean"] / per for size in drawn],
                yerr=[(curve[size].values.get("half_width_95") or 0) / per for size in drawn],
                label=way,
                color=SERIES[at],
                marker=MARKERS[at],
                linestyle=_LINES[min(number // len(SERIES), len(_LINES) - 1)],
                capsize=2,
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("octets of a message")
        axes.set_ylabel(f"{metric}, {unit}")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)

    told = "; ".join(
        f"{way}: "
        + ", ".join(f"{size} octets {curve[size].values['mean'] / per:.1f}" for size in _drawn(curve))
        for way, curve in curves.items()
    )
    title = f"{metric.capitalize()} by the size of a message, {place}"
    return draw_plot(_name(experiment, place), title, f"{unit}. {told}.", (6.4, 3.4), draw)


def _name(experiment: str, place: str) -> str:
    return f"streams-{experiment}-by-message-{place}".replace("_", "-").replace(" ", "-")


def _number(one: Answered | None, per: float) -> str:
    if one is None:
        return NONE
    if not one.measured:
        return one.outcome.type.value.replace("_", " ")
    half = one.values.get("half_width_95")
    spread = f" ± {half / per:.1f}" if half is not None else ""
    return f"{one.values['mean'] / per:.1f}{spread}"
