"""What the processes of a pod may do, as the kernel has it: capabilities, users, and what confines them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import cgroups

# By their numbers in linux/capability.h.
NAMES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL",
    "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON",
    "BPF", "CHECKPOINT_RESTORE",
)  # fmt: skip
_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def granted(*, cgroup: str) -> dict[str, JsonValue]:
    """Node function: what the processes of a cgroup and of those below it may do.

    `capabilities` are those that any of them has or can gain (the bounding set), without CAP_; `users` their
    effective user ids; `no_new_privileges` and `seccomp` hold for every one of them. `processes` counts them.
    """
    masks, users, confined, filtered, count = 0, set[int](), True, True, 0
    for pid in cgroups.members(cgroup):
        with contextlib.suppress(OSError):  # one may end meanwhile
            told = _status(Path(f"/proc/{pid}/status").read_text())
            for name in _SETS:
                masks |= int(told[name], 16)
            users.add(int(told["Uid"].split()[1]))
            confined = confined and told["NoNewPrivs"] == "1"
            filtered = filtered and told.get("Seccomp", "0") == "2"
            count += 1
    return {
        "capabilities": named(masks),
        "users": sorted(users),
        "no_new_privileges": confined and count > 0,
        "seccomp": filtered and count > 0,
        "processes": count,
    }


def named(mask: int) -> list[str]:
    """Return the names of capabilities by their mask; one that is not known here by its number."""
    numbers = [number for number in range(mask.bit_length()) if mask >> number & 1]
    return [NAMES[number] if number < len(NAMES) else f"CAP_{number}" for number in numbers]


def compared(asked: Collection[str], found: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return what was granted beside what was asked for: each capability's name with `asked` and `granted`.

    Only those are named that are either. Names in `asked` may begin with CAP_. None where there was no
    process to read it from. How many there were is left out: a shell that starts another is one or two.
    """
    if not found["processes"]:
        return None
    wanted = {name.removeprefix("CAP_") for name in asked}
    has = set(found["capabilities"])
    each = {name: {"asked": name in wanted, "granted": name in has} for name in sorted(wanted | has)}
    return {**{key: value for key, value in found.items() if key != "processes"}, "capabilities": each}


def _status(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    return {key: value.strip() for key, _, value in lines}
