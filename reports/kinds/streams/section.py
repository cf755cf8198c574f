"""The report's section on transport between pods: paths and network options beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.answers.student import difference
from bmwg.methodology.cells.vnics import AXIS
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.orders import Measured
from bmwg.methodology.kinds.streams.profile import EXPERIMENTS, SERVED, SWEPT
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Transport
from bmwg.methodology.records import BAREMETAL, POD, OutcomeType
from bmwg.reports.kinds.repeated import beside
from bmwg.reports.kinds.repeated.answers import answers_of, has_answers, without_numbers
from bmwg.reports.kinds.streams import collective, message_curves, nested, order_tables, places, sweeps, turns
from bmwg.reports.kinds.streams.answers import Answered, interface_of, percentiles
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.sections.guest import accelerator_of
from bmwg.reports.render.text import NONE, nanoseconds, number_of, percent, sequence, unit
from bmwg.reports.store import Run

_OFFLOADS = {
    "tx-tcp-segmentation": "TSO",
    "tx-generic-segmentation": "GSO",
    "rx-gro": "GRO",
    "tx-checksum-ip-generic": "checksums by the interface",
}
_INTERFACE = "net0"
_SHARES = ("p50", "p99", "p99.9", "max")  # of single round trips


def section(run: Run, figure: Callable[[str], list[Block]]) -> list[Block]:
    """Return the section, empty for a run without streams."""
    if not has_answers(run, STREAMS.name):
        return []
    lines = title("Transport between pods and hosts")
    answers = answers_of(run, STREAMS)
    if not answers:
        return [*lines, *paragraph("The run holds no answer.")]
    lines += paragraph(
        "Octets are those of the application: no header counts. Goodput is what arrived at the other "
        "end's program per second. Forward is from the first end to the second. Mean and half-width of "
        "its 95 % confidence interval by Student's t over the executions, within as many deployments as "
        "stand beside it."
    )
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    for experiment in EXPERIMENTS:
        mine = [answer for answer in answers if _experiment(answer) == experiment]
        if mine:
            entry = about.get(experiment, {})
            lines += title(entry.get("title", experiment), 2)
            lines += paragraph(_conditions(mine[0], entry.get("source", "")))
            curves = sweeps if experiment in SWEPT else message_curves
            lines += curves.lines(run, experiment, mine, figure)
            lines += sweeps.grounds(run, mine) if experiment in SERVED and experiment not in SWEPT else []
            lines += _answers(run, mine)
            lines += _compared(run, mine)
            lines += collective.lines(run, mine)
    return [
        *lines,
        *beside.lines(run, STREAMS),
        *order_tables.lines(_measured(run, answers)),
        *_crossed(answers),
        *_in_force(run, answers),
        *nested.lines(run, answers),
        *without_numbers(run, answers, STREAMS.name),
    ]


def summary(run: Run) -> str:
    """Say in some words what the run holds of streams; empty for a run without."""
    if not has_answers(run, STREAMS.name):
        return ""
    answers = answers_of(run, STREAMS)
    executions = len({seq for answer in answers for seq in answer.outcome.trials})
    places = "; ".join(dict.fromkeys(_place(run, answered) for answered in answers)) or "no path"
    counted = f"{number_of(len(answers), 'answer')} from {number_of(executions, 'execution')}"
    return f"{counted} of transport tests on {places}"


def _experiment(one: Answered) -> str:
    return str(dict(one.outcome.cell.axes)["experiment"])


def _place(run: Run, one: Answered) -> str:
    cell = one.outcome.cell
    if vnic := dict(cell.axes).get(AXIS):
        made = accelerator_of(run, one.deployment)
        return f"{cell.path}, {cell.network}, vNIC {vnic}" + (f", {made}" if made else "")
    if _experiment(one) in SERVED:
        return f"{cell.path}, {sweeps.form_of(run, one)}"
    return f"{cell.path}, {cell.network}"


def _conditions(one: Answered, source: str) -> str:
    spec = one.planned.spec
    omitted = f", after {spec.omit_s} s that do not count" if spec.omit_s else ""
    origin = f"After {source}. " if source else ""
    return f"{origin}By {spec.workload}, {spec.duration_s:g} s each{omitted}."


def _settings(one: Answered) -> str:
    spec = one.planned.spec
    load = unit(spec.load_bps, "bit/s") if spec.load_bps else "as fast as it goes"
    if spec.exchange is Exchange.ALL_TO_ALL:
        return f"blocks of {spec.message_octets} octets, {spec.pods} pods, processes a pod: {spec.parallel}"
    parts = [f"{spec.message_octets} octets a message", load]
    parts += [f"{spec.parallel} streams"] if spec.parallel > 1 else []
    parts += [f"buffers of {spec.window_octets} octets"] if spec.window_octets else []
    return ", ".join(parts)


def _way(spec: StreamsSpec) -> str:
    words = {Exchange.PING_PONG: "there and back", Exchange.ALL_TO_ALL: "each with each"}
    return words.get(spec.exchange, spec.way.value)


def _answers(run: Run, answers: Sequence[Answered]) -> list[Block]:
    rows = []
    for answer in answers:
        spec, results = answer.planned.spec, answer.results
        rows.append(
            [
                _place(run, answer),
                _way(spec),
                _settings(answer),
                answer.type_cell,
                _number(answer),
                _beside(answer, results),
                sequence(answer.outcome.trials),
                answer.remarks,
            ]
        )
    head = ["path and option", "way", "load", "type", "answer", "beside it", "trials", "remarks"]
    return table(head, rows, f"Metric {answers[0].outcome.metric}")


def _number(one: Answered) -> str:
    if one.outcome.type is not OutcomeType.MEASURED:
        return NONE
    values = one.values
    half = values.get("half_width_95")
    if one.planned.spec.exchange is not Exchange.BULK:
        spread = f" ± {nanoseconds(half)}" if half is not None else ""
        return f"{nanoseconds(values['mean'])}{spread} ({of_repetitions(values)})"
    spread = f" ± {half / 1e6:.1f}" if half is not None else ""
    return f"{values['mean'] / 1e6:.1f}{spread} Mbit/s ({of_repetitions(values)})"


def _beside(one: Answered, results: Sequence[StreamsResult]) -> str:
    if not results or one.outcome.type is not OutcomeType.MEASURED:
        return NONE
    if one.planned.spec.exchange is Exchange.PING_PONG:
        return ", ".join(filter(None, (percentiles(one, _SHARES), _unanswered(results)))) or NONE
    if one.planned.spec.exchange is Exchange.ALL_TO_ALL:
        return collective.beside(one)
    if one.planned.spec.transport is Transport.UDP:
        return _lost(one)
    resent = [result.retransmits for result in results if result.retransmits is not None]
    return f"{fmean(resent):.0f} segments sent again, mean" if resent else NONE


def _lost(one: Answered) -> str:
    """Say what of UDP was lost: at most what was not read, at least what the receiver knows was missing."""
    most, least = (one.values.get(name) for name in ("lost_ratio", "missing_ratio"))
    if not most or most == least:
        return f"{percent(most or 0.0, 2)} of the datagrams lost"
    if least is None:
        return f"at most {percent(most, 2)} of the datagrams lost: those unread at the end are in it"
    ends = f"{percent(least, 2)} to {percent(most, 2)}"
    return f"{ends} of the datagrams lost: the second has those unread at the end"


def _unanswered(results: Sequence[StreamsResult]) -> str:
    """Say how many requests had no answer: no time is of these, though a client may have waited for them."""
    lost, sent = (sum(getattr(one, name) for one in results) for name in ("lost_messages", "sent_messages"))
    return f"{lost} of {sent} requests without an answer" if lost else ""


def _compared(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return each option or form against the first one of the same load, native where it is there.

    A ratio is of means with what Welch's interval shows, or within blocks where forms took turns. Translated
    machines stand beside each other alone.
    """
    in_turns = _experiment(answers[0]) in SERVED and turns.claimed(run)
    if in_turns and _experiment(answers[0]) in SWEPT:
        return []  # the sweep's own table has it, by blocks
    rows = []
    first: dict[object, Answered] = {}
    for answer in sorted(answers, key=lambda each: each.outcome.cell.hosting != BAREMETAL):
        if answer.outcome.type is not OutcomeType.MEASURED or places.translated(run, answer):
            continue
        base = first.setdefault((answer.planned.spec, nested.apart(run, answer)), answer)
        shown = difference(_samples(answer), _samples(base))
        if base is answer or not base.values["mean"]:
            continue
        ratio = [
            f"{answer.values['mean'] / base.values['mean']:.3f}",
            _SHOWN[shown.sign] if shown else "too few executions to tell",
        ]
        if in_turns:
            ratio = [turns.words(turns.within_blocks(answer, base, _figure(answer)))]
        rows.append(
            [
                _place(run, answer),
                _way(answer.planned.spec),
                _settings(answer),
                _place(run, base),
                *ratio,
            ]
        )
    held = ["ratio", "at 95 % (Welch), of these deployments"]
    held = ["ratio within blocks, with its interval at 95 %"] if in_turns else held
    head = ["path and option", "way", "load", "against", *held]
    return table(head, rows, "Options beside each other, as found")


_SHOWN = {-1: "lower", 0: "no difference shown", 1: "higher"}


def _samples(one: Answered) -> list[float]:
    return [_figure(one)(result) for result in one.results]


def _figure(one: Answered) -> Callable[[StreamsResult], float]:
    """Return what tells the figure of one execution: a mean time (ns) or goodput (bit/s)."""
    return {
        Exchange.PING_PONG: lambda result: float(result.mean_round_trip_ns),
        Exchange.ALL_TO_ALL: lambda result: result.mean_operation_ns,
        Exchange.BULK: lambda result: result.goodput_bps,
    }[one.planned.spec.exchange]


def _measured(run: Run, answers: Sequence[Answered]) -> list[Measured]:
    """Return what may stand in an order: pods of one runtime, and no machine that is translated."""
    return [
        Measured(
            experiment=_experiment(one),
            path=one.outcome.cell.path,
            network=one.outcome.cell.network,
            spec=one.planned.spec,
            values=_samples(one),
        )
        for one in answers
        if one.outcome.type is OutcomeType.MEASURED
        and one.outcome.cell.hosting == POD
        and not places.translated(run, one)
    ]


def _crossed(answers: Sequence[Answered]) -> list[Block]:
    """Return what each interface on the way carried of the last execution, per octet that arrived."""
    rows = []
    for answer in answers:
        if not answer.results or not answer.results[-1].received_octets:
            continue
        last = answer.results[-1]
        rows.append(
            [
                answer.outcome.cell.cell_id,
                unit(last.received_octets, "octets"),
                ", ".join(f"{at.at} {at.octets / last.received_octets:.3f}" for at in last.crossings),
            ]
        )
    head = ["cell", "arrived in the last execution", "carried by each interface, per octet that arrived"]
    words = "That the streams went over their paths (with headers, and with seconds that do not count)"
    return table(head, rows, words)


def _in_force(run: Run, answers: Sequence[Answered]) -> list[Block]:
    rows = []
    seen = set()
    for answer in answers:
        if not answer.results:
            continue
        cell = answer.outcome.cell
        settings = ", ".join(f"{name} {value}" for name, value in _steady(answer.results).items())
        nic = interface_of(run, answer.deployment, _INTERFACE)
        row = (cell.path, cell.network, answer.planned.spec.transport.value, settings, offloads(nic))
        if row not in seen:
            seen.add(row)
            rows.append([part or NONE for part in row])
    head = ["path", "option", "transport", "as the programs found them", "the first pod's interface"]
    return table(head, rows, "Settings in force")


def _steady(results: Sequence[StreamsResult]) -> Mapping[str, int | str]:
    """Return the settings that all executions had alike; what a program uses of CPUs is none."""
    first = results[0].effective
    return {
        name: value
        for name, value in first.items()
        if not name.endswith("permille") and all(result.effective.get(name) == value for result in results)
    }


def offloads(nic: Mapping[str, Any]) -> str:
    """Say MTU and offloads of an interface as the record has them."""
    mtu = nic.get("mtu_octets", {}).get("value")
    told = [f"MTU {mtu} octets"] if mtu is not None else []
    features = nic.get("offloads", {}).get("value")
    if isinstance(features, Mapping):
        told += [
            f"{words} {'on' if features[name] else 'off'}"
            for name, words in _OFFLOADS.items()
            if name in features
        ]
    return ", ".join(told)
