"""Which kind of port the embedded tester has where the testbed file leaves it open (`io: auto`, or no io).

A file that names a kind gets exactly that; what it cannot do is then refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.testbed.file import AUTO, Testbed
from bmwg.drivers.traffic.embedded import xdp
from bmwg.methodology.trial.pattern import LEAST_PORTS

XDP, AF_XDP = "xdp", "af_xdp"
EMBEDDED = "embedded"  # the traffic driver that has them
_ASKED_S = 240.0  # choice: the tester is built for it where it never was


@dataclass(frozen=True, slots=True, kw_only=True)
class PortKind:
    """The kind that was asked for and the one that is used, with the reason where they differ.

    The second port is of kind `other` where a testbed file names a kind for each port.
    """

    asked: str
    used: str
    reason: str = ""
    other: str = ""

    @property
    def each(self) -> tuple[str, str]:
        """The kind that each port has."""
        return (self.used, self.other or self.used)

    def of(self, number: int) -> str:
        """Return the kind of the port of that number."""
        return self.other if number == 1 and self.other else self.used

    def evidence(self) -> dict[str, JsonValue]:
        """Return what stands in the record."""
        told = {"asked": self.asked, "used": self.used, "reason": self.reason or None}
        return {**told, "each": list(self.each)} if self.other else told


def port_kind(testbed: Testbed, machine: Calls = HERE) -> PortKind:
    """Return the kind of the tester's ports; for `auto` its machine's kernel is asked, once a process."""
    asked = testbed.tester.io
    if asked != AUTO or testbed.tester.driver != EMBEDDED:
        return PortKind(asked=asked, used=asked, other=testbed.tester.other_io)
    if testbed.dut.device_queue != "threaded":
        return PortKind(
            asked=asked,
            used=AF_XDP,
            reason="dut.device_queue: inline leaves the tester's peers without a queue, which xdp needs",
        )
    if len(testbed.tester.ports) > LEAST_PORTS:
        return PortKind(asked=asked, used=AF_XDP, reason="xdp has two ports, and the testbed file names more")
    reason = machine.call_within(_ASKED_S, xdp.lacks)
    if reason:
        return PortKind(asked=asked, used=AF_XDP, reason=f"no xdp: {reason}")
    return PortKind(asked=asked, used=XDP, reason="the kernel has what xdp needs")
