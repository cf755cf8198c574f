"""What the harness adds to `ab`: the same 10,000 requests by hand and as a repetition, in turn, on one proxy.

Root. Prints JSON: seconds that ab took by its own clock either way, and the whole repetition with its probes,
samples and journal line against ab alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from spread import spread

from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.drivers.workload import ab
from bmwg.drivers.workload.row import Row, open_row
from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.requests.kind import REQUESTS as KIND
from bmwg.methodology.kinds.requests.profile import PROCESSING, cell_of, load
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.reports.store import RunStore
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.resources.kinds.requests.deployment import deployed
from bmwg.resources.kinds.requests.measure import measured, served
from bmwg.resources.kinds.requests.room import header_by

REQUESTS, OCTETS, TIMES = 10_000, 1000, 5


def by_hand(row: Row, endpoint: tuple[str, int]) -> tuple[float, float]:
    """Run ab in the clients' namespace without any of the harness; own time and whole life in seconds."""
    pid = row.client.place["pid"]  # type: ignore[attr-defined]
    command = ["nsenter", "-t", str(pid), "-n", "ab", "-q", "-n", str(REQUESTS), "-c", "1"]
    command += ["-X", f"{endpoint[0]}:{endpoint[1]}", row.url(OCTETS)]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return ab.read_output(done.stdout)["elapsed_ns"] / 1e9, time.monotonic() - began


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    spec = RequestsSpec(
        experiment="one_client",
        workload=Workload.AB,
        form="native",
        object_octets=OCTETS,
        clients=1,
        asked_requests=REQUESTS,
        within_s=120,
    )
    planned = Planned(
        test_id="HP-ONE-1",
        metric=PROCESSING,
        cell=cell_of(spec),
        spec=spec,
        asked=Repetitions(wanted=1, least=1, max_invalid=0),
    )
    hand, hand_life, ours, ours_wall = [], [], [], []
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        kept = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with open_row(folder, kept, f"harness-{os.getpid()}", sizes_octets=[OCTETS]) as row:
            place = hosting("native", node=row.proxy, place=row.place, ledger=kept)
            clients = ab.AbClients(row, folder)
            with deployed(row, place, proxies=1, cache=False, stress_cpus=0, deadline_s=30) as made:
                clients.attach(served(made))
                header = header_by(load("quick"), {}, {}, {}, [planned])
                store = RunStore.create(folder / "results", "harness", header)

                watch = opened.enter_context(LeakWatch())
                stand = Stand(deployment_id="d", run=partial(measured, made, clients), leaks=watch)
                by_hand(row, made.endpoints[0])  # warm-up
                for _ in range(TIMES):
                    own, life = by_hand(row, made.endpoints[0])
                    hand.append(own)
                    hand_life.append(life)
                    runs = CellExecutions(KIND, planned, store)
                    began = time.monotonic()
                    runs.run(stand)
                    ours_wall.append(time.monotonic() - began)
                    ours.append(runs.done[-1].result.elapsed_ns / 1e9)
                store.close(None, "complete")
    report = {
        "kept_awake": held,
        "requests": REQUESTS,
        "times": TIMES,
        "ab_by_hand_s": spread(hand),
        "ab_in_the_harness_s": spread(ours),
        "ab_by_hand_whole_life_s": spread(hand_life),
        "repetition_s": spread(ours_wall),
        "repetition_beyond_ab_percent": spread(
            [(wall - own) / own * 100 for wall, own in zip(ours_wall, ours, strict=True)]
        ),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
