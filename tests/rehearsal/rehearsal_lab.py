"""A guest that stands for a lab's host, with NICs on cables; commands in it, each with a deadline."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.needs_guest import booting

from bmwg.drivers.api.protocols import Node
from bmwg.drivers.machines import guest_run, guest_views, qemu
from bmwg.drivers.machines.qemu import MachineSpec
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import pages
from bmwg.drivers.testbed.file import load_testbed
from bmwg.resources.run.in_guest import cables_of

ROOT = Path(__file__).resolve().parents[2]
TESTBED = ROOT / "testbeds" / "guest-pci.yaml"
PROFILE = ROOT / "tests" / "rehearsal" / "pci.yaml"
HUGEPAGES = 128
BOOT_DEADLINE_S = 300.0
CALL_DEADLINE_S = 240.0  # a translated guest beside other work answers late
RUN_DEADLINE_S = 780.0
NEEDS = [pytest.mark.slow, pytest.mark.root, booting(with_functions=True)]


@contextmanager
def lab_host(results: Path) -> Iterator[Node]:
    """Boot the guest of `testbeds/guest-pci.yaml`; `results` is a folder of this host that it writes."""
    spec = MachineSpec(
        name="rehearsal",
        cpus=2,
        memory_octets=3 << 30,
        accelerator=qemu.probe_accelerator()[0],
        shares={str(results): "bmwg-results"},
        views=guest_views.hidden(),
        cables=cables_of(load_testbed(TESTBED)),
    )
    with Machine(spec, boot_deadline_s=BOOT_DEADLINE_S) as machine:
        node = machine.node
        node.call_within(
            CALL_DEADLINE_S, guest_run.load, modules=["tun", "nf_conntrack_netlink", "igb", "vfio-pci"]
        )
        made = node.call_within(CALL_DEADLINE_S, pages.set_aside, size_kib=2048, pages=HUGEPAGES)
        assert made == HUGEPAGES
        yield node


def started(node: Node, *words: str, output: str = "/run/output") -> int:
    """Start a command of the toolkit in the guest; returns its pid."""
    found: int = node.call_within(
        CALL_DEADLINE_S,
        guest_run.start,
        argv=[sys.executable, "-m", "bmwg", *words],
        output=output,
        folder=str(ROOT),
        environment={},
    )
    return found


def ended(node: Node, pid: int, *, within_s: float, output: str = "/run/output") -> tuple[int, str]:
    """Wait for a command in the guest; its exit status and what it said."""
    text, offset, end_s = "", 0, time.monotonic() + within_s
    while time.monotonic() < end_s:
        seen = node.call_within(CALL_DEADLINE_S, guest_run.follow, pid=pid, output=output, offset=offset)
        text, offset = text + seen["text"], seen["offset"]
        if seen["status"] is not None:
            return int(seen["status"]), text
        time.sleep(0.5)
    pytest.fail(f"the command in the guest did not end within {within_s:g} s: {text[-2000:]}")


def killed(node: Node, pid: int) -> None:
    """Kill a process in the guest, which gets no chance to give anything back."""
    argv = ["kill", "-KILL", str(pid)]
    node.call_within(
        CALL_DEADLINE_S, guest_run.start, argv=argv, output="/run/kill", folder="/", environment={}
    )


def here(*words: str, within_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run a command of the toolkit on this host."""
    return subprocess.run(
        [sys.executable, "-m", "bmwg", *words],
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
        cwd=ROOT,
    )
