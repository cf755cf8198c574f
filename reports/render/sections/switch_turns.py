"""Turns of a search of an address table (RFC 2889 5.7.5, 5.8.5); what all senders offer (Appendix B.1)."""

from __future__ import annotations

from bmwg.methodology.benchmarks import caching_capacity, forwarding_rate, learning_rate
from bmwg.methodology.benchmarks.address_table import ASK, LEARNER, TEACH, TESTER
from bmwg.methodology.benchmarks.illegal_frames import RETURNED
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome, OutcomeType
from bmwg.reports.render.blocks import Block, fold, table, title
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.sections.common_columns import TYPE_WORDS
from bmwg.reports.render.sections.results import beside_wide
from bmwg.reports.render.text import NONE, unit

_TURN = (
    "trial",
    "addresses",
    "told at",
    "asked for at",
    "frames offered",
    "flooded at the testing port",
    "at the learning port",
    "at listening ports",
    "came to the learning port",
)


def capacity_turns(facts: Facts) -> list[Block]:
    """Return the turns of each search of a capacity."""
    return _folded(facts, caching_capacity.METRIC)


def rate_turns(facts: Facts) -> list[Block]:
    """Return the turns of each search of a learning rate."""
    return _folded(facts, learning_rate.METRIC)


def _folded(facts: Facts, metric: str) -> list[Block]:
    lines: list[Block] = []
    for one in facts.of_metric(metric):
        if rows := _turns(facts, one):
            size = unit(one.cell.frame_octets, "octets")
            head = f"{len(rows)} turns: {option(one.cell)}, {size}"
            lines += fold(head, table(_TURN, rows, "Each turn, in the order they were taken"))
    return lines


def _turns(facts: Facts, one: Outcome) -> list[list[str]]:
    """Return a row for each valid trial that asks; what was told before it is of the last that teaches."""
    rows: list[list[str]] = []
    told_fps = 0
    for seq in one.trials:
        phase, judged = facts.run.trial(seq).phase, facts.counts(seq)
        result, spec = judged.result, judged.spec
        if phase == TEACH:
            told_fps = spec.load_fps
        if phase != ASK or not judged.valid or spec.pattern is None:
            continue
        back = sum(count for name, count in result.auxiliary if name.endswith(RETURNED))  # to who sent it
        flooded = [stream.flooded_frames for stream in result.streams]
        learner = result.streams[LEARNER]
        counts = (
            learner.sent_frames,
            flooded[TESTER] + back,
            flooded[LEARNER],
            sum(flooded[LEARNER + 1 :]),
            learner.received_frames,
        )
        rows.append(
            [
                str(seq),
                f"{spec.pattern.destinations:,}",
                unit(told_fps, FRAMES_PER_S) if told_fps else NONE,
                unit(spec.load_fps, FRAMES_PER_S),
                *(f"{count:,}" for count in counts),
            ]
        )
    return rows


def of_all_senders(facts: Facts) -> list[Block]:
    """Return the throughput of patterns: of each sending port, and what all of them offered together then."""
    mine = [one for one in facts.of_search() if _senders(one.cell)]
    if not mine:
        return []
    rows = []
    for one in mine:
        plain = one.values[0].number if one.type is OutcomeType.MEASURED and one.values else None
        bound = one.lower.trials if one.lower is not None else ()
        points = [forwarding_rate.point(facts.counts(seq).result) for seq in bound]
        offered = min((point.offered_fps for point in points), default=None)
        rows.append(
            [
                option(one.cell),
                unit(one.cell.frame_octets, "octets"),
                TYPE_WORDS[one.type],
                NONE if plain is None else f"{unit(plain, FRAMES_PER_S)}{beside_wide(one)}",
                str(_senders(one.cell)),
                NONE if offered is None else unit(offered, FRAMES_PER_S),
            ]
        )
    head = ["path and option", "frame size", "type", "throughput of each sending port", "sending ports"]
    caption = (
        "The offered load is that of the trials behind the lower bound, a sum over ports (Appendix B.1);"
        " a broadcast frame counts once"
    )
    return [
        *title("Throughput between several ports (RFC 2889 section 5.1)"),
        *table([*head, "offered load of all ports"], rows, caption),
    ]


def _senders(cell: Cell) -> int:
    """Return how many ports of a cell's pattern send; 0 where it has none, or is not about a load."""
    pattern = patterns.of(cell.axes)
    return len(pattern.senders) if pattern is not None and patterns.has_load(cell.axes) else 0
