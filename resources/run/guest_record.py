"""What a run says of the guest that it runs in, and of its machines.

No figure of a translated machine may pass for another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot.api import logger

from bmwg.drivers.machines import guest_run
from bmwg.drivers.nodes import mounts
from bmwg.reports.render.sections.guest import GUEST, MACHINE, OF_PODS, guest_sentence
from bmwg.reports.store import RunStore, read_run


def record_machine(store: RunStore, evidence: Mapping[str, Any], named: str) -> None:
    """Note in a run what ran the machine of a deployment; does nothing for one without.

    Whoever reads a figure is to see it. `named` is the provider of the testbed file, where a path tells none.
    """
    if machine := evidence.get("machine"):
        provider = evidence.get("provider", {}).get("name", named)
        accelerator = str(machine.get("accelerator", ""))
        told = {"name": MACHINE, "provider": provider, "accelerator": accelerator}
        if kinds := sorted({str(one["backend"]) for one in machine.get("vnics", ())}):
            told["nics"] = "/".join(kinds)
        store.add_driver(told)


def record_machines_of_pods(store: RunStore, evidence: Mapping[str, Any]) -> None:
    """Note in a run what ran the machines in which pods of a deployment stand; does nothing without any."""
    for machine in evidence.get("machines", {}).values():
        other = {"architecture": machine["architecture"]} if "architecture" in machine else {}
        accelerator = str(machine.get("accelerator", ""))
        store.add_driver({"name": OF_PODS, "provider": "qemu", "accelerator": accelerator, **other})


def record_guest(store: RunStore) -> None:
    """Note in a run that it runs inside a guest of ours, and on which machine; does nothing elsewhere.

    The state of its pods is then kept in the guest's memory. Robot's log names the machine too.
    """
    if machine := guest_run.evidence():
        mounts.in_memory(target=str(store.folder.resolve() / "pods"))  # a 9p share has no named pipes
        store.add_driver({**machine, "name": GUEST, "version": machine.get("qemu")})
        logger.warn(guest_sentence(read_run(store.folder)))
