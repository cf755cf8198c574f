"""Take the platform configuration record of the place where this code runs (RFC 8172 3, RFC 8204 3.3, draft
5.2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from bmwg.drivers.platform_record.collectors import (
    cpu,
    datapath,
    hardware,
    hosting,
    memory,
    nic,
    system,
    toolkit,
    workload,
)
from bmwg.drivers.platform_record.source import BUDGET_S, SLOW_BUDGET_S, LocalSource
from bmwg.drivers.platform_record.translation import maybe_translated
from bmwg.drivers.platform_record.values import Group, JsonValue, Source
from bmwg.methodology.errors import ConfigError

SCHEMA = "record/1.0"
_MACHINE: dict[str, Callable[[Group], object]] = {
    "host": hardware.host,
    "bios": hardware.bios,
    "cpu": cpu.cpu,
    "power": cpu.power,
    "numa": cpu.numa,
    "memory": memory.memory,
    "storage": hardware.storage,
    "pci": hardware.pci,
    "nic": nic.nic,
    "system": system.system,
    "kernel": system.kernel,
    "isolation": system.isolation,
    "clock": system.clock,
    "virtualization": hosting.virtualization,
    "container": hosting.container,
    "kubernetes": hosting.kubernetes,
    "cni": datapath.cni,
    "datapath": datapath.datapath,
    "vswitch": datapath.vswitch,
    "toolkit": toolkit.toolkit,
}
_NETWORK: dict[str, Callable[[Group], object]] = {
    "nic": nic.nic,
    "kernel": system.kernel,
    "datapath": datapath.datapath,
}
# what may change while a run goes on and costs little to look at: files and netlink, hardly a process
_WATCH: dict[str, Callable[[Group], object]] = {
    **{name: _MACHINE[name] for name in ("cpu", "power", "numa", "memory", "kernel", "isolation", "clock")},
    "nic": nic.nic,
    "cni": datapath.cni_files,
    "datapath": datapath.datapath,
}
_OF_SCOPE = {"machine": _MACHINE, "network": _NETWORK, "watch": _WATCH}
SCOPES = ("machine", "network", "watch", "workload")


def collect(
    scope: str = "machine",
    pid: int | None = None,
    workloads: Mapping[str, Mapping[str, JsonValue]] | None = None,
    topology: Mapping[str, JsonValue] | None = None,
    tester: Mapping[str, JsonValue] | None = None,
    attachments: Mapping[str, JsonValue] | None = None,
    budget_s: float | None = None,
) -> dict[str, JsonValue]:
    """The record of this place, in JSON builtins.

    `scope` is `machine` (everything), `network` (interfaces, forwarding state and kernel settings of this
    network namespace, for evidence of a deployment), `watch` (what of the machine may change during a run,
    taken in a tenth of the time) or `workload` (the process `pid` and its network namespace, from outside).
    `workloads`, `topology` and `tester` are what their drivers know; a workload's `pid` must be one of this
    node; in a record of another scope than `machine` their groups stand where they are given. `attachments`
    is what CNI was asked for (plugin folder and types, version, rendered configurations by interface); it
    takes the place of the node's own `cni`. Commands take `budget_s` seconds at most together, without it 15,
    or 45 for all of a machine that may be translated. Never raises for what the machine answers. ConfigError
    REC-01 on an unknown scope or a scope without its process.
    """
    if scope not in SCOPES:
        raise ConfigError("REC-01", "record: unknown scope", expected=", ".join(SCOPES), found=repr(scope))
    if (scope == "workload") != (pid is not None):
        raise ConfigError(
            "REC-01", "record: scope `workload`, and no other, takes `pid`", found=f"{scope}, pid {pid}"
        )
    if scope == "workload" and pid is not None:
        from bmwg.drivers.platform_record.inside import collect_inside

        return collect_inside(pid, budget_s=budget_s or BUDGET_S)
    slow = scope == "machine" and maybe_translated(LocalSource())
    source = LocalSource(budget_s=budget_s or (SLOW_BUDGET_S if slow else BUDGET_S))
    return assemble(
        source, scope, workloads=workloads, topology=topology, tester=tester, attachments=attachments
    )


def assemble(
    source: Source,
    scope: str,
    *,
    workloads: Mapping[str, Mapping[str, JsonValue]] | None = None,
    topology: Mapping[str, JsonValue] | None = None,
    tester: Mapping[str, JsonValue] | None = None,
    attachments: Mapping[str, JsonValue] | None = None,
) -> dict[str, JsonValue]:
    """A record from any source: the live machine or a stored sample."""
    began_ns = time.monotonic_ns()
    record: dict[str, Any] = {"schema": SCHEMA, "scope": scope, "taken_at": source.now(), "fields": {}}
    fields = record["fields"]
    for name, collector in _OF_SCOPE[scope].items():
        fields[name] = gather(source, collector)
    whole = scope == "machine"
    if whole or workloads is not None:
        fields["workload"] = gather(source, lambda group: workload.workloads(group, workloads))
    if whole or topology is not None:
        fields["topology"] = gather(source, lambda group: workload.topology(group, topology))
    if whole or tester is not None:
        fields["tester"] = gather(source, lambda group: workload.tester(group, tester))
    if attachments is not None:
        fields["cni"] = gather(source, lambda group: datapath.cni_of_deployment(group, attachments))
    record["took_ms"] = (time.monotonic_ns() - began_ns) // 1_000_000
    return record


def gather(source: Source, collector: Callable[[Group], object]) -> dict[str, Any]:
    """One group. A collector that breaks off leaves what it has and a field `collector` with the reason."""
    group = Group(source)
    try:
        collector(group)
    except Exception as error:
        failure = error  # the boundary: no machine may cost the rest of the record

        def reason() -> Any:
            raise failure

        group.take("collector", "computed", f"{getattr(collector, '__name__', 'collector')}", reason)
    return group.fields
