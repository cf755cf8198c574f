"""Container to container in one pod: two containers, one network namespace, its loopback between them.

No network option has a part in it. Runtimes that make single containers (crun, Docker, podman, LXC) make it;
the second container has limits of its own. Ids: PATH-11 the containers are not in one network namespace.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    BetweenPods,
    Crossed,
    Evidence,
    JsonValue,
    Missing,
    PodEnd,
    PodPathDriver,
)
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.drivers.paths.programs import ProgramsPath
from bmwg.drivers.ports import interfaces
from bmwg.methodology.cells.paths import PathKind, between_pods
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import NOTHING

_LOOPBACK, _ADDRESS = "lo", "127.0.0.1"


class OnePodPath(ProgramsPath):
    """Two containers of one pod."""

    kind: ClassVar[PathKind] = between_pods("c2c", "container to container in one pod", networked=False)
    no_frames = "nothing but a loopback interface lies between its ends"
    suite = "testcases/pod_to_pod"
    words: ClassVar[Evidence] = {
        "network": NOTHING,
        "function": {
            "name": "none",
            "runs_in": "programs in both containers use one kernel's sockets",
            "endpoint": "endpoint: programs in it use the loopback of their network namespace",
        },
        "chain": "none: programs in two containers of a pod speak to each other",
        "flow_definition": "transport connections and datagrams over the loopback address",
        "one_network_namespace": True,
        "hops": [{"at": "pod0/lo", "what": "the loopback of the pod's network namespace"}],
        "forwarding": "the node's kernel, within one network namespace",
    }

    def probe_pods(self) -> Missing | None:
        """Return what is missing: a runtime that puts a container into another's network namespace."""
        return self._bed.runtime.no_further_container()

    def programs(self, stack: ExitStack) -> BetweenPods:
        """Make both containers. Raises DriverError PATH-11."""
        bed = self._bed
        node = bed.node(bed.sides()[0].node)
        name = f"bmwg-{bed.next_id()}"
        stack.enter_context(bed.runtime.ready(node))  # an engine joins containers of one daemon
        first = stack.enter_context(created_pod(bed, node, name=f"{name}-0", networks=[]))
        first.start()
        joined = created_pod(bed, node, name=f"{name}-1", networks=[], netns=first.netns_path)
        second = stack.enter_context(joined)
        second.start()
        first.inside(interfaces.up, interface=_LOOPBACK)
        found = node.call(namespaces, pids=[first.pid, second.pid])
        if len(set(found)) != 1:
            raise DriverError(
                "PATH-11", "two containers of a pod", expected="one network namespace", found=", ".join(found)
            )
        ends = [PodEnd(pod=pod, interface=_LOOPBACK, address=_ADDRESS) for pod in (first, second)]
        return BetweenPods(
            ends=(ends[0], ends[1]),
            crossed=(Crossed(at="pod0/lo", place=first, interface=_LOOPBACK, forward="tx"),),
            evidence={
                "endpoints": [
                    {"node": node.name, "pod": described(bed, pod, works=False)} for pod in (first, second)
                ],
                "pod_runtime": dict(bed.runtime.describe()),
            },
        )


def namespaces(*, pids: list[int]) -> list[JsonValue]:
    """Node function: the network namespace of each process, as the kernel names it."""
    return [os.readlink(f"/proc/{pid}/ns/net") for pid in pids]


_: type[PodPathDriver] = OnePodPath
