"""What the harness adds to netperf and to sysbench: by hand and as executions, in turn, in the same pods.

Root, crun, netperf, sysbench. Prints JSON for each: figures of both, and the 90 % interval of the ratio of
pairs (ours by hand). Arguments: `netperf` or `sysbench`, pairs (default 12), seconds of each (default 3).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake
from iperf3_harness import in_turn, tell

from bmwg.drivers import registry
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.kinds.jobs import profile as of_jobs
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.streams import profile as of_streams
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import POD
from bmwg.reports.store import PlannedCell, RunStore
from bmwg.resources.kinds.jobs import places
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.resources.kinds.streams.bench import between_looks
from bmwg.resources.run.header import header_of

Pair = tuple[Callable[[], float], Callable[[], float]]
_PORTS = (12865, 12866)
_PID_FILE = "/run/netserver.pid"  # in the pod


def _asked(planned: Any, seconds: float) -> Any:
    return replace(
        planned,
        spec=replace(planned.spec, duration_s=seconds),
        asked=replace(planned.asked, wanted=1, least=1, max_invalid=0),
    )


def _store(folder: Path, kind: Any, planned: Any, profile: Any) -> RunStore:
    header = header_of(
        testbed={"name": "benchmark"},
        profile=profile.data,
        plan=(PlannedCell(test_id=planned.test_id, metric=planned.metric, cell=planned.cell),),
        families=kind.families,
        medium_kind="veth",
    )
    store = RunStore.create(folder / "results", "harness", header)
    store.add_deployment("d-1", {})
    return store


def _ours(kind: Any, planned: Any, store: RunStore, stand: Any, figure: Callable[[Any], float]) -> float:
    runs = CellExecutions(kind, planned, store)
    runs.run(stand)
    return figure(runs.done[-1].result)


@contextmanager
def netperf(bed: Bed, folder: Path, seconds: float) -> Iterator[Pair]:
    """A bulk TCP test between two pods, 131,072 octets a message."""
    quick = of_streams.PROFILES.load("quick")
    swept = next(one for one in quick.plan() if one.spec.workload == "netperf" and one.test_id == "SK-TCP-4")
    cell = next(one.cell for one in quick.plan() if one.test_id == "PP-TCP-1")
    planned = _asked(replace(swept, cell=cell, spec=replace(swept.spec, window_octets=0)), seconds)
    path = registry.load(registry.PATH, "p2p")(cell, bed)
    with path.between_pods() as between, LeakWatch() as leaks:
        workload = registry.workload("netperf", kind=STREAMS.name)([bed.node("dut1")])
        workload.attach(between.ends)
        store = _store(folder, STREAMS, planned, quick)
        stand = Stand(deployment_id="d-1", run=between_looks(between, workload), leaks=leaks)
        mine, other = (
            ["crun", "--root", str(folder / "pods"), "exec", one.pod.pod_id] for one in between.ends
        )
        address = between.ends[1].address

        def by_hand() -> float:
            line = f"echo $$ > {_PID_FILE}; exec netserver -D -4 -L {address} -p {_PORTS[0]}"
            serve = [*other, "sh", "-c", line]
            with subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
                time.sleep(0.3)
                ask = [*mine, "netperf", "-4", "-H", address, "-p", str(_PORTS[0]), "-t", "TCP_STREAM"]
                ask += ["-l", f"{seconds:g}", "-P", "0", "--", "-m", "131072", "-P", f",{_PORTS[1]}"]
                done = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=seconds + 30)
                subprocess.run([*other, "sh", "-c", f"kill $(cat {_PID_FILE})"], check=True)
                server.wait(10)
            return float(done.stdout.split()[-1]) * 1e6

        yield by_hand, lambda: _ours(STREAMS, planned, store, stand, lambda one: one.goodput_bps)
        store.close(None, "complete")


@contextmanager
def sysbench(bed: Bed, folder: Path, seconds: float) -> Iterator[Pair]:
    """Primes up to 10,000 by one thread in a pod."""
    quick = of_jobs.PROFILES.load("quick")
    planned = _asked(
        next(one for one in quick.plan() if (one.metric, one.cell.hosting) == ("sysbench_cpu", POD)), seconds
    )
    with places.form(bed, POD) as form, LeakWatch() as leaks:
        workload = registry.workload("sysbench", kind=JOBS.name)([bed.node("dut1")])
        workload.attach((form,))
        store = _store(folder, JOBS, planned, quick)
        stand = Stand(deployment_id="d-1", run=workload.run, leaks=leaks)
        pod = ["crun", "--root", str(folder / "pods"), "exec", form.place.pod_id]

        def by_hand() -> float:
            ask = [*pod, "sysbench", "cpu", "--threads=1", "--cpu-max-prime=10000", "--events=0"]
            ask += [f"--time={seconds:g}", "run"]
            done = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=seconds + 30)
            found = re.search(r"total number of events: +(\d+)", done.stdout)
            took = re.search(r"total time: +([\d.]+)s", done.stdout)
            if not found or not took:
                raise SystemExit(f"sysbench said something else: {done.stdout}")
            return int(found[1]) / float(took[1])

        yield by_hand, lambda: _ours(JOBS, planned, store, stand, lambda one: one.figure("events"))
        store.close(None, "complete")


PROGRAMS = {"netperf": (netperf, 1e6, "mbps"), "sysbench": (sysbench, 1.0, "events_per_s")}


def main() -> None:
    """Measure in pairs, the order within each pair in turn, and print."""
    made, scale, unit = PROGRAMS[sys.argv[1]]
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 3.0
    held = keep_awake()
    end_in_order()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with (
            open_bed(load_testbed(), ledger, folder) as bed,
            made(bed, folder, seconds) as (by_hand, ours),
        ):
            by_hand()  # warm-up
            found = in_turn(pairs, by_hand, ours)
    tell(*found, scale=scale, unit=unit, program=sys.argv[1], kept_awake=held, seconds=seconds)


if __name__ == "__main__":
    main()
