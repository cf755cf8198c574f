"""Whether a cell has all repetitions that its profile asks for: none left out, and none added until it paid.

Of every kind of load whose cells are repeated until enough is valid (`methodology.repeated`). A cell ends
when it has what is wanted, after too many invalid repetitions, or beyond its limit of time with fewer. Time
in which a repetition that is not there had room gives away one that was taken out (docs/adr/0350).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, listed, rule, shown
from bmwg.reports.verify.timing import moment

_ENDED_S = 0.25  # choice: between the stamp of a line and the look at the time that follows its writing
_ROOM_RATIO = 0.75  # choice: of the shortest repetition; one that was slow for its cell lasts about as long
_BETWEEN_NS = 100_000_000  # choice: writing a line down, and looking at the device


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A repetition as the journal tells it: its stamp, what it lasted (0 where its kind does not tell).

    `others_ns` is what repetitions of other cells lasted since the one before it: cells may take turns. A
    warm-up takes its time, and no part in an answer (`measured`).
    """

    at: str
    wall_ns: int
    valid: bool
    deployment_id: str
    others_ns: int = 0
    measured: bool = True


def room_ns(lines: Sequence[Line]) -> int:
    """Return the longest time between two lines of one deployment with room for another repetition, or 0."""
    unused_ns = max(
        (
            int((moment(one.at) - moment(before.at)).total_seconds() * 1e9) - one.wall_ns - one.others_ns
            for before, one in pairwise(lines)
            if one.wall_ns and before.deployment_id == one.deployment_id
        ),
        default=0,
    )
    enough_ns = _ROOM_RATIO * min((line.wall_ns for line in lines), default=0) + _BETWEEN_NS
    return unused_ns if unused_ns > enough_ns else 0


def _took_s(lines: Sequence[Line]) -> float:
    """Return how long the repetitions of the last deployment took: the limit begins anew with each."""
    mine = [line for line in lines if line.deployment_id == lines[-1].deployment_id]
    return (moment(mine[-1].at) - moment(mine[0].at)).total_seconds() + mine[0].wall_ns / 1e9


def incomplete(lines: Sequence[Line], asked: Repetitions) -> tuple[str, str] | None:
    """Return what was due and what is there, where repetitions are missing or too many; None where right."""
    measured = [one for one in lines if one.measured]
    good = sum(one.valid for one in measured)
    if good >= asked.wanted:
        if sum(line.valid for line in measured[:-1]) >= asked.wanted:
            return f"{asked.wanted} valid repetitions, and none after them", f"{good} of {len(measured)}"
        return None
    if len(measured) - good > asked.max_invalid:
        return f"at most {asked.max_invalid} repetitions that are not valid", f"{len(measured) - good}"
    expected = f"{asked.wanted} valid repetitions, or {asked.limit_s:g} s"
    if (took_s := _took_s(lines)) < asked.limit_s - _ENDED_S:
        return expected, f"{good} in {took_s:.1f} s"
    if gap_ns := room_ns(lines):
        return f"{expected} without a break", f"{good}, and {gap_ns / 1e9:.1f} s with room for one more"
    return None


@rule("VER-54", "", "a cell has all planned repetitions, unless its time was over")
def cells_whole(evidence: Evidence) -> Iterator[Shortfall]:
    """Repetitions are numbered from 1, and no answer stands on fewer or more than its cell was to have."""
    if evidence.run is None or not evidence.whole_journal:
        return
    for load in evidence.loads:
        kind, mine = kinds.kinds().get(load), evidence.of_load(load)
        if kind is None or mine.run is None or kind.wrong_profile(mine.run["profile"]):
            continue
        asked, by_cell = kind.repetitions(mine.run["profile"]), _by_cell(evidence, load)
        lines = _lines_by_cell(evidence, load)
        for outcome in mine.outcomes:
            executions = by_cell.get(outcome.cell.cell_id, [])
            if not executions or outcome.cell.cell_id not in asked:
                continue
            numbers = [execution.body.spec.get("number") for execution in executions]
            if numbers != list(range(1, len(executions) + 1)):
                yield outcome.outcome_id, f"repetitions 1 to {len(executions)}", f"those numbered {numbers}"
            if outcome.type is OutcomeType.MEASURED:
                wrong = incomplete(lines[outcome.cell.cell_id], asked[outcome.cell.cell_id])
                if wrong is not None:
                    yield outcome.outcome_id, *wrong


def _by_cell(evidence: Evidence, load: str) -> dict[str, list[Execution]]:
    found: dict[str, list[Execution]] = {}
    for execution in evidence.executions:
        if execution.body.kind == load:
            found.setdefault(execution.cell_id, []).append(execution)
    return found


def _lines_by_cell(evidence: Evidence, load: str) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    all_ns, before_ns = 0, dict[str, int]()  # of all repetitions so far, and at the last one of each cell
    for execution in evidence.executions:
        if execution.body.kind == load:
            wall_ns = _wall_ns(execution)
            line = Line(
                at=execution.at,
                wall_ns=wall_ns,
                valid=execution.validity is Validity.VALID,
                deployment_id=execution.deployment_id,
                others_ns=all_ns - before_ns.get(execution.cell_id, all_ns),
                measured=execution.phase == MEASURED,
            )
            found.setdefault(execution.cell_id, []).append(line)
            all_ns += wall_ns
            before_ns[execution.cell_id] = all_ns
    return found


def _wall_ns(one: Execution) -> int:
    wall_ns = one.body.result.get("wall_ns")
    return wall_ns if isinstance(wall_ns, int) else 0


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Ask of cells whose repetitions left room for another one."""
    if evidence.run is None or evidence.run["simulated"]:
        return ()
    asked: list[str] = []
    for load in evidence.loads:
        kind, run = kinds.kinds().get(load), evidence.of_load(load).run
        if kind is None or run is None or kind.wrong_profile(run["profile"]):
            continue
        repeated = kind.repetitions(run["profile"])
        cells = {
            cell_id: mine for cell_id, mine in _lines_by_cell(evidence, load).items() if cell_id in repeated
        }
        asked += [*room_question(cells), *_fewer(cells, repeated)]
    return tuple(asked)


def _fewer(cells: Mapping[str, Sequence[Line]], asked: Mapping[str, Repetitions]) -> Iterator[str]:
    """Name the cells that ended at their limit of time: the first repetition may have been taken out."""
    found = []
    for cell_id, mine in cells.items():
        good, wanted = sum(line.valid and line.measured for line in mine), asked[cell_id].wanted
        if asked[cell_id].least <= good < wanted:
            found.append(f"{shown(cell_id)} ({good} of {wanted})")
    if found:
        yield f"repetitions: fewer than planned of {listed(found)}: was time over, or was one left out?"


def room_question(cells: Mapping[str, Sequence[Line]]) -> tuple[str, ...]:
    """Name the cells in which, between two lines of one deployment, there was time for another repetition."""
    found = [
        f"{shown(cell_id)} ({gap_ns / 1e9:.1f} s)"
        for cell_id, mine in cells.items()
        if (gap_ns := room_ns(mine))
    ]
    if not found:
        return ()
    return (
        f"time: between repetitions of {listed(found)} there was room "
        "for one that is not there: what ran then? A busy machine looks so as well",
    )


RULES: tuple[Rule[Evidence], ...] = (cells_whole,)
