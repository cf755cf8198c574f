"""The joined report of a fleet: all answers of the plan with the testbed of each, judged over all shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports import rooms
from bmwg.reports.compare.calibrations import AGREE, names_of
from bmwg.reports.compare.samples import loads_of
from bmwg.reports.fleet.attempts import read_anywhere
from bmwg.reports.fleet.kept import Verified
from bmwg.reports.fleet.union import Union, grades_of, is_whole, verdicts_of
from bmwg.reports.render.blocks import Block, banner, items, paragraph, table, title
from bmwg.reports.render.facts import is_indicative
from bmwg.reports.render.sections.common_columns import TYPE_WORDS
from bmwg.reports.render.sections.guest import guest_sentences
from bmwg.reports.render.sections.results import SIMULATED, answer, narrowed
from bmwg.reports.render.text import quantity_text
from bmwg.reports.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The same figure of the same cell, measured on two testbeds. `ratio` is the larger to the smaller."""

    metric: str
    cell_id: str
    first: str
    second: str
    numbers: tuple[float, float]
    unit: str
    ratio: float

    @property
    def agrees(self) -> bool:
        """Whether the two are equal as far as can be told."""
        return self.ratio <= AGREE


def page_of(union: Union, made: Mapping[int, Verified]) -> list[Block]:
    """Return the report; `made` is what verifying the runs said. Raises what reading a run raises."""
    runs = {
        number: read_anywhere(one.place)
        for number, one in union.counting.items()
        if number in made and not made[number].findings
    }
    fleet = union.fleet
    compared = list(comparisons(runs))
    apart = [one for one in compared if not one.agrees]
    blocks = title(f"Fleet {fleet.sha256[:12]}", 0)
    blocks += paragraph(
        f"Profile {fleet.profile}, {fleet.cells} planned answers in {len(fleet.shards)} shards, order seed"
        f" {fleet.order_seed}; {len(runs)} shards are complete and verified.",
        lead=True,
    )
    if any(run.simulated for run in runs.values()):
        blocks += banner("simulated", SIMULATED)
    for text in guest_sentences(runs.values()):
        blocks += banner("guest", text)
    profiles = [run.of_load(load).profile for run in runs.values() for load in run.kinds]
    if names := sorted({str(one["name"]) for one in profiles if is_indicative(one)}):
        blocks += banner("indicative", f"Indicative: profile {', '.join(names)} shortens the procedures.")
    for parts in filter(None, dict.fromkeys(map(narrowed, profiles))):
        blocks += banner("indicative", f"Narrowed by its command: this fleet measures {parts} alone.")
    faults = [*union.problems, *(finding for verified in made.values() for finding in verified.findings)]
    if faults:
        blocks += banner("incomplete", f"Not whole: {len(faults)} findings, listed below.")
    if apart:
        beds = sorted({name for one in apart for name in (one.first, one.second)})
        blocks += banner(
            "apart",
            f"Testbeds {', '.join(beds)} do not agree on what was measured on several of them: compare no"
            " number of one with a number of another.",
        )
    blocks += _shards(union, made)
    if faults:
        blocks += [*title("What is wrong"), *items(map(str, faults))]
    blocks += _calibration(compared, runs)
    blocks += _grades(made, whole=is_whole(fleet, made))
    if against := list(_against(made)):
        blocks += [*title("What keeps runs from being graded as compliant"), *items(against)]
    several = len(set(map(names_of(runs.values()), runs.values()))) > 1
    blocks += _answers(union, runs, parted=bool(apart) or (several and not compared))
    return blocks


def _shards(union: Union, made: Mapping[int, Verified]) -> list[Block]:
    rows = []
    for shard in union.fleet.shards:
        one = union.counting.get(shard.number)
        known = made.get(shard.number)
        state = "open" if one is None else "not verified" if known is None or known.findings else "verified"
        attempts = len(union.found.of(shard.number))
        rows.append(
            [
                str(shard.number),
                one.testbed if one else "",
                one.run_id if one else "",
                f"{one.attempt} of {attempts}" if one else f"{attempts} begun",
                state,
                ", ".join(shard.tests),
            ]
        )
    head = ["shard", "testbed", "run", "attempt", "state", "tests"]
    return [*title("Shards"), *table(head, rows, "Each shard is a run of its own")]


def comparisons(runs: Mapping[int, Run]) -> Iterator[Compared]:
    """Yield what was measured on several testbeds: each pair of them, the first figure of each answer once.

    Latencies are left out: each run takes them at a load of its own.
    """
    name_of = names_of(runs.values())
    found: dict[tuple[str, str], dict[str, Quantity]] = {}
    for _, run in sorted(runs.items()):
        for outcome in run.outcomes:
            if outcome.type is OutcomeType.MEASURED and not loads_of(run, outcome):
                beds = found.setdefault((outcome.values[0].metric, outcome.cell.cell_id), {})
                beds.setdefault(name_of(run), outcome.values[0])
    for (metric, cell_id), beds in found.items():
        for (first, one), (second, other) in combinations(sorted(beds.items()), 2):
            numbers = (float(one.number), float(other.number))
            if min(numbers) > 0:
                yield Compared(
                    metric=metric,
                    cell_id=cell_id,
                    first=first,
                    second=second,
                    numbers=numbers,
                    unit=one.unit,
                    ratio=max(numbers) / min(numbers),
                )


def _calibration(compared: list[Compared], runs: Mapping[int, Run]) -> list[Block]:
    if len(set(map(names_of(runs.values()), runs.values()))) < 2:
        return []
    blocks = title("What was measured on several testbeds")
    if not compared:
        return blocks + paragraph("Nothing: no number of one testbed can be compared with one of another.")
    rows = [
        [
            one.cell_id,
            one.metric,
            f"{one.first} {quantity_text(one.numbers[0], one.unit)}",
            f"{one.second} {quantity_text(one.numbers[1], one.unit)}",
            f"{one.ratio:.3f}",
            "yes" if one.agrees else "no",
        ]
        for one in compared
    ]
    head = ["cell", "metric", "one", "another", "ratio", f"within {AGREE}"]
    return blocks + table(head, rows, "Whether numbers of two testbeds may stand in one comparison")


def _grades(made: Mapping[int, Verified], *, whole: bool) -> list[Block]:
    blocks = title("Grades over all shards")
    if not whole:
        blocks += paragraph("A shard is open or was rejected, so no grade is better than incomplete.")
    grades = grades_of(made, whole=whole)
    rows = [[document, benchmark, grade] for (document, benchmark), grade in grades.items()]
    blocks += table(
        ["document", "benchmark", "grade"], rows, "The worst of the shards that have answers of it"
    )
    counted = ", ".join(f"{count} {name}" for name, count in sorted(verdicts_of(made).items()))
    return blocks + paragraph(f"Clauses of each benchmark, the worst of all shards: {counted or 'none'}.")


def _against(made: Mapping[int, Verified]) -> Iterator[str]:
    """Say what a run is (changed toolkit, a platform that drifted), beside what a banner says of all."""
    for number, one in sorted(made.items()):
        for said in one.state:
            if not said.startswith(("simulated:", "indicative:")):
                yield f"Shard {number}: {said}."


def _answers(union: Union, runs: Mapping[int, Run], *, parted: bool) -> list[Block]:
    """Return the answers that count: in one table, or in one for each testbed where these do not agree."""
    rows: dict[str, list[list[str]]] = {}
    name_of = names_of(runs.values())
    for number, run in sorted(runs.items()):
        bed = name_of(run)
        tests = union.fleet.shard(number).tests
        marks = rooms.every_mark(run)
        for outcome in run.outcomes:
            test_id = outcome.outcome_id.partition(":")[0]
            if test_id in tests:
                said = [test_id, outcome.cell.cell_id, outcome.metric, TYPE_WORDS[outcome.type]]
                value = ": ".join(filter(None, (marks.get(outcome.outcome_id, ""), answer(outcome))))
                rows.setdefault(bed if parted else "", []).append([*said, value, bed])
    head = ["test", "cell", "metric", "answer", "value", "testbed"]
    blocks = title("Answers")
    for bed, mine in sorted(rows.items()):
        blocks += table(head, sorted(mine), f"On testbed {bed}" if bed else "Of all testbeds")
    return blocks
