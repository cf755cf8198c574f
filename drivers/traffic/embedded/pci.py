"""PCI ports of the embedded tester: DPDK's settings for them, and what is asked of their links."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api.protocols import TesterPort
from bmwg.methodology.errors import TestbedError

LINK_DEADLINE_S = 10.0  # choice: a NIC that DPDK has just started negotiates its link anew, within seconds
NO_LINK = "no_link"  # the tester's word
_NO_DEVICE = "ffff:ff:1f.7"  # an address that nothing has
# Memory comes in hugepages, on the NUMA node of the device that asks for it, and leaves no file. The list of
# devices to probe holds none: what is bound to VFIO may be another program's, and a port is plugged by name.
EAL = ("--in-memory", "--iova-mode=va", "--allow", _NO_DEVICE)


def linkless(ports: Sequence[TesterPort], name: str) -> TestbedError:
    """Return the error for the port of that name, whose link did not come."""
    port = next((tester_port for tester_port in ports if tester_port.name == name), ports[0])
    return TestbedError(
        "TST-25",
        f"tester port {port.name} ({port.device}); no traffic was sent",
        expected=f"a link within {LINK_DEADLINE_S:g} s",
        found="none",
        hint="look at the cable and at the port at its other end",
    )


def lost_link(
    ports: Sequence[TesterPort], before_mbps: Sequence[int], after_mbps: Sequence[int]
) -> str | None:
    """Say which port had a link that told its rate, and has none at the end of a trial.

    One that went and came back between is not seen here; both ends of a cable lose it, and the kernel of a
    device counts that (`watch.liveness`).
    """
    for port, before, after in zip(ports, before_mbps, after_mbps, strict=True):
        if before and not after:
            return f"tester port {port.name} ({port.device}) lost its link"
    return None


def require_line_rate(ports: Sequence[TesterPort], links_mbps: Sequence[int], stated_bps: int | None) -> None:
    """Raise TestbedError TST-26 for a link that carries less than the medium is said to; 0 is not told."""
    for port, mbps in zip(ports, links_mbps, strict=True):
        if 0 < mbps * 1_000_000 < (stated_bps or 0):
            raise TestbedError(
                "TST-26",
                f"tester port {port.name} ({port.device}): the rate of its link; no traffic was sent",
                expected=f"at least that of the medium, {stated_bps} bit/s",
                found=f"{mbps} Mbit/s",
                hint="look at the cable and at what both ends offer; or name the lower rate in `medium`",
            )
