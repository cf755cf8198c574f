"""What the record of a host tells of the virtual machines in which pods stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.protocols import JsonValue


def nested(host: str, machines: Mapping[str, Mapping[str, Any]]) -> dict[str, JsonValue]:
    """Return each machine of a host by its name, as the record has a workload."""
    return {name: _workload(machine) for name, machine in machines.items() if machine.get("host") == host}


def _workload(machine: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What is told of a virtual machine in which pods stand."""
    vnic = machine["vnic"]
    other = f" of {machine['architecture']}" if "architecture" in machine else ""
    return {
        "kind": f"virtual machine{other}",
        "function": "none: pods stand in it",
        "image": machine["guest_root"],
        "virtual_interfaces": {vnic["interface"]: {"type": vnic["kind"], "network": vnic["other_end"]}},
        "queues": None,
        "af_xdp": {"not_applicable": "no AF_XDP socket in the workload"},
        "resource_request": {"cpus": machine["cpus"], "memory_octets": machine["memory_octets"]},
        "unmeasured": "a machine with a kernel of its own, not the process that emulates it on its host",
    }
