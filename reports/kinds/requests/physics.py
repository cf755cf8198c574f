"""What no repetition of requests can show: less time than its requests took, answers that nobody asked for.

The rules are those of `timing`; here stands what a repetition tells of its time and of its counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests import kind as requests
from bmwg.methodology.kinds.requests.profile import Planned
from bmwg.methodology.kinds.requests.records import Repetition, Workload
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.store.read import JOURNAL_FILE
from bmwg.reports.verify.repetitions import Line, room_ns, room_question
from bmwg.reports.verify.timing import (
    Count,
    Execution,
    Within,
    clock_question,
    contradictions,
    in_order,
    moment,
    too_close,
    too_short,
)

_CLIENTS_EXACT_NS = 2_000_000  # choice: ab and JMeter tell of whole milliseconds, at both ends
_RATE_RATIO = 1e-3  # choice: as of frames
_DUE_RATIO = 0.5  # choice: a generator that is overrun leaves requests out, but no such share
_ENDED_S = 2.0  # choice: between the stamp of a line and the look at the time that follows its writing
Lines = Sequence[tuple[int, str, Repetition]]  # number, stamp, content
_CLOSED_LOOP = (Workload.AB, Workload.JMETER)


def executions(
    journal: str,
    started_at: str,
    lines: Lines,
    plan: Mapping[str, Planned],
    begins: Mapping[int, str] | None = None,
) -> list[Execution]:
    """Return the repetitions of a run as the rules of any kind read them.

    `begins` has the earliest begin of each line, where trials of other kinds stand between them.
    """
    found = []
    before = started_at
    for number, at, one in lines:
        planned = plan.get(one.cell_id)
        found.append(
            Execution(
                where=f"{journal}: line {number}",
                begin=begins[number] if begins else before,
                end=at,
                duration_ns=one.wall_ns,
                lasted=() if one.faults else _lasted(one),
                counts=() if one.faults or planned is None else tuple(_counts(one, planned)),
            )
        )
        before = at
    return found


def _lasted(one: Repetition) -> tuple[Within, ...]:
    """Return what a repetition had to last: its client's life, and its requests with those that warmed up."""
    return (
        Within(what="of the client program's life", needed_ns=one.process_ns),
        Within(
            what="of its requests, with those that warmed up",
            needed_ns=one.elapsed_ns + one.warm_up_ns,
            exact_ns=_CLIENTS_EXACT_NS,
        ),
    )


def _counts(one: Repetition, planned: Planned) -> Iterator[Count]:
    cell = planned.cell
    yield Count(what="requests", found=one.requests, most=one.asked_requests)
    yield Count(what="failed", found=one.failed, most=max(one.requests, one.asked_requests))
    yield from in_order("request_ns", one.request_ns)
    yield from in_order("ttfb_ns", one.ttfb_ns)
    if one.hits is not None and one.proxied is not None:
        yield Count(what="hits", found=one.hits, most=one.proxied)
    if cell.workload is Workload.OPEN_LOOP and one.rate_rps is not None:
        due = one.rate_rps * one.elapsed_ns / 1e9
        least, most = int(due * (1 - _DUE_RATIO)) - 1, int(due * (1 + _RATE_RATIO)) + 1
        yield Count(what="requests that were due", found=one.asked_requests, least=least, most=most)
    if cell.workload not in _CLOSED_LOOP or not one.requests:
        return
    right = max(0, one.requests - one.failed - one.non_2xx)
    yield Count(what="body_octets", found=one.body_octets, least=right * cell.object_octets)
    if cell.workload is Workload.AB:  # the mean is computed from the time taken
        mean_ns = one.elapsed_ns * cell.clients // one.requests
        yield Count(what="mean_request_ns", found=one.mean_request_ns, least=mean_ns, most=mean_ns)
    busy_ns = (one.mean_request_ns - 1_000_000) * one.requests  # JMeter rounds the time of each request
    most_ns = one.elapsed_ns * cell.clients + _CLIENTS_EXACT_NS
    yield Count(what="time of all requests, ns", found=max(0, busy_ns), most=most_ns)
    if "max" in one.request_ns:
        longest = one.request_ns["max"]
        if cell.workload is Workload.JMETER or cell.clients == 1:  # ab's mean of many clients is none
            yield Count(what="longest request, ns", found=longest, least=one.mean_request_ns - 1_000_000)
        yield Count(what="longest request, ns", found=longest, most=one.elapsed_ns + _CLIENTS_EXACT_NS)


def beyond_rate(lines: Lines, journal: str, line_rate_bps: int | None) -> Iterator[Shortfall]:
    """No repetition moves more octets of bodies than the medium carries at its declared rate."""
    for number, _, one in lines if line_rate_bps is not None else ():
        most = (line_rate_bps or 0) * (one.elapsed_ns + _CLIENTS_EXACT_NS) / 8e9 * (1 + _RATE_RATIO)
        if one.body_octets > most and not one.faults:
            yield (
                f"{journal}: line {number}: body_octets",
                f"at most {most:.0f} on the medium",
                str(one.body_octets),
            )


def _lines(evidence: Evidence) -> Lines:
    return [
        (one.seq, one.at, requests.repetition_of(one))
        for one in evidence.executions
        if one.body.kind == requests.NAME
    ]


def _of(evidence: Evidence) -> list[Execution]:
    """Return the repetitions of a run; none of a run of another kind of load, or with a broken profile."""
    run = evidence.run
    if run is None or requests.NAME not in evidence.loads or requests.REQUESTS.wrong_profile(run["profile"]):
        return []
    plan = requests.planned_by(run["profile"])
    return executions(_journal(evidence), run["started_at"], _lines(evidence), plan, evidence.begins)


def _journal(evidence: Evidence) -> str:
    return JOURNAL_FILE


@rule("VER-30", "", "a repetition fits into the time between its line and the one before", exit_code=2)
def lines_apart(evidence: Evidence) -> Iterator[Shortfall]:
    """Between two lines lies at least the repetition's wall time."""
    yield from too_close(_of(evidence))


@rule("VER-31", "", "a repetition takes at least the time that its requests took", exit_code=2)
def repetitions_last(evidence: Evidence) -> Iterator[Shortfall]:
    """The wall time of a repetition is not below its client's life, nor below what its requests took."""
    yield from too_short(_of(evidence))


@rule("VER-32", "", "no more octets than the medium can carry", exit_code=2)
def within_line_rate(evidence: Evidence) -> Iterator[Shortfall]:
    """No repetition moves more octets than fit on the medium at its declared rate."""
    if run := evidence.run:
        yield from beyond_rate(_lines(evidence), _journal(evidence), run["medium"]["line_rate_bps"])


@rule("VER-34", "", "what client and proxies counted goes together", exit_code=2)
def counts_agree(evidence: Evidence) -> Iterator[Shortfall]:
    """Requests, octets, hits and times of a repetition contain each other as they must."""
    yield from contradictions(_of(evidence))


@rule("VER-54", "", "a cell has all planned repetitions, unless its time was over")
def cells_whole(evidence: Evidence) -> Iterator[Shortfall]:
    """Fewer valid repetitions than planned are an answer only of a cell that ran beyond its limit."""
    run = evidence.run
    if run is None or requests.NAME not in evidence.loads or requests.REQUESTS.wrong_profile(run["profile"]):
        return
    plan = requests.planned_by(run["profile"])
    lines = _by_cell(evidence)
    for outcome in evidence.outcomes:
        planned = plan.get(outcome.cell.cell_id)
        mine = lines.get(outcome.cell.cell_id)
        if planned is None or mine is None or outcome.type is not OutcomeType.MEASURED or planned.rate:
            continue
        good = sum(one.phase == judge.MEASURED and not judge.problems(one, planned.cell) for _, one in mine)
        (first_at, first), (last_at, _) = mine[0], mine[-1]
        took_s = (moment(last_at) - moment(first_at)).total_seconds() + first.wall_ns / 1e9
        expected = f"{planned.repetitions} valid repetitions, or {planned.cell_limit_s:g} s"
        if good < planned.repetitions and took_s < planned.cell_limit_s - _ENDED_S:
            yield outcome.outcome_id, expected, f"{good} in {took_s:.1f} s"
        elif good < planned.repetitions and (gap_ns := room_ns(_at_work(mine))):
            found = f"{good}, and {gap_ns / 1e9:.1f} s with room for one more"
            yield outcome.outcome_id, f"{expected} without a break", found


def _by_cell(evidence: Evidence) -> dict[str, list[tuple[str, Repetition]]]:
    found: dict[str, list[tuple[str, Repetition]]] = {}
    for _, at, one in _lines(evidence):
        found.setdefault(one.cell_id, []).append((at, one))
    return found


def _at_work(lines: Sequence[tuple[str, Repetition]]) -> list[Line]:
    """Return the measured repetitions of a cell for which a program was asked to work."""
    return [
        Line(at=at, wall_ns=one.wall_ns, valid=True, deployment_id=one.deployment)
        for at, one in lines
        if one.phase == judge.MEASURED and one.process_ns
    ]


def http_questions(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of the repetitions' times."""
    cells = {cell_id: _at_work(lines) for cell_id, lines in _by_cell(evidence).items()}
    return (*clock_question(_of(evidence)), *room_question(cells))


RULES: tuple[Rule[Evidence], ...] = (
    lines_apart,
    repetitions_last,
    within_line_rate,
    counts_agree,
    cells_whole,
)
