"""A whole run inside a guest: the same command there, its results written to the host's folder.

The guest has the distribution's full kernel, so options that the host's kernel lacks (ipvlan, 802.1Q) carry
frames there. Its record names the accelerator: figures under TCG show function, never a machine's rate.
Ids: GUEST-01 no command result in time, GUEST-02 the guest's clock runs at another rate than the host's,
GUEST-03 fewer hugepages than asked for.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.machines import guest_clock, guest_run, guest_views, qemu
from bmwg.drivers.machines.guest_clock import Reading
from bmwg.drivers.machines.qemu import MachineSpec, NicModel
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import pages
from bmwg.drivers.testbed.file import CABLE, TESTER, Testbed
from bmwg.drivers.testbed.guest import GuestSpec
from bmwg.drivers.traffic.embedded import build
from bmwg.drivers.traffic.embedded.ports import PCI
from bmwg.drivers.watch import awake
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.trial.keep_awake import KeepAwake

USUAL = GuestSpec()
_POLL_S = 1.0
_CALL_DEADLINE_S = 120.0  # a guest under load answers late
_RESULTS_TAG = "bmwg-results"
_MODULES = ("igb", "igbvf", "vfio-pci")  # drivers of NICs with virtual functions, and of these
_SWITCH_MODULES = ("tun", "nf_conntrack_netlink")  # what a vSwitch needs, or would load amid a run


def cables_of(testbed: Testbed) -> tuple[tuple[NicModel, NicModel], ...]:
    """Return what NICs a guest has at the ends of its cables, those of the testbed file.

    The DUT's have virtual functions; where the tester opens NICs itself (io: pci) its own have.
    """
    testers, others = NicModel.VIRTIO, NicModel.IGB
    if testbed.tester.io == PCI:
        testers, others = others, testers
    ends = [(link.a.node, link.b.node) for link in testbed.links if link.kind == CABLE]
    return tuple((testers if a == TESTER else others, testers if b == TESTER else others) for a, b in ends)


def run_in_guest(
    arguments: Sequence[str],
    *,
    results: Path,
    run_id: str,
    deadline_s: float,
    say: Callable[[str], None],
    cables: tuple[tuple[NicModel, NicModel], ...] = (),
    guest: GuestSpec = USUAL,
    tester_cpus: Sequence[int] = (0,),
) -> int:
    """Run `bmwg <arguments>` in a guest and return its exit code; `say` gets its output as it comes.

    The guest has these `cables`, named by the NICs at their ends; interrupts of those of virtio go to CPUs
    other than `tester_cpus`.

    The host's CPUs are kept from halting meanwhile, whatever the profile inside asks of the guest's own.
    Raises TestbedError VM-01..VM-05, GUEST-01, GUEST-02, DriverError VM-07, VM-08. The guest is gone after.
    """
    build.ensure_built()  # here, where the compiler is fast; the guest finds it
    results.mkdir(parents=True, exist_ok=True)
    accelerator, _ = qemu.probe_accelerator()
    spec = MachineSpec(
        name=f"guest-{run_id[-6:]}",
        cpus=guest.cpus,
        memory_octets=guest.memory_octets,
        numa_nodes=guest.numa_nodes,
        hugepages_1gi=guest.hugepages_1gi,
        accelerator=accelerator,
        shares={str(results.resolve()): _RESULTS_TAG},
        views=guest_views.hidden(),
        cables=cables,
    )
    with awake.kept_awake(KeepAwake.PM_QOS, os.sched_getaffinity(0)) as held, Machine(spec) as machine:
        node = machine.node
        described = dict(machine.describe())
        say(
            f"guest booted in {machine.boot_s:.1f} s: {described['accelerator'].upper()} "
            f"({described['accelerator_reason']}), kernel {described['guest_kernel']}\n"
        )
        phase = _Phases(say)
        node.call_within(_CALL_DEADLINE_S, guest_run.load, modules=list(_SWITCH_MODULES))
        if cables:
            node.call_within(_CALL_DEADLINE_S, guest_run.load, modules=list(_MODULES))
            virtio = sum(pair.count(NicModel.VIRTIO) for pair in cables)  # they have the first names
            others = [cpu for cpu in range(spec.cpus) if cpu not in tester_cpus]
            if others:
                node.call_within(
                    _CALL_DEADLINE_S,
                    guest_run.serve_elsewhere,
                    interfaces=[f"eth{number}" for number in range(virtio)],
                    cpus=others,
                )
            phase.ended("drivers of its NICs loaded")
        _set_aside(node, guest, say)
        began = guest_clock.read(node)
        node.call_within(
            guest_run.TELL_DEADLINE_S,
            guest_run.tell,
            machine={**described, "guest_clock": _told(began), "host_kept_awake": held.as_json()},
        )
        phase.ended("programs of the record used once")
        status = _follow(node, arguments, results.resolve(), run_id, deadline_s, say)
        _check_clock(began, guest_clock.read(node))
        return status


def _set_aside(node: Node, guest: GuestSpec, say: Callable[[str], None]) -> None:
    """Have the guest keep its hugepages from now on. Raises TestbedError GUEST-03 when there are fewer."""
    for size_kib, name, wanted in (
        (2048, "2 MiB", guest.hugepages_2mi),
        (1048576, "1 GiB", guest.hugepages_1gi),
    ):
        if not wanted:
            continue
        found = node.call_within(_CALL_DEADLINE_S, pages.set_aside, size_kib=size_kib, pages=wanted)
        if found < wanted:
            raise TestbedError(
                "GUEST-03",
                f"hugepages of {name} in the guest",
                expected=str(wanted),
                found=str(found),
                hint="more guest.memory in the testbed file",
            )
        say(f"guest: {found} hugepages of {name} set aside\n")


class _Phases:
    """Tells how long each step took before the run in the guest speaks for itself."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._began_s = time.monotonic()

    def ended(self, what: str) -> None:
        now_s = time.monotonic()
        self._say(f"guest: {what} in {now_s - self._began_s:.1f} s\n")
        self._began_s = now_s


def _follow(
    node: Node,
    arguments: Sequence[str],
    results: Path,
    run_id: str,
    deadline_s: float,
    say: Callable[[str], None],
) -> int:
    output = f"/run/{run_id}.output"
    pid = node.call_within(
        _CALL_DEADLINE_S,
        guest_run.start,
        argv=[sys.executable, "-m", "bmwg", *arguments],
        output=output,
        folder=str(Path.cwd()),
        environment={"BMWG_RESULTS": str(results)},
    )
    offset, end_s = 0, time.monotonic() + deadline_s
    while time.monotonic() < end_s:
        seen = node.call_within(_CALL_DEADLINE_S, guest_run.follow, pid=pid, output=output, offset=offset)
        offset = seen["offset"]
        if seen["text"]:
            say(seen["text"])
        if seen["status"] is not None:
            return int(seen["status"])
        time.sleep(_POLL_S)
    raise DriverError(
        "GUEST-01", "the run in the guest", expected=f"its end within {deadline_s:g} s", found="it still runs"
    )


def _told(clock: Reading) -> dict[str, JsonValue]:
    return {"monotonic_ns": clock.inside_ns, "source": clock.source}


def _check_clock(began: Reading, ended: Reading) -> None:
    """Raise GUEST-02 when the guest's clock was surely off: every rate measured in there was then, too."""
    found = guest_clock.wrong(began, ended)
    if found is None:
        return
    raise TestbedError(
        "GUEST-02",
        f"the guest's clock ({began.source}) counted {found.counted_s:.3f} s",
        expected=f"{found.shortest_s:.3f} to {found.longest_s:.3f} s, as the host counted, "
        f"within {guest_clock.MAX_ERROR:g}",
        found="another rate: every load and latency of this run is wrong by it",
        hint="do not use the run; a host with less load gives the guest's timer a chance",
    )
