"""What a record says of the tester of frames: what it is by where it runs, its configuration, its ports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bmwg.drivers.api.protocols import Deployment, JsonValue
from bmwg.drivers.testbed.hosts import under_test

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed

_IN_PROCESS = re.compile(r"^/proc/\d+/root")  # how the tester reaches a socket of another mount namespace


def _tester_kind(bed: Bed) -> str | None:
    """What the tester is by where it runs; None where cables may lead to anything."""
    if bed.testbed.tester.host is not None or under_test(bed.testbed):
        return "software on a host of its own"
    return None if bed.testbed.lab_ports else "software on the host of the device under test"


def told_of(bed: Bed, deployment: Deployment, described: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what a record says of the tester of frames; `described` is its driver's `describe()`."""
    kept = {key: value for key, value in described.items() if key != "ports"}
    versions = {key: described[key] for key in ("source_sha256", "dpdk", "protocol") if key in described}
    return {
        "kind": _tester_kind(bed),
        "name": described.get("driver"),
        "version": versions or None,
        "configuration": kept,
        "cpus": described.get("cpus"),
        "ports": [
            {
                "name": port.name,
                "io": port.io,
                "device": _IN_PROCESS.sub("", port.device),
                "vlan_id": port.vlan_id,
            }
            for port in deployment.ports
        ],
        "qualification": "the outcomes of metric tester.envelope in run.json, for each shape of traffic",
    }
