"""What of root a run needs, and whether this process has it (a container's root often lacks a part)."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.drivers.platform_record.doctor.scene import Scene
from bmwg.drivers.platform_record.values import text_or_none
from bmwg.drivers.testbed.file import SIMULATED
from bmwg.methodology.record.findings import Finding, Weight

_STATUS = "/proc/self/status"
_OF_PODS = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_BIND_SERVICE": 10,
}
NEEDED = {  # capability: its number in linux/capability.h, and the acts that need it; docs/privileges.md
    "CAP_SYS_ADMIN": (21, "namespaces, mounts, entering a node's or pod's namespace, pods"),
    "CAP_NET_ADMIN": (12, "interfaces, addresses, routes, CNI plugins, offload settings"),
    "CAP_NET_RAW": (13, "the tester's packet and XDP sockets, the watch for frames outside"),
    "CAP_IPC_LOCK": (14, "the tester's XDP sockets, whose memory is locked"),
    "CAP_SYS_NICE": (23, "placing threads of the device queues on their CPU, pods"),
    "CAP_SYS_PTRACE": (19, "finding a pod's network namespace by its process"),
    "CAP_SETPCAP": (8, "pods: taking capabilities away from them"),
    "CAP_MKNOD": (27, "pods: their /dev"),
    **{name: (number, "pods, which are given it") for name, number in _OF_PODS.items()},
}


def capabilities(scene: Scene) -> Iterator[Finding]:
    """DOC-60: the process lacks a capability that the testbed needs."""
    if scene.testbed is None or scene.testbed.tester.driver == SIMULATED:
        return
    lines = (text_or_none(scene.source, _STATUS) or "").splitlines()
    effective = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), None)
    if effective is None:
        return
    for name, (number, acts) in NEEDED.items():
        if not effective >> number & 1:
            yield Finding(
                finding_id="DOC-60",
                weight=Weight.BLOCKS,
                what=f"this process lacks {name}",
                breaks=f"it is needed for: {acts}",
                mend="run it with sudo; within a container, a privileged one (docs/privileges.md)",
            )


CHECKS = (capabilities,)
