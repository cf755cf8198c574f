"""Whether options took turns as a run's header says: plan from seed, and trials from plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmwg.methodology import suites
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.plan import planning, turns
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import WIRE
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule

_KEY = "order_seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A cell of the plan, once: what `methodology.turns` knows of it. `free` may begin at any time."""

    key: str
    deployment: tuple[object, ...]
    block: object
    free: bool = False


@rule("VER-40", "", "options took turns in the order that the header's seed gives, and trials kept to it")
def turns_taken(evidence: Evidence) -> Iterator[Shortfall]:
    """The plan is the one that the seed gives, and each cell began in its turn.

    A cell is in turn when it stands on the deployment of the first cell of its test, or block, that has not
    begun, or on one that stood before: a run that was cut off or a deployment that broke goes on there. Tests
    come in any order. The tester's qualifications come when traffic asks for them. A run without a seed makes
    no such claim.
    """
    if evidence.run is None or _KEY not in evidence.run:
        return
    for load in evidence.loads:
        if load in kinds.names():
            yield from _of_load(evidence.of_load(load), load)


def _of_load(evidence: Evidence, load: str) -> Iterator[Shortfall]:
    run = evidence.run
    if run is None or not evidence.plan:
        return
    if not kinds.plans_itself(load):
        if evidence.profile is None:
            return
        networks = run["testbed"].get("networks")
        tags = planning.Networks.of(networks if isinstance(networks, dict) else {})
        yield from _plan_of_cases(evidence, evidence.profile, tags, run[_KEY])
        places = _once(
            _Place(
                key=cell.cell.cell_id,
                deployment=planning.deployment_of(cell.cell),
                block=None,
                free=cell.cell.path == WIRE,
            )
            for cell in evidence.plan
        )
        groups = _tests(evidence, evidence.profile, tags, places)
    else:
        kind = kinds.kinds()[load]
        if kind.wrong_profile(run["profile"]) or not kind.turns(run["profile"]):
            return  # of kinds whose options do not take turns there is no claim
        planned = {planned_cell.cell.cell_id for planned_cell in evidence.plan}
        whole = [one for one in kind.turns(run["profile"]) if one.key in planned]
        wanted = [turn.key for turn in turns.interleaved(whole, run[_KEY])]
        yield from _differs(wanted, [one.cell.cell_id for one in evidence.plan])
        by_key = {str(one.key): one for one in whole}
        places = [
            _Place(key=key, deployment=(by_key[key].deployment,), block=by_key[key].block)
            for key in dict.fromkeys(one.cell.cell_id for one in evidence.plan)
            if key in by_key
        ]
        blocks: dict[object, list[str]] = {}
        for place in places:
            blocks.setdefault(place.block, []).append(place.key)
        groups = list(blocks.values())
    if evidence.whole_journal:
        yield from _out_of_turn([line.cell_id for line in evidence.lines], places, groups)


def _plan_of_cases(
    evidence: Evidence, profile: Profile, tags: planning.Networks, seed: int
) -> Iterator[Shortfall]:
    """Hold the plan's order against the one that its tests and the seed give.

    Not of a plan with tests that are not installed here, and where cells are missing VER-37 says so.
    """
    tests = dict.fromkeys(cell.test_id for cell in evidence.plan)
    if any(suites.case(test_id) is None for test_id in tests):
        return
    found = [(planned_cell.metric, planned_cell.cell.cell_id) for planned_cell in evidence.plan]
    canonical = planning.cells(profile, tags, test_ids=frozenset(tests))
    wanted = [answer.key for answer in turns.interleaved(canonical, seed)]
    yield from _differs(wanted, found)


def _differs(wanted: Sequence[object], found: Sequence[object]) -> Iterator[Shortfall]:
    for number, (expected, said) in enumerate(zip(wanted, found, strict=False), start=1):
        if expected != said:
            yield f"run.json: plan: entry {number}", f"{expected}, by the seed of the header", str(said)
            return
    if len(wanted) != len(found):
        yield "run.json: plan", f"{len(wanted)} entries, by profile and testbed", str(len(found))


def _once(places: Iterator[_Place]) -> list[_Place]:
    return list({place.key: place for place in places}.values())


def _tests(
    evidence: Evidence, profile: Profile, tags: planning.Networks, places: Sequence[_Place]
) -> list[list[str]]:
    """Return the cells of each test in the order of the plan.

    A test all of whose cells others measure as well stands in no plan: each test that may have been one of
    the run's counts.
    """
    order = {place.key: number for number, place in enumerate(places)}
    named = {cell.test_id for cell in evidence.plan}
    groups = []
    for case in evidence.cases:
        cells = {answer.cell.cell_id for answer in planning.answers_of(profile, case, tags)}
        if cells and (case.test_id in named or cells <= set(order)):
            groups.append(sorted(cells & set(order), key=order.__getitem__))
    return groups


def _out_of_turn(
    journal: Sequence[str], places: Sequence[_Place], groups: Sequence[Sequence[str]]
) -> Iterator[Shortfall]:
    """Name the first cell that began before its turn."""
    by_key = {place.key: place for place in places}
    began = [key for key in dict.fromkeys(journal) if key in by_key]
    tried = [[by_key[key] for key in group if key in set(began)] for group in groups]
    stood: set[str] = set()
    begun: set[str] = set()
    for key in began:
        due = [next((one for one in group if one.key not in begun), None) for group in tried]
        turn = {one.key for first in due if first is not None for one in turns.visit(places, first)}
        if not by_key[key].free and key not in turn | stood:
            expected = sorted(one.key for one in due if one is not None)
            yield f"{key}: its first trial", f"after that of {' or '.join(expected)}", "before it"
            return
        begun.add(key)
        stood |= {one.key for one in turns.visit(places, by_key[key])}


RULES: tuple[Rule[Evidence], ...] = (turns_taken,)
