"""What no execution of jobs can show: less time than its program lived, or another order than the seed gives.

The rules of time are those of `verify.timing`.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import FLOP_PER_S
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.kinds.repeated.physics import Physics, in_turns
from bmwg.reports.verify.timing import Count, Within

_PROGRAMS_EXACT_NS = 20_000_000  # choice: a program counts by a clock of its own
_EXACT_RATIO = 0.02  # choice: programs print three to six digits


def _lasted(spec: JobsSpec, result: JobsResult) -> tuple[Within, ...]:
    if result.faults:
        return ()
    return (
        Within(what="of the program's life", needed_ns=result.process_ns),
        Within(
            what="of what the program counted",
            needed_ns=result.elapsed_ns,
            exact_ns=_PROGRAMS_EXACT_NS,
        ),
    )


def _counts(spec: JobsSpec, result: JobsResult) -> Iterator[Count]:
    if result.faults:
        return
    if spec.workload == "dd":
        whole = spec.size_octets // spec.block_octets * spec.block_octets
        for name, octets in result.counts.items():
            yield Count(what=f"octets {name}", found=octets, least=whole, most=whole)
    if spec.job == "hpl":
        # the operations of a solution by elimination, as LINPACK counts them
        whole = round(2 * spec.problem**3 / 3 + 3 * spec.problem**2 / 2)
        done = round(result.told["operations"] * result.elapsed_ns / 1e9)
        least, most = round(whole * (1 - _EXACT_RATIO)), round(whole * (1 + _EXACT_RATIO))
        yield Count(what=f"operations ({FLOP_PER_S} by its time)", found=done, least=least, most=most)
    if spec.job == "fileio":
        moved = sum(result.told.get(name, 0.0) for name in ("read", "written"))
        done = round(moved * result.elapsed_ns / 1e9 / spec.block_octets)
        # operations hold what makes the file durable, too
        most = round(result.counts["operations"] * (1 + _EXACT_RATIO)) + 10
        yield Count(what="reads and writes by their rates", found=done, most=most)


PHYSICS = Physics(kind=JOBS, lasted=_lasted, counts=_counts)


@rule("VER-57", "", "the forms of an experiment took turns in the order that the header's seed gives")
def in_random_blocks(evidence: Evidence) -> Iterator[Shortfall]:
    """Each execution is of the form whose turn it was, by seed and by what stood before it in the journal."""
    run = evidence.run
    if run is None or not evidence.whole_journal or JOBS.wrong_profile(run["profile"]):
        return
    experiments = {
        name: neighbours.apart(one.metric, one.cell) for name, one in JOBS.planned_by(run["profile"]).items()
    }
    stood = {planned_cell.cell.cell_id for planned_cell in evidence.plan}
    forms: dict[str, list[list[str]]] = {experiment: [] for experiment in experiments.values()}
    for name, experiment in experiments.items():
        forms[experiment] += [[name]] if name in stood else []
    begun = {one.cell_id for one in evidence.executions}
    yield from in_turns(evidence, JOBS, forms, experiments, lambda name, _: name not in begun)


RULES: tuple[Rule[Evidence], ...] = (*PHYSICS.rules(), in_random_blocks)
