"""Bursts, recovery, reset and throughput beside modifiers, in the forms of their documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bmwg.methodology.benchmarks import back_to_back, recovery, recovery_latency
from bmwg.methodology.measurements import modifiers
from bmwg.methodology.records import Cell, Outcome
from bmwg.reports.render.blocks import Block, code, fold, paragraph
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import bound, rate, section, shown
from bmwg.reports.render.sections.results import answer
from bmwg.reports.render.text import NONE, plain, unit

_Cells = Callable[[Outcome], list[str]]
_LOADS = ("throughput", "overload", "load after it")


def bursts(facts: Facts) -> list[Block]:
    """Return RFC 9004's table: average, least, largest and spread of the burst, and the buffer times."""

    def cells(one: Outcome) -> list[str]:
        return [
            rate(one, facts),
            shown(one, back_to_back.METRIC, "frames"),
            shown(one, f"{back_to_back.METRIC}.min", "frames"),
            shown(one, f"{back_to_back.METRIC}.max", "frames"),
            shown(one, f"{back_to_back.METRIC}.deviation", "frames"),
            shown(one, "buffer_time.rfc9004.implied", "s"),
            shown(one, "buffer_time.rfc9004.corrected", "s"),
        ]

    head = ("maximum rate", "average burst", "least", "largest", "standard deviation")
    return _section(
        facts,
        back_to_back.METRIC,
        "Back-to-back frames (RFC 9004)",
        (*head, "implied buffer time", "corrected buffer time"),
        cells,
    )


def recoveries(facts: Facts) -> list[Block]:
    """Return RFC 2544 26.5's table: the throughput that was used, the loads that follow from it, the time."""
    metric = recovery.RECOVERY_METRIC
    return _section(
        facts,
        metric,
        "System recovery (RFC 2544 26.5)",
        (*_LOADS, "average", "least", "largest", "standard deviation"),
        lambda one: [*_loads(one, facts, recovery.RFC2544), *_spread(one, metric)],
    )


def _loads(one: Outcome, facts: Facts, method: recovery.RecoveryMethod) -> list[str]:
    """Return the throughput that was overloaded, the overload and the load that followed, frames/s."""
    specs = [facts.run.trial(seq).spec for seq in one.trials]
    overloads = [(spec.load_fps, spec.then_load_fps) for spec in specs if spec.then_load_fps is not None]
    loads = [sorted(set(column)) for column in zip(*overloads, strict=True)] or [[], []]
    told = [", ".join(unit(load, "frames/s") for load in column) or NONE for column in loads]
    used = _overloaded(facts, one.cell, method, loads[0][0]) if loads[0] else None
    return [NONE if used is None else unit(used, "frames/s"), *told]


def _overloaded(facts: Facts, cell: Cell, method: recovery.RecoveryMethod, overload_fps: int) -> int | None:
    """Return the throughput of a cell that gives this overload: several searches may have found one.

    What the highest load cut short tells less, so one that gives it as it is comes first.
    """
    found = [
        each.lower.load_fps
        for first in facts.of_search()
        if first.cell == cell
        for each in (first, *facts.beside(first))
        if each.lower is not None
    ]
    fitting = (
        fps
        for most_fps in (None, overload_fps)
        for fps in found
        if recovery.recovery_loads(fps, most_fps, method).overload_fps == overload_fps
    )
    return next(fitting, None)


def recoveries_with_latency(facts: Facts) -> list[Block]:
    """Return VSPERF's table: until no frame was lost any more, and until latency was back."""
    lost, back_in = recovery_latency.LTD.metric, recovery_latency.LATENCY

    def cells(one: Outcome) -> list[str]:
        before = shown(one, recovery_latency.BEFORE, "ns")
        return [
            *_loads(one, facts, recovery_latency.LTD),
            *_spread(one, lost),
            *_spread(one, back_in)[:3],
            before,
        ]

    head = (*_LOADS, "no loss after, average", "least", "largest", "standard deviation")
    latency = ("latency back after, average", "least", "largest", "mean latency before")
    return _section(facts, lost, "System recovery (LTD 3.2.2.1.4)", (*head, *latency), cells)


def resets(facts: Facts) -> list[Block]:
    """Return RFC 6201's table: what was reset, and how long nothing was forwarded."""

    def cells(one: Outcome) -> list[str]:
        return [
            one.metric.removeprefix(f"{recovery.RESET_METRIC}.").replace("_", " "),
            rate(one, facts),
            *_spread(one, one.metric),
        ]

    head = ("what was reset", "load", "average", "least", "largest", "standard deviation")
    return _section(facts, recovery.RESET_METRIC, "Reset (RFC 6201, RFC 2544 26.6)", head, cells)


def modified(facts: Facts) -> list[Block]:
    """Return the throughput beside each modifier of RFC 2544 section 11."""

    def cells(one: Outcome) -> list[str]:
        name = one.metric.removeprefix(f"{modifiers.METRIC}.").replace("_", " ")
        return [name, answer(one), bound(one.lower), bound(one.upper)]

    head = ("modifier", "throughput per port and direction", "lower bound", "upper bound")
    lines = _section(
        facts, modifiers.METRIC, "Throughput beside modifiers (RFC 2544 section 11)", head, cells
    )
    return [*lines, *_commands(facts)] if lines else []


def _commands(facts: Facts) -> list[Block]:
    """Return the commands that made the filters, each text once with the deployments that it stood on."""
    texts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for deployment, evidence in facts.run.deployments.items():
        told = evidence.get("modifiers")
        for each_way in told.values() if isinstance(told, Mapping) else ():
            for text in each_way.values() if isinstance(each_way, Mapping) else ():
                rules = text.get("rule_set") if isinstance(text, Mapping) else None
                if isinstance(rules, list):
                    key = (plain(text.get("command", "")), tuple(plain(line) for line in rules))
                    texts.setdefault(key, []).append(deployment)
    lines: list[Block] = []
    for (command, rules), deployments in texts.items():
        said = f"{command}, on {len(set(deployments))} deployments: {', '.join(dict.fromkeys(deployments))}"
        lines += [*paragraph(said), *code(rules)]
    return fold("The commands that made the filters (RFC 2544 section 11.4)", lines) if lines else []


def _section(facts: Facts, metric: str, heading: str, head: tuple[str, ...], cells: _Cells) -> list[Block]:
    return section(heading, head, facts.of_metric(metric), cells, f"Metric {metric}")


def _spread(one: Outcome, metric: str) -> list[str]:
    return [shown(one, f"{metric}{end}", "ms") for end in ("", ".min", ".max", ".deviation")]
