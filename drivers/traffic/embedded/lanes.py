"""Lanes: copies of the tester's loop, each on a CPU of its own with a queue of each port; what they need."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.traffic.embedded.ports import (
    AF_PACKET,
    MEMORY_MIB,
    PCI,
    RING,
    SOCKET_KINDS,
    XDP,
    pads_nothing,
)
from bmwg.drivers.traffic.embedded.protocol import RefusalError, nonsense, whole
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability
from bmwg.methodology.trial.pattern import LEAST_PORTS
from bmwg.schemas.validation import near_hint

MOST_LANES = 64  # six bits of the sequence number (src/crossing.h)
LANE_MIB = 56  # choice: two pools of 8192 buffers of 2.4 kB, and rings to the other lanes
PORT_MIB = 28  # choice: one such pool, of a port beyond the first two
DESCRIPTORS = 2048
LANE_KINDS = (AF_PACKET, *SOCKET_KINDS, PCI, RING)
# What one lane sees and several do not: their order is told by queue, and a burst is spread over them.
_OF_ONE_LANE = {
    Capability.LOSS_TIMES,
    Capability.BROADCAST,
    Capability.REPEATED_BURSTS,
    Capability.PATTERN,
    Capability.MANY_FLOWS,
}
_NODES = Path("/sys/devices/system/node")
_PCI_DEVICES = Path("/sys/bus/pci/devices")

OPTIONS: dict[str, tuple[int, int]] = {
    "lanes": (1, MOST_LANES),
    "memory_mib": (64, 65536),
    "descriptors": (64, 32768),
    "mac_step": (1, 2**24 - 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`tester.options` of a testbed file for driver embedded; None is the tester's own choice."""

    lanes: int | None = None
    memory_mib: int | None = None
    descriptors: int | None = None
    mac_step: int = 1  # from one numbered address of a port to the next, which a switch may hash (rfc2889-3)


def read_settings(options: Mapping[str, Any], cpus: Sequence[int], where: str) -> Settings:
    """Read the options.

    ConfigError TST-27 for an unknown one, a number out of its range, or more lanes than CPUs.
    """
    for name, value in options.items():
        if name not in OPTIONS:
            raise ConfigError(
                "TST-27",
                f"{where}: tester.options.{name}; nothing was started",
                expected=f"one of {', '.join(OPTIONS)}",
                found=name,
                hint=near_hint(name, OPTIONS),
            )
        least, most = OPTIONS[name]
        if type(value) is not int or not least <= value <= most:
            raise ConfigError(
                "TST-27",
                f"{where}: tester.options.{name}; nothing was started",
                expected=f"a whole number from {least} to {most}",
                found=repr(value),
            )
    settings = Settings(**options)
    if settings.mac_step % 2 == 0:
        raise ConfigError(
            "TST-27",
            f"{where}: tester.options.mac_step; nothing was started",
            expected="an odd number: with an even one some addresses of a port would be the same",
            found=str(settings.mac_step),
        )
    if settings.lanes is not None and settings.lanes > len(cpus):
        raise ConfigError(
            "TST-27",
            f"{where}: tester.options.lanes; nothing was started",
            expected=f"at most one for each CPU of tester.cpus, {len(cpus)}",
            found=str(settings.lanes),
            hint="name more CPUs in tester.cpus: each lane has one for itself",
        )
    return settings


def memory_for(lanes: int, descriptors: int, ports: int = LEAST_PORTS) -> int:
    """DPDK's memory in MiB for so many lanes and descriptors a queue, where nobody names another."""
    more = max(1, -(-descriptors // DESCRIPTORS))
    return MEMORY_MIB + LANE_MIB * (lanes * more - 1) + PORT_MIB * (ports - LEAST_PORTS) * lanes * more


def needed_mib(testbed: Testbed) -> int:
    """DPDK's memory in MiB for a file's lanes and ports, or what it says; raises as `read_settings`."""
    tester = testbed.tester
    settings = read_settings(tester.options, tester.cpus, testbed.file)
    lanes = len(tester.cpus[: settings.lanes])
    descriptors = settings.descriptors or DESCRIPTORS
    return settings.memory_mib or memory_for(lanes, descriptors, len(tester.ports))


def capabilities_of(lanes: int, ports: Sequence[TesterPort]) -> frozenset[Capability]:
    """What so many lanes can send and count; programs inside the kernel know of two ports."""
    able = EVERYTHING if lanes == 1 else EVERYTHING - _OF_ONE_LANE
    if not all(pads_nothing(port) for port in ports):
        able -= {Capability.UNDERSIZE}
    return able - {Capability.PATTERN} if any(port.io == XDP for port in ports) else able


def check_kinds(ports: Sequence[TesterPort], lanes: int) -> None:
    """Raise ConfigError TST-28 for a kind of port that has one queue, where there are several lanes."""
    if len(ports) > LEAST_PORTS and any(port.io == XDP for port in ports):
        raise ConfigError(
            "TST-28",
            f"{len(ports)} tester ports of kind xdp; no traffic was sent",
            expected=f"{LEAST_PORTS}, or ports of another kind such as af_xdp or af_packet",
            found=", ".join(port.io for port in ports),
            hint="programs inside the kernel know of two ports: set `io: af_xdp` in the testbed file",
        )
    for port in ports:
        if lanes > 1 and port.io not in LANE_KINDS:
            raise ConfigError(
                "TST-28",
                f"tester port {port.name} ({port.io}): {lanes} lanes; no traffic was sent",
                expected=f"one lane, or ports of kind {', '.join(LANE_KINDS)}",
                found=f"{lanes} CPUs in tester.cpus",
                hint="name one CPU, or set tester.options.lanes to 1",
            )


def check_nodes(ports: Sequence[TesterPort], cpus: Sequence[int]) -> None:
    """Raise TestbedError TST-32 where one of several lanes is on another NUMA node than a NIC."""
    if len(cpus) == 1:
        return
    for port in ports:
        node = _number(_PCI_DEVICES / port.device / "numa_node") if port.io == PCI else None
        if node is None or node < 0:
            continue
        away = [cpu for cpu in cpus if not (_NODES / f"node{node}" / f"cpu{cpu}").exists()]
        if away:
            raise TestbedError(
                "TST-32",
                f"tester port {port.name} ({port.device}): CPUs of its lanes; no traffic was sent",
                expected=f"CPUs of NUMA node {node}, where this NIC is",
                found=f"tester.cpus {away} elsewhere",
                hint=f"its CPUs are in {_NODES}/node{node}/cpulist",
            )


def refused(refusal: RefusalError, ports: Sequence[TesterPort], lanes: int) -> ToolkitError | None:
    """Return the error for what the tester says of a port's queues and buffers; None for another reason."""
    name, _, queues = refusal.text.partition(" ")
    port = next((port for port in ports if port.name == name), ports[0])
    if refusal.code == "queues":
        return TestbedError(
            "TST-28",
            f"tester port {port.name} ({port.device}): {lanes} lanes; no traffic was sent",
            expected="a queue to send and one to receive for each lane",
            found=f"{queues} of each",
            hint="set tester.options.lanes to no more than that",
        )
    if refusal.code == "no_rss":
        return TestbedError(
            "TST-29",
            f"tester port {port.name} ({port.device}): {lanes} lanes; no traffic was sent",
            expected="a NIC that spreads frames over its queues by their UDP ports (RSS)",
            found="its driver offers none",
            hint="set tester.options.lanes to 1: all frames would come to one queue",
        )
    if refusal.code == "memory":
        return TestbedError(
            "TST-11",
            f"tester ports, {lanes} lanes: memory; no traffic was sent",
            expected="buffers for each queue",
            found=refusal.text,
            hint="raise tester.options.memory_mib (PCI: hugepages on the NIC's node), or lower descriptors",
        )
    return None


def told(reply: Mapping[str, Any]) -> dict[str, int]:
    """What each of several lanes did in a trial, as a result's own figures; nothing of one lane."""
    entries = reply["lanes"]
    if not isinstance(entries, list) or not entries:
        raise nonsense("lanes of a trial", entries)
    if len(entries) == 1:
        return {}
    found = {
        "lanes": len(entries),
        "lanes.handed_frames": sum(whole(entry, "handed_frames") for entry in entries),
    }
    for number, one in enumerate(entries):
        for key in ("sent_frames", "received_frames", "cpu_ns", "largest_gap_ns"):
            found[f"lane{number}.{key}"] = whole(one, key)
    return found


def check_cpus(cpus: Sequence[int]) -> None:
    """Raise ConfigError TST-23 for no CPU, one that is named twice, or more than there can be lanes."""
    if not cpus or len(set(cpus)) != len(cpus) or len(cpus) > MOST_LANES:
        raise ConfigError(
            "TST-23",
            "tester cpus",
            expected=f"1 to {MOST_LANES} CPUs, one for each lane and none of them twice",
            found=str(tuple(cpus)),
        )
    online = set(range(os.cpu_count() or 1))
    strange = [cpu for cpu in cpus if cpu not in online]
    if strange:
        raise ConfigError("TST-23", "tester cpus", expected=f"CPUs of {sorted(online)}", found=str(strange))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
