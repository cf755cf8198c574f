"""The section of the report that shows the HTTP experiments: all hosting forms beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bmwg.methodology.answers.order_statistics import CONFIDENCE
from bmwg.methodology.answers.repeated import DEPLOYMENTS, within
from bmwg.methodology.answers.student import Interval, interval
from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests.profile import EXPERIMENTS
from bmwg.methodology.kinds.requests.records import FORMS, KIND, SLOW_FORMS, RequestsSpec, Workload
from bmwg.reports.kinds.repeated.answers import has_answers, without_numbers
from bmwg.reports.kinds.requests import sizes
from bmwg.reports.kinds.requests.answers import Answered, answers_of, at_rate, compared, time
from bmwg.reports.kinds.requests.charts import plot_name
from bmwg.reports.kinds.requests.clients_table import clients_section
from bmwg.reports.kinds.requests.cluster_table import cluster_section
from bmwg.reports.kinds.requests.host_table import host_table
from bmwg.reports.kinds.requests.option_table import option_section
from bmwg.reports.kinds.requests.order_tables import order_section
from bmwg.reports.kinds.requests.origin_table import origin_section
from bmwg.reports.kinds.requests.transactions_table import transactions_section
from bmwg.reports.kinds.requests.words import (
    ITEMS,
    WORKLOAD_WORDS,
    digits,
    form_words,
    forms_of,
    on_hosts,
    several_proxies,
    shape,
    shape_words,
    where_words,
)
from bmwg.reports.published.figures import NATIVE, tables
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.sections.guest import translated
from bmwg.reports.render.text import NONE, nanoseconds, number_of, percent, sequence
from bmwg.reports.store import Run

_PUBLISHED_FORMS = {
    "native": "native",
    "docker_routed": "docker-routed",
    "docker_nat": "docker-nat",
    "vm_full": "kvm",
}
_MEBI = 1 << 20
_SHOWN = ("p50", "p95", "p99")


def http_section(run: Run, figure: Callable[[str], list[Block]] = lambda name: []) -> list[Block]:
    """Return the section, empty for a run without HTTP experiments. Raises ConfigError as `answers_of`.

    `figure` gives a plot by its name, none where the form of the report shows none.
    """
    if not has_answers(run, KIND):
        return []
    answers = answers_of(run)
    lines = title("HTTP proxy by hosting form")
    if not answers:
        return [*lines, *paragraph("The run holds no answer.")]
    lines += _where(run)
    words = form_words(run)
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    for experiment in EXPERIMENTS:
        mine = [answer for answer in answers if answer.spec.experiment == experiment]
        if mine:
            entry = about.get(experiment, {})
            lines += title(entry.get("title", experiment), 2)
            lines += paragraph(_conditions(mine[0].spec, entry.get("source", "")))
            lines += _rates(run, mine, words) if mine[0].spec.workload.is_open_loop else _times(mine, words)
            lines += sizes.lines(run, mine, words, _time)
            lines += figure(plot_name(experiment))
            lines += _comparison(run, mine, words, entry.get("published", ""))
            if mine[0].spec.workload is not Workload.START and not mine[0].spec.workload.is_open_loop:
                lines += _details(mine, words)
    lines += transactions_section(run, answers, figure)
    lines += origin_section(run, answers)
    titles = {name: entry.get("title", name) for name, entry in about.items()}
    lines += option_section(run, answers, words)
    lines += cluster_section(run, answers, words)
    lines += clients_section(run, answers, words)
    lines += order_section(answers, words, titles)
    lines += without_numbers(run, answers, "HTTP experiments")
    return [*lines, *host_table(run.executions, words, several=on_hosts(run))]


def http_published(run: Run) -> list[Block]:
    """Return the ratios to native of experiments that a document has a table of, beside its own.

    Raises ConfigError as `answers_of`.
    """
    answers, words = answers_of(run) if has_answers(run, KIND) else (), form_words(run)
    lines: list[Block] = []
    for entry in run.profile.get("experiments", []):
        known = tables().get(entry.get("published", ""))
        mine = [answer for answer in answers if answer.spec.experiment == entry["id"]]
        if (
            known is not None
            and NATIVE in known.forms
            and (told := _comparison(run, mine, words, known.table_id))
        ):
            said = paragraph(_conditions(mine[0].spec, entry.get("source", "")))
            lines += [*title(entry.get("title", entry["id"]), 2), *said, *told]
    return lines


def http_summary(run: Run) -> str:
    """Say in some words what the run holds of HTTP experiments; empty for a run without.

    Raises ConfigError as `answers_of`.
    """
    if not has_answers(run, KIND):
        return ""
    answers = answers_of(run)
    repetitions = len({number for answer in answers for number in answer.outcome.trials})
    forms = "; ".join(form_words(run)[form] for form in forms_of(answers)) or "no hosting form"
    counted = f"{number_of(len(answers), 'answer')} from {number_of(repetitions, 'repetition')}"
    told = f"{counted} of HTTP experiments on {forms}"
    return f"{told}; {where_words(run)}"


def _where(run: Run) -> list[Block]:
    if not on_hosts(run):
        return []
    told = "The platform's record is that of the proxies' host; those of the clients' and the server's "
    told += "host stand with each deployment in platform.json. Starts hold the run's calls over SSH."
    return paragraph(told)


def _conditions(cell: RequestsSpec, source: str) -> str:
    parts = [f"After {source}." if source else ""]
    if cell.workload is not Workload.START:
        clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients at the same time"
        clients = "at a constant rate" if cell.workload.is_open_loop else clients
        stress = f"{cell.stress_cpus} workers" if cell.stress_cpus else "none"
        by = WORKLOAD_WORDS.get(cell.workload, cell.workload)
        parts.append(
            f"Requests by {by}, {clients}; cache {'on' if cell.cache else 'off'}; "
            f"stress on the proxies' machine: {stress}."
        )
    if not cell.workload.is_open_loop:
        parts.append(
            "Mean and half-width of its 95 % confidence interval by Student's t over the repetitions, "
            "within as many deployments as stand beside it."
        )
    return " ".join(part for part in parts if part)


def _times(answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return the table of times: a row a size, a column a hosting form; the other way for many forms."""
    several = several_proxies(answers)
    by_shape = {(shape(o.spec), o.spec.form): o for o in answers}
    used = forms_of(answers)
    shapes = {shape(o.spec): shape_words(o.spec, proxies=several) for o in answers}
    started = answers[0].spec.workload is Workload.START
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


def _rates(run: Run, answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return the highest rate without a lost request of each form, and what is known without one."""
    rows = []
    for answer in answers:
        rate, upper, trial = answer.values.get("lossless"), answer.values.get("lossy"), at_rate(run, answer)
        told = trial.request_ns if trial else {}
        rows.append(
            [
                words[answer.spec.form],
                shape_words(answer.spec, proxies=False),
                answer.type_cell,
                f"{rate} requests/s" if rate is not None else answer.outcome.reason,
                f"{upper} requests/s" if upper is not None else NONE,
                " / ".join(_milliseconds(told[name]) for name in _SHOWN if name in told) or NONE,
                sequence(answer.outcome.trials),
                "; ".join(answer.outcome.quality) or NONE,
            ]
        )
    head = ["hosting form", "object", "type", "highest rate with nothing failed or late", "lowest with some"]
    head += ["request p50 / p95 / p99 in one trial at that rate", "trials", "remarks"]
    return table(head, rows, "HTTP transactions per second (constant rate of arrivals)")


def _time(one: Answered | None) -> str:
    if one is None:
        return NONE
    found = time(one)
    if found is None:
        return one.type_cell
    count = f"n\u00a0=\u00a0{found.count}"
    return f"{_spread(found, 1e6)} ms ({', '.join(filter(None, (count, _within(one))))})"


def _within(one: Answered) -> str:
    return within(one.values["repetitions"], one.values.get(DEPLOYMENTS))


def _spread(found: Interval, divisor: float) -> str:
    half = f" ± {digits(found.half_width / divisor)}" if found.half_width is not None else ""
    return f"{digits(found.mean / divisor, 4)}{half}"


def _comparison(
    run: Run, answers: Sequence[Answered], words: Mapping[str, str], published: str
) -> list[Block]:
    """Return each form against native: ratio of means, what the statistics show, and the published ratio.

    A machine whose instructions were translated is held against nothing.
    """
    native = {shape(o.spec): o for o in answers if o.spec.form == "native"}
    several = several_proxies(answers)
    rows = []
    for answer in answers:
        base = native.get(shape(answer.spec))
        mine, its = time(answer), time(base) if base is not None else None
        if base is None or answer is base or not mine or not its or not its.mean:
            continue
        if translated(run, answer.deployment):
            continue
        shown = compared(answer, base)
        rows.append(
            [
                shape_words(answer.spec, proxies=several),
                words[answer.spec.form],
                f"{mine.mean / its.mean:.3f}",
                _sign_words(shown.sign) if shown else "too few repetitions to tell",
                _published(published, answer.spec),
            ]
        )
    head = ["object", "hosting form", "time of native's", "at 95 % (Welch), of these deployments"]
    return table([*head, "published ratio"], rows, "Ratio to native")


def _sign_words(sign: int) -> str:
    return {-1: "faster than native", 0: "no difference shown", 1: "slower than native"}[sign]


def _published(table_id: str, cell: RequestsSpec) -> str:
    known = tables().get(table_id)
    if known is None:
        return NONE
    item = ITEMS.get(cell.object_octets, "")
    base = known.figures.get((item, "native"))
    figure = known.figures.get((item, _PUBLISHED_FORMS.get(cell.form, "")))
    machine = " (KVM)" if cell.form in SLOW_FORMS else ""
    return f"{figure.mean / base.mean:.3f}{machine}" if base and figure and base.mean else NONE


def _details(answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    rows = []
    several = several_proxies(answers)
    for answer in answers:
        if not answer.measured:
            continue
        total = interval([float(each.elapsed_ns) for each in answer.results])
        memory = interval([float(each.memory_octets) for each in answer.results])
        shares = [each.cpu_share for each in answer.results if each.cpu_share is not None]
        cpu = interval(shares) if len(shares) == len(answer.results) else None
        hits = judge.hit_ratio(answer.results)
        rows.append(
            [
                shape_words(answer.spec, proxies=several),
                words[answer.spec.form],
                f"{_spread(total, 1e9)} s for {answer.spec.asked_requests} {_within(answer)}".rstrip(),
                _percentiles(answer, "request"),
                _percentiles(answer, "first_octet"),
                f"{_spread(cpu, 0.01)} %" if cpu else NONE,
                f"{_spread(memory, _MEBI)} MiB",
                percent(hits, 1) if hits is not None else NONE,
                sequence(answer.outcome.trials),
                "; ".join(answer.outcome.quality) or NONE,
            ]
        )
    head = ["object", "hosting form", "all requests", "request p50 / p95 / p99"]
    head += ["first octet p50 / p95 / p99", "CPU of the proxies (100 % is one)", "memory of the proxies"]
    head += ["from the cache", "trials", "remarks"]
    said = "Totals, percentiles (median of the repetitions, with what covers it) and what the proxies used"
    return table(head, rows, said)


def _percentiles(one: Answered, event: str) -> str:
    told = (_percentile(one, f"{event}.{name}") for name in _SHOWN if f"{event}.{name}.median" in one.values)
    return " / ".join(told) or NONE


def _percentile(one: Answered, name: str) -> str:
    """Return a percentile with its interval, and what that covers where it is less than 90 %."""
    median, low, high, covered = (
        one.values[f"{name}.{part}"] for part in ("median", "median_low", "median_high", "median_covers")
    )
    if one.values["repetitions"] < 2:
        return _milliseconds(median)
    covers = f", {covered:.0%}" if covered < CONFIDENCE else ""
    return f"{_milliseconds(median)} ({_milliseconds(low)} to {_milliseconds(high)}{covers})"


def _milliseconds(time_ns: float) -> str:
    return nanoseconds(time_ns) if time_ns else "< 1\u00a0ms"  # ab and JMeter tell whole ones, k6 never zero
