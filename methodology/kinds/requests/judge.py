"""What a repetition of a closed loop proves, and when failed requests are the answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import origin_failure, own_clients
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload

MOST_FAILED = 0.01  # choice: of all requests; with more, the others are those that a proxy had room for


def problems(spec: RequestsSpec, result: RequestsResult) -> tuple[str, ...]:
    """Say why a repetition is no measurement; empty when it is one."""
    return (*result.faults, *shortcomings(spec, result), *astray(spec, result))


def astray(spec: RequestsSpec, result: RequestsResult) -> tuple[str, ...]:
    """Say that proxies behind one address counted other requests than the client; empty when they agree.

    Those that warmed up are among them. Requests of an open loop that failed may have crossed a proxy or not,
    so of it nothing is said.
    """
    if spec.origin is not None:
        failure, cache = result.failure, spec.origin.cache
        return tuple(origin_failure.contradictions(failure, cache=cache)) if failure is not None else ()
    shares, requests = result.shares, result.requests + result.warm_up_requests
    if shares is None or spec.workload.is_open_loop or sum(shares) == requests:
        return ()
    counted = f"{sum(shares)} requests crossed the {len(shares)} proxies, {requests} are the client's"
    return (f"proxies and client contradict each other: {counted}",)


def shortcomings(spec: RequestsSpec, result: RequestsResult) -> tuple[str, ...]:
    """Say what of the requests of a closed loop did not come about as asked; empty when all did."""
    if spec.workload is Workload.START:
        return ()
    if spec.origin is not None:
        short = origin_failure.shortcomings(spec.origin, result.failure)
        return (*short, *_probed(result, "before"))  # after it the function may fail: that is an answer
    found: list[str] = []
    if spec.workload is Workload.JMETER_PODS:
        each = result.own_clients
        found += own_clients.shortcomings(each, clients=spec.clients, requests=spec.asked_requests)
    if result.requests != spec.asked_requests:
        found.append(f"{result.requests} of {spec.asked_requests} requests were completed")
    if result.failed:
        found.append(f"{result.failed} requests failed")
    if result.non_2xx:
        found.append(f"{result.non_2xx} answers had a status other than 2xx")
    expected = result.requests * spec.object_octets
    if result.body_octets != expected:
        found.append(f"{result.body_octets} octets of bodies, {expected} are {result.requests} objects")
    return (*found, *_probed(result, "before", "after"))


def _probed(result: RequestsResult, *asked: str) -> tuple[str, ...]:
    """Say what was wrong with the requests before and after a repetition whose bodies were looked at."""
    found = []
    for when, (status, right) in zip(asked, result.probes, strict=False):
        if status != 200:
            found.append(f"the probe {when} it got status {status}" if status else f"no answer {when} it")
        elif not right:
            found.append(f"the body of the probe {when} it is another object")
    if len(result.probes) < 2:
        found.append("its bodies were not probed before and after")
    return tuple(found)


def failed(tried: Sequence[Tried[RequestsResult]]) -> tuple[int, int]:
    """Count the requests that a proxy which stood failed, and all that it was asked for."""
    stood = [one for one in tried if one.spec.workload is not Workload.START and _stood(one)]
    good = sum(max(0, one.result.requests - one.result.failed - one.result.non_2xx) for one in stood)
    asked = sum(one.spec.asked_requests for one in stood)
    return max(0, asked - good), asked


def too_many_failed(tried: Sequence[Tried[RequestsResult]], *, measured: bool) -> str:
    """Say which share of the requests failed, where that is the answer and no mean is; else empty.

    A mean is of repetitions in which nothing failed (`measured`). Where there is none, failed requests have
    to be all that was wrong.
    """
    lost, asked = failed(tried)
    broken = not measured and not all(_stood(one) for one in tried if one.problems)
    if not lost or (lost <= MOST_FAILED * asked and (measured or broken)):
        return ""
    return f"{lost} of {asked} requests failed ({lost / asked:.2%}): a mean of the others is no answer"


def _stood(tried: Tried[RequestsResult]) -> bool:
    """Whether nothing but requests failed: the probes before and after came through, counters agree."""
    result = tried.result
    probed = len(result.probes) > 1 and all(probe == (200, True) for probe in result.probes)
    return probed and not result.faults and not astray(tried.spec, result)


def hit_ratio(results: Sequence[RequestsResult]) -> float | None:
    """Return the share of the requests that a cache answered, 0..1; None where nothing told."""
    told = [(result.hits, result.proxied) for result in results if result.hits is not None and result.proxied]
    asked = sum(proxied or 0 for _, proxied in told)
    return sum(hits or 0 for hits, _ in told) / asked if asked else None
