"""ApacheBench (`ab`) as the client: a closed loop, run once a repetition, and all that it says is read.

Ids: AB-01 not there, AB-02 an answer that cannot be read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.nodes import programs
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec

PACKAGES = ("apache2-utils",)
PROGRAMS = {"ab": PACKAGES[0]}
_CALL_MARGIN_S = 30.0
_TIMEOUT_S = 30
_NS_PER_MS = 1_000_000
_SHARES = (50, 90, 95, 99)
_NUMBERS = {
    "requests": r"^Complete requests:\s+(\d+)",
    "failed": r"^Failed requests:\s+(\d+)",
    "body_octets": r"^HTML transferred:\s+(\d+) bytes",
    "first_octets": r"^Document Length:\s+(\d+) bytes",
}


def version() -> str:
    """Node function: which ab this is; empty without one."""
    if shutil.which("ab") is None:
        return ""
    done = subprocess.run(["ab", "-V"], capture_output=True, text=True, timeout=5, check=False)
    return done.stdout.splitlines()[0] if done.stdout else ""


def run(
    *, proxy: str, url: str, octets: int, requests: int, concurrency: int, within_s: float
) -> dict[str, JsonValue]:
    """Node function: `ab -n requests -c concurrency` through `proxy` (`address:port`; empty: direct).

    Returns `elapsed_ns` (what ab itself took), `process_ns` (from its start to its end), `requests` (all
    complete), `failed` (no body of so many `octets`), `non_2xx` (answers with another status, none of them
    among `failed`), `body_octets`, `latency_ns` and `ttfb_ns` (percentiles; ab gives the first in
    microseconds and the second in whole milliseconds), and `fault`: a sentence when ab did not end well.
    """
    if shutil.which("ab") is None:
        raise TestbedError(
            "AB-01", "no `ab` in PATH", hint=f"apt-get install --no-install-recommends {PACKAGES[0]}"
        )
    with tempfile.TemporaryDirectory(prefix="bmwg-ab-") as folder:
        shares, table = Path(folder, "shares"), Path(folder, "table")
        command = ["ab", "-q", "-n", str(requests), "-c", str(concurrency), "-s", str(_TIMEOUT_S)]
        command += ["-e", str(shares), "-g", str(table), *(["-X", proxy] if proxy else []), url]
        began = time.monotonic_ns()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
        except subprocess.TimeoutExpired:
            return {**_NOTHING, "process_ns": time.monotonic_ns() - began, "fault": _late(within_s)}
        took_ns = time.monotonic_ns() - began
        if done.returncode != 0:
            words = " ".join((done.stderr or done.stdout).split())[-200:]
            return {**_NOTHING, "process_ns": took_ns, "fault": f"ab: exit status {done.returncode}: {words}"}
        return {
            **read_output(done.stdout, octets),
            "process_ns": took_ns,
            "latency_ns": read_shares(shares.read_text(), requests),
            "ttfb_ns": read_first_octets(table.read_text()),
            "fault": "",
        }


class AbClients(OfRequests):
    """So many clients of one ab. Its mean of many clients is computed from the time that all took."""

    begins_soon: ClassVar[bool] = True

    def probe(self) -> Missing | None:
        """Tell whether the clients' node has ab."""
        absent = self._row.client.call(programs.available, programs=PROGRAMS)
        if not absent:
            return None
        name, package = absent[0]
        mend = f"apt-get install --no-install-recommends {package}"
        return Missing(what=name, reason=f"no `{name}` in PATH", mend=mend)

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Ask the endpoint through one ab."""
        (proxy,) = self.attached
        ran = self._row.client.call_within(
            spec.within_s + _CALL_MARGIN_S,
            run,
            proxy=f"{proxy.address}:{proxy.port}",
            url=self._row.url(spec.object_octets),
            octets=spec.object_octets,
            requests=spec.asked_requests,
            concurrency=spec.clients,
            within_s=spec.within_s,
        )
        mean_ns = ran["elapsed_ns"] * spec.clients // ran["requests"] if ran["requests"] else 0
        return self.told(ran, spec.asked_requests, mean_request_ns=mean_ns)


_NOTHING: dict[str, JsonValue] = {
    "elapsed_ns": 0,
    "requests": 0,
    "failed": 0,
    "non_2xx": 0,
    "body_octets": 0,
    "latency_ns": {},
    "ttfb_ns": {},
}


def _late(within_s: float) -> str:
    return f"ab did not end within {within_s:g} s"


def read_output(text: str, octets: int) -> dict[str, JsonValue]:
    """Read ab's report on an object of so many octets. Raises DriverError AB-02 when a line is missing.

    ab counts an answer as failed whose body is not as long as that of the first one, whatever the status of
    either. So an answer with an error stands in two of its counts, and where the first one was an error all
    right answers stand among the failed ones; in what this returns each request is in one count at most.
    """
    found: dict[str, JsonValue] = {}
    for name, pattern in _NUMBERS.items():
        match = re.search(pattern, text, re.MULTILINE)
        if match is None:
            raise DriverError("AB-02", "ab: its report", expected=f"a line for {name}", found="none")
        found[name] = int(match[1])
    match = re.search(r"^Time taken for tests:\s+([\d.]+) seconds", text, re.MULTILINE)
    mean = re.search(r"^Time per request:\s+([\d.]+) \[ms\] \(mean\)$", text, re.MULTILINE)
    concurrency = re.search(r"^Concurrency Level:\s+(\d+)", text, re.MULTILINE)
    if match is None or mean is None or concurrency is None:
        raise DriverError("AB-02", "ab: its report", expected="a line for the time taken", found="none")
    # the time taken has milliseconds; the mean (time * concurrency / requests) has more digits of short ones
    by_mean_ns = float(mean[1]) * _NS_PER_MS * found["requests"] / int(concurrency[1])
    taken_ns = float(match[1]) * 1e9
    found["elapsed_ns"] = round(by_mean_ns if abs(by_mean_ns - taken_ns) < _NS_PER_MS else taken_ns)
    non_2xx = re.search(r"^Non-2xx responses:\s+(\d+)", text, re.MULTILINE)
    found["non_2xx"] = int(non_2xx[1]) if non_2xx else 0
    lengths = re.search(r"^ +\(Connect: \d+, .*\bLength: (\d+)", text, re.MULTILINE)
    other_length = int(lengths[1]) if lengths else 0
    if found.pop("first_octets") == octets:
        found["failed"] -= min(other_length, found["non_2xx"])
    elif found["non_2xx"]:
        found["failed"] -= other_length
    return found


def read_shares(text: str, requests: int) -> dict[str, int]:
    """Read ab's table of shares (`-e`) of so many requests: percentiles of the total time, ns.

    ab takes element `0.5 + requests * share` of its sorted times, which lies behind the last one when the
    requests are few: what it prints then is no time and is left out.
    """
    rows = [line.split(",") for line in text.splitlines()[1:] if line]
    rows = [row for row in rows if row[0] == "100" or int(0.5 + requests * int(row[0]) / 100) < requests]
    by_share = {int(share): float(milliseconds) for share, milliseconds in rows}
    found = {f"p{share}": round(by_share[share] * _NS_PER_MS) for share in _SHARES if share in by_share}
    return found | ({"max": round(by_share[100] * _NS_PER_MS)} if 100 in by_share else {})


def read_first_octets(text: str) -> dict[str, int]:
    """Read ab's table of requests (`-g`): percentiles of the time to the first octet, ns of whole ms."""
    # connection and waiting time together: from the start of the connection to the first octet
    values = []
    for line in text.splitlines()[1:]:
        fields = line.split("\t")
        if len(fields) >= 6:
            values.append(int(fields[2]) + int(fields[5]))
    if not values:
        return {}
    values.sort()
    found = {f"p{share}": values[-(-share * len(values) // 100) - 1] * _NS_PER_MS for share in _SHARES}
    return found | {"max": values[-1] * _NS_PER_MS}


_: type[RequestsWorkload] = AbClients
