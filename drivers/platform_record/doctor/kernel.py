"""Memory, boot parameters, kernel options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from bmwg.drivers.platform_record.doctor.scene import Scene
from bmwg.drivers.platform_record.values import text_or_none
from bmwg.methodology.record.findings import Finding, Weight

_NODES = "/sys/devices/system/node"
_GRUB = "/etc/default/grub"


def hugepages(scene: Scene) -> Iterator[Finding]:
    """DOC-40: a NUMA node has none of the hugepages that another has."""
    for size, counts in (scene.value("memory/hugepages") or {}).items():
        nodes = {name: count for name, count in counts.items() if name != "all"}
        empty = sorted(name for name, count in nodes.items() if not count)
        if any(nodes.values()) and empty:
            yield Finding(
                finding_id="DOC-40",
                weight=Weight.DISTORTS,
                what=f"{size} hugepages stand on some NUMA nodes, none on {', '.join(empty)}",
                breaks="DPDK on that node fails to start or uses memory across the interconnect",
                mend=f"write the number of pages to {_NODES}/{empty[0]}/hugepages/"
                f"hugepages-{size.replace('KiB', 'kB')}/nr_hugepages",
            )


def asked_hugepages(scene: Scene) -> Iterator[Finding]:
    """DOC-41: pods ask for hugepages that the machine does not have."""
    if scene.testbed is None:
        return
    asked = scene.testbed.data.get("pods", {}).get("hugepages_2Mi", 0)
    free = ((scene.value("memory/hugepages_free") or {}).get("2048KiB") or {}).get("all", 0)
    if isinstance(asked, int) and asked > free:
        yield Finding(
            finding_id="DOC-41",
            weight=Weight.BLOCKS,
            what=f"a pod asks for {asked} hugepages of 2 MiB, {free} are free",
            breaks="a DPDK application in the pod cannot start",
            mend=f"sysctl vm.nr_hugepages={asked * 2}",
        )


def boot_parameters(scene: Scene) -> Iterator[Finding]:
    """DOC-42: boot parameters were changed and the machine was not booted since."""
    text = text_or_none(scene.source, _GRUB)
    running = scene.value("kernel/boot_parameters")
    if not text or not running:
        return
    wanted: list[str] = []
    for key in ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"):
        if match := re.search(rf"^{key}=(.*)$", text, re.M):
            wanted += " ".join(shlex.split(match[1])).split()
    watched = ("isolcpus", "nohz_full", "rcu_nocbs", "hugepages", "default_hugepagesz", "hugepagesz",
    "intel_iommu",
               "amd_iommu", "iommu", "mitigations", "nosmt", "intel_pstate",
               "processor.max_cstate")  # fmt: skip
    gone = [word for word in wanted if word.partition("=")[0] in watched and word not in running.split()]
    if gone:
        yield Finding(
            finding_id="DOC-42",
            weight=Weight.DISTORTS,
            what=f"{_GRUB} holds {' '.join(gone)}, the running kernel was started without",
            breaks="the machine is not what its owner believes: isolation or hugepages are not in effect",
            mend="update-grub && reboot",
        )


def page_merging(scene: Scene) -> Iterator[Finding]:
    """DOC-43: the kernel scans memory for equal pages."""
    if scene.value("memory/same_page_merging") == 1:
        yield Finding(
            finding_id="DOC-43",
            weight=Weight.DISTORTS,
            what="kernel same-page merging runs",
            breaks="its thread takes a CPU in bursts and makes writes slower",
            mend="echo 0 > /sys/kernel/mm/ksm/run",
        )


def numa_balancing(scene: Scene) -> Iterator[Finding]:
    """DOC-44: the kernel moves memory between nodes while trials run."""
    nodes = scene.value("numa/nodes") or {}
    if len(nodes) > 1 and scene.value("numa/balancing"):
        yield Finding(
            finding_id="DOC-44",
            weight=Weight.DISTORTS,
            what="automatic NUMA balancing is on",
            breaks="pages are unmapped and moved under the DUT: latency has spikes",
            mend="sysctl kernel.numa_balancing=0",
        )


def nic_node(scene: Scene) -> Iterator[Finding]:
    """DOC-45: a lab port hangs on another NUMA node than the CPUs that serve it."""
    nodes = scene.value("numa/nodes") or {}
    if scene.testbed is None or len(nodes) < 2:
        return
    for name, facts in scene.interfaces():
        known = {name, facts.get("bus_address")}
        node = facts.get("numa_node")
        if node is None or not known & set(scene.testbed.lab_ports):
            continue
        away = set(scene.testbed.tester.cpus) - set(nodes.get(f"node{node}", {}).get("cpus", ()))
        if away:
            yield Finding(
                finding_id="DOC-45",
                weight=Weight.DISTORTS,
                what=f"{name} is on NUMA node {node}, tester CPU {', '.join(map(str, sorted(away)))} is not",
                breaks="each frame crosses the interconnect: the tester saturates earlier",
                mend=f"choose tester.cpus from node {node}",
            )


CHECKS = (hugepages, asked_hugepages, boot_parameters, page_merging, numa_balancing, nic_node)
