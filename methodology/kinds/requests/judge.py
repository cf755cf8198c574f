"""What a repetition proves, and what repetitions together answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.answers.order_statistics import MedianInterval, median_interval
from bmwg.methodology.answers.repeated import Repeated, Repetitions, Tried, alike, answered, deployed
from bmwg.methodology.answers.student import Difference, difference, interval
from bmwg.methodology.kinds.requests.records import HttpAnswer, HttpCell, Repetition, Workload
from bmwg.methodology.record.drift import Change, reason
from bmwg.methodology.records import OutcomeType

MEASURED = "measured"
MOST_FAILED = 0.01  # choice: of all requests; with more, the others are those that a proxy had room for


def problems(repetition: Repetition, cell: HttpCell) -> tuple[str, ...]:
    """Say why a repetition is no measurement; empty when it is one."""
    return (
        *repetition.faults,
        *shortcomings(
            workload=cell.workload,
            object_octets=cell.object_octets,
            asked_requests=repetition.asked_requests,
            requests=repetition.requests,
            failed=repetition.failed,
            non_2xx=repetition.non_2xx,
            body_octets=repetition.body_octets,
            probes=repetition.probes,
        ),
        *astray(
            workload=cell.workload,
            shares=repetition.shares,
            requests=repetition.requests + repetition.warm_up_requests,
        ),
    )


def astray(*, workload: Workload, shares: Sequence[int] | None, requests: int) -> tuple[str, ...]:
    """Say that proxies behind one address counted other requests than the client; empty when they agree.

    `requests` are all that the client completed meanwhile, those that warmed up among them. Requests of an
    open loop that failed may have crossed a proxy or not, so of it nothing is said.
    """
    if shares is None or workload.is_open_loop or sum(shares) == requests:
        return ()
    counted = f"{sum(shares)} requests crossed the {len(shares)} proxies, {requests} are the client's"
    return (f"proxies and client contradict each other: {counted}",)


def shortcomings(
    *,
    workload: Workload,
    object_octets: int,
    asked_requests: int,
    requests: int,
    failed: int,
    non_2xx: int,
    body_octets: int,
    probes: Sequence[tuple[int, bool]],
) -> tuple[str, ...]:
    """Say what of the requests of a closed loop did not come about as asked; empty when all did."""
    if workload is Workload.START:
        return ()
    found = []
    if requests != asked_requests:
        found.append(f"{requests} of {asked_requests} requests were completed")
    if failed:
        found.append(f"{failed} requests failed")
    if non_2xx:
        found.append(f"{non_2xx} answers had a status other than 2xx")
    expected = requests * object_octets
    if body_octets != expected:
        found.append(f"{body_octets} octets of bodies, {expected} are {requests} objects")
    for when, (status, right) in zip(("before", "after"), probes, strict=False):
        if status != 200:
            found.append(f"the probe {when} it got status {status}" if status else f"no answer {when} it")
        elif not right:
            found.append(f"the body of the probe {when} it is another object")
    if len(probes) < 2:
        found.append("its bodies were not probed before and after")
    return tuple(found)


def outcome(cell: HttpCell, repetitions: Sequence[tuple[int, Repetition]], asked: Repetitions) -> HttpAnswer:
    """Answer a cell by its repetitions (with their sequence numbers); warm-ups take no part.

    A mean is of repetitions in which nothing failed. Where a proxy failed too many requests it says nothing
    of the proxy: their share is then what is said, and the answer `unstable`.
    """
    mine = [(seq, rep) for seq, rep in repetitions if rep.cell_id == cell.cell_id and rep.phase == MEASURED]
    tried = [
        Tried(seq=seq, result=rep, problems=problems(rep, cell), deployment=rep.deployment)
        for seq, rep in mine
    ]
    found = answered(tried, asked)
    failed, of = _failed([rep for _, rep in mine], cell)
    if failed and (failed > MOST_FAILED * of or not _measured_or_broken(found, cell)):
        reason = f"{failed} of {of} requests failed ({failed / of:.2%}): a mean of the others is no answer"
        return HttpAnswer(cell=cell, type=OutcomeType.UNSTABLE, repetitions=found.trials, reason=reason)
    if found.type is not OutcomeType.MEASURED:
        return HttpAnswer(cell=cell, type=found.type, repetitions=found.trials, reason=found.reason)
    reps = [one.result for one in found.valid]
    means = [float(rep.mean_request_ns) for rep in reps]
    shares = [rep.cpu_share for rep in reps if rep.cpu_share is not None]
    return HttpAnswer(
        cell=cell,
        type=OutcomeType.MEASURED,
        requests=reps[0].asked_requests,
        time=interval(means),
        total=interval([float(rep.elapsed_ns) for rep in reps]),
        cpu_share=interval(shares) if len(shares) == len(reps) else None,
        memory_octets=interval([float(rep.memory_octets) for rep in reps]),
        hit_ratio=_hit_ratio(reps),
        failed_ratio=failed / of if of else None,
        request_ns=percentiles([rep.request_ns for rep in reps]),
        ttfb_ns=percentiles([rep.ttfb_ns for rep in reps]),
        values=tuple(means),
        repetitions=found.trials,
        quality=(*found.quality, *alike(means)),
        deployments=deployed(found.valid),
    )


def _failed(repetitions: Sequence[Repetition], cell: HttpCell) -> tuple[int, int]:
    """Count the requests that a proxy which stood failed, and all that it was asked for."""
    if cell.workload is Workload.START:
        return 0, 0
    stood = [rep for rep in repetitions if _stood(rep, cell)]
    good = sum(max(0, rep.requests - rep.failed - rep.non_2xx) for rep in stood)
    asked = sum(rep.asked_requests for rep in stood)
    return max(0, asked - good), asked


def _stood(repetition: Repetition, cell: HttpCell) -> bool:
    """Whether nothing but requests failed: the probes before and after came through, counters agree."""
    probed = len(repetition.probes) > 1 and all(probe == (200, True) for probe in repetition.probes)
    requests = repetition.requests + repetition.warm_up_requests
    strays = astray(workload=cell.workload, shares=repetition.shares, requests=requests)
    return probed and not repetition.faults and not strays


def _measured_or_broken(found: Repeated[Repetition], cell: HttpCell) -> bool:
    """Whether there is an answer, or something else than failed requests is why there is none."""
    return found.type is OutcomeType.MEASURED or not all(_stood(one.result, cell) for one in found.invalid)


def drifted(outcome: HttpAnswer, changes: Sequence[Change]) -> HttpAnswer:
    """Return an outcome as the platform allows it: invalid, with its repetitions, when that changed."""
    if not changes or not outcome.repetitions:
        return outcome
    return HttpAnswer(
        cell=outcome.cell,
        type=OutcomeType.INVALID,
        repetitions=outcome.repetitions,
        reason=reason(changes),
    )


def compared(a: HttpAnswer, b: HttpAnswer) -> Difference | None:
    """Compare two cells' times of a request (Welch); None when one has no number or both do not vary."""
    return difference(a.values, b.values)


def _hit_ratio(reps: Sequence[Repetition]) -> float | None:
    told = [(rep.hits, rep.proxied) for rep in reps if rep.hits is not None and rep.proxied]
    asked = sum(proxied or 0 for _, proxied in told)
    return sum(hits or 0 for hits, _ in told) / asked if asked else None


def percentiles(tables: Sequence[Mapping[str, int]]) -> dict[str, MedianInterval]:
    """Return, by name, the median of the repetitions' percentiles; a name that one lacks is left out."""
    named = (name for name in sorted(tables[0]) if name.startswith("p"))
    names = [name for name in named if all(name in table for table in tables)]
    return {name: median_interval([table[name] for table in tables]) for name in names}
