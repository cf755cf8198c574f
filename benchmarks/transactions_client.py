"""What the client of transactions carries by itself: against files of an nginx on loopback, each on its CPU.

Root. Prints JSON: for HTTP and TLS 1.3, with one and ten transactions a connection, the highest rate of which
all was offered and 99 % answered (steps of a quarter), the client's CPU time for each transaction, and its
floor: the times to the first octet at a tenth of that rate.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake

from bmwg.drivers.api.instance import FOLDER
from bmwg.drivers.workload import transacting
from bmwg.drivers.workload.nginx import tls_lines
from bmwg.drivers.workload.run_authority import RunAuthority

PLAIN, TLS, OCTETS, STEP, SUSTAIN_S = 18080, 18443, 1024, 1.25, 2.0
FIRST_RPS = 200
CONFIG = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
user root;
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    root {folder};
    server {{ listen 127.0.0.1:{plain} backlog=8192; }}
    server {{
        listen 127.0.0.1:{tls} ssl backlog=8192;
{lines}
    }}
}}
"""


def trial(trust: dict[str, Any] | None, rate: int, each: int) -> tuple[bool, dict[str, Any]]:
    """Offer a rate; says whether all was offered and answered, and what was counted."""
    load = {
        "address": "127.0.0.1",
        "port": TLS if trust else PLAIN,
        "objects": [(OCTETS, "/object")],
        "host": "o",
    }
    load |= {"ramp_s": 0.5, "sustain_s": SUSTAIN_S, "timeout_s": 1.0, "rate": rate}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = transacting.run(load={**load, "per_connection": each}, trust=trust)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    phase: Any = told["sustain"]
    done = sum(phase["completed"])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    all_of_it = done + rate * 0.25  # with the ramp
    due = phase["due_connections"] * each
    good = not told["unsent"] and not phase["failures"] and done >= 0.99 * due
    return good, {
        "transactions_per_s": round(done / SUSTAIN_S),
        "cpu_us_each": round(cpu_s / all_of_it * 1e6, 1),
        "first_octet_us": {name: round(ns / 1e3) for name, ns in sorted(phase["first_octet_ns"].items())},
    }


def highest(trust: dict[str, Any] | None, each: int) -> dict[str, Any]:
    """Raise the rate until two trials in a row fail."""
    rate, missed, best, found = FIRST_RPS, 0, 0, {}
    while missed < 2:
        good, told = trial(trust, rate, each)
        missed = 0 if good else missed + 1
        if good:
            best, found = rate, told
            rate = round(rate * STEP)
    _, floor = trial(trust, max(10, best // 10), each)
    return {**found, "floor_first_octet_us": floor["first_octet_us"]}


def main() -> None:
    """Print the figures."""
    end_in_order()
    held = keep_awake()
    client, server = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, {client})
    terminated = RunAuthority().terminated("tls13-aes128-p256")
    with tempfile.TemporaryDirectory(prefix="bmwg-transactions-") as name:
        folder = Path(name)
        (folder / "object").write_bytes(bytes(OCTETS))
        (folder / "server.crt").write_text(terminated.certificate)
        (folder / "server.key").write_text(terminated.key)
        lines = tls_lines(terminated).replace(FOLDER, name)
        (folder / "conf").write_text(CONFIG.format(folder=folder, plain=PLAIN, tls=TLS, lines=lines))
        command = ["taskset", "-c", str(server), "nginx", "-c", f"{name}/conf", "-p", name]
        with subprocess.Popen([*command, "-e", f"{name}/error.log"]) as origin:
            time.sleep(1.0)
            try:
                found = {
                    f"{words}, {each} a connection": highest(trust, each)
                    for words, trust in (("HTTP", None), ("TLS 1.3", terminated.trust.as_builtins()))
                    for each in (1, 10)
                }
            finally:
                origin.terminate()
    print(json.dumps({"keep_awake": held, **found}, indent=1))


if __name__ == "__main__":
    main()
