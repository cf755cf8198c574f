"""Programs that run on a DUT in the network namespace of its router: snmpd, and FRR's zebra and ripd.

Node functions. What is started carries the run's owner label, so a run that is killed leaves none of them.
Ids: MOD-03 a program that did not start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from pyroute2 import IPRoute

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.nodes import process
from bmwg.methodology.errors import DriverError

FRR_FOLDER = "/usr/lib/frr"
RIP_PROTOCOL = 189  # RTPROT_RIP of the Linux kernel
START_S = 0.3  # choice: a program that cannot run says so within that time


def missing(program: str, package: str) -> Missing | None:
    """Return what this machine lacks for a program."""
    if shutil.which(program, path=f"{FRR_FOLDER}:{os.defpath}:/usr/sbin:/sbin") is None:
        return Missing(
            what=program, reason=f"no `{program}` on this machine", mend=f"apt-get install {package}"
        )
    return None


def start(
    *, argv: list[str], files: dict[str, str], folder: str, environment: dict[str, str], user: str
) -> JsonValue:
    """Node function: write the files into the folder and start a program; returns its pid and start time.

    The folder belongs to `user`, who the program may become.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(text)
    for path in (place, *place.iterdir()):
        shutil.chown(path, user)
    log = place / f"{Path(argv[0]).name}.log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
            env={**os.environ, **environment},
        )
    time.sleep(START_S)
    if running.poll() is not None:
        raise DriverError(
            "MOD-03",
            " ".join(argv),
            expected="to keep running",
            found=f"exit status {running.returncode}: {log.read_text(errors='replace')[-500:]}",
        )
    return {"pid": running.pid, "start_ticks": process.start_ticks(running.pid), "argv": argv}


def stop(*, pid: int, start_ticks: int) -> bool:
    """Node function: end a program that `start` started; idempotent."""
    ended = process.terminate(pid=pid, start_ticks=start_ticks)
    process.reap(pid, deadline_s=1.0)
    return ended


def learnt_routes() -> int:
    """Node function: routes in this network namespace that came by RIP."""
    with IPRoute() as kernel:
        return sum(route["proto"] == RIP_PROTOCOL for route in kernel.get_routes(family=2))
