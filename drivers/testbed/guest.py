"""The machine of a run in a guest, as a testbed file may describe it under `guest`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.schemas.validation import Problem

KEY = "guest"
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_LEAST_LEFT_OCTETS = 1 << 30  # choice: what its system and the toolkit need beside hugepages


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSpec:
    """CPUs, memory (octets), NUMA nodes, and pages of 2 MiB and 1 GiB that are set aside in it."""

    cpus: int = 2  # choice: the tester's and the DUT's, as testbeds/guest.yaml names them
    memory_octets: int = 3 << 30
    numa_nodes: int = 1
    hugepages_2mi: int = 0
    hugepages_1gi: int = 0


def guest_spec(data: Mapping[str, Any]) -> GuestSpec:
    """Return the machine that a testbed file that was checked describes, or the usual one."""
    told = data.get(KEY, {})
    usual = GuestSpec()
    memory = told.get("memory")
    return GuestSpec(
        cpus=int(told.get("cpus", usual.cpus)),
        memory_octets=int(memory[:-3]) * _UNITS[memory[-3:]] if memory else usual.memory_octets,
        numa_nodes=int(told.get("numa_nodes", 1)),
        hugepages_2mi=int(told.get("hugepages_2Mi", 0)),
        hugepages_1gi=int(told.get("hugepages_1Gi", 0)),
    )


def guest_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what of the machine cannot be: NUMA nodes without a CPU, hugepages that leave no memory."""
    if KEY not in data:
        return
    guest = guest_spec(data)
    if guest.numa_nodes > guest.cpus:
        yield Problem(
            location=(KEY, "numa_nodes"),
            expected=f"at most as many as it has CPUs ({guest.cpus})",
            found=str(guest.numa_nodes),
        )
    pages = (guest.hugepages_2mi << 21) + (guest.hugepages_1gi << 30)
    if guest.memory_octets - pages < _LEAST_LEFT_OCTETS:
        yield Problem(
            location=(KEY, "memory"),
            expected="1 GiB at least beside the hugepages",
            found=f"{(guest.memory_octets - pages) >> 20} MiB",
        )
    named = {int(cpu) for part in ("tester", "dut") for cpu in data[part]["cpus"]}
    if outside := sorted(cpu for cpu in named if cpu >= guest.cpus):
        yield Problem(
            location=(KEY, "cpus"),
            expected="as many as tester and DUT name",
            found=f"{guest.cpus}, without CPU {', '.join(map(str, outside))}",
        )
