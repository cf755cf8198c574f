"""k6 as the client with a constant rate of arrivals: requests leave when they are due, answered or not.

So a slow answer never delays the next request (no coordinated omission). Requests that could not leave,
because every connection that it may have waits for an answer, are counted as dropped. Those that it neither
sent nor counted by its end it was too slow for: they are unsent. Times run from the beginning of the
connection and are of right answers, late ones among them. Ids: K6-01 not there,
K6-02 its summary cannot be read.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.workload import tools
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec

_CALL_MARGIN_S = 30.0
_NS_PER_MS = 1_000_000
_MIN_CONNECTIONS = 20
_AT_THE_END = 1  # the last one is due when the time is over
_END_RATIO = 0.005  # choice: of those due, below any width of a search: it ends some milliseconds late
_GRACE_MS = 1000  # choice: the last ones have their whole time-out, so what became of them is counted
_SCRIPT = """\
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
const late = new Counter('late'), wrong = new Counter('wrong');
const whole = new Trend('whole', true), first = new Trend('first', true);
export const options = {
  noConnectionReuse: true,
  summaryTrendStats: ['avg', 'med', 'p(90)', 'p(95)', 'p(99)', 'max'],
  scenarios: { rate: {
    executor: 'constant-arrival-rate', rate: %(rate)d, timeUnit: '1s', duration: '%(duration_ms)dms',
    preAllocatedVUs: %(connections)d, maxVUs: %(connections)d, gracefulStop: '%(grace_ms)dms',
  } },
};
export default function () {
  const answer = http.get('%(url)s', { responseType: 'binary', timeout: '%(timeout_ms)dms' });
  const right = answer.status === 200 && answer.body !== null && answer.body.byteLength === %(octets)d;
  if (!right) { wrong.add(1); return; }
  const told = answer.timings, took = told.blocked + told.duration;  // connecting is part of blocked
  whole.add(took);
  first.add(told.blocked + told.sending + told.waiting);
  if (took > %(late_ms)f) { late.add(1); }
}
export function handleSummary(data) { return { stdout: JSON.stringify(data.metrics) }; }
"""


class K6Clients(OfRequests):
    """A constant rate of arrivals by one k6; what came late or could not leave is lost with what failed."""

    def probe(self) -> Missing | None:
        """Tell whether the clients' node has k6."""
        return tools.missing(self._row.client, "k6")

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Offer the endpoint so many requests per second."""
        (proxy,) = self.attached
        ran = self._row.client.call_within(
            spec.within_s + _CALL_MARGIN_S,
            run,
            proxy=f"{proxy.address}:{proxy.port}",
            url=self._row.url(spec.object_octets),
            octets=spec.object_octets,
            rate=spec.rate_rps,
            duration_s=spec.duration_s,
            late_ms=spec.late_ms,
            within_s=spec.within_s,
        )
        return counted(ran)


def counted(ran: Mapping[str, JsonValue]) -> RequestsResult:
    """Return what a k6 told; `run` says what that is."""
    asked, intended = ran["requests"] + ran["dropped"], ran["intended"]
    short = intended - asked
    if ran["fault"] or short <= max(_AT_THE_END, intended * _END_RATIO):
        short = 0
    told = {**ran, "failed": ran["failed"] + ran["late"]}
    return OfRequests.told(told, asked + short, unsent_requests=short)


def run(
    *, proxy: str, url: str, octets: int, rate: int, duration_s: float, late_ms: float, within_s: float
) -> dict[str, JsonValue]:
    """Node function: `rate` requests per second for `duration_s` through `proxy` (`address:port`).

    Returns counts `intended`, `requests` (sent), `failed` (no answer 200 with the right number of octets),
    `late` (right, but after more than `late_ms`), `dropped` (due, and no connection was free), percentiles
    `latency_ns` and `ttfb_ns`, `elapsed_ns`, `process_ns` and `fault`.
    """
    program = tools.k6()
    if program is None:
        raise TestbedError("K6-01", f"no k6 {tools.K6_VERSION} on this node", hint=tools.MEND)
    timeout_ms = math.ceil(late_ms * 2)  # choice: what is not there then is lost, late or not
    values = {
        "rate": rate,
        "duration_ms": round(duration_s * 1000),
        "connections": max(_MIN_CONNECTIONS, math.ceil(rate * late_ms / 1000)),
        "url": url,
        "octets": octets,
        "timeout_ms": timeout_ms,
        "grace_ms": timeout_ms + _GRACE_MS,
        "late_ms": late_ms,
    }
    intended = round(rate * duration_s)
    with tempfile.TemporaryDirectory(prefix="bmwg-k6-") as folder:
        script = Path(folder, "rate.js")
        script.write_text(_SCRIPT % values)
        command = [*program, "run", "--quiet", "--no-usage-report", "--address", "", str(script)]
        began = time.monotonic_ns()
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=within_s,
                check=False,
                env=environment(os.environ, proxy),
            )
        except subprocess.TimeoutExpired:
            return {**_NOTHING, "intended": intended, "fault": f"k6 did not end within {within_s:g} s"}
        took_ns = time.monotonic_ns() - began
    if done.returncode != 0:
        words = " ".join((done.stderr or done.stdout).split())[-200:]
        return {**_NOTHING, "intended": intended, "fault": f"k6: exit status {done.returncode}: {words}"}
    found = read_summary(done.stdout)
    return {
        **found,
        "intended": intended,
        "elapsed_ns": round(duration_s * 1e9),
        "process_ns": took_ns,
        "fault": "",
    }


def environment(of_node: Mapping[str, str], proxy: str) -> dict[str, str]:
    """Return k6's environment: the node's, without what changes the load or goes round the proxy.

    k6 takes `K6_VUS`, `K6_DURATION` and the like before the script's options, and asks an address that
    NO_PROXY names without any proxy.
    """
    kept = {
        name: value
        for name, value in of_node.items()
        if not name.startswith("K6_") and name.lower() != "no_proxy"
    }
    return {**kept, "HTTP_PROXY": f"http://{proxy}", "http_proxy": f"http://{proxy}"}


_NOTHING: dict[str, JsonValue] = {
    "requests": 0,
    "failed": 0,
    "late": 0,
    "dropped": 0,
    "latency_ns": {},
    "ttfb_ns": {},
    "elapsed_ns": 0,
    "process_ns": 0,
}


def read_summary(text: str) -> dict[str, JsonValue]:
    """Read k6's summary. Raises DriverError K6-02 when it holds no count of requests."""
    try:
        metrics = json.loads(text)
        sent = int(metrics["http_reqs"]["values"]["count"])
        # without a right answer there are none
        whole, first = (metrics.get(name, {"values": {}})["values"] for name in ("whole", "first"))
    except (ValueError, KeyError, TypeError) as error:
        raise DriverError(
            "K6-02", "k6: its summary", expected="counts of requests", found=str(error)
        ) from error
    counted = {
        name: int(metrics[key]["values"]["count"]) if key in metrics else 0
        for name, key in (("failed", "wrong"), ("late", "late"), ("dropped", "dropped_iterations"))
    }
    return {"requests": sent, **counted, "latency_ns": _shares(whole), "ttfb_ns": _shares(first)}


def _shares(trend: dict[str, float]) -> dict[str, int]:
    names = {"med": "p50", "p(90)": "p90", "p(95)": "p95", "p(99)": "p99", "max": "max"}
    return {ours: round(trend[theirs] * _NS_PER_MS) for theirs, ours in names.items() if theirs in trend}


_: type[RequestsWorkload] = K6Clients
