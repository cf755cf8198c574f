"""Experiments that are curves over a size: forms beside each other, normalized to native (document 004)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from bmwg.methodology.answers.repeated import DEPLOYMENTS, within
from bmwg.methodology.answers.student import difference
from bmwg.methodology.kinds.streams.curves import Beside, of_ratios
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import SWEPT
from bmwg.methodology.kinds.streams.records import StreamsResult, Transport
from bmwg.methodology.records import BAREMETAL, GUEST, POD, REDIRECTED, OutcomeType
from bmwg.reports.kinds.repeated.answers import answers_of
from bmwg.reports.kinds.streams import places, turns
from bmwg.reports.kinds.streams.answers import Answered
from bmwg.reports.published.figures import NATIVE, documents, tables
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot
from bmwg.reports.render.text import NONE, percent
from bmwg.reports.store import Run

_PUBLISHED, _PUBLISHED_OF, _PUBLISHED_SIZE = "chen-tcp-stream", "socket_sizes", 100
_SIZE = {"window_octets": "socket size asked for", "message_octets": "octets of a datagram"}
_NAMED_APART = 2.5  # choice: how many times as large the next size is that an axis names
_OURS = {  # by our names, where they differ; the document's machines had redirected ports
    "osv": (f"unikernel{places.BY_PORTS} under KVM", "unikernel under KVM"),
    "kvm": (f"{REDIRECTED} under KVM", f"{GUEST} under KVM"),
}
_SHOWN = {-1: "lower", 0: "no difference shown", 1: "higher"}
_NOT_SEEN = {
    Transport.TCP: (
        "What the document did not see: a size below the kernel's least is raised (so 100 and 1,100 octets "
        "are one size, told as in force below); Linux doubles what is asked for and tells the double; one "
        "execution stood for each point; its guests were behind user-mode networking with "
        "redirected ports, and all "
        "forms behind a cable of 100 Mbit/s, which is the most that it could find. netperf's option sets the "
        "sender's socket alone, iperf3's sets both."
    ),
    Transport.UDP: (
        "What the document did not see: -r is no option of UDP_STREAM, so all its points sent datagrams of "
        "the same 3,100 octets, and what differs between them is chance. Here the size of the "
        "datagram is swept. "
        "Its okay rate is of sends that the sender's own kernel took; ours is the share of datagrams sent "
        "that arrived. Datagrams above the MTU are cut up, and one lost part loses the whole."
    ),
}
_IN_TURNS = (
    "Forms took turns: a block is one execution of each size by each form, in an order drawn from the seed "
    "of the run. A ratio to native is the geometric mean of the ratios of executions of the same block, with "
    "its 95 % interval; what drifts from block to block is in no ratio."
)
_IN_A_ROW = (
    "Forms were measured one after the other, each in all sizes: a machine that changes meanwhile is a "
    "difference between them. Ratios are of means."
)
_EQUAL = (
    "Native programs ran in cgroups of their own with the limits of pods (CPUs, shares and quota of the CPU, "
    "memory): what else runs on the machine takes from both forms alike."
)
_UNEQUAL = (
    "A pod has a cgroup of its own, and with it a share of the CPU that other programs of the machine cannot "
    "take. Native programs here have none. On a machine that does anything else meanwhile native therefore "
    "does worse than it can: a pod that does better than native shows this, not a faster pod."
)


def curves(run: Run, answers: Sequence[Answered]) -> Mapping[str, Mapping[int, Answered]]:
    """Return the answers by form, and by size; the base, native, comes first."""
    found: dict[str, dict[int, Answered]] = {}
    for answer in sorted(answers, key=lambda each: each.outcome.cell.hosting != BAREMETAL):
        axes = dict(answer.outcome.cell.axes)
        found.setdefault(form_of(run, answer), {})[int(axes[SWEPT[str(axes["experiment"])]])] = answer
    return found


def form_of(run: Run, one: Answered) -> str:
    """Name a server's form as a reader does, a machine with what ran its instructions."""
    cell = one.outcome.cell
    words = {BAREMETAL: "native", POD: f"pod, {cell.network}"}
    machine = places.machine(run, one)
    found = machine.get("accelerator")
    under = f" under {str(found).upper()}" if found else ""
    return words.get(cell.hosting, cell.hosting) + places.redirected(cell.hosting, machine) + under


def grounds(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Say what forms of a server had alike, in which order they were measured, and where both ends ran."""
    forms: dict[str, list[Answered]] = {}
    for answer in sorted(answers, key=lambda each: each.outcome.cell.hosting != BAREMETAL):
        forms.setdefault(form_of(run, answer), []).append(answer)
    return [
        *paragraph(_EQUAL if _limited(run, answers) else _UNEQUAL),
        *paragraph(_IN_TURNS if turns.claimed(run) else _IN_A_ROW),
        *places.lines(run, forms),
    ]


def lines(
    run: Run, experiment: str, answers: Sequence[Answered], figure: Callable[[str], list[Block]]
) -> list[Block]:
    """Return tables of one swept experiment: numbers, ratios to native, areas, and sizes in force."""
    found = curves(run, answers)
    shown = [form for form, by_size in found.items() if any(one.measured for one in by_size.values())]
    sizes = sorted({size for by_size in found.values() for size in by_size})
    spec = answers[0].planned.spec
    base = _base(found)
    alone = {
        form for form in shown if any(places.translated(run, answered) for answered in found[form].values())
    }
    held = {form: found[form] for form in shown if form not in alone}
    rows = []
    for size in sizes:
        row = [f"{size}"]
        for form in shown:
            one = found[form].get(size)
            row.append(_number(one) if one else NONE)
            if form != base and form not in alone:
                row.append(_ratio(run, one, found[base].get(size)) if one and base else NONE)
            if spec.transport is Transport.UDP:
                row.append(_okay(one))
        row.append(_effective([found[form][size] for form in shown if size in found[form]]))
        rows.append(row)
    head = [_SIZE[SWEPT[experiment]]]
    for form in shown:
        head += [f"{form}, Mbit/s"] + ([f"{form} : native"] if form not in {base, *alone} else [])
        head += ["okay rate"] if spec.transport is Transport.UDP else []
    out = [*paragraph(_NOT_SEEN[spec.transport]), *grounds(run, answers)]
    besides = _besides(run, held, base) if base else {}
    out += figure(_name(experiment)) if besides else []
    out += (
        table([*head, "buffers in force, octets"], rows, "Goodput by size, mean and half-width at 95 %")
        if shown
        else []
    )
    areas = [
        [form, f"{min(one.ratios)} to {max(one.ratios)}", f"{one.area:+.0f}", f"{one.mean_excess:+.3f}"]
        for form, one in besides.items()
    ]
    words = "Signed area between each curve and native (the document's verdict): above is positive"
    return [
        *out,
        *places.cpu_lines(run, held, base),
        *(_beside_document(run, found, base) if experiment == _PUBLISHED_OF and base else []),
        *table(["form", "sizes, octets", "area of (ratio - 1), octets", "area per octet"], areas, words),
    ]


def published(run: Run) -> list[Block]:
    """Return the ratios to native of the experiment that a document has a table of, beside its own."""
    axes_of = ((answer, dict(answer.outcome.cell.axes)) for answer in answers_of(run, STREAMS))
    found = curves(run, [answer for answer, axes in axes_of if axes["experiment"] == _PUBLISHED_OF])
    base = _base(found)
    several = any(one.measured for form in found if form != base for one in found[form].values())
    return _beside_document(run, found, base) if base and several else []


def _base(found: Mapping[str, Mapping[int, Answered]]) -> str | None:
    """Return the form that others are held against, where it has a number."""
    return "native" if any(one.measured for one in found.get("native", {}).values()) else None


def _beside_document(run: Run, found: Mapping[str, Mapping[int, Answered]], base: str) -> list[Block]:
    """Return the document's one table as ratios to its native, beside ours of the same size."""
    shown = tables()[_PUBLISHED]
    (item,) = shown.items
    native = shown.figures[(item, NATIVE)].mean
    of_native = found[base].get(_PUBLISHED_SIZE)
    rows = []
    for form in shown.forms:
        if form != NATIVE:
            published = f"{shown.figures[(item, form)].mean / native:.3f}"
            here = [name for name in _OURS.get(form, (form,)) if _PUBLISHED_SIZE in found.get(name, {})]
            told = [[name, _ratio(run, found[name][_PUBLISHED_SIZE], of_native)] for name in here]
            rows += [[form, published, *ours] for ours in told or [[NONE, NONE]]]
    caption = f"Ratios to native at {_PUBLISHED_SIZE} octets beside {documents()[shown.document].authors}"
    head = ["form", "published, one execution", "form here", "here"]
    return table(head, rows, f"{caption}, table {shown.table_id}")


def plots(run: Run) -> tuple[Plot, ...]:
    """Draw each swept experiment of a run: the curves, normalized to native."""
    made = []
    for experiment in SWEPT:
        mine = [
            answer
            for answer in answers_of(run, STREAMS)
            if dict(answer.outcome.cell.axes)["experiment"] == experiment
            and not places.translated(run, answer)
        ]
        by_form = curves(run, mine)
        found = _besides(run, by_form, "native") if "native" in by_form else {}
        if found:
            made.append(_plot(experiment, found))
    return tuple(made)


def _besides(run: Run, found: Mapping[str, Mapping[int, Answered]], base: str) -> dict[str, Beside]:
    tried = {}
    for form in [name for name in found if name != base]:
        held = {size: _held(run, one, found[base].get(size)) for size, one in found[form].items()}
        tried[form] = of_ratios({size: ratio for size, ratio in held.items() if ratio is not None})
    return {form: one for form, one in tried.items() if one is not None}


def _plot(experiment: str, found: Mapping[str, Beside]) -> Plot:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.axhline(1.0, color="#010204")
        for number, (form, one) in enumerate(found.items()):
            sizes = list(one.ratios)
            style = {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}
            axes.plot(sizes, [one.ratios[size] for size in sizes], label=form, **style)
        axes.set_xscale("log")
        ticks = _apart({size for beside in found.values() for size in beside.ratios})
        axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(f"{_SIZE[SWEPT[experiment]]}, octets")
        axes.set_ylabel("goodput : native")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)

    told = "; ".join(
        f"{form}: {', '.join(f'{size} octets {ratio:.2f}' for size, ratio in one.ratios.items())}"
        for form, one in found.items()
    )
    return draw_plot(
        _name(experiment), "Goodput against native, by size", f"Ratios to native. {told}.", (6.4, 3.0), draw
    )


def _apart(sizes: Collection[int]) -> list[int]:
    """Return the sizes to name on the axis: the largest, and below it those that leave room for names."""
    named: list[int] = []
    for size in sorted(sizes, reverse=True):
        if not named or named[-1] >= _NAMED_APART * size:
            named.append(size)
    return named[::-1]


def _limited(run: Run, answers: Sequence[Answered]) -> bool:
    """Whether native programs had the limits of pods in all deployments of these answers."""
    told = run.platform.get("deployments", {})
    ids = {answer.deployment for answer in answers if answer.deployment}
    return all(told.get(name, {}).get("native_programs") for name in ids)


def _name(experiment: str) -> str:
    return f"streams-{experiment.replace('_', '-')}"


def _number(one: Answered) -> str:
    if one.outcome.type is not OutcomeType.MEASURED:
        return one.outcome.type.value.replace("_", " ")
    half = one.values.get("half_width_95")
    spread = f" ± {half / 1e6:.1f}" if half is not None else ""
    words = within(one.values["repetitions"], one.values.get(DEPLOYMENTS))
    return f"{one.values['mean'] / 1e6:.1f}{spread}{words and f' ({words})'}"


def _held(run: Run, one: Answered, base: Answered | None) -> float | None:
    """Return a form's ratio to native, of executions of the same block where forms took turns."""
    if base is None or not (one.measured and base.measured) or not base.values["mean"]:
        return None
    if turns.claimed(run):
        found = turns.within_blocks(one, base, _goodput)
        return found.ratio if found else None
    return one.values["mean"] / base.values["mean"]


def _ratio(run: Run, one: Answered, base: Answered | None) -> str:
    ratio = _held(run, one, base)
    if ratio is None or base is None:
        return NONE
    if turns.claimed(run):
        return turns.words(turns.within_blocks(one, base, _goodput))
    shown = difference([r.goodput_bps for r in one.results], [r.goodput_bps for r in base.results])
    words = f" ({_SHOWN[shown.sign]})" if shown else ""
    return f"{ratio:.3f}{words}"


def _goodput(result: StreamsResult) -> float:
    return result.goodput_bps


def _okay(one: Answered | None) -> str:
    if one is None or one.outcome.type is not OutcomeType.MEASURED:
        return NONE
    return percent(1 - one.values["lost_ratio"], 1)


def _effective(answers: Sequence[Answered]) -> str:
    found = {
        (result.effective.get("send_buffer_octets"), result.effective.get("receive_buffer_octets"))
        for answer in answers
        for result in answer.results
    }
    told = (
        sorted({sent for sent, _ in found if sent is not None}),
        sorted({got for _, got in found if got is not None}),
    )
    words = [
        f"{way} {_span(values)}" for way, values in zip(("sender", "receiver"), told, strict=True) if values
    ]
    return ", ".join(words) or NONE


def _span(values: Sequence[Any]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"
