"""Requests at a constant rate while the origin fails, and after its return: what a cache answers meanwhile.

Each request has a connection of its own and leaves when it is due, answered or not. All times are of the
clients' node, which also looks at the origin directly, past the function: so no clock is compared with
another. Ids: FAIL-01 no origin that can be told to fail, FAIL-02 an origin that does not fail when told to.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.workload import probe
from bmwg.drivers.workload.failing_origin import KEPT_S, FailingOrigin
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload, Served
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests.origin_failure import CLASSES, FRESH, NEW, STALE, Asked, OriginFailed
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec

LOOK_EACH_S = 0.05  # choice: how well the origin's return is known
LOOK_WITHIN_S = 0.5  # choice: an origin on a link answers within milliseconds
BEHIND_S = 0.25  # choice: a request that leaves later was not offered as asked
STALE_AFTER_S = KEPT_S[STALE] + 2.0  # choice: caches count whole seconds, and round
_FAILS_WITHIN_S = 10.0  # choice: a program ends within seconds
_MARGIN_S = 60.0
_NO_ANSWER, _OTHER_BODY = "no answer in time", "another body"
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_NS = 1_000_000_000


class OriginClients(OfRequests):
    """The client of failures of an origin."""

    def probe(self) -> Missing | None:
        """Nothing: it is Python of ours."""
        return None

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Have the cache filled, the origin fail, and all requests sent until some time after its return."""
        (served,) = self.attached
        origin, of = served.origin, spec.origin
        if origin is None or of is None:
            raise DriverError(
                "FAIL-01",
                f"workload {self.named}: the origin behind {served.address}:{served.port}; nothing was sent",
                expected="an origin that can be told to fail",
                found="none",
            )
        token = secrets.token_hex(4)  # no cache has anything of an earlier repetition under these names
        sha256 = self._row.sha256[spec.object_octets]
        where: dict[str, Any] = {"address": served.address, "port": served.port, "sha256": sha256}
        names = [f"{token}-{number}" for number in range(of.objects)]
        kept = {name: [_target(served, origin, spec, name, one) for one in names] for name in (FRESH, STALE)}
        filled = self._row.client.call_within(
            spec.within_s + _MARGIN_S,
            fill,
            **where,
            targets=[*kept[FRESH], *kept[STALE]],
            within_s=spec.within_s,
        )
        time.sleep(STALE_AFTER_S)
        look: dict[str, Any] = {"origin": list(origin.endpoint), "path": self._row.path(spec.object_octets)}
        with _failing(origin, of.fails, of.fail_s) as again:
            self._row.client.call_within(
                _FAILS_WITHIN_S + _MARGIN_S, wait_failing, **look, sha256=sha256, within_s=_FAILS_WITHIN_S
            )
            again.begin()
            began_ns = time.monotonic_ns()
            told = self._row.client.call_within(
                of.fail_s + of.return_s + 2 * of.answer_s + _MARGIN_S,
                load,
                **where,
                **look,
                kept=kept,
                new=_target(served, origin, spec, NEW, f"{token}-%d"),
                requests=of.asked_requests,
                rate_rps=of.rate_rps,
                answer_s=of.answer_s,
                cache=of.cache,
            )
            took_ns = time.monotonic_ns() - began_ns
        failure = OriginFailed.from_builtins({**told, "filled": filled})
        right = sum(one.right + one.right_after for one in failure.asked)
        return RequestsResult(
            asked_requests=of.asked_requests,
            requests=sum(one.sent for one in failure.asked),
            failed=sum(sum(one.failures.values()) for one in failure.asked),
            non_2xx=sum(sum(one.statuses.values()) for one in failure.asked),
            body_octets=right * spec.object_octets,
            elapsed_ns=took_ns,
            process_ns=took_ns,
            warm_up_requests=2 * of.objects,
            failure=failure,
        )


def _target(served: Served, origin: FailingOrigin, spec: RequestsSpec, of: str, name: str) -> str:
    """Return what stands in the request line for an object."""
    path = origin.path(spec.object_octets, of, name)
    return origin.url(path) if served.forward else path


class _Again:
    """Has the origin serve again some time after `begin`, or at once when it is left."""

    def __init__(self, origin: FailingOrigin, after_s: float) -> None:
        self._origin, self._after_s = origin, after_s
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, name="origin serves again", daemon=True)
        self.error: Exception | None = None

    def begin(self) -> None:
        """Let the time run from now on."""
        self._thread.start()

    def _run(self) -> None:
        self._left.wait(self._after_s)
        try:
            self._origin.restore()
        except Exception as error:
            self.error = error

    def end(self) -> None:
        """Have it serve; raises what that raised."""
        self._left.set()
        if self._thread.ident is not None:
            self._thread.join(_MARGIN_S)
        if self.error is not None:
            raise self.error
        self._origin.restore()


@contextmanager
def _failing(origin: FailingOrigin, how: str, for_s: float) -> Iterator[_Again]:
    """Have the origin fail, and serve again in every case."""
    again = _Again(origin, for_s)
    try:
        origin.fail(how)
        yield again
    finally:
        again.end()


def fill(*, address: str, port: int, sha256: str, targets: list[str], within_s: float) -> int:
    """Node function: ask once for each target; returns how many were answered rightly within the time."""
    end_s = time.monotonic() + within_s
    right = 0
    for target in targets:
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            break
        found = probe.fetch(address=address, port=port, url=target, within_s=left_s)
        right += _is_right(found, sha256)
    return right


def wait_failing(*, origin: list[JsonValue], path: str, sha256: str, within_s: float) -> None:
    """Node function: look at the origin until it fails. Raises DriverError FAIL-02."""
    end_s = time.monotonic() + within_s
    while _is_right(_look(origin, path), sha256):
        if time.monotonic() > end_s:
            raise DriverError(
                "FAIL-02",
                f"origin {origin[0]}:{origin[1]}",
                expected=f"no right answer within {within_s:g} s of being told to fail",
                found="right answers",
            )
        time.sleep(LOOK_EACH_S)


def _look(origin: Sequence[JsonValue], path: str) -> dict[str, JsonValue]:
    return probe.fetch(address=str(origin[0]), port=int(origin[1]), url=path, within_s=LOOK_WITHIN_S)


def _is_right(found: Mapping[str, JsonValue], sha256: str) -> bool:
    return bool(found["status"] == 200 and found["sha256"] == sha256 and not found["fault"])


def load(
    *,
    address: str,
    port: int,
    sha256: str,
    origin: list[JsonValue],
    path: str,
    kept: dict[str, list[str]],
    new: str,
    requests: int,
    rate_rps: int,
    answer_s: float,
    cache: bool,
) -> dict[str, JsonValue]:
    """Node function: send the requests by turns of the classes while the origin is looked at.

    `kept` are the targets that were asked before, `new` is a pattern for the others; `cache` says whether
    anybody but the origin may answer the former. Returns what `OriginFailed` holds, but for `filled`.
    """
    asked: list[tuple[str, int, dict[str, JsonValue]]] = []
    looks: list[tuple[int, int, bool]] = []
    running: list[threading.Thread] = []
    behind: list[int] = []
    began_ns = time.monotonic_ns()

    def ask(number: int, of: str, target: str) -> None:
        sent_ns = time.monotonic_ns() - began_ns
        if sent_ns > (number / rate_rps + BEHIND_S) * _NS:
            behind.append(number)
        found = probe.fetch(address=address, port=port, url=target, within_s=answer_s)
        asked.append((of, sent_ns, {**found, "right": _is_right(found, sha256)}))

    def look() -> None:
        sent_ns = time.monotonic_ns() - began_ns
        right = _is_right(_look(origin, path), sha256)
        looks.append((sent_ns, time.monotonic_ns() - began_ns, right))

    number_of_looks = math.ceil(requests / rate_rps / LOOK_EACH_S)
    due = [(number / rate_rps, number) for number in range(requests)]
    due += [(number * LOOK_EACH_S, -1) for number in range(number_of_looks)]
    for due_s, number in sorted(due):
        time.sleep(max(0.0, due_s - (time.monotonic_ns() - began_ns) / _NS))
        of, turn = CLASSES[number % len(CLASSES)], number // len(CLASSES)
        if number < 0:
            thread = threading.Thread(target=look, daemon=True)
        else:
            target = new % turn if of == NEW else kept[of][turn % len(kept[of])]
            thread = threading.Thread(target=ask, args=(number, of, target), daemon=True)
        thread.start()
        running.append(thread)
    end_s = time.monotonic() + 2 * answer_s + _MARGIN_S / 2
    for thread in running:
        thread.join(max(0.0, end_s - time.monotonic()))
    return counted(asked, looks, round(answer_s * _NS), len(behind), cache=cache)


def counted(
    asked: Sequence[tuple[str, int, Mapping[str, JsonValue]]],
    looks: Sequence[tuple[int, int, bool]],
    answer_ns: int,
    behind: int,
    *,
    cache: bool,
) -> dict[str, JsonValue]:
    """Return what requests (class, when it was sent, what `probe.fetch` told) and looks came to.

    Looks are (when it was sent, when it ended, whether it was right). Where none was right the origin failed
    to the end.
    """
    given = [
        sent_ns + found["total_ns"]
        for of, sent_ns, found in asked
        if (of == NEW or not cache) and found["right"] and found["total_ns"] <= answer_ns
    ]
    failed_ns, returned_ns = around_return(looks, given)
    stretches: dict[str, dict[str, list[tuple[int, Mapping[str, JsonValue]]]]]
    stretches = {name: {of: [] for of in CLASSES} for name in ("meanwhile", "afterwards")}
    for of, sent_ns, found in asked:
        meanwhile = returned_ns is None or sent_ns < returned_ns
        stretches["meanwhile" if meanwhile else "afterwards"][of].append((sent_ns, found))
    new = (
        sent_ns + found["total_ns"]
        for of, sent_ns, found in asked
        if of == NEW and found["right"] and found["total_ns"] <= answer_ns
    )
    recovered = [ended for ended in new if ended > failed_ns]
    return {
        "looks": len(looks),
        "failed_looks": sum(not right for _, _, right in looks),
        "failed_ns": failed_ns,
        "resolution_ns": returned_ns - failed_ns if returned_ns is not None else 0,
        "recovery_ns": min(recovered) - failed_ns if returned_ns is not None and recovered else None,
        "behind": behind,
        "meanwhile": {
            of: asdict(_of_class(mine, answer_ns, None if returned_ns is None else failed_ns))
            for of, mine in stretches["meanwhile"].items()
        },
        "afterwards": {
            of: asdict(_of_class(mine, answer_ns, None)) for of, mine in stretches["afterwards"].items()
        },
    }


def around_return(looks: Sequence[tuple[int, int, bool]], given: Sequence[int]) -> tuple[int, int | None]:
    """Return until when the origin was seen to fail, and when it was first seen to have returned (or None).

    `given` is when right answers ended that nobody but the origin can give. A look that got no answer in time
    may end after the origin's return: for certain the origin failed when the last such look was sent. An
    answer of the origin after that shows its return as well as a look does.
    """
    right = [ended for _, ended, right in looks if right]
    if not right:
        return max((ended for _, ended, _ in looks), default=0), None
    failed = [(sent, ended) for sent, ended, right_ in looks if not right_ and ended <= min(right)]
    certain_ns = max((sent for sent, _ in failed), default=0)
    returned_ns = min([*right, *(ended for ended in given if ended > certain_ns)])
    return max([certain_ns, *(ended for _, ended in failed if ended < returned_ns)]), returned_ns


def _of_class(
    asked: Sequence[tuple[int, Mapping[str, JsonValue]]], answer_ns: int, until_ns: int | None
) -> Asked:
    """Count requests; right answers that ended after `until_ns` are apart."""
    statuses, failures = Counter[str](), Counter[str]()
    right_ns, error_ns = list[int](), list[int]()
    after = 0
    for sent_ns, found in asked:
        took_ns = int(found["total_ns"])
        if took_ns > answer_ns:
            failures[_NO_ANSWER] += 1
        elif found["right"]:
            if until_ns is not None and sent_ns + took_ns > until_ns:
                after += 1
            else:
                right_ns.append(took_ns)
        elif found["fault"]:
            word = str(found["fault"]).split(":")[0]
            failures[_NO_ANSWER if word in ("TimeoutError", "timeout") else word] += 1
        elif found["status"] == 200:
            failures[_OTHER_BODY] += 1
        else:
            statuses[str(found["status"])] += 1
            error_ns.append(took_ns)
    return Asked(
        sent=len(asked),
        right=len(right_ns),
        right_after=after,
        statuses=dict(sorted(statuses.items())),
        failures=dict(sorted(failures.items())),
        right_ns=percentiles(right_ns),
        error_ns=percentiles(error_ns),
    )


def percentiles(values: Sequence[int]) -> dict[str, int]:
    """Return least, largest and percentiles by nearest rank; nothing of nothing."""
    if not values:
        return {}
    found = sorted(values)
    ranks = {name: found[math.ceil(share * len(found)) - 1] for name, share in _SHARES.items()}
    return {"min": found[0], **ranks, "max": found[-1]}


_: type[RequestsWorkload] = OriginClients
