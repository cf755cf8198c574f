"""The matrices of RFC 8172 section 4.4: what of a run stands in each cell, and why others have nothing.

A cell leads to results, or says that nothing was assessed and why, or that it does not apply. In which cell
an answer stands is said by its measurement (`methodology/matrix.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds import registry
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements import registry as measurements
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import FRAMES, NOTHING, Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial import directions
from bmwg.reports import rooms
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, Part, Rich, fold, paragraph, table, title
from bmwg.reports.render.facts import LATENCY, Facts, option, percentile_name
from bmwg.reports.render.sections.common_columns import badge
from bmwg.reports.render.sections.results import beside_wide
from bmwg.reports.render.text import NONE, number_of, percent, quantity_text, sequence, unit, whole

_EACH = "#a-matrix-for-each-capacity"
# by name, not by what is installed: whoever verifies a page may have other distributions than who made it
UNMEASURED = (Stage.DEACTIVATION, Criterion.ACCURACY)
RESULTS = (Criterion.SPEED, Criterion.ACCURACY, Criterion.RELIABILITY)  # rfc8172-4.4: no scale
_SHOWN_MATRICES = 40  # choice: more is no reading
_SHOWN_ROWS = 24  # choice: a longer list is folded
_SHOWN_REASONS = 3  # choice: the rest is counted
_MOST_OF_A_REASON = 160  # choice: four lines of a cell
_REPETITIONS = "repetitions"  # the number of them among an answer's values
_SHOWN_NUMBERS = 4  # choice: the same
_ASKED = ("experiment", "workload", "cycles", "octets")  # axes that are no capacity
_HOW = (
    "Each measurement names the stage and the criterion of what it answers. A cell leads to the results of "
    "this run; where there are none, it says why. Times of activation and de-activation are from the request "
    "until the data plane shows it (RFC8172-4.3-03)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An answer of the run in a cell of the matrix, with its mark (`rooms.marks`)."""

    place: Place
    outcome: Outcome
    mark: str = ""

    @property
    def measured(self) -> bool:
        """Whether it is a plain number, and tells the part that stands in this cell."""
        return self.outcome.type is OutcomeType.MEASURED and bool(self.values or not self.place.part)

    @property
    def values(self) -> tuple[Quantity, ...]:
        """Return the numbers of the answer that stand in this cell."""
        outcome, part = self.outcome, self.place.part
        if part:
            begin = f"{outcome.metric}.{part}"
            return tuple(v for v in outcome.values if v.metric == begin or _is_of(v.metric, begin))
        named = {f"{outcome.metric}.{place.part}" for place in _places(outcome) if place.part}
        return tuple(
            v for v in outcome.values if not any(v.metric == each or _is_of(v.metric, each) for each in named)
        )


def _is_of(metric: str, family: str) -> bool:
    return metric.startswith(f"{family}.")


def _known() -> Mapping[str, Mapping[str, tuple[Place, ...]]]:
    """Return the places of all installed measurements: by kind of load, then by metric."""
    return {FRAMES: measurements.places(), **{name: one.places for name, one in registry.kinds().items()}}


def _places(outcome: Outcome) -> tuple[Place, ...]:
    known = _known().get(outcome.cell.kind, {})
    family = measurements.recorded_as(outcome.metric) if outcome.cell.kind == FRAMES else outcome.metric
    return known.get(family, ())


def standing(facts: Facts) -> tuple[Standing, ...]:
    """Return every answer of a device in each cell of the matrix in which it stands."""
    marks = rooms.marks(facts.run)
    return tuple(
        Standing(place=place, outcome=outcome, mark=marks.get(outcome.outcome_id, ""))
        for outcome in _answers(facts)
        for place in _places(outcome)
    )


def _answers(facts: Facts) -> Iterator[Outcome]:
    """Yield the answers for devices: those of frames in the order of the ladder, then the other kinds'."""
    others = (one for one in facts.run.outcomes if one.cell.kind != FRAMES)
    for outcome in chain(facts.outcomes, others):
        if not outcome.cell.qualifies_tester:
            yield outcome


def matrices(facts: Facts) -> list[Block]:
    """Return the coverage with scale, the results of each cell, and a matrix of results for each capacity.

    A capacity is what was put under load and with how much at once: path, option, directions, flows, how many
    at the same time.
    """
    stands = standing(facts)
    if not any(stand.measured for stand in stands):
        return []  # a section without a figure tells nothing
    lines: list[Block] = [*title("Matrices of RFC 8172 section 4.4"), *paragraph(_HOW)]
    lines += table(["stage", *Criterion], _coverage(facts, stands), "Coverage, without results")
    if outside := sorted({o.metric for o in _answers(facts) if not _places(o)}):
        lines += paragraph(
            f"Outside of the matrix, for they are of the host (RFC8172-2-02): {', '.join(outside)}."
        )
    for stage in Stage:
        for criterion in Criterion:
            lines += _results(facts, stage, criterion, stands)
    return [*lines, *_by_capacity(facts, stands)]


def _at(place: Place, stage: Stage, criterion: Criterion) -> bool:
    return (place.stage, place.criterion) == (stage, criterion)


def name_of(stage: Stage, criterion: Criterion) -> str:
    """Return the title under which the results of a cell stand."""
    return f"{stage.capitalize()} by {criterion}"


def anchor(stage: Stage, criterion: Criterion) -> str:
    """Return where that title stands on the same page."""
    return f"#{name_of(stage, criterion).lower().replace(' ', '-')}"


def _coverage(facts: Facts, stands: Sequence[Standing]) -> list[list[str]]:
    return [[stage, *(_covered(facts, stands, stage, each) for each in Criterion)] for stage in Stage]


def _covered(facts: Facts, stands: Sequence[Standing], stage: Stage, criterion: Criterion) -> str:
    mine = [stand for stand in stands if _at(stand.place, stage, criterion)]
    parts: list[Part] = []
    without: list[str] = []
    for metric in dict.fromkeys(one.outcome.metric for one in mine):
        of_it = [one for one in mine if one.outcome.metric == metric]
        if not _numbers(of_it, metric):
            without.append(gap(stage, criterion, of_it, stands))
            continue
        words = f"{_named(metric)}: {sum(one.measured for one in of_it)} of {len(of_it)} measured"
        parts += [*([Part(text="; ")] if parts else []), Part(text=words, target=anchor(stage, criterion))]
    if extra := _also(facts, stage, criterion):
        parts += [*([Part(text="; ")] if parts else []), Part(text=extra, target=_EACH)]
    if not parts:
        return gap(stage, criterion, stands, stands)
    return Rich(*parts, *([Part(text=f"; {_some(without)}")] if without else []))


def _named(metric: str) -> str:
    """Return a metric as its document calls it, where its name is that of a goal; else its name."""
    if not goal_outcomes.is_conditional(metric):
        return metric
    return f"throughput by {searches.document(metric)}, {searches.allowed(metric)}"


def _numbers(stands: Iterable[Standing], metric: str) -> bool:
    return any(stand.measured for stand in stands if stand.outcome.metric == metric)


def _also(facts: Facts, stage: Stage, criterion: Criterion) -> str:
    """Return what the trials of frames tell of a cell beside the answers of its measurements."""
    if stage is not Stage.OPERATION or not facts.outcomes:
        return ""
    if criterion is Criterion.RELIABILITY:
        return "answers of frames that are plain numbers, validity of their trials"
    if criterion is Criterion.SCALE:
        named = {_traffic(o.cell) for o in facts.outcomes if not o.cell.qualifies_tester}
        return f"{number_of(len(named), 'number')} of flows and directions" if named else ""
    return ""


def gap(stage: Stage, criterion: Criterion, stands: Sequence[Standing], of_run: Sequence[Standing]) -> str:
    """Say why a cell of a matrix has no result: not assessed and why, or not applicable.

    `stands` are the answers that the matrix is of, `of_run` those of the whole run.
    """
    mine = [stand.outcome for stand in stands if _at(stand.place, stage, criterion)]
    failed = [o for o in mine if o.type is not OutcomeType.MEASURED]
    reasons = list(dict.fromkeys(f"{o.metric}: {o.reason or o.statement or o.type.value}" for o in failed))
    if reasons:
        return f"not assessed: {_some(reasons)}"
    if mine:
        return f"not assessed: {', '.join(sorted({o.metric for o in mine}))} tells no such number here"
    if stage is not Stage.OPERATION and not any(_is_made(one.outcome.cell) for one in stands):
        return "not applicable: no function is made or removed here"
    elsewhere = {one.outcome.metric for one in of_run if _at(one.place, stage, criterion)}
    if elsewhere:
        return f"not assessed here: {', '.join(sorted(elsewhere))} is of another capacity"
    if (stage, criterion) == UNMEASURED:
        return "not assessed: the toolkit has no measurement of it"
    return "not assessed: no cell of this run asks for it"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN_REASONS} further" if len(texts) > _SHOWN_REASONS else ""
    return "; ".join(map(_brief, texts[:_SHOWN_REASONS])) + more


def _brief(reason: str) -> str:
    """Return a reason as a cell has room for it: of a long list the first; all stands by the answer."""
    first, _, others = reason.partition("; ")
    return f"{first} and so on" if others and len(reason) > _MOST_OF_A_REASON else reason


def _is_made(cell: Cell) -> bool:
    """Whether the path of a cell has a function that is made for it: in a pod, container or machine."""
    return cell.function != NOTHING and cell.hosting != "baremetal"


def _results(facts: Facts, stage: Stage, criterion: Criterion, stands: Sequence[Standing]) -> list[Block]:
    mine = [stand for stand in stands if _at(stand.place, stage, criterion)]
    if not any(one.measured for one in mine):
        return []
    rows = [
        [
            _sized(one.outcome.cell),
            one.outcome.metric,
            badge(one.outcome.type),
            _result(facts, one),
            sequence(one.outcome.trials),
        ]
        for one in mine
    ]
    head = ["path and option", "metric", "type", "result", "trials"]
    grid = table(head, rows, f"{name_of(stage, criterion)}: results")
    return [
        *title(name_of(stage, criterion), 2),
        *(grid if len(rows) <= _SHOWN_ROWS else fold(f"{len(rows)} answers", grid)),
    ]


def _sized(cell: Cell) -> str:
    return f"{capacity(cell)}, {unit(cell.frame_octets, 'octets')}" if cell.kind == FRAMES else capacity(cell)


def _result(facts: Facts, one: Standing) -> str:
    """Return what an answer says in its cell; accuracy at a load that a search found is counted there."""
    if one.measured and _counts_frames(one):
        return _accuracy(facts, [one.outcome])
    return _words(one)


def _counts_frames(one: Standing) -> bool:
    searched = one.outcome.lower is not None or searches.order(one.outcome.metric) is not None
    accuracy = one.place.criterion is Criterion.ACCURACY and not one.place.part
    return one.outcome.cell.kind == FRAMES and accuracy and searched


def _words(one: Standing) -> str:
    """Return the numbers of an answer with its mark; why there is none where there is none."""
    if not one.measured:
        return one.outcome.reason or one.outcome.statement or NONE
    return ", ".join(filter(None, (_numbers_of(one) + beside_wide(one.outcome), one.mark)))


def _numbers_of(one: Standing) -> str:
    """Return a mean with its half-width or a median with its interval, else the first numbers by name."""
    part = one.place.part
    begin = f"{one.outcome.metric}.{part}" if part else one.outcome.metric
    by_name = {value.metric.removeprefix(begin).removeprefix("."): value for value in one.values}
    for centre, ends in (("mean", ("half_width_95",)), ("median", ("median_low", "median_high"))):
        if centre in by_name:
            told = [_quantity(by_name[name]) for name in ends if name in by_name]
            spread = f" ± {told[0]}" if len(told) == 1 else f" ({told[0]} to {told[1]})" if told else ""
            if told and _REPETITIONS in by_name:
                spread += f" ({of_repetitions(_values(one), f'{part}.' if part else '')})"
            return f"{part} {centre} {_quantity(by_name[centre])}{spread}".strip()
    said = [
        f"{(name or part).removesuffix('_frames')} {_quantity(value)}".replace("_", " ").strip()
        for name, value in by_name.items()
    ]
    more = f"; {len(said) - _SHOWN_NUMBERS} further" if len(said) > _SHOWN_NUMBERS else ""
    return "; ".join(said[:_SHOWN_NUMBERS]) + more or NONE


def _values(one: Standing) -> dict[str, float]:
    """Return an answer's numbers by their names behind its metric."""
    return {value.metric.removeprefix(f"{one.outcome.metric}."): value.number for value in one.values}


def _quantity(value: Quantity) -> str:
    return quantity_text(value.number, value.unit)


def capacity(cell: Cell) -> str:
    """Return what was put under load and with how much at once, without what was asked of it."""
    if cell.kind == FRAMES:
        return option(cell)
    parts = [cell.path, *(one for one in (cell.hosting, cell.network, cell.function) if one != NOTHING)]
    parts += [f"{name.replace('_', ' ')} {value}" for name, value in cell.axes if name not in _ASKED]
    beside = neighbours.of(cell)
    return " ".join(parts) if beside == neighbours.ALONE or beside in parts else " ".join([*parts, beside])


def _title(cell: Cell) -> str:
    return f"Capacity: {capacity(cell)}" + (f", {_traffic(cell)}" if cell.kind == FRAMES else "")


def _traffic(cell: Cell) -> str:
    return (
        f"{'both directions' if cell.direction == 'both' else 'one direction'}, "
        f"{cell.flows} flow{'s' if cell.flows != 1 else ''}"
        f"{f', {cell.destination_networks} networks' if cell.destination_networks != 1 else ''}"
    )


def _by_capacity(facts: Facts, stands: Sequence[Standing]) -> list[Block]:
    groups: dict[str, list[Standing]] = {}
    for stand in stands:
        if stand.outcome.type is not OutcomeType.NOT_ASSESSED:
            groups.setdefault(_title(stand.outcome.cell), []).append(stand)
    numbered = [name for name, mine in groups.items() if any(one.measured for one in mine)]
    condition = searches.conditions(facts.of_devices())
    lines = paragraph(condition) if condition and numbered else []
    for name in numbered[:_SHOWN_MATRICES]:
        mine = groups[name]
        rows = [[stage, *(_told(facts, mine, stands, stage, each) for each in RESULTS)] for stage in Stage]
        lines += fold(name, table(["stage", *RESULTS], rows, name))
    if len(numbered) > _SHOWN_MATRICES:
        lines += paragraph(f"{len(numbered) - _SHOWN_MATRICES} further capacities are in run.json.")
    if without := [name.removeprefix("Capacity: ") for name in groups if name not in numbered]:
        lines += paragraph(f"Without a plain number, and so without a matrix: {'; '.join(without)}.")
    return [*title("A matrix for each capacity", 2), *lines]


def _told(
    facts: Facts, mine: Sequence[Standing], of_run: Sequence[Standing], stage: Stage, criterion: Criterion
) -> str:
    """Return the results of one capacity in one cell."""
    here = [one for one in mine if _at(one.place, stage, criterion) and one.measured]
    counted = [one.outcome for one in here if _counts_frames(one)]
    frames = [one for one in here if one.outcome.cell.kind == FRAMES and not _counts_frames(one)]
    parts = [_accuracy(facts, counted)] if counted else []
    if frames and (stage, criterion) == (Stage.OPERATION, Criterion.SPEED):
        parts.append(_speed(facts, [one.outcome for one in frames]))
    else:
        parts += [f"{one.outcome.metric}: {_words(one)}" for one in frames]
    parts += [f"{one.outcome.metric}: {_words(one)}" for one in here if one.outcome.cell.kind != FRAMES]
    all_frames = list({o.outcome_id: o for one in mine if (o := one.outcome).cell.kind == FRAMES}.values())
    if all_frames and (stage, criterion) == (Stage.OPERATION, Criterion.RELIABILITY):
        parts.append(_reliability(facts, all_frames))
    return "; ".join(parts) or gap(stage, criterion, mine, of_run)


def _speed(facts: Facts, outcomes: Sequence[Outcome]) -> str:
    """Return throughput, median and 99th percentile by frame size, then what else was measured."""
    by_size: dict[int, list[str]] = {}
    others: list[str] = []
    found = facts.of_devices()
    for outcome in sorted(outcomes, key=lambda outcome: outcome not in found):
        for value in outcome.values:
            name = percentile_name(value.metric)
            told = quantity_text(value.number, value.unit)
            if outcome in found and value.metric == outcome.metric:
                text = f"throughput {told}{beside_wide(outcome)}"
                by_size.setdefault(outcome.cell.frame_octets, []).append(text)
            elif outcome.metric == LATENCY and name in ("p50", "p99"):
                way = directions.without(value.metric)[1]
                text = f"latency {name} {told}"
                by_size.setdefault(outcome.cell.frame_octets, []).append(directions.of(text, way))
        if outcome not in found and outcome.metric != LATENCY:
            others.append(outcome.metric)
    said = [f"{unit(size, 'octets')}: {', '.join(parts)}" for size, parts in sorted(by_size.items())]
    counted = {metric: others.count(metric) for metric in others}
    return "; ".join([*said, *(f"{metric}: {number_of(n, 'answer')}" for metric, n in counted.items())])


def _accuracy(facts: Facts, outcomes: Iterable[Outcome]) -> str:
    seqs = sorted({seq for outcome in outcomes if outcome.lower for seq in outcome.lower.trials})
    streams = [s for seq in seqs for s in facts.counts(seq).result.streams]
    if not streams:
        return "no trial at a throughput"
    received = sum(stream.received_frames for stream in streams)
    counted = [
        f"{whole(sum(getattr(stream, f'{name}_frames') for stream in streams))} {name}"
        for name in ("reordered", "duplicate", "corrupt")
    ]
    return f"of {whole(received)} frames received at the throughput: {', '.join(counted)}"


def _reliability(facts: Facts, outcomes: Sequence[Outcome]) -> str:
    plain = sum(outcome.type is OutcomeType.MEASURED for outcome in outcomes)
    seqs = {seq for outcome in outcomes for seq in outcome.trials}
    valid = sum(facts.run.trial(seq).validity is Validity.VALID for seq in seqs)
    share = f"; {valid} of {len(seqs)} trials valid ({percent(valid / len(seqs), 1)})" if seqs else ""
    return f"{plain} of {len(outcomes)} answers are plain numbers{share}"
