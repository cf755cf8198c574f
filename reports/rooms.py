"""Registry of what each kind of load shows in reports and is held to by `verify`. Use it; name no kind.

A kind offers a `Room` under the entry-point group `bmwg.reports`. What it gets is the run, or its evidence,
with the testbed, profile and medium of that kind. Ids: KIND-01 what is offered calls itself otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bmwg.methodology import offers
from bmwg.methodology.kinds import registry
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding, Rule
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.plots.drawing import Plot
from bmwg.reports.render.sections import guest
from bmwg.reports.store import Run

GROUP = "bmwg.reports"
Figure = Callable[[str], list[Block]]  # a plot by its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one kind of load tells. Each part is empty for a run that holds nothing of the kind.

    `holds` tells whether the run has answers of it, or planned any. `section` are blocks of the report, with
    figures; `summary` says in some words what the run holds; `plots` are the figures. `rules` are what
    `verify` asks of its trials, `questions` what a reader should ask. `marks` are words that stand beside the
    number of an answer, by its id, where other answers of the run say what it is worth: of the answers and
    their profile. `loads` are the trials at the load that is the answer, of those whose trials had others.
    `published` are the ratios to native of experiments that a published document has a table of.
    """

    kind: str
    holds: Callable[[Run], bool]
    section: Callable[[Run, Figure], list[Block]]
    summary: Callable[[Run], str]
    plots: Callable[[Run], tuple[Plot, ...]]
    rules: tuple[Rule[Evidence], ...]
    questions: Callable[[Evidence], tuple[str, ...]]
    marks: Callable[[Sequence[Outcome], Mapping[str, Any]], Mapping[str, str]] = lambda outcomes, profile: {}
    loads: Callable[[Run], Mapping[str, tuple[int, ...]]] = lambda run: {}
    published: Callable[[Run], list[Block]] = lambda run: []


def _among(kinds: Iterable[str]) -> tuple[Room, ...]:
    """Return the rooms of these kinds; those of others, which would tell nothing, are not imported."""
    wanted = set(kinds)
    return tuple(_room(name) for name in offers.names(GROUP) if name in wanted)


def _of_run(run: Run) -> tuple[Room, ...]:
    cells = (*(planned_cell.cell for planned_cell in run.plan), *(outcome.cell for outcome in run.outcomes))
    return _among({*run.kinds, *(cell.kind for cell in cells)})


@cache
def _room(name: str) -> Room:
    found: Room = registry.offer(GROUP, name, "reports of the kind of load", lambda room: room.kind)
    return found


def told(run: Run) -> bool:
    """Whether a run holds anything that a room tells."""
    return any(room.holds(run) for room in _of_run(run))


def sections(run: Run, figure: Figure) -> list[Block]:
    """Return what the report tells of all kinds of load that have rooms."""
    return [block for room in _of_run(run) for block in room.section(run.of_load(room.kind), figure)]


def published(run: Run) -> list[Block]:
    """Return a run's own ratios to native beside those of published documents; empty where it has none."""
    return [block for room in _of_run(run) for block in room.published(run.of_load(room.kind))]


def summaries(run: Run) -> str:
    """Say in some words what a run holds of them; empty when nothing."""
    return "; ".join(filter(None, (room.summary(run.of_load(room.kind)) for room in _of_run(run))))


def marks(run: Run) -> dict[str, str]:
    """Return the words that stand beside numbers of a run, by the ids of the answers.

    Those of rooms, and that a translated machine made the number.
    """
    each = (room.marks(run.outcomes, run.of_load(room.kind).profile) for room in _of_run(run))
    return _joined(*each, guest.marks(run))


def every_mark(run: Run) -> dict[str, str]:
    """Return the same, and of each number of a run inside a translated guest that it is of one.

    It is for forms that have no banner, or put numbers of several runs together.
    """
    return _joined(marks(run), _of_guest(run.drivers, run.outcomes))


def marks_in(evidence: Evidence) -> dict[str, str]:
    """Return the same of a run that was read for judging; nothing of a profile that nobody can plan by."""
    if evidence.run is None:
        return {}
    each = []
    for room in _among(evidence.loads):
        mine = evidence.of_load(room.kind)
        kind = registry.kinds().get(room.kind)
        if mine.run is not None and kind is not None and not kind.wrong_profile(mine.run["profile"]):
            each.append(room.marks(mine.outcomes, mine.run["profile"]))
    by_seq = {line.seq: line.deployment_id for line in evidence.lines}
    of_machines = guest.marks_of(
        evidence.deployments,
        evidence.outcomes,
        lambda outcome: {by_seq.get(seq) for seq in outcome.trials},
    )
    return _joined(*each, of_machines, _of_guest(evidence.run["drivers"], evidence.outcomes))


def _of_guest(drivers: Iterable[Mapping[str, Any]], outcomes: Sequence[Outcome]) -> dict[str, str]:
    words = guest.mark_of_run(drivers)
    measured = (one.outcome_id for one in outcomes if words and one.type is OutcomeType.MEASURED)
    return dict.fromkeys(measured, words)


def _joined(*told: Mapping[str, str]) -> dict[str, str]:
    """Return all words of each answer, those of the first before the others."""
    found: dict[str, str] = {}
    for marked in told:
        for outcome_id, words in marked.items():
            found[outcome_id] = ", ".join(filter(None, (found.get(outcome_id), words)))
    return found


def loads(run: Run) -> dict[str, tuple[int, ...]]:
    """Return the trials at the load of each answer that was searched, by the ids of the answers."""
    return {
        outcome_id: numbers
        for room in _of_run(run)
        for outcome_id, numbers in room.loads(run.of_load(room.kind)).items()
    }


def plots(run: Run) -> tuple[Plot, ...]:
    """Draw what a run holds of them."""
    return tuple(plot for room in _of_run(run) for plot in room.plots(run.of_load(room.kind)))


def findings(evidence: Evidence) -> Iterator[Finding]:
    """Hold a run against the rules of every kind of load that it has."""
    for room in _among(evidence.loads):
        mine = evidence.of_load(room.kind)
        yield from (finding for rule in room.rules for finding in rule.apply(mine))


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of the trials of every kind of load."""
    return tuple(
        question
        for room in _among(evidence.loads)
        for question in room.questions(evidence.of_load(room.kind))
    )
