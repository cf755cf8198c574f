"""Apache JMeter as the client: many threads of one JMeter, shared equally between the proxies.

Every body's MD5 is asserted by JMeter itself, so a wrong object is a failed request. Its clock counts whole
milliseconds. Ids: JM-01 not there, JM-03 results that cannot be read.
"""

from __future__ import annotations

import csv
import hashlib
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.api.workload import Takes
from bmwg.drivers.workload import apache, tools
from bmwg.drivers.workload.jmeter_plan import BEGIN, WARM_UP, plan
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec

_CALL_MARGIN_S = 30.0
NS_PER_MS = 1_000_000
_SHARES = (50, 90, 95, 99)
_COLUMNS = {"timeStamp", "elapsed", "label", "responseCode", "success", "Latency"}
_FEW_REQUESTS = 2000  # choice: below it the second compiler costs more CPU time than its code saves
_QUICK_START = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
_SETTINGS = {
    "jmeter.save.saveservice.output_format": "csv",
    "jmeter.save.saveservice.print_field_names": "true",
    "jmeter.save.saveservice.latency": "true",
    "jmeter.save.saveservice.successful": "true",
    "jmeter.save.saveservice.response_code": "true",
    "jmeter.save.saveservice.time": "true",
    "jmeter.save.saveservice.timestamp_format": "ms",
    "summariser.name": "",
}


class JMeterClients(OfRequests):
    """Threads of one JMeter, shared equally between any number of proxies."""

    takes: ClassVar[Takes] = Takes(least=1, most=None)
    warms_up_itself: ClassVar[bool] = True

    def probe(self) -> Missing | None:
        """Tell whether the clients' node has JMeter."""
        return tools.missing(self._row.client, "jmeter")

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Ask the endpoints through one JMeter."""
        ran = self._row.client.call_within(
            spec.within_s + _CALL_MARGIN_S,
            run,
            proxies=[[proxy.address, proxy.port] for proxy in self.attached],
            url=self._row.url(spec.object_octets),
            octets=spec.object_octets,
            requests=spec.asked_requests,
            clients=spec.clients,
            within_s=spec.within_s,
            warm_up_requests=spec.warm_up_requests,
        )
        own = ("mean_request_ns", "warm_up_requests", "warm_up_ns")
        return self.told(ran, spec.asked_requests, **{name: ran[name] for name in own})


def program(requests: int, *heap: str) -> list[str]:
    """Return the command of a JMeter for so many requests. Raises TestbedError JM-01."""
    found = tools.jmeter(*heap)
    if found is None:
        raise TestbedError("JM-01", f"no JMeter {tools.JMETER_VERSION} on this node", hint=tools.MEND)
    return [found[0], *(_QUICK_START if requests < _FEW_REQUESTS else ()), *found[1:]]


def words(plan: str, results: str, log: str) -> list[str]:
    """Return what JMeter is told: to run a plan without a window, and how to write its samples."""
    told = ["-n", "-t", plan, "-l", results, "-j", log]
    return [*told, *(f"-J{name}={value}" for name, value in _SETTINGS.items())]


def run(
    *,
    proxies: list[list[JsonValue]],
    url: str,
    octets: int,
    requests: int,
    clients: int,
    within_s: float,
    warm_up_requests: int = 0,
) -> dict[str, JsonValue]:
    """Node function: `clients` threads ask for `url` through their proxies, `requests` times all together.

    The same JMeter asks `warm_up_requests` times before, so that neither its own first steps nor those of the
    proxies are measured. Returns what `ab.run` returns, and `mean_request_ns`; `failed` counts wrong bodies
    too. The time taken is from the first request's start to the last one's end, the warm-up's without;
    JMeter's own start and end are in `process_ns` only. `warm_up_requests` and `warm_up_ns` tell of the
    warm-up alone.
    """
    command = program(requests)
    md5 = hashlib.md5(apache.object_content(octets), usedforsecurity=False).hexdigest()
    text = plan(
        proxies=[(str(address), int(port)) for address, port in proxies],
        url=url,
        md5=md5,
        requests=requests,
        clients=clients,
        warm_up_requests=warm_up_requests,
    )
    with tempfile.TemporaryDirectory(prefix="bmwg-jmeter-") as folder:
        file, results = Path(folder, "plan.jmx"), Path(folder, "results.csv")
        file.write_text(text)
        command += words(str(file), str(results), f"{folder}/log")
        began = time.monotonic_ns()
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = child.communicate(timeout=within_s)
            fault = "" if child.returncode == 0 else f"jmeter: exit status {child.returncode}"
        except subprocess.TimeoutExpired:
            child.kill()
            said, _ = child.communicate()
            fault = f"jmeter did not end within {within_s:g} s"
        took_ns = time.monotonic_ns() - began
        if fault and said:
            fault = f"{fault}: {' '.join(said.decode(errors='replace').split())[-200:]}"
        rows = results.read_text() if results.exists() else ""
        return {**read_results(rows, octets), "process_ns": took_ns, "fault": fault}


def read_results(text: str, octets: int) -> dict[str, JsonValue]:
    """Read JMeter's table of samples for an object of so many octets. Raises DriverError JM-03."""
    return told_of(samples(text), octets)


def samples(text: str) -> list[dict[str, str]]:
    """Read JMeter's table of samples; a last line that was cut off, as by a kill, is none.

    Raises DriverError JM-03 when a column is absent.
    """
    whole, _, _ = text.rpartition("\n")
    rows = list(csv.DictReader(whole.splitlines()))
    lack = _COLUMNS - set(rows[0]) if rows else set()
    if lack:
        raise DriverError("JM-03", "jmeter: its results", expected=", ".join(sorted(lack)), found="absent")
    return rows


def told_of(everything: list[dict[str, str]], octets: int) -> dict[str, JsonValue]:
    """Return what samples come to, of one JMeter or of several, those that warmed up apart.

    JMeter's own count of octets has the headers in it; a sample whose body had the object's MD5 has the
    object's octets. An answer with a status other than 2xx has not, and is in `non_2xx` alone; without an
    answer there is no status.
    """
    warm_up = [row for row in everything if row["label"] == WARM_UP]
    rows = [row for row in everything if row["label"] not in (WARM_UP, BEGIN)]
    warm = {"warm_up_requests": len(warm_up), "warm_up_ns": taken_ns(warm_up)}
    if not rows:
        return {**_NOTHING, **warm}
    elapsed = sorted(int(row["elapsed"]) for row in rows)
    first = sorted(int(row["Latency"]) for row in rows)
    answers = [row for row in rows if not re.fullmatch(r"[013-9]\d\d", row["responseCode"])]
    right = sum(row["success"] == "true" for row in answers)
    return {
        "requests": len(rows),
        "failed": len(answers) - right,
        "non_2xx": len(rows) - len(answers),
        "body_octets": right * octets,
        "elapsed_ns": taken_ns(rows),
        "mean_request_ns": sum(elapsed) * NS_PER_MS // len(elapsed),
        "latency_ns": _shares(elapsed),
        "ttfb_ns": _shares(first),
        **warm,
    }


def taken_ns(rows: list[dict[str, str]]) -> int:
    """Return the time from the first sample's start to the last one's end."""
    if not rows:
        return 0
    begin = min(int(row["timeStamp"]) for row in rows)
    return (max(int(row["timeStamp"]) + int(row["elapsed"]) for row in rows) - begin) * NS_PER_MS


_NOTHING: dict[str, JsonValue] = {
    "requests": 0,
    "failed": 0,
    "non_2xx": 0,
    "body_octets": 0,
    "elapsed_ns": 0,
    "mean_request_ns": 0,
    "latency_ns": {},
    "ttfb_ns": {},
}


def _shares(ordered: list[int]) -> dict[str, int]:
    found = {f"p{share}": ordered[-(-share * len(ordered) // 100) - 1] * NS_PER_MS for share in _SHARES}
    return found | {"max": ordered[-1] * NS_PER_MS}


_: type[RequestsWorkload] = JMeterClients
