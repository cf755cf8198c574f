"""The section of the report that shows the HTTP experiments: all hosting forms beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bmwg.methodology.answers.order_statistics import CONFIDENCE, MedianInterval
from bmwg.methodology.answers.repeated import within
from bmwg.methodology.answers.student import Interval
from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests.profile import EXPERIMENTS
from bmwg.methodology.kinds.requests.records import FORMS, SLOW_FORMS, HttpAnswer, HttpCell, Workload
from bmwg.methodology.records import OutcomeType
from bmwg.reports.kinds.requests.answers import answers_of, has_answers, repetitions_of
from bmwg.reports.kinds.requests.charts import plot_name
from bmwg.reports.kinds.requests.cluster_table import cluster_section
from bmwg.reports.kinds.requests.host_table import host_table
from bmwg.reports.kinds.requests.option_table import option_section
from bmwg.reports.kinds.requests.order_tables import order_section
from bmwg.reports.kinds.requests.words import (
    ITEMS,
    digits,
    form_words,
    forms_of,
    on_hosts,
    several_proxies,
    shape,
    shape_words,
    where_words,
)
from bmwg.reports.published.figures import tables
from bmwg.reports.render.blocks import Block, paragraph, role, table, title
from bmwg.reports.render.common_columns import badge
from bmwg.reports.render.text import NONE, nanoseconds, number_of, percent, sequence
from bmwg.reports.store import Run

_PUBLISHED_FORMS = {
    "native": "native",
    "docker_routed": "docker-routed",
    "docker_nat": "docker-nat",
    "vm_full": "kvm",
}
_MEBI = 1 << 20


def http_section(run: Run, figure: Callable[[str], list[Block]] = lambda name: []) -> list[Block]:
    """Return the section, empty for a run without HTTP experiments. Raises ConfigError as `answers_of`.

    `figure` gives a plot by its name, none where the form of the report shows none.
    """
    if not has_answers(run):
        return []
    outcomes = answers_of(run)
    lines = title("HTTP proxy by hosting form")
    if not outcomes:
        return [*lines, *paragraph("The run holds no answer.")]
    lines += _where(run)
    words = form_words(run)
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    for experiment in EXPERIMENTS:
        mine = [outcome for outcome in outcomes if outcome.cell.experiment == experiment]
        if mine:
            entry = about.get(experiment, {})
            lines += title(entry.get("title", experiment), 2)
            lines += paragraph(_conditions(mine[0].cell, entry.get("source", "")))
            lines += _rates(mine, words) if mine[0].cell.workload.is_open_loop else _times(mine, words)
            lines += figure(plot_name(experiment))
            lines += _comparison(mine, words, entry.get("published", ""))
            if mine[0].cell.workload is not Workload.START and not mine[0].cell.workload.is_open_loop:
                lines += _details(mine, words)
    titles = {name: entry.get("title", name) for name, entry in about.items()}
    lines += option_section(run, outcomes, words)
    lines += cluster_section(run, outcomes, repetitions_of(run), words)
    lines += [*order_section(outcomes, words, titles), *_without(outcomes)]
    return [*lines, *host_table([one for _, one in repetitions_of(run)], words, several=on_hosts(run))]


def http_summary(run: Run) -> str:
    """Say in some words what the run holds of HTTP experiments; empty for a run without.

    Raises ConfigError as `answers_of`.
    """
    if not has_answers(run):
        return ""
    outcomes = answers_of(run)
    repetitions = len({number for outcome in outcomes for number in outcome.repetitions})
    forms = "; ".join(form_words(run)[form] for form in forms_of(outcomes)) or "no hosting form"
    counted = f"{number_of(len(outcomes), 'answer')} from {number_of(repetitions, 'repetition')}"
    told = f"{counted} of HTTP experiments on {forms}"
    return f"{told}; {where_words(run)}"


def _where(run: Run) -> list[Block]:
    if not on_hosts(run):
        return []
    told = "The platform's record is that of the proxies' host; those of the clients' and the server's "
    told += "host stand with each deployment in platform.json. Starts hold the run's calls over SSH."
    return paragraph(told)


def _conditions(cell: HttpCell, source: str) -> str:
    parts = [f"After {source}." if source else ""]
    if cell.workload is not Workload.START:
        clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients at the same time"
        clients = "at a constant rate" if cell.workload.is_open_loop else clients
        stress = f"{cell.stress_cpus} workers" if cell.stress_cpus else "none"
        parts.append(
            f"Requests by {cell.workload}, {clients}; cache {'on' if cell.cache else 'off'}; "
            f"stress on the proxies' machine: {stress}."
        )
    if not cell.workload.is_open_loop:
        parts.append(
            "Mean and half-width of its 95 % confidence interval by Student's t over the repetitions, "
            "within as many deployments as stand beside it."
        )
    return " ".join(part for part in parts if part)


def _times(outcomes: Sequence[HttpAnswer], words: Mapping[str, str]) -> list[Block]:
    """Return the table of times: a row a size, a column a hosting form; the other way for many forms."""
    several = several_proxies(outcomes)
    by_shape = {(shape(o.cell), o.cell.form): o for o in outcomes}
    used = forms_of(outcomes)
    shapes = {shape(o.cell): shape_words(o.cell, proxies=several) for o in outcomes}
    started = outcomes[0].cell.workload is Workload.START
    caption = "Time until it serves" if started else "Mean processing time of a request"
    if len(used) > len(FORMS):  # with pods: too many for columns
        head = ["hosting form", *(shapes[place] for place in sorted(shapes))]
        rows = [
            [words[form], *(_time(by_shape.get((place, form))) for place in sorted(shapes))] for form in used
        ]
        return table(head, rows, caption)
    head = ["" if started else "object", *(words[form] for form in used)]
    rows = [
        [shapes[place], *(_time(by_shape.get((place, form))) for form in used)] for place in sorted(shapes)
    ]
    return table(head, rows, caption)


def _rates(outcomes: Sequence[HttpAnswer], words: Mapping[str, str]) -> list[Block]:
    """Return the highest rate without a lost request of each form, and what is known without one."""
    rows = [
        [
            words[outcome.cell.form],
            shape_words(outcome.cell, proxies=False),
            badge(outcome.type),
            f"{outcome.rate_rps} requests/s" if outcome.rate_rps is not None else outcome.reason,
            f"{outcome.upper_rps} requests/s" if outcome.upper_rps is not None else NONE,
            _percentiles(outcome.request_ns),
            sequence(outcome.repetitions),
            "; ".join(outcome.quality) or NONE,
        ]
        for outcome in outcomes
    ]
    head = ["hosting form", "object", "type", "highest rate with nothing failed or late", "lowest with some"]
    head += ["request p50 / p95 / p99 in one trial at that rate", "trials", "remarks"]
    return table(head, rows, "HTTP transactions per second (constant rate of arrivals)")


def _time(outcome: HttpAnswer | None) -> str:
    if outcome is None:
        return NONE
    if outcome.type is not OutcomeType.MEASURED or outcome.time is None:
        return badge(outcome.type)
    count = f"n\u00a0=\u00a0{outcome.time.count}"
    return f"{_spread(outcome.time, 1e6)} ms ({', '.join(filter(None, (count, _within(outcome))))})"


def _within(outcome: HttpAnswer) -> str:
    return within(outcome.time.count, outcome.deployments) if outcome.time is not None else ""


def _spread(found: Interval, divisor: float) -> str:
    half = f" ± {digits(found.half_width / divisor)}" if found.half_width is not None else ""
    return f"{digits(found.mean / divisor, 4)}{half}"


def _comparison(outcomes: Sequence[HttpAnswer], words: Mapping[str, str], published: str) -> list[Block]:
    """Return each form against native: ratio of means, what the statistics show, and the published ratio."""
    native = {shape(o.cell): o for o in outcomes if o.cell.form == "native"}
    several = several_proxies(outcomes)
    rows = []
    for outcome in outcomes:
        base = native.get(shape(outcome.cell))
        if base is None or outcome is base or not outcome.time or not base.time or not base.time.mean:
            continue
        shown = judge.compared(outcome, base)
        rows.append(
            [
                shape_words(outcome.cell, proxies=several),
                words[outcome.cell.form],
                f"{outcome.time.mean / base.time.mean:.3f}",
                _shown(shown.sign) if shown else "too few repetitions to tell",
                _published(published, outcome.cell),
            ]
        )
    head = ["object", "hosting form", "time of native's", "at 95 % (Welch), of these deployments"]
    return table([*head, "published ratio"], rows, "Ratio to native")


def _shown(sign: int) -> str:
    return {-1: "faster than native", 0: "no difference shown", 1: "slower than native"}[sign]


def _published(table_id: str, cell: HttpCell) -> str:
    known = tables().get(table_id)
    if known is None:
        return NONE
    item = ITEMS.get(cell.object_octets, "")
    base = known.figures.get((item, "native"))
    figure = known.figures.get((item, _PUBLISHED_FORMS.get(cell.form, "")))
    machine = " (KVM)" if cell.form in SLOW_FORMS else ""
    return f"{figure.mean / base.mean:.3f}{machine}" if base and figure and base.mean else NONE


def _details(outcomes: Sequence[HttpAnswer], words: Mapping[str, str]) -> list[Block]:
    rows = []
    several = several_proxies(outcomes)
    for outcome in outcomes:
        if outcome.type is not OutcomeType.MEASURED or outcome.total is None:
            continue
        cpu, memory = outcome.cpu_share, outcome.memory_octets
        rows.append(
            [
                shape_words(outcome.cell, proxies=several),
                words[outcome.cell.form],
                f"{_spread(outcome.total, 1e9)} s for {outcome.requests} {_within(outcome)}".rstrip(),
                _percentiles(outcome.request_ns),
                _percentiles(outcome.ttfb_ns),
                f"{_spread(cpu, 0.01)} %" if cpu else NONE,
                f"{_spread(memory, _MEBI)} MiB" if memory else NONE,
                percent(outcome.hit_ratio, 1) if outcome.hit_ratio is not None else NONE,
                sequence(outcome.repetitions),
                "; ".join(outcome.quality) or NONE,
            ]
        )
    head = ["object", "hosting form", "all requests", "request p50 / p95 / p99"]
    head += ["first octet p50 / p95 / p99", "CPU of the proxies (100 % is one)", "memory of the proxies"]
    head += ["from the cache", "trials", "remarks"]
    said = "Totals, percentiles (median of the repetitions, with what covers it) and what the proxies used"
    return table(head, rows, said)


def _percentiles(found: Mapping[str, MedianInterval]) -> str:
    return " / ".join(_percentile(found[name]) for name in ("p50", "p95", "p99") if name in found) or NONE


def _percentile(found: MedianInterval) -> str:
    """Return a percentile with its interval, and what that covers where it is less than 90 %."""
    if found.count < 2:
        return _milliseconds(found.median)
    covers = f", {found.covers:.0%}" if found.covers < CONFIDENCE else ""
    ends = f"{_milliseconds(found.low)} to {_milliseconds(found.high)}"
    return f"{_milliseconds(found.median)} ({ends}{covers})"


def _milliseconds(time_ns: float) -> str:
    return nanoseconds(time_ns) if time_ns else "< 1\u00a0ms"  # ab and JMeter tell whole ones, k6 never zero


def _without(outcomes: Sequence[HttpAnswer]) -> list[Block]:
    """Return the cells without a number, with reason and the line that supplies what was missing."""
    rows = [
        [
            outcome.cell.cell_id,
            badge(outcome.type),
            outcome.reason,
            role("command", outcome.mend) if outcome.mend else NONE,
        ]
        for outcome in outcomes
        if outcome.type is not OutcomeType.MEASURED
    ]
    return table(["cell", "type", "reason", "what supplies it"], rows, "HTTP cells without a number")
