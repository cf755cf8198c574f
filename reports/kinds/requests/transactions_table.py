"""The tables of RFC 9411: each test with its answers by function, TLS and object size, KPIs beside them."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.kinds.requests import tls
from bmwg.methodology.kinds.requests.phase_search import HALF, MET, UNMET
from bmwg.methodology.kinds.requests.profile import RFC9411
from bmwg.methodology.kinds.requests.records import RequestsSpec
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.reports.kinds.requests.answers import Answered, at_rate
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
_SPREAD = ("min", "mean", "max")
_CELL = ("hosting form", "function", "TLS", "object")
_SHOWN = (("min", "mean", "max"), ("p50", "p90", "p99"))
_HEAD = (
    *_CELL,
    "type",
    "highest load that meets the criteria",
    "lowest that does not",
    "transactions/s",
    "connections/s opened",
    "open on average",
    "bodies, Mbit/s",
    "first octet min / mean / max",
    "last octet min / mean / max",
    "failed of tried",
    "sustain phase",
    "trials",
    "remarks",
)
_HALF_HEAD = (
    *_CELL,
    "offered",
    *(f"{event} octet {' / '.join(names)}" for event in ("first", "last") for names in _SHOWN),
)


def transactions_section(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return the tests of RFC 9411 that a run answers; empty without one."""
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    lines: list[Block] = []
    for experiment in RFC9411:
        mine = [answer for answer in answers if answer.spec.experiment == experiment]
        if not mine:
            continue
        entry = about.get(experiment, {})
        if not lines:
            lines += [*title("RFC 9411 on reverse proxies", 2), *paragraph(_SOURCE)]
        each = mine[0].spec.requests_per_connection
        transactions = "1 transaction" if each == 1 else number_of(each, "transaction")
        held = (
            "connections are held"
            if (mine[0].spec.search or {}).get("holds")
            else f"{transactions} a connection"
        )
        name = entry.get("title", experiment)
        rows = [_row(run, answered) for answered in mine]
        lines += table(list(_HEAD), rows, f"{name}. After {entry.get('source', 'RFC 9411')}; {held}")
        section = "7.8" if mine[0].spec.tls else "7.4"
        rows = [_at_half(run, answered) for answered in mine if f"{HALF}.load" in answered.values]
        said = f"{name}: times at half of the rate found. After RFC 9411, section {section}; {held}"
        lines += table(list(_HALF_HEAD), rows, said) if rows else []
    return lines


def _cell(run: Run, one: Answered) -> list[str]:
    return [
        form_words(run)[one.spec.form],
        one.spec.function,
        tls.words(one.spec.tls),
        _object(one.spec),
    ]


def _at_half(run: Run, one: Answered) -> list[str]:
    told = {name.removeprefix(f"{HALF}."): number for name, number in one.values.items()}
    return [
        *_cell(run, one),
        f"{told['load']} requests/s",
        *(
            " / ".join(nanoseconds(told[f"{event}.{name}"]) for name in names if f"{event}.{name}" in told)
            or NONE
            for event in ("first_octet", "last_octet")
            for names in _SHOWN
        ),
    ]


def _row(run: Run, one: Answered) -> list[str]:
    trial = at_rate(run, one)
    phase = trial.sustain if trial is not None else None
    unit = next((value.unit for value in one.outcome.values if value.metric.endswith(f".{MET}")), "")
    met, unmet = one.values.get(MET), one.values.get(UNMET)
    return [
        *_cell(run, one),
        one.type_cell,
        f"{met} {unit}" if met is not None else one.outcome.reason,
        f"{unmet} {unit}" if unmet is not None else NONE,
        *(_kpis(phase) if phase is not None else [NONE] * 8),
        sequence(one.outcome.trials),
        "; ".join(one.outcome.quality) or NONE,
    ]


def _kpis(phase: Sustained) -> list[str]:
    return [
        f"{phase.transactions_per_s:.1f}",
        f"{phase.opened / phase.length_s:.1f}",
        f"{phase.open_mean:.1f}",
        f"{phase.body_octets * 8 / phase.length_s / 1e6:.2f}",
        " / ".join(
            nanoseconds(phase.first_octet_ns[name]) for name in _SPREAD if name in phase.first_octet_ns
        ),
        " / ".join(nanoseconds(phase.last_octet_ns[name]) for name in _SPREAD if name in phase.last_octet_ns),
        f"{phase.failed} of {phase.tried}",
        f"{phase.length_s:g} s",
    ]


def _object(spec: RequestsSpec) -> str:
    if not spec.mix:
        return _octets(spec.object_octets)
    sizes = ", ".join(_octets(octets) for octets in spec.sizes_octets)
    return f"{sizes} by turns (mean {_octets(spec.object_octets)})"


def _octets(octets: int) -> str:
    return f"{octets // 1024} KiB" if octets % 1024 == 0 else f"{octets} octets"
