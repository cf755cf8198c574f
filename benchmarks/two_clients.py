"""Two clients on one policed function: what each counts of it, beside the rate that it lets through.

Root, nginx and h2load (nghttp2-client). The function is an nginx on loopback that lets so many requests a
second through, and a burst, and refuses others. Each client opens twice as many connections a second, one
request each: what was answered rightly, less the burst, by the time it took is the policed rate. Prints JSON.
"""

from __future__ import annotations

import json
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake

from bmwg.drivers.workload import transacting

PORT, OCTETS, SECONDS = 18081, 1024, 8
POLICED_RPS = (100, 200)  # choice: h2load keeps each connection until its end, and has files for so many
OVER, REPEATS = 2, 3
BURST = 200  # choice: a second or so, in which a client that loses its CPU leaves nothing unused
CONFIG = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log crit;
user root;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    root {folder};
    limit_req_zone $server_port zone=all:1m rate={rate}r/s;
    server {{
        listen 127.0.0.1:{port} backlog=8192;
        location / {{ limit_req zone=all burst={burst} nodelay; }}
    }}
}}
"""


def ours(rate: int) -> dict[str, float]:
    """Offer a rate by our client; returns what was answered rightly, and how long it took."""
    load: dict[str, Any] = {
        "address": "127.0.0.1",
        "port": PORT,
        "objects": [(OCTETS, "/object")],
        "host": "o",
        "ramp_s": 0.0,
        "sustain_s": float(SECONDS),
        "timeout_s": 5.0,
        "late_ns": 60_000_000_000,  # as the other: whatever is late is opened all the same
        "rate": rate,
    }
    told: dict[str, Any] = transacting.run(load=load, trust=None)
    return {
        "offered": told["sustain"]["tried"],
        "right": told["whole"]["requests"],
        "s": round(told["took_ns"] / 1e9, 2),
    }


def h2load(rate: int) -> dict[str, float]:
    """Offer a rate by h2load; returns the same."""
    connections = str(rate * SECONDS)
    command = ["h2load", "--h1", "-n", connections, "-c", connections, "-r", str(rate), "-t", "1"]
    command += [f"http://127.0.0.1:{PORT}/object"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 60, check=True).stdout
    counted = re.search(r"requests: (\d+) total, .* (\d+) succeeded, (\d+) failed", said)
    took = re.search(r"finished in ([\d.]+)(m?s)", said)
    if counted is None or took is None:
        raise ValueError(f"h2load says something else: {said[-300:]}")
    seconds = float(took[1]) / (1000 if took[2] == "ms" else 1)
    return {"offered": int(counted[1]), "right": int(counted[2]), "s": round(seconds, 2)}


def compared(policed: int) -> dict[str, Any]:
    """Offer more than the policed rate by both, in turns; returns what was let through, as a rate."""
    found: dict[str, Any] = {}
    for _ in range(REPEATS):
        for name, client in (("ours", ours), ("h2load", h2load)):
            time.sleep(BURST / policed + 0.5)  # until all of the burst may come again
            told = client(OVER * policed)
            rate = (told["right"] - BURST) / told["s"]
            found.setdefault(name, []).append({**told, "let_through_per_s": round(rate, 1)})
    return found


def main() -> None:
    """Measure each policed rate by both clients, in turns."""
    end_in_order()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    found, held = {}, keep_awake()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "object").write_bytes(bytes(OCTETS))
        for policed in POLICED_RPS:
            config = CONFIG.format(folder=folder, port=PORT, rate=policed, burst=BURST)
            (folder / "nginx.conf").write_text(config)
            running = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"])
            try:
                _wait_listening()
                found[policed] = compared(policed)
            finally:
                running.terminate()
                running.wait(10)
    json.dump(
        {"keep_awake": held, "seconds": SECONDS, "burst": BURST, "policed_rps": found}, sys.stdout, indent=1
    )
    print()


def _wait_listening() -> None:
    """Wait until nginx listens."""
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=1.0).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {PORT}")


if __name__ == "__main__":
    main()
