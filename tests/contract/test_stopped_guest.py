"""A guest whose QEMU is stopped and continued by a known law: its watchdog tells the time that it was away.

What it imitates: a hypervisor that takes a virtual CPU away, and with it the clock of the guest's kernel, for
10 ms in every 200. What it does not imitate: one that takes single CPUs of several, and steal time that the
hypervisor tells its guest. `methodology.models.stalled` is the model of it, `together`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.guest_support import SMALL, fresh_owner, hosting_of, needs_guest, qemus

from bmwg.drivers.api.instance import Program
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.traffic.watchdog import process as watchdog

pytestmark = needs_guest

ROUNDS = 6  # every second one without stops
ROUND_S, AWAY_S, EVERY_S = 4.0, 0.010, 0.200
ANSWER_S = 120.0  # a guest of an emulator on a busy machine
WATCHING = f"""
import json, os, sys, time
from bmwg.drivers.traffic.watchdog.process import Watch
folder = sys.argv[1]
def say(name, what):
    with open(f"{{folder}}/{{name}}.part", "w") as file:
        json.dump(what, file)
    os.rename(f"{{folder}}/{{name}}.part", f"{{folder}}/{{name}}")
with open(f"{{folder}}/log", "wb") as log:
    watch = Watch([0], log=log)
    for number in range({ROUNDS}):
        watch.arm()
        say(f"armed-{{number}}", number)
        time.sleep({ROUND_S})
        (seen,) = watch.read().watches
        say(f"seen-{{number}}", [seen.absences, seen.absent_ns, seen.longest_ns, seen.watched])
"""
PROGRAM = Program(
    name="watching",
    command=(
        "sh",
        "-c",
        f"{sys.executable} {{folder}}/watching.py {{folder}} 2>{{folder}}/failed &"
        f" exec {sys.executable} -m http.server --bind {{address}} --directory {{folder}} {{port}}",
    ),
    port=8000,
    files={"watching.py": WATCHING},
)


@pytest.fixture
def node() -> Iterator[tuple[NamespaceNode, str]]:
    with fresh_owner() as owner, NamespaceNode("proxy", owner=owner) as node:
        yield node, owner


def asked(node: NamespaceNode, instance: Any, name: str) -> Any:
    """What the guest has written to a file, as soon as it is there."""
    address, port = instance.endpoint
    command = ["nsenter", f"--net={node.netns_path}", "curl", "-sf", f"http://{address}:{port}/{name}"]
    end_s = time.monotonic() + ANSWER_S
    while time.monotonic() < end_s:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
        time.sleep(0.05)
    failed = subprocess.run(
        [*command[:-1], f"http://{address}:{port}/failed"], capture_output=True, check=False
    )
    raise AssertionError(f"the guest never said {name}: {failed.stdout!r}")


def stop_by_law(pid: int, for_s: float) -> tuple[int, int]:
    """Stop and continue a process; return how often, and for how long in all (ns), as clocks had it."""
    count = away_ns = 0
    end_s = time.monotonic() + for_s
    while time.monotonic() < end_s:
        os.kill(pid, signal.SIGSTOP)
        began_ns = time.monotonic_ns()
        time.sleep(AWAY_S)
        away_ns += time.monotonic_ns() - began_ns
        os.kill(pid, signal.SIGCONT)
        count += 1
        time.sleep(EVERY_S - AWAY_S)
    return count, away_ns


def test_the_watchdog_in_a_guest_tells_when_its_hypervisor_stopped_it(
    node: tuple[NamespaceNode, str], tmp_path: Path
) -> None:
    watchdog.ensure_built()  # the guest has no compiler's time
    place, owner = node
    rows: list[dict[str, object]] = []
    with hosting_of(place, "vm_para", owner, tmp_path) as hosting:
        instance: Any = hosting.start(PROGRAM, 0, SMALL)
        (pid,) = qemus(owner)
        for number in range(ROUNDS):
            asked(place, instance, f"armed-{number}")
            made, away_ns = stop_by_law(pid, ROUND_S / 2) if number % 2 else (0, 0)
            absences, absent_ns, longest_ns, watched = asked(place, instance, f"seen-{number}")
            rows.append(
                {
                    "stops": made,
                    "stopped_ns": away_ns,
                    "absences": absences,
                    "absent_ns": absent_ns,
                    "longest_ns": longest_ns,
                    "watched": watched,
                }
            )
        instance.stop()
    print(json.dumps(rows, indent=1))
    for row in rows:
        assert row["watched"], rows
        # an emulator on a shared machine is away by itself as well, so no more than the law's share is known
        assert row["absences"] >= row["stops"] * 0.9 - 1, rows
        assert row["absent_ns"] >= row["stopped_ns"] * 0.9, rows
        if row["stops"]:
            # each of the two clocks tells an absence shorter by up to a period (docs/adr/0013, 0261)
            assert row["longest_ns"] >= AWAY_S * 1e9 - 2_000_000, rows
