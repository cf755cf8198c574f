"""A pod on the user's cluster between ports of the tester: its networks are attached by the run.

The cluster places the pod, gives it CPUs and memory and runs its container. Then the agent on its machine
attaches `net0` and `net1` by the same plugins as to any pod, from a node of the run, and takes the pod's own
interface down: the cluster's network is left as it is, and no test frame reaches it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.protocols import JsonValue, PodNetwork
from bmwg.drivers.containers import bundle, engine_pods
from bmwg.drivers.kubernetes import pods, users_node
from bmwg.drivers.kubernetes.pod import KubernetesPod
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.trial.cpu_lists import cpu_list

_POLL_S = 0.05


class UsersPod(KubernetesPod):
    """A pod that the run has made on somebody's cluster, found on its machine by an agent of the run."""

    _own_network: Sequence[str] = ()

    @contextmanager
    def networked(self, networks: Sequence[PodNetwork]) -> Iterator[None]:
        """Find the pod on its machine and attach these networks; detach them on leaving.

        Raises TestbedError KUBE-15 and KUBE-14, in this order before anything of the pod is changed, and what
        attaching raises.
        """
        if (self._found.get("spec") or {}).get("hostNetwork"):
            raise TestbedError(
                "KUBE-15",
                f"pod {self.pod_id}; nothing was changed",
                expected="a network namespace of its own",
                found="hostNetwork, which the run did not ask for",
            )
        self._seek()
        self.node.call(users_node.require_own_namespace, pid=self.pid)
        self._keep()
        self._own_network = self.inside(users_node.cut_off, settings=bundle.forwarding(self._spec))
        with ExitStack() as stack:
            began_ns = time.monotonic_ns()
            self.attach(stack, networks)
            self.phases.cni = {"began_ns": began_ns, "ended_ns": time.monotonic_ns()}
            yield

    def found(self) -> None:
        """Find its container's first process, and have it keep to the CPUs of the testbed file."""
        self._seek()
        self._keep()

    def _seek(self) -> None:
        self._container = self._process(pods.container_id(self._found))
        self.pid, self.start_ticks = self._container["pid"], self._container["start_ticks"]

    def _keep(self, *, again: bool = False) -> None:
        """Have it keep to its CPUs; `again`: its program runs already, and may use fewer of them."""
        wanted = set(self.kept_to)
        told = self.node.call(users_node.keep_to, cgroup=self._container["cgroup"], cpus=sorted(wanted))
        given = set(told)
        if not wanted <= given and not (again and given <= wanted):
            raise TestbedError(
                "KUBE-14",
                f"CPUs of pod {self.pod_id} on the user's cluster",
                expected=f"those of `pods.cpus`: {self._spec.cpus}",
                found=f"the kubelet gave it {','.join(map(str, told))}",
                hint="name these in `pods.cpus`, or reserve others (reservedSystemCPUs of the kubelet)",
            )

    @property
    def kept_to(self) -> tuple[int, ...]:
        """Those of the testbed file: without a static policy its cpuset is wider, and the kubelet's."""
        return cpu_list(self._spec.cpus)

    def _process(self, container: str, *, within_s: float = 5.0) -> dict[str, JsonValue]:
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            found: dict[str, JsonValue] | None = self.node.call(users_node.first_process, container=container)
            if found is not None:
                return found
            time.sleep(_POLL_S)
        raise DriverError(
            "KUBE-40",
            f"pod {self.pod_id}: container {container[:12]}",
            expected=f"a process on the machine of node {self.node.name}",
            found="none",
        )

    def restart(self) -> dict[str, JsonValue]:
        """Kill the container and wait until the kubelet has started another, which keeps to the same CPUs."""
        told = super().restart()
        self._seek()
        self._keep(again=True)
        return told

    def gone(self, ends: pods.Ends) -> None:
        """Take when its removal came to what; its networks were detached before."""
        self.ends = ends

    def sample(self) -> Sample:
        """What all processes of its container use."""
        return Sample(**self.node.call(engine_pods.sample, cgroup=self._container["cgroup"]))

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the cluster has it and the kernel enforces it, and who attached its networks."""
        told: Mapping[str, Any] = super().describe()
        return {
            **told,
            "networks_attached_by": "the run, as its container ran already",
            "own_network": {"interfaces": list(self._own_network), "state": "down while it is measured"},
        }
