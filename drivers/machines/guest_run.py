"""A command inside a guest, followed from outside, and what a run in a guest says of its machine.

Node functions, except `evidence`, which the run inside reads. Ids: VM-09 the command is not known here,
VM-10 a module was not loaded, VM-11 interrupts of a NIC stay where they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import DriverError

EVIDENCE = Path("/run/bmwg-guest.json")
_NICS, _INTERRUPTS = Path("/sys/class/net"), Path("/proc/irq")
MAX_PART_OCTETS = 1 << 16
_FIRST_USES = (
    ("nft", "--json", "list", "ruleset"),  # loads kernel modules and libraries over 9p
    ("dpkg-query", "--search", "/bin/sh"),  # reads the list of files of each package
)
_FIRST_USE_DEADLINE_S = 60.0
TELL_DEADLINE_S = 60.0 + _FIRST_USE_DEADLINE_S * len(_FIRST_USES)
_commands: dict[int, subprocess.Popen[bytes]] = {}


def tell(*, machine: dict[str, JsonValue]) -> None:
    """Node function: leave in the guest what the host knows of it, for the record of a run inside."""
    # a later record must not find what an earlier one gave up waiting for: that would be drift
    for command in _FIRST_USES:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=_FIRST_USE_DEADLINE_S, check=False)
    EVIDENCE.write_text(json.dumps(machine))


def load(*, modules: list[str], within_s: float = 60.0) -> None:
    """Node function: load modules of the guest's kernel. Raises DriverError VM-10 with what modprobe said."""
    for module in modules:
        done = subprocess.run(
            ["modprobe", module], capture_output=True, text=True, timeout=within_s, check=False
        )
        if done.returncode:
            raise DriverError(
                "VM-10",
                f"module {module} of the guest's kernel",
                expected="loaded",
                found=done.stderr.strip(),
            )


def serve_elsewhere(*, interfaces: list[str], cpus: list[int]) -> dict[str, JsonValue]:
    """Node function: have the interrupts of interfaces handled by these CPUs; returns them by interface.

    A tester that never yields starves what an interrupt leaves to do on its own CPU: frames that arrived,
    and room for frames to send. Raises DriverError VM-11.
    """
    wanted = ",".join(map(str, cpus))
    done: dict[str, JsonValue] = {}
    for interface in interfaces:
        device = (_NICS / interface / "device").resolve()
        folder = next(
            (one for one in (device / "msi_irqs", device.parent / "msi_irqs") if one.is_dir()), None
        )
        numbers = sorted(int(file.name) for file in folder.iterdir()) if folder else []
        steered = []
        for number in numbers:
            affinity = _INTERRUPTS / str(number) / "smp_affinity_list"
            if affinity.exists():  # only those that are requested have one
                affinity.write_text(wanted)
                steered.append(number)
        if not steered:
            raise DriverError(
                "VM-11",
                f"interrupts of {interface} in the guest",
                expected=f"some that CPUs {wanted} can handle",
                found=f"{len(numbers)} of the device, none requested",
            )
        done[interface] = steered
    return done


def evidence() -> dict[str, JsonValue] | None:
    """What the host told this guest about itself; None where this is no guest of ours."""
    try:
        found = json.loads(EVIDENCE.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def start(*, argv: list[str], output: str, folder: str, environment: dict[str, str]) -> int:
    """Node function: start a command in `folder` with its output in a file; returns its pid."""
    with open(output, "wb") as file:
        child = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
        )
    _commands[child.pid] = child
    return child.pid


def follow(*, pid: int, output: str, offset: int) -> dict[str, JsonValue]:
    """Node function: the command's output from `offset` (octets) on, and its exit status (None: it runs).

    The status is only given when all output was. Raises DriverError VM-09 for a command not started here.
    """
    if pid not in _commands:
        raise DriverError("VM-09", f"command {pid} in the guest", expected=str(list(_commands)), found="none")
    status = _commands[pid].poll()
    with open(output, "rb") as file:
        file.seek(offset)
        part = file.read(MAX_PART_OCTETS)
    if len(part) == MAX_PART_OCTETS:
        status = None  # there may be more
    return {"text": part.decode(errors="replace"), "offset": offset + len(part), "status": status}
