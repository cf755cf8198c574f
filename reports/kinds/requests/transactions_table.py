"""The tables of RFC 9411: each test with its answers by function, TLS and object size, KPIs beside them.

Beside each figure stands that of clients and origin alone, where the run has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.kinds.requests import alone, ip, tls
from bmwg.methodology.kinds.requests.mixes import APPLICATIONS
from bmwg.methodology.kinds.requests.phase_search import HALF, MET, UNMET
from bmwg.methodology.kinds.requests.profile import DIRECT, RFC9411
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.reports.kinds.requests.answers import Answered, at_rate
from bmwg.reports.kinds.requests.beside_alone import beside, mark
from bmwg.reports.kinds.requests.sustain_charts import plot_name
from bmwg.reports.kinds.requests.words import form_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds, number_of, sequence
from bmwg.reports.store import Run

_SOURCE = (
    "The text of RFC 9411 was not at hand: its rows and these criteria are held against a draft of it"
    " (draft-ietf-bmwg-ngfw-performance-13), and no verdict or grade rests on them. A load is carried where,"
    " in its sustain phase, fewer than 0.001 % of the transactions failed and of the connections were reset,"
    " each interval of 1 s is within 5 % of the mean rate and within 10 % of the mean number of open"
    " connections, and 99 % of what was due was answered. Times run from the SYN to the first and the last"
    " octet of an answer, for further transactions of a connection from the request. Throughput is of bodies,"
    " not of layer 2."
)
_ALONE = (
    f"A figure is a function's own where clients and origin alone carry {alone.TIMES} times as much; else"
    " they may be what limits it, and it is marked as tester limited. What the function counted by itself is"
    " of the whole trial, ramp up included, beside what its clients counted."
)
_NO_FUNCTION = "none (clients and origin alone)"
_SPREAD = ("min", "mean", "max")
_CELL = ("hosting form", "function", "TLS", "object")
_SHOWN = (("min", "mean", "max"), ("p50", "p90", "p99"))
_HEAD = (
    *_CELL,
    "type",
    "highest load that meets the criteria",
    "lowest that does not",
    "clients and origin alone",
    "transactions/s",
    "connections/s opened",
    "open on average",
    "bodies, Mbit/s",
    "first octet min / mean / max",
    "last octet min / mean / max",
    "failed of tried",
    "counted by the function itself",
    "sustain phase",
    "trials",
    "remarks",
)
_HALF_HEAD = (
    *_CELL,
    "offered",
    *(f"{event} octet {' / '.join(names)}" for event in ("first", "last") for names in _SHOWN),
)


def transactions_section(
    run: Run, answers: Sequence[Answered], figure: Callable[[str], list[Block]]
) -> list[Block]:
    """Return the tests of RFC 9411 that a run answers, each with its graph; empty without one."""
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    lines: list[Block] = []
    for experiment in RFC9411:
        mine = [answer for answer in answers if answer.spec.experiment == experiment]
        if not mine:
            continue
        entry = about.get(experiment, {})
        if not lines:
            lines += [*title("RFC 9411 on HTTP functions", 2), *paragraph(_SOURCE), *paragraph(_ALONE)]
        each = mine[0].spec.requests_per_connection
        transactions = "1 transaction" if each == 1 else number_of(each, "transaction")
        held = (
            "connections are held: what failed is of all tried, in the ramp up too"
            if (mine[0].spec.search or {}).get("holds")
            else f"{transactions} a connection"
        )
        name = entry.get("title", experiment)
        rows = [_row(run, answered, bare) for answered, bare in beside(mine)]
        lines += table(list(_HEAD), rows, f"{name}. After {entry.get('source', 'RFC 9411')}; {held}")
        lines += figure(plot_name(experiment))
        section = "7.8" if mine[0].spec.tls else "7.4"
        rows = [_at_half(run, one) for one in mine if (one.spec.search or {}).get("latency_s")]
        said = f"{name}: times at half of the rate found. After RFC 9411, section {section}; {held}"
        lines += table(list(_HALF_HEAD), rows, said) if rows else []
        for mix in dict.fromkeys(one.spec.mix for one in mine if one.spec.turns):
            lines += _mix(mix)
    return lines


def _mix(name: str) -> list[Block]:
    """Return what a mix of applications is made of."""
    of = APPLICATIONS[name]
    rows = [
        [
            one.name,
            "HTTPS" if one.encrypted else "HTTP",
            f"{of.share(one.name)} of {len(of.order)}",
            ", ".join(map(_octets, one.sizes_octets)),
        ]
        for one in of.applications
    ]
    encrypted = f"{of.encrypted_turns} of {len(of.order)} connections by TLS, by turns"
    said = f"Mix {name}, version {of.version}: {encrypted}"
    return table(["application", "by", "connections", "objects, by turns"], rows, said)


def _cell(run: Run, one: Answered) -> list[str]:
    return [
        f"{form_words(run)[one.spec.form]}{f', {ip.words(one.spec.ip)}' if one.spec.ip else ''}",
        _NO_FUNCTION if one.spec.function == DIRECT else one.spec.function,
        f"{tls.words(one.spec.tls)}{', HTTP/2' if one.spec.http else ''}",
        _object(one.spec),
    ]


def _at_half(run: Run, one: Answered) -> list[str]:
    if f"{HALF}.load" not in one.values:
        why = "; ".join(one.outcome.quality) if one.measured else one.outcome.reason
        return [*_cell(run, one), f"none: {one.outcome.type}, {why}", *[NONE] * (len(_HALF_HEAD) - 5)]
    told = {name.removeprefix(f"{HALF}."): number for name, number in one.values.items()}
    return [
        *_cell(run, one),
        f"{told['load']} {_unit(one, f'{HALF}.load')}",
        *(
            " / ".join(nanoseconds(told[f"{event}.{name}"]) for name in names if f"{event}.{name}" in told)
            or NONE
            for event in ("first_octet", "last_octet")
            for names in _SHOWN
        ),
    ]


def _unit(one: Answered, name: str) -> str:
    return next((value.unit for value in one.outcome.values if value.metric.endswith(f".{name}")), "")


def _row(run: Run, one: Answered, bare: Answered | None) -> list[str]:
    trial = at_rate(run, one)
    phase = trial.sustain if trial is not None else None
    unit = _unit(one, MET)
    met, unmet = one.values.get(MET), one.values.get(UNMET)
    return [
        *_cell(run, one),
        one.type_cell,
        ", ".join(filter(None, (f"{met} {unit}", mark(one, bare))))
        if met is not None
        else one.outcome.reason,
        f"{unmet} {unit}" if unmet is not None else NONE,
        _beside_alone(one, bare),
        *(_kpis(phase) if phase is not None else [NONE] * 7),
        _own(trial) if trial is not None else NONE,
        f"{phase.length_s:g} s" if phase is not None else NONE,
        sequence(one.outcome.trials),
        "; ".join(one.outcome.quality) or NONE,
    ]


def _kpis(phase: Sustained) -> list[str]:
    return [
        f"{phase.transactions_per_s:.1f}",
        NONE if phase.opened_per_s is None else f"{phase.opened_per_s:.1f}",
        f"{phase.open_mean:.1f}",
        f"{phase.body_bps / 1e6:.2f}",
        " / ".join(
            nanoseconds(phase.first_octet_ns[name]) for name in _SPREAD if name in phase.first_octet_ns
        ),
        " / ".join(nanoseconds(phase.last_octet_ns[name]) for name in _SPREAD if name in phase.last_octet_ns),
        f"{phase.failed} of {phase.tried}",
    ]


def _beside_alone(one: Answered, bare: Answered | None) -> str:
    """Say what clients and origin carry without a function, and where that may be what limits this one."""
    if one is bare:
        return "this"
    carried, most = one.values.get(MET), bare.values.get(MET) if bare is not None else None
    if most is None:
        return "not known" if bare is None else f"no figure: {bare.outcome.type}"
    if carried is None:
        return str(most)
    return f"{most}, {most / carried:.1f} times this"


def _own(trial: RequestsResult) -> str:
    """Say what the function counted in the whole trial, beside what its clients did."""
    told = [
        f"{trial.function_counts[name]} of {count} {name}"
        for name, count in trial.whole.items()
        if name in trial.function_counts
    ]
    return ", ".join(told) or NONE


def _object(spec: RequestsSpec) -> str:
    if not spec.mix:
        return _octets(spec.object_octets)
    if spec.turns:  # its table says what each application asks for
        return f"mix {spec.mix} (mean {_octets(spec.object_octets)})"
    sizes = ", ".join(_octets(octets) for octets in spec.sizes_octets)
    return f"{sizes} by turns (mean {_octets(spec.object_octets)})"


def _octets(octets: int) -> str:
    return f"{octets // 1024} KiB" if octets % 1024 == 0 else f"{octets} octets"
