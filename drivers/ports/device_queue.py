"""A device queue and a CPU of its own for one end of a veth pair, on the node that owns that end.

Without it the receiver's work runs inside the sender's send call, so a slow DUT makes the tester slow instead
of losing frames. With GRO on, the veth end gets NAPI, that is a queue of 256 frames; with threaded NAPI a
kernel thread serves it, and that thread is pinned. What does not fit is `tx_dropped` of the far end,
which must have its TSO off (`prepare_sender`), else its frames go past the queue. The embedded tester sees to
its own ports.
The thread stands outside every cgroup of a pod. All of it is lost when the interface goes down.
Ids: QUEUE-01 not possible here, QUEUE-02 the thread was not found, QUEUE-03 lost since.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from pyroute2.ethtool.ethtool import Ethtool

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.probe import online_cpus
from bmwg.drivers.ports import nic_rings
from bmwg.drivers.ports.interfaces import index, rtnetlink
from bmwg.drivers.ports.napi import napi_threads
from bmwg.methodology.errors import TestbedError

THREAD_DEADLINE_S = 2.0  # choice: the kernel starts the thread within the same system call
REAL_TIME_PRIORITY = 1  # lowest: above every ordinary process, below the watchdog of the tester
_POLICIES = {os.SCHED_FIFO: "fifo", os.SCHED_OTHER: "other"}
VETH = "veth"
VETH_QUEUE_FRAMES = 256  # VETH_RING_SIZE of the Linux kernel's drivers/net/veth.c
_UNSEEN = "kernel threads are outside this PID namespace: the thread exists and is not pinned"
_GRO = "rx-gro"
_TAG_OFFLOAD = "tx-vlan-hw-insert"
_GSO, _CHECKSUMS = "tx-generic-segmentation", "tx-checksum-ip-generic"
_TSO = (
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
)
CHANGED = (_GRO, _TAG_OFFLOAD, _GSO, _CHECKSUMS, *_TSO)  # offloads that a run may change


def isolate(*, interface: str, cpu: int) -> dict[str, JsonValue]:
    """Node function: queue and pinned thread for `interface`; returns evidence for the platform record.

    Apply it after the interface's last `up`. Applying it again is harmless. In a container with a PID
    namespace of its own the thread is there but cannot be pinned: `threads` is then empty, `cpu` is `None`.
    """
    online = online_cpus()
    if cpu not in online:
        raise TestbedError(
            "QUEUE-01",
            f"device queue of {interface} on CPU {cpu}",
            expected=f"a CPU that is online: {', '.join(map(str, online))}",
            found=f"CPU {cpu}",
        )
    threaded = _threaded(interface)
    with rtnetlink(f"device queue of {interface}") as kernel:
        number = index(kernel, interface)
        link = next(iter(kernel.get_links(number)))
    kind = link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or ""
    if not threaded.exists():
        raise TestbedError(
            "QUEUE-01",
            f"threaded NAPI of {interface}",
            expected=f"a file {threaded}",
            found="none",
            hint="Linux 5.12 or newer is needed; or set dut.device_queue: inline in the testbed file",
        )
    offload_changed = _set_features(interface, (_GRO,), True)
    before = _kernel_threads(interface)
    try:
        if threaded.read_text().strip() != "1":
            threaded.write_text("1")
    except OSError as error:
        raise TestbedError(
            "QUEUE-01", f"threaded NAPI of {interface}", expected="1 accepted", found=str(error)
        ) from error
    threads = _find_threads(interface, number, before)
    for pid in threads:
        os.sched_setaffinity(pid, {cpu})
        with contextlib.suppress(PermissionError):  # then it shares the CPU, as the evidence says
            os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    return {
        "interface": interface,
        "device_queue": "threaded",
        "queue_frames": VETH_QUEUE_FRAMES if kind == VETH else nic_rings.ring_frames(interface=interface),
        "queues": nic_rings.receive_queues(interface=interface),
        "cpu": cpu if threads else None,
        "cpu_reason": "" if threads else _UNSEEN,
        "offload_changed": offload_changed,
        "threads": [_describe(pid) for pid in threads],
        "forwarding": forwarding_place(threads),
    }


def standing(*, interface: str) -> dict[str, JsonValue]:
    """Node function: what `isolate` changes of the interface, as it is now, for `release`."""
    threaded = _threaded(interface)
    if not threaded.exists():
        return {"threaded": "0", "gro": False}
    with Ethtool() as tool:
        features = tool.get_features(interface).features
    return {"threaded": threaded.read_text().strip(), "gro": bool(features[_GRO].enable)}


def release(*, interface: str, threaded: str, gro: bool) -> bool:
    """Node function: put back what `standing` told; `False` when there is no such interface. Idempotent."""
    file = _threaded(interface)
    if not file.exists():
        return False
    if file.read_text().strip() != threaded:
        file.write_text(threaded)
    _set_features(interface, (_GRO,), gro)
    return True


def insert_tags(*, interface: str, by_device: bool) -> bool:
    """Node function: whether the device inserts 802.1Q tags, or the kernel before it hands the frame over.

    Returns whether the device did before.

    A veth pair passes what its device is to insert on beside the frame, where AF_XDP at the far end does not
    see it: the frame arrives without its tag.
    """
    return _set_features(interface, (_TAG_OFFLOAD,), by_device)[_TAG_OFFLOAD]["before"]


def inspect(*, interface: str, threads: list[int], cpu: int) -> dict[str, JsonValue]:
    """Node function: check that what `isolate` made still stands; TestbedError QUEUE-03 when not."""
    now = _threaded(interface).read_text().strip()
    lost = [pid for pid in threads if not _is_queue_thread(pid, interface)]
    strayed = [pid for pid in threads if pid not in lost and os.sched_getaffinity(pid) != {cpu}]
    up = int(Path(f"/sys/class/net/{interface}/flags").read_text(), 16) & 1
    if now != "1" or not up or lost or strayed:
        raise TestbedError(
            "QUEUE-03",
            f"device queue of {interface}",
            expected=f"threaded 1, threads {threads} on CPU {cpu}",
            found=f"interface {'up' if up else 'down'}, threaded {now}, gone {lost}, on other CPUs {strayed}",
            hint="the interface went down and up since; apply isolate again",
        )
    return {"interface": interface, "threads": [_describe(pid) for pid in threads]}


def forwarding_place(threads: list[int]) -> dict[str, JsonValue]:
    """Say where frames that come in by such a queue are forwarded, from the threads' own cgroups."""
    return {
        "runs_in": "kernel thread (threaded NAPI)",
        "inside_pod_cgroup": False,
        "cgroups": sorted({line for pid in threads for line in _cgroups(pid)}),
    }


def prepare_sender(*, interface: str) -> list[str]:
    """Node function for the *far* end, whose frames shall go through the queue: TCP segmentation offload off.

    A veth end that offers TSO hands its frames past the peer's NAPI, straight into the peer's stack. Returns
    what was switched off, for `let_sender`; other interfaces are left as they are.
    """
    with rtnetlink(f"offloads of {interface}") as kernel:
        link = next(iter(kernel.get_links(index(kernel, interface))))
    if link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") != VETH:
        return []
    changed = _set_features(interface, _TSO, False)
    return [name for name, one in changed.items() if one["before"]]


def let_sender(*, interface: str, offloads: list[str]) -> None:
    """Node function: undo `prepare_sender`, which returned `offloads`. One that is gone is accepted."""
    with rtnetlink(f"offloads of {interface}") as kernel:
        there = kernel.link_lookup(ifname=interface)
    if offloads and there:
        _set_features(interface, tuple(offloads), True)


def finish_frames(*, interface: str, here: bool) -> dict[str, JsonValue]:
    """Node function: whether TCP frames leave as the wire would have them, cut to size and with checksums.

    A veth pair passes what its device is to do on beside the frame, for a kernel at the far end; another TCP
    there, at a packet socket, sees frames of up to 64 kB without checksums.
    """
    names = (*_TSO, _GSO, _CHECKSUMS)
    return {"interface": interface, "offload_changed": _set_features(interface, names, not here)}


def _threaded(interface: str) -> Path:
    return Path(f"/sys/class/net/{interface}/threaded")


def _set_features(interface: str, names: tuple[str, ...], wanted: bool) -> dict[str, dict[str, bool]]:
    with Ethtool() as tool:
        features = tool.get_features(interface)
        before = {name: bool(features.features[name].enable) for name in names}
        if set(before.values()) != {wanted}:
            for name in names:
                features.features[name].enable = wanted
            tool.set_features(interface, features)
            features = tool.get_features(interface)
        now = {name: bool(features.features[name].enable) for name in names}
    refused = [name for name in names if now[name] != wanted]
    if refused:
        raise TestbedError(
            "QUEUE-01",
            f"offload {', '.join(refused)} of {interface}",
            expected=str(wanted),
            found=str(not wanted),
        )
    return {name: {"before": before[name], "now": now[name]} for name in names}


def _find_threads(interface: str, number: int, before: set[int]) -> list[int]:
    """Find the threads: by the kernel's own list where it has one, else those that are new by name."""
    if not _sees_kernel_threads():
        return []
    end_s = time.monotonic() + THREAD_DEADLINE_S
    found: list[int] = []
    listed: list[int] | None = None
    while time.monotonic() < end_s:
        listed = napi_threads(number)
        if listed is not None:
            found = [pid for pid in listed if _is_queue_thread(pid, interface)]
            if listed and len(found) == len(listed):
                return sorted(found)
        elif new := _kernel_threads(interface) - before:
            return sorted(new)
        time.sleep(0.01)
    named = _kernel_threads(interface)
    # a device keeps its threads when they are switched off, and so has no new ones the next time
    if listed is None and named and (len(named) == 1 or _alone_of_its_name(interface)):
        return sorted(named)
    raise TestbedError(
        "QUEUE-02",
        f"kernel thread of the device queue of {interface}",
        expected=f"a thread napi/{interface}-* that this process can see",
        found=f"{found or 'none'}",
        hint="inside a container share the host's PID namespace; or set dut.device_queue: inline",
    )


def _kernel_threads(interface: str) -> set[int]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid for pid in pids if _is_queue_thread(pid, interface)}


def _alone_of_its_name(interface: str) -> bool:
    """Whether no other interface of this machine, in any namespace, has threads that are named like these."""
    seen: set[int] = set()
    alike = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # it is no process, or it went
            namespace = os.stat(f"/proc/{name}/ns/net").st_ino
            if namespace in seen:
                continue
            lines = Path(f"/proc/{name}/net/dev").read_text().splitlines()[2:]
            seen.add(namespace)
            names = [line.partition(":")[0].strip() for line in lines]
            alike += sum(_thread_name(one) == _thread_name(interface) for one in names)
    return alike == 1


def _thread_name(interface: str) -> str:
    """Return how the names of its threads begin: an older kernel shows 15 octets of them only."""
    return f"napi/{interface}-"[:15]


def _sees_kernel_threads() -> bool:
    try:
        return Path("/proc/2/comm").read_text().strip() == "kthreadd"
    except OSError:
        return False


def _is_queue_thread(pid: int, interface: str) -> bool:
    try:
        comm = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return False
    return comm.startswith(_thread_name(interface))


def _describe(pid: int) -> dict[str, JsonValue]:
    return {
        "pid": pid,
        "comm": Path(f"/proc/{pid}/comm").read_text().strip(),
        "cpus": sorted(os.sched_getaffinity(pid)),
        "policy": _POLICIES.get(os.sched_getscheduler(pid), "other"),
        "real_time_priority": os.sched_getparam(pid).sched_priority,
    }


def _cgroups(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cgroup").read_text().split()
