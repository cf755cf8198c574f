"""testpmd as the function in a pod: its command line, and when it is ready.

It forwards at layer 2 in `mac` mode: the destination becomes the neighbour's MAC given for the port of
departure, the source that port's own; nothing above the Ethernet header changes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api.instance import CRUN
from bmwg.drivers.api.protocols import FunctionLink, JsonValue, Missing, Node, Pod, PodFunction, PodParts
from bmwg.drivers.network.handover import AF_XDP, COMBINED, NETDEV, VFIO, VHOST_USER
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.nodes import pages as hosting_pages
from bmwg.drivers.ports import af_packet
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
_POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
_LARGE_POOL = _POOL.with_name("hugepages-1048576kB")
READY_DEADLINE_S = 90.0  # choice: about 1 s, but a translated guest loads 150 drivers of DPDK's over 9p
READY = "packet forwarding -"
_DRIVER = re.compile(r"--vdev=([a-z_]+)\d")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_VFIO_KIND = "vfio-pci"


class Testpmd:
    """A pod whose program forwards at layer 2. It answers no ARP: its neighbours are told its MACs."""

    routes: ClassVar[bool] = False
    answers_neighbours: ClassVar[bool] = False
    drives: ClassVar[frozenset[str]] = frozenset({NETDEV, VHOST_USER, AF_XDP, VFIO, COMBINED})
    forwarding: ClassVar[str] = (
        "testpmd in the pod's cgroup; the node's share in the threads of the device queues"
    )

    def __init__(self, bed: Bed) -> None:
        self._kinds = ""
        self._cpu = bed.testbed.pods.cpus[0]
        self._pages = bed.testbed.pods.hugepages_2mi
        self._large_pages = bed.testbed.pods.hugepages_1gi
        self._runtime = bed.testbed.pods.runtime

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the program, or hugepages that its pod is to have."""
        found = node.call(
            lacking, pages=self._pages, large_pages=self._large_pages, by_crun=self._runtime == CRUN
        )
        return Missing.told(found)

    def _memory(self) -> tuple[int, str]:
        """Return how many hugepages its pod gets, and of which size."""
        return (self._large_pages, "1 GiB") if self._large_pages else (self._pages, "2 MiB")

    @contextmanager
    def parts(self, pod_id: str) -> Iterator[PodParts]:
        """Yield a pod that is told its command line at its start: MACs are known only after ADD."""
        yield PodParts(told_at_start=True, capabilities=CAPABILITIES, root=True)

    def furnish(self, pod: Pod, links: Sequence[FunctionLink]) -> tuple[str, ...]:
        """Return the command line."""
        first, second = links
        line = arguments(
            devices=(
                first.device or af_packet.device(0, first.interface),
                second.device or af_packet.device(1, second.interface),
            ),
            neighbours=(first.neighbour_mac, second.neighbour_mac),
            cpu=self._cpu,
            hugepages=bool(self._memory()[0]),
        )
        kinds = set(_DRIVER.findall(" ".join(line)))
        if any(word.startswith("--allow=") for word in line):
            kinds.add(_VFIO_KIND)
        self._kinds = ", ".join(sorted(kinds))
        return line

    def started(self, pod: Pod) -> dict[str, JsonValue]:
        """Wait until it forwards; return evidence. Raises DriverError PATH-06, PATH-17.

        Where its memory lies is what the kernel says of the program.
        """
        said = wait_ready(pod)
        many, size = self._memory()
        held = pod.node.call(hosting_pages.of_process, pid=pod.pid)
        if bool(many) != bool(held["hugepages"].get(size)):
            raise DriverError(
                "PATH-17",
                "memory of testpmd in the pod",
                expected=f"hugepages of {size}" if many else "ordinary pages",
                found=str(held["hugepages"] or "ordinary pages"),
            )
        return {
            "name": "testpmd",
            "forward_mode": "mac",
            "port_kind": self._kinds,
            "memory": f"{many} hugepages of {size}" if many else "ordinary pages",
            "pages": held,
            "said": said,
        }


def lacking(*, pages: int, large_pages: int, by_crun: bool) -> dict[str, str] | None:
    """Node function: what is missing for testpmd in a pod with so many hugepages of 2 MiB and of 1 GiB."""
    many, size, key = large_pages or pages, "1 GiB" if large_pages else "2 MiB", "pods.hugepages_"
    missing: Missing | None = None
    if not Path(BINARY).exists():
        missing = Missing(what="testpmd", reason=f"no file {BINARY}", mend=_MEND)
    elif many and not cgroups.has_controller("hugetlb"):
        missing = Missing(
            what=f"{many} hugepages of {size} for testpmd",
            reason="this kernel has no hugetlb controller for cgroups, by which a pod gets a share",
            mend=f"a kernel with CONFIG_CGROUP_HUGETLB, or {key}{'1Gi' if large_pages else '2Mi'}: 0",
        )
    elif large_pages and not by_crun:
        missing = Missing(
            what=f"{many} hugepages of 1 GiB for testpmd",
            reason="pods by other runtimes than crun get none of this size here",
            mend="pods.runtime: crun, or pages of 2 MiB",
        )
    missing = missing or lacking_large_pages(large_pages) or lacking_pages(pages)
    return asdict(missing) if missing else None


def lacking_pages(pages: int, pool: Path = _POOL) -> Missing | None:
    """Return why a pod cannot have so many hugepages of 2 MiB for testpmd; None where it can, or has none."""
    if not pages:
        return None
    free = int((pool / "free_hugepages").read_text()) if pool.exists() else 0
    least = MEMORY_MIB // 2
    if pages < least:
        return Missing(
            what=f"{pages} hugepages of 2 MiB for testpmd",
            reason=f"it needs {least}",
            mend=f"pods.hugepages_2Mi: {least} or more, or 0 for ordinary pages",
        )
    if free < pages:
        return Missing(
            what=f"{pages} hugepages of 2 MiB for testpmd",
            reason=f"{free} are free",
            mend=f"echo {pages} > {pool}/nr_hugepages, or pods.hugepages_2Mi: 0",
        )
    return None


def lacking_large_pages(pages: int, pool: Path = _LARGE_POOL) -> Missing | None:
    """Return why a pod cannot have so many hugepages of 1 GiB; None where it can, or has none."""
    free = int((pool / "free_hugepages").read_text()) if pool.exists() else 0
    if free >= pages:
        return None
    return Missing(
        what=f"{pages} hugepages of 1 GiB for testpmd",
        reason=f"{free} are free" if pool.exists() else "this machine has no pages of that size",
        mend=f"hugepagesz=1G hugepages={pages} in the kernel's command line, or pods.hugepages_1Gi: 0",
    )


def arguments(
    *, devices: tuple[str, str], neighbours: tuple[str, str], cpu: int, hugepages: bool = False
) -> tuple[str, ...]:
    """Return the command line: two EAL devices, one forwarding core beside the idle main one.

    With hugepages all of its memory lies in them, in one file, which a vSwitch can share. EAL numbers PCI
    devices by their addresses, then the others in the order of the command line.
    """
    ports = sorted(zip(devices, neighbours, strict=True), key=lambda port: _place(port[0]))
    memory = ("--huge-dir=/dev/hugepages", "--single-file-segments") if hugepages else ("--no-huge",)
    peers = [f"--eth-peer={number},{mac}" for number, (_, mac) in enumerate(ports)]
    behind_iommu = any(_PCI_ADDRESS.fullmatch(device) for device in devices)
    # ordinary memory has no other addresses than the process's, and the IOMMU translates those
    buses = ["--iova-mode=va" if behind_iommu else "--no-pci"]
    return (
        "stdbuf",
        "-oL",
        BINARY,
        f"--lcores=(0-1)@{cpu}",
        *memory,
        f"-m{MEMORY_MIB}",
        *buses,
        "--no-telemetry",
        "--no-shconf",
        *(f"--{'allow' if _PCI_ADDRESS.fullmatch(one) else 'vdev'}={one}" for one, _ in ports),
        "--",
        "--forward-mode=mac",
        *peers,
        "--total-num-mbufs=8192",
        "--no-flush-rx",
        "--auto-start",
        "--stats-period=3600",  # without a terminal it would end at once
    )


def forwards(*, folder: str) -> bool:
    """Node function: whether a testpmd whose output is kept in a folder says that it forwards."""
    return READY in Path(folder, "output").read_text(errors="replace")


def repeating(*, interface: str, socket: str, cpu: int) -> tuple[str, ...]:
    """Return the command line that repeats frames between an interface and a socket that it serves.

    In `io` mode no frame is changed. The interface is driven by AF_PACKET, as a vSwitch drives its NIC.
    """
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
        f"--vdev={af_packet.device(0, interface)}",
        f"--vdev=net_vhost1,iface={socket},queues=1",
        "--",
        "--forward-mode=io",
        "--total-num-mbufs=8192",
        "--no-flush-rx",
        "--auto-start",
        "--stats-period=3600",  # without a terminal it would end at once
    )


def _place(device: str) -> tuple[int, str]:
    """Where EAL puts a device among its ports."""
    return (0, device) if _PCI_ADDRESS.fullmatch(device) else (1, "")


def wait_ready(pod: Pod, *, within_s: float = READY_DEADLINE_S) -> str:
    """Wait until testpmd says that it forwards; return that line.

    Raises DriverError PATH-06 with the last lines of its output when it does not within the deadline.
    """
    due_s = time.monotonic() + within_s
    lines: list[str] = []
    while time.monotonic() < due_s:
        lines = pod.said()
        for line in lines:
            if READY in line:
                return line.strip()
            if "Cause:" in line or "EAL: FATAL" in line:
                due_s = 0.0
        time.sleep(0.02)
    raise DriverError(
        "PATH-06",
        "testpmd in the pod does not forward",
        expected=f"{READY!r} in its output within {within_s:g} s",
        found=" | ".join(lines[-8:]) or "no output",
    )


_: type[PodFunction] = Testpmd
