"""Nodes of the user's cluster that are nodes of the testbed file too, and what root there sees of their pods.

Files of the kubelet and of its runtime are theirs and stay unread: a container is found by its id among the
cgroups of processes, a machine by the boot id of its kernel. Ids: KUBE-14 a pod without the CPUs of
`pods.cpus`, KUBE-15 a pod without a network namespace of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.containers.engine_pods import number_inside
from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.nodes.netns import in_initial_namespace
from bmwg.drivers.ports import sysctl
from bmwg.drivers.ports.interfaces import rtnetlink
from bmwg.methodology.errors import TestbedError

if TYPE_CHECKING:
    from bmwg.drivers.kubernetes.client import Cluster

HOSTNAME = "kubernetes.io/hostname"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def places(api: Cluster, nodes: Mapping[str, Node], selector: Mapping[str, str]) -> dict[str, str]:
    """Return, by nodes of the testbed file, the host name label of the cluster's node on the same machine.

    A node that is on no machine of the cluster is left out. Of several on one machine (the nodes of kind
    are) it is the one of the same name, else the first by name; all have the labels of `selector`.
    """
    by_machine: dict[str, list[str]] = {}
    for one in (api.get("/api/v1/nodes") or {}).get("items", []):
        labels = one["metadata"].get("labels") or {}
        if HOSTNAME in labels and selector.items() <= labels.items():
            machine = ((one.get("status") or {}).get("nodeInfo") or {}).get("bootID", "")
            by_machine.setdefault(machine, []).append(labels[HOSTNAME])
    found = {}
    for name, node in nodes.items():
        if there := sorted(by_machine.get(node.call(boot_id), [])):
            found[name] = name if name in there else there[0]
    return found


def elsewhere(what: str) -> Missing:
    """Return that `what` is on no machine of the user's cluster."""
    return Missing(
        what=f"a place on the user's cluster: {what} is on a machine of it (KUBE-13)",
        reason="its kernel has the boot id of no node of the cluster (with the labels of node_selector)",
        mend="a node of the file on a machine of the cluster: docs/my-cluster.md, Your cluster",
    )


def boot_id() -> str:
    """Node function: the id that the kernel of this machine drew when it booted."""
    return _BOOT_ID.read_text().strip()


def first_process(*, container: str) -> dict[str, JsonValue] | None:
    """Node function: pid, start (ticks) and cgroup of a container's first process, by its id; None without.

    The first process is number 1 of its own process namespace; of a container that shares one, the oldest.
    """
    found = list(_of_container(container))
    first = [(pid, cgroup) for pid, cgroup in found if number_inside(pid) == 1] or found
    if not first:
        return None
    pid, cgroup = min(first)
    return {"pid": pid, "start_ticks": process.start_ticks(pid), "cgroup": cgroup}


def _of_container(container: str) -> Iterator[tuple[int, str]]:
    """Yield each process of a container with the name of the container's cgroup."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            text = (folder / "cgroup").read_text()
            if name := _cgroup_of(text, container):
                yield int(folder.name), name


def _cgroup_of(text: str, container: str) -> str:
    """Return the part of a process's cgroup that is its container's; empty where it is of another one."""
    for line in text.splitlines():
        parts = line.split(":", 2)[2].split("/")
        for number, part in enumerate(parts):
            if container in part:
                return "/".join(parts[: number + 1])
    return ""


def keep_to(*, cgroup: str, cpus: list[int]) -> list[int]:
    """Node function: have a container's threads run on these CPUs alone; returns those that it was given.

    Nothing is changed where it was not given all of them; a thread that a program has put on some of these
    stays there.
    """
    wanted = set(cpus)
    tasks: dict[int, set[int]] = {}
    for pid in cgroups.members(cgroup):
        with contextlib.suppress(OSError):
            for task in map(int, os.listdir(f"/proc/{pid}/task")):
                with contextlib.suppress(OSError):  # it may have ended meanwhile
                    tasks[task] = os.sched_getaffinity(task)
    given = set[int]().union(*tasks.values())
    if wanted <= given:
        for task, has in tasks.items():
            if not has <= wanted:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(task, has & wanted or wanted)
    return sorted(given)


def require_own_namespace(*, pid: int) -> None:
    """Node function: TestbedError KUBE-15 for a pod in the network of its machine, or in this node's."""
    netns = f"/proc/{pid}/ns/net"
    if in_initial_namespace(netns):
        raise TestbedError(
            "KUBE-15",
            "a pod on the user's cluster; nothing was changed",
            expected="a network namespace of its own",
            found="that of its machine",
            hint="an admission webhook may have set hostNetwork",
        )


def cut_off(*, settings: dict[str, str]) -> list[str]:
    """Node function, run in a pod's network: take its interfaces down, and make `settings` for later ones.

    A test frame that no route of the run's leads would else go to the cluster's own network. Returns the
    names of the interfaces.
    """
    taken = []
    with rtnetlink("take down a pod's own interfaces") as kernel:
        for link in kernel.get_links():
            name = link.get_attr("IFLA_IFNAME")
            if name != "lo":
                kernel.link("set", index=link["index"], state="down")
                taken.append(name)
    sysctl.quiet_defaults()
    sysctl.write_many(settings=settings)
    return sorted(taken)
