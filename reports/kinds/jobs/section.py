"""The report's section on hosts: each experiment by hosting form, and forms against native of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS, FLOP_PER_S, OCTETS_PER_S, part_of
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec
from bmwg.methodology.plan.blocks import Against, against, together
from bmwg.methodology.records import BAREMETAL, OutcomeType
from bmwg.reports.kinds.repeated import answers as repeated
from bmwg.reports.kinds.repeated import beside
from bmwg.reports.kinds.repeated.answers import answers_of, has_answers, without_numbers
from bmwg.reports.published.figures import NATIVE, documents, tables
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.sections.guest import accelerator_of, translated
from bmwg.reports.render.text import NONE, number_of, sequence
from bmwg.reports.store import Run

Answered = repeated.Answered[JobsSpec, JobsResult]
_SCALES = {OCTETS_PER_S: (1e6, "MB/s"), FLOP_PER_S: (1e9, "Gflop/s")}
_WORDS = {BAREMETAL: "native"}
_PUBLISHED = {"stream": "ramalho2016-stream", "nbench": "ramalho2016-nbench"}  # experiments with a table
_HOW = (
    "All forms are given the same CPUs, shares and quota of the CPU and memory (as found: last table), and "
    "files on one file system. They take turns: a block is one execution of each, in an order drawn from the "
    "seed of the run. Means with the half-width of their 95 % interval by Student's t. Against native: the "
    "geometric mean of the ratios of executions of the same block, with its 95 % interval; overhead is how "
    "much less than native that is. Each figure is per second; more is better. These are figures of a "
    "hosting form, not benchmarks of a network function: RFC 8172 section 2 leaves those of computers out."
)
_NOT_SEEN = (
    "What the document did not see: it prints means without any spread, so its differences of some per cent "
    "may be chance; it tells no order of its forms, no limits of their CPUs and memory, and not whether "
    "STREAM's vectors went beyond the caches. Its kvm has a column of ours where /dev/kvm "
    "is: a translated guest is held against nothing."
)
_INDEX = (
    "After document 001, which tells of an index of CPU, floating point and files (Yang): every experiment "
    "that a form and native have counts alike. Its interval takes the experiments to be independent. Forms "
    "with other experiments have indexes that are not to be held against each other."
)
_WHOLE_FROM = 1e4
_CACHES = 4  # by STREAM's own rule
_LIMITS = {  # of a cgroup, by version 1 and 2
    "cpuset_cpus": "CPUs",
    "cpu_shares": "shares",
    "cpu_weight": "weight",
    "cpu_quota_us": "quota, us",
    "cpu_quota_and_period_us": "quota and period, us",
    "memory_limit_octets": "memory, octets",
}
_CACHED = "A file that fits into memory is read from it and written to it: these are figures of memory."


def section(run: Run, figure: Callable[[str], list[Block]]) -> list[Block]:
    """Return the section, empty for a run without jobs."""
    if not has_answers(run, JOBS.name):
        return []
    lines = title("Hosts and forms")
    answers = answers_of(run, JOBS)
    if not answers:
        return [*lines, *paragraph("The run holds no answer.")]
    seed = f" The seed is {run.order_seed}." if run.order_seed is not None else ""
    lines += paragraph(_HOW + seed)
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    for experiment in EXPERIMENTS:
        mine = [answer for answer in answers if answer.planned.metric == experiment]
        if any(answered.measured for answered in mine):
            entry = about.get(experiment, {})
            lines += title(entry.get("title", experiment), 2)
            lines += paragraph(_conditions(mine[0], entry.get("source", "")))
            lines += _answers(run, mine)
            lines += _beside_document(run, experiment, mine)
    lines += _index(run, answers)
    lines += beside.lines(run, JOBS)
    return [*lines, *without_numbers(run, answers, JOBS.name), *_limits(run, answers)]


def published(run: Run) -> list[Block]:
    """Return the ratios to native of experiments that a document has a table of, beside its own."""
    lines: list[Block] = []
    titles = {entry["id"]: entry.get("title", entry["id"]) for entry in run.profile.get("experiments", [])}
    for experiment in _PUBLISHED:
        mine = [answer for answer in answers_of(run, JOBS) if answer.planned.metric == experiment]
        if any(answer.measured and not _is_native(answer) for answer in mine) and any(map(_is_native, mine)):
            name = titles.get(experiment, experiment)
            lines += [*title(name, 2), *_beside_document(run, experiment, mine)]
    return lines


def summary(run: Run) -> str:
    """Say in some words what the run holds of jobs; empty for a run without."""
    if not has_answers(run, JOBS.name):
        return ""
    answers = answers_of(run, JOBS)
    executions = len({seq for answer in answers for seq in answer.outcome.trials})
    forms = (
        ", ".join(dict.fromkeys(_form(run, answered) for answered in answers if answered.measured))
        or "no form"
    )
    counted = f"{number_of(len(answers), 'answer')} from {number_of(executions, 'execution')}"
    return f"{counted} of programs on a host: {forms}"


def _form(run: Run, one: Answered) -> str:
    found = _WORDS.get(one.outcome.cell.hosting, one.outcome.cell.hosting)
    made = accelerator_of(run, one.deployment)
    return f"{found} ({made})" if made else found


def _conditions(one: Answered, source: str) -> str:
    spec = one.planned.spec
    parts = [f"By {spec.workload}, {spec.threads} thread{'s' if spec.threads > 1 else ''}"]
    parts += [f"{spec.duration_s:g} s each"] if spec.duration_s else []
    rows, file = ("rows", "a redo log") if spec.job == "oltp" else ("size of the problem", "a file")
    parts += [f"{rows} {spec.problem}"] if spec.problem else []
    parts += [f"{file} of {spec.size_octets / (1 << 20):g} MiB"] if spec.size_octets else []
    parts += (
        [f"blocks of {spec.block_octets} {'columns' if spec.workload == 'hpcc' else 'octets'}"]
        if (spec.block_octets)
        else []
    )
    parts += ["direct I/O" if spec.direct else "through the page cache"] if spec.size_octets else []
    origin = f"After {source}. " if source else ""
    cached = f" {_CACHED}" if spec.size_octets and not spec.direct else ""
    cached += _vectors(one) if spec.job == "stream" else ""
    return f"{origin}{', '.join(parts)}.{cached}"


def _vectors(one: Answered) -> str:
    """Say of STREAM whether its vectors were large enough to measure memory: four times the last cache."""
    told = one.results[-1].effective if one.results else {}
    vector, cache = told.get("stream_vector_octets"), told.get("last_cache_octets")
    if not isinstance(vector, int):
        return ""
    size = f" Each vector has {vector:,} octets"
    if not isinstance(cache, int) or not cache:
        return f"{size}; how large the last cache is was not told, so this may be its bandwidth."
    if vector < _CACHES * cache:
        return f"{size}, the last cache {cache:,}: these are figures of caches, not of memory."
    return f"{size}, more than {_CACHES} times the last cache ({cache:,})."


def _answers(run: Run, answers: Sequence[Answered]) -> list[Block]:
    native = next((answered for answered in answers if _is_native(answered)), None)
    rows = []
    for answer in answers:
        if answer.outcome.type is OutcomeType.NOT_ASSESSED:
            continue  # they stand together behind all experiments
        for number, (name, unit) in enumerate(EXPERIMENTS[answer.planned.metric].figures.items()):
            if not answer.measured and number:
                continue
            alike = answer.measured and native and not translated(run, answer.deployment)
            ratio = compared(answer, native, name) if alike and native else None
            rows.append(
                [
                    _form(run, answer),
                    name if answer.measured else NONE,
                    answer.type_cell,
                    _number(answer, part_of(answer.planned.metric, name), unit),
                    _ratio(ratio) if answer is not native else NONE,
                    _overhead(ratio) if answer is not native else NONE,
                    sequence(answer.outcome.trials),
                    answer.remarks,
                ]
            )
    head = ["form", "figure", "type", "answer", "ratio to native", "overhead", "trials", "remarks"]
    return table(head, rows, f"Metric {answers[0].outcome.metric}")


def _index(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return one index a form, over the experiments that it and native have; empty below two experiments."""
    native = {one.planned.metric: one for one in answers if _is_native(one)}
    found: dict[str, dict[str, Against]] = {}
    for answer in answers:
        base = native.get(answer.planned.metric)
        if base is None or answer is base or not answer.measured or translated(run, answer.deployment):
            continue
        first = next(iter(EXPERIMENTS[answer.planned.metric].figures))
        if ratio := compared(answer, base, first):
            found.setdefault(_form(run, answer), {})[answer.planned.metric] = ratio
    rows = [
        [form, _ratio(together(list(parts.values()))), ", ".join(parts)]
        for form, parts in found.items()
        if len(parts) > 1
    ]
    if not rows:
        return []
    head = ["form", "index against native", "experiments"]
    return [
        *title("Experiments together", 2),
        *paragraph(_INDEX),
        *table(head, rows, "Geometric mean of the ratios of each experiment's first figure"),
    ]


def _is_native(one: Answered) -> bool:
    return one.outcome.cell.hosting == BAREMETAL and one.measured


def _number(one: Answered, part: str, unit: str) -> str:
    if not one.measured:
        return NONE
    scale, words = _SCALES.get(unit, (1.0, unit))
    half = one.values.get(f"{part}half_width_95")
    spread = f" ± {_digits(half / scale)}" if half is not None else ""
    mean = _digits(one.values[f"{part}mean"] / scale)
    return f"{mean}{spread} {words} ({of_repetitions(one.values, part)})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:.4g}"


def compared(one: Answered, native: Answered, name: str) -> Against | None:
    """Hold a figure of a form against native, block by block."""
    return against(_by_block(one, name), _by_block(native, name))


def _by_block(one: Answered, name: str) -> Mapping[int, float]:
    return {number: result.figure(name) or 0.0 for number, result in one.by_number.items()}


def _ratio(found: Against | None) -> str:
    if found is None:
        return NONE
    interval = f" ({found.low:.3f} to {found.high:.3f})" if found.low is not None else ""
    return f"{found.ratio:.3f}{interval}, {found.blocks} blocks"


def _overhead(found: Against | None) -> str:
    if found is None or found.low is None or found.high is None:
        return NONE
    shown = "" if found.low > 1 or found.high < 1 else ", no difference shown"
    return f"{1 - found.ratio:.1%} ({1 - found.high:.1%} to {1 - found.low:.1%}){shown}"


def _beside_document(run: Run, experiment: str, answers: Sequence[Answered]) -> list[Block]:
    """Return the document's own table as ratios to its native, beside ours: never absolute numbers."""
    if experiment not in _PUBLISHED:
        return []
    shown = tables()[_PUBLISHED[experiment]]
    native = next((one for one in answers if _is_native(one)), None)
    forms = [
        answer
        for answer in answers
        if answer.measured and answer is not native and not translated(run, answer.deployment)
    ]
    theirs = [form for form in shown.forms if form != NATIVE]
    rows = []
    for item in shown.items:
        base = shown.figures[(item, NATIVE)].mean
        row = [item] + [f"{shown.figures[(item, form)].mean / base:.3f}" for form in theirs]
        row += [(_ratio(compared(one, native, item)) if native else NONE) for one in forms]
        rows.append(row)
    head = [
        "figure",
        *(f"{form}, published" for form in theirs),
        *(f"{_form(run, answered)}, here" for answered in forms),
    ]
    document = documents()[shown.document]
    caption = f"Ratios to native beside {document.authors}, table {shown.table_id}"
    return [*table(head, rows, caption), *paragraph(_NOT_SEEN)]


def _limits(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return the limits of each form as its cgroup told them, once for all deployments that had the same."""
    deployments = run.platform.get("deployments", {})
    rows: dict[tuple[str, ...], None] = {}
    for answer in answers:
        told = deployments.get(answer.deployment, {})
        native = told.get("native_programs", {})
        found = native.get("job", told.get("pod", {}))
        if isinstance(found, Mapping) and found:
            rows[_form(run, answer), *(str(found.get(name, NONE)) for name in _LIMITS)] = None
    head = ["form", *_LIMITS.values()]
    return table(head, rows, "Limits in force, as cgroups told them")
