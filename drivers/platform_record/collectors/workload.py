"""Workloads that run when the record is taken, the path they form, and the tester beside them.

What a process got is read from the kernel (cgroup, affinity, mounts); what it is for, only its deployer
knows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.platform_record.values import (
    Group,
    JsonValue,
    NotApplicable,
    Unread,
    entries,
    key_values,
    number_list,
    text_or_none,
)

_TOLD = ("kind", "function", "image", "virtual_interfaces", "queues", "af_xdp", "resource_request")
_TOPOLOGY = (
    "scenario", "model", "host_component", "chain", "chains", "physical_interfaces", "links", "switches",
    "locality",
    "internode", "underlay", "services", "flow_definition",
)  # fmt: skip
_TESTER = ("kind", "name", "version", "configuration", "cpus", "ports", "qualification")
_ROOT = "/sys/fs/cgroup"
_PACKAGES = "/var/lib/dpkg/status"
_NO_LIMIT = 1 << 60


def workloads(group: Group, told: Mapping[str, Mapping[str, JsonValue]] | None, viewer: str = "self") -> None:
    """One group a workload. `told` maps its name to what its deployer knows, `pid` (on this node) among it.

    `viewer` is a process whose namespaces are the node's.
    """
    named = told or {}
    group.take("count", "computed", "workloads named when the record was taken", lambda: len(named))
    for name, facts in sorted(named.items()):
        one = group.sub(name)
        for field in _TOLD:
            _tell(one, field, facts, f"the deployer of {name}")
        if (pid := facts.get("pid")) is None:
            for field in _MEASURED:
                why = facts.get("unmeasured", "the workload has no process on this node")
                one.not_applicable(field, str(why), f"the deployer of {name}")
        else:
            _measured(one, int(pid), viewer)


def _tell(group: Group, field: str, facts: Mapping[str, JsonValue], who: str) -> None:
    def answer() -> Any:
        if facts.get(field) is None:
            raise Unread(f"{who} did not tell it")
        if isinstance(facts[field], dict) and facts[field].keys() == {"not_applicable"}:
            raise NotApplicable(facts[field]["not_applicable"])
        return facts[field]

    group.take(field, "declared", who, answer)


def told(group: Group, fields: tuple[str, ...], facts: Mapping[str, JsonValue] | None, absent: str) -> None:
    """Facts that only the caller has; with no caller's table at all they are not applicable, for the reason
    `absent`.
    """
    for field in fields:
        if facts is None:
            group.not_applicable(field, absent, "the caller")
        else:
            _tell(group, field, facts, "the caller")


def topology(group: Group, facts: Mapping[str, JsonValue] | None) -> None:
    """The path in the documents' words, as its driver tells it."""
    told(group, _TOPOLOGY, facts, "no path was deployed when the record was taken")


def tester(group: Group, facts: Mapping[str, JsonValue] | None) -> None:
    """The tester as it describes itself."""
    told(group, _TESTER, facts, "no tester took part when the record was taken")


_MEASURED = (
    "cpuset", "memory_nodes", "cpu_limit", "memory_limit_octets", "hugepage_limits_octets", "os", "kernel",
    "threads", "scheduling", "storage", "packages_digest", "memory_backing", "shared_namespaces",
)  # fmt: skip


def _measured(group: Group, pid: int, viewer: str) -> None:
    status = f"/proc/{pid}/status"

    def listed(key: str) -> Any:
        return lambda text: number_list(key_values(text)[key])

    group.file("cpuset", status, listed("Cpus_allowed_list"))
    group.file("memory_nodes", status, listed("Mems_allowed_list"))
    group.take("cpu_limit", "file", f"/proc/{pid}/cgroup", lambda: _cpu_limit(group, pid))
    group.take("memory_limit_octets", "file", f"/proc/{pid}/cgroup", lambda: _memory_limit(group, pid))
    group.take("hugepage_limits_octets", "file", f"/proc/{pid}/cgroup", lambda: _hugepage_limits(group, pid))
    group.file(
        "os",
        f"/proc/{pid}/root/etc/os-release",
        lambda text: shlex.split(key_values(text, "=")["PRETTY_NAME"])[0],
        absent="the workload's root holds no distribution",
    )
    group.file("kernel", "/proc/sys/kernel/osrelease", lambda text: f"shared with its node: {text.strip()}")
    group.take("threads", "file", f"/proc/{pid}/task", lambda: _threads(group, pid))
    group.take("scheduling", "file", f"/proc/{pid}/stat", lambda: _policy(group, pid))
    group.take("storage", "file", f"/proc/{pid}/mounts", lambda: _root_mount(group, pid))
    group.take(
        "packages_digest", "file", f"/proc/{pid}/root{_PACKAGES}", lambda: _packages_digest(group, pid)
    )
    group.file(
        "memory_backing",
        status,
        lambda text: {"hugepages_kib": int(key_values(text)["HugetlbPages"].split()[0])},
    )
    group.take("shared_namespaces", "file", f"/proc/{pid}/ns", lambda: _shared_namespaces(group, pid, viewer))


def _folders(group: Group, pid: int, controller: str) -> list[str]:
    """The cgroup folders that bind a process for a controller, own first, then its parents."""
    for row in group.source.read_file(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = row.split(":", 2)
        base = (
            f"{_ROOT}/{controller}"
            if controller in controllers.split(",")
            else _ROOT
            if not controllers
            else None
        )
        if base is None or (
            not controllers
            and controller not in (text_or_none(group.source, f"{_ROOT}/cgroup.controllers") or "")
        ):
            continue
        parts = [part for part in path.split("/") if part]
        return [base + "".join(f"/{part}" for part in parts[:depth]) for depth in range(len(parts), -1, -1)]
    raise NotApplicable(f"no {controller} controller binds the process")


def _tightest(group: Group, folders: list[str], names: tuple[str, ...]) -> int | None:
    limits = []
    for folder in folders:
        for name in names:
            text = text_or_none(group.source, f"{folder}/{name}")
            if text and text.isdigit() and int(text) < _NO_LIMIT:
                limits.append(int(text))
    return min(limits, default=None)


def _memory_limit(group: Group, pid: int) -> int:
    limit = _tightest(group, _folders(group, pid, "memory"), ("memory.max", "memory.limit_in_bytes"))
    if limit is None:
        raise NotApplicable("no limit: the workload may take the node's memory")
    return limit


def _cpu_limit(group: Group, pid: int) -> float:
    """CPUs of time that the tightest quota gives, of the process's own cgroup or of one above it."""
    given: list[float] = []
    for folder in _folders(group, pid, "cpu"):
        if text := text_or_none(group.source, f"{folder}/cpu.max"):
            quota, period = text.split()
        else:
            quota = text_or_none(group.source, f"{folder}/cpu.cfs_quota_us") or "-1"
            period = text_or_none(group.source, f"{folder}/cpu.cfs_period_us") or "100000"
        if quota not in ("max", "-1"):
            given.append(int(quota) / int(period))
    if not given:
        raise NotApplicable("no quota: bound by its CPU set alone")
    return min(given)


def _hugepage_limits(group: Group, pid: int) -> dict[str, int]:
    found: dict[str, int] = {}
    folders = _folders(group, pid, "hugetlb")
    for name in entries(group.source, folders[0]):
        if match := re.fullmatch(r"hugetlb\.(\w+)\.(?:max|limit_in_bytes)", name):
            limit = _tightest(group, folders, (name,))
            if limit is not None:
                found[match[1]] = limit
    if not found:
        raise NotApplicable("no hugepage limit is set")
    return found


def _threads(group: Group, pid: int) -> list[dict[str, Any]]:
    found = []
    for thread in sorted(group.source.list_dir(f"/proc/{pid}/task"), key=int)[:256]:
        if text := text_or_none(group.source, f"/proc/{pid}/task/{thread}/status"):
            fields = key_values(text)
            found.append({"name": fields["Name"], "cpus": number_list(fields["Cpus_allowed_list"])})
    if not found:
        raise Unread("the process has no thread any more")
    return found


def _policy(group: Group, pid: int) -> str:
    rows = group.source.read_file(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    names = {0: "other", 1: "fifo", 2: "round robin", 3: "batch", 5: "idle", 6: "deadline"}
    return f"{names[int(rows[38])]}, priority {rows[37]}, nice {rows[16]}"


def _root_mount(group: Group, pid: int) -> dict[str, Any]:
    for row in group.source.read_file(f"/proc/{pid}/mounts").splitlines():
        _, where, kind, options, *_ = row.split(" ")
        if where == "/":
            return {"file_system": kind, "read_only": "ro" in options.split(",")}
    raise Unread("the workload has no root mount")


def _packages_digest(group: Group, pid: int) -> str:
    """What stands for the content of a root file system that is no image: its package database."""
    try:
        return group.source.digest(f"/proc/{pid}/root{_PACKAGES}")
    except FileNotFoundError:
        raise NotApplicable("the workload's root holds no Debian package database") from None


def _shared_namespaces(group: Group, pid: int, viewer: str) -> list[str]:
    """Which namespaces the workload shares with its node."""
    names = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    read = group.source.read_link
    return [name for name in names if read(f"/proc/{pid}/ns/{name}") == read(f"/proc/{viewer}/ns/{name}")]
