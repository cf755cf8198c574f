"""All-to-all operations in the report: what stands beside an answer, and document 003's table beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.cells.vnics import AXIS
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult
from bmwg.reports.kinds.streams import nested
from bmwg.reports.kinds.streams.answers import Answered, percentiles
from bmwg.reports.published.figures import documents, tables
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

_TABLE = "dcn00-alltoall"
_NS_PER_MS = 1e6
_HOW = (
    "Time of one operation: the time of all operations after a barrier, on the process for which it was "
    "longest, over their number. All payload goes by TCP, within a pod over its loopback, and nothing by "
    "shared memory. What leaves each pod is held against the counters of every interface on the way, in both "
    "directions."
)
_OTHERS = (
    "The document's times are of servers joined by 40 Gbit/s, with 8 pods a host and four processes. They "
    "say nothing of this machine, nor the other way round; what may be compared is the order of rows and "
    "columns. A row without ours is of places that this run has not. Where a machine's instructions were "
    "translated its time shows function and no rate: it stands among the answers and not here."
)


def beside(one: Answered) -> str:
    """Return what stands beside a time: single operations of the executions, and who shared a CPU."""
    told = percentiles(one, ("min", "p50", "p99", "max"))
    shared = sharing(one.results[-1])
    if AXIS in dict(one.outcome.cell.axes):
        shared += ", as the kernels of host and guests count CPUs"
    return f"{told}; {shared}" if told else shared


def sharing(result: StreamsResult) -> str:
    """Say how many processes had how many CPUs; more than one a CPU is indicative alone."""
    processes, cpus = result.effective.get("processes", 0), result.effective.get("cpus", 0)
    crowded = result.effective.get("more_processes_than_cpus") != "no"
    return f"{processes} processes on {cpus} CPUs{': indicative, they take turns' if crowded else ''}"


def lines(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return how the times were made, and the document's six rows with ours below; empty for other loads."""
    if not answers or answers[0].planned.spec.exchange is not Exchange.ALL_TO_ALL:
        return []
    shown = tables()[_TABLE]
    document = documents()[shown.document]
    rows = []
    for item in shown.items:
        row = [item, f"{document.authors}, published"]
        for form in shown.forms:
            figure = shown.figures.get((item, form))
            row.append(f"{figure.mean:.2f}" if figure else NONE)
        rows.append([*row, NONE])
        rows += [
            _ours(run, item, answer, len(shown.forms)) for answer in answers if _place(run, answer) == item
        ]
    head = ["place", "of", *shown.forms, "here"]
    words = f"All-to-all operations in {shown.unit}: document 003 and this run"
    return [*paragraph(_HOW), *paragraph(_OTHERS), *table(head, rows, words)]


def _place(run: Run, one: Answered) -> str:
    """Return the document's row for an answer, by the hosts and guests of its pods; empty without any."""
    told = run.platform.get("deployments", {}).get(one.deployment, {})
    ends = [end for end in told.get("endpoints", []) if isinstance(end, Mapping)]
    stood = {str(end["node"]) for end in ends if "node" in end}
    guests = nested.machines(run, one.deployment)
    hosts = {guests[name].get("host") if name in guests else name for name in stood}
    if not hosts or None in hosts:
        return ""
    inside = stood & guests.keys()
    scenario = "BMP2BMP" if not inside else "VMP2VMP" if inside == stood else "BMP2VMP"
    return f"{scenario} {'same' if len(hosts) == 1 else 'different'} host"


def _ours(run: Run, item: str, one: Answered, forms: int) -> list[str]:
    cell, spec = one.outcome.cell, one.planned.spec
    what = f"{cell.path}, {cell.network}: {spec.pods} pods, processes a pod: {spec.parallel}"
    number = f"{one.values['mean'] / _NS_PER_MS:.2f}" if "mean" in one.values else one.outcome.type.value
    if by := nested.apart(run, one):
        number = f"{one.outcome.type.value}, translated by {by}"
    return [item, what, *[NONE] * forms, number]
