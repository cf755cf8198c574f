"""What keeps the CPUs of a machine from halting while it measures, in words and as data.

A virtual CPU that halts comes back late: its hypervisor gives it to somebody else meanwhile. A DUT that is to
be measured with its sleep states must be measured without any of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class KeepAwake(StrEnum):
    """The ways. A profile asks for one; what a machine could hold may be another."""

    PM_QOS = "pm_qos"  # a request of 0 us on /dev/cpu_dma_latency: idle CPUs poll instead of halting
    SPIN = "spin"  # a process of the lowest priority on each CPU of tester and DUT
    NONE = "none"  # CPUs halt as the kernel has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a profile asked for and what was held. `reason` says why it is another, "" when it is not.

    `cpus` are the CPUs that a spinner runs on; a request holds for all CPUs of its machine and names none.
    """

    asked: KeepAwake
    held: KeepAwake
    reason: str = ""
    cpus: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Builtins for a record."""
        return {
            "asked": self.asked.value,
            "held": self.held.value,
            "reason": self.reason,
            "cpus": list(self.cpus),
        }


def sentence(told: Mapping[str, Any]) -> str:
    """Return what a record says was held, as one sentence without a full stop."""
    said = {
        KeepAwake.PM_QOS.value: "CPUs were kept from halting by a request of 0 us on /dev/cpu_dma_latency",
        KeepAwake.SPIN.value: "CPUs "
        + ", ".join(str(cpu) for cpu in told["cpus"])
        + " were kept from halting by a process of idle priority on each",
        KeepAwake.NONE.value: "CPUs could halt when they had nothing to do",
    }[told["held"]]
    asked = f" (the profile asked for {told['asked']}: {told['reason']})" if told["reason"] else ""
    return f"{said}{asked}"
