"""testpmd as the function in a pod: its command line, and when it is ready.

It forwards at layer 2 in `mac` mode: the destination becomes the neighbour's MAC given for the port of
departure, the source that port's own; nothing above the Ethernet header changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api import FunctionLink, JsonValue, Missing, Pod, PodFunction, PodParts
from bmwg.methodology.errors import DriverError

if TYPE_CHECKING:  # a node function stands in this module, and the bed is slow to import
    from bmwg.drivers.paths.bed import Bed

BINARY = "/usr/bin/dpdk-testpmd"
_MEND = "apt-get install dpdk"
CAPABILITIES = (
    "CAP_NET_RAW",
    "CAP_NET_ADMIN",
    "CAP_IPC_LOCK",
)  # AF_PACKET sockets, promiscuous mode, no paging
MEMORY_MIB = 96  # choice: 8192 buffers of 2 KiB and the drivers' rings
_READY = "packet forwarding -"


class Testpmd:
    """A pod whose program forwards at layer 2. It answers no ARP: its neighbours are told its MACs."""

    answers_neighbours: ClassVar[bool] = False
    forwarding: ClassVar[str] = (
        "testpmd in the pod's cgroup; the node's share in the threads of the device queues"
    )

    def __init__(self, bed: Bed) -> None:
        self._cpu = bed.testbed.pods.cpus[0]

    def probe(self) -> Missing | None:
        """Return what is missing: the program."""
        if Path(BINARY).exists():
            return None
        return Missing(what="testpmd", reason=f"no file {BINARY}", mend=_MEND)

    @contextmanager
    def parts(self, pod_id: str) -> Iterator[PodParts]:
        """Yield a pod that is told its command line at its start: MACs are known only after ADD."""
        yield PodParts(told_at_start=True, capabilities=CAPABILITIES, root=True)

    def furnish(self, pod: Pod, links: Sequence[FunctionLink]) -> tuple[str, ...]:
        """Return the command line."""
        first, second = links
        return arguments(
            interfaces=(first.interface, second.interface),
            neighbours=(first.neighbour_mac, second.neighbour_mac),
            cpu=self._cpu,
        )

    def started(self, pod: Pod) -> dict[str, JsonValue]:
        """Wait until it forwards; return evidence. Raises DriverError PATH-06."""
        return {
            "name": "testpmd",
            "forward_mode": "mac",
            "port_kind": "net_af_packet",
            "said": wait_ready(pod),
        }


def arguments(*, interfaces: tuple[str, str], neighbours: tuple[str, str], cpu: int) -> tuple[str, ...]:
    """Return the command line: both interfaces by AF_PACKET, one forwarding core beside the idle main one."""
    devices = [
        f"--vdev=net_af_packet{number},iface={interface},framesz=2048,blocksz=65536,framecnt=4096"
        for number, interface in enumerate(interfaces)
    ]
    peers = [f"--eth-peer={number},{mac}" for number, mac in enumerate(neighbours)]
    return (
        "stdbuf",
        "-oL",
        BINARY,
        f"--lcores=(0-1)@{cpu}",
        "--no-huge",
        f"-m{MEMORY_MIB}",
        "--no-pci",
        "--no-telemetry",
        "--no-shconf",
        *devices,
        "--",
        "--forward-mode=mac",
        *peers,
        "--total-num-mbufs=8192",
        "--no-flush-rx",
        "--auto-start",
        "--stats-period=3600",  # without a terminal it would end at once
    )


def wait_ready(pod: Pod, *, within_s: float = 20.0) -> str:
    """Wait until testpmd says that it forwards; return that line.

    Raises DriverError PATH-06 with the last lines of its output when it does not within the deadline.
    """
    due_s = time.monotonic() + within_s
    lines: list[str] = []
    while time.monotonic() < due_s:
        lines = pod.said()
        for line in lines:
            if _READY in line:
                return line.strip()
            if "Cause:" in line or "EAL: FATAL" in line:
                due_s = 0.0
        time.sleep(0.02)
    raise DriverError(
        "PATH-06",
        "testpmd in the pod does not forward",
        expected=f"{_READY!r} in its output within {within_s:g} s",
        found=" | ".join(lines[-8:]) or "no output",
    )


_: type[PodFunction] = Testpmd
