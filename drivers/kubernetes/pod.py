"""One pod of Kubernetes that stands: what can be done with it, by the API and on its node."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.protocols import Attached, JsonValue, PlacedNode, PluginNetwork, PodNetwork
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.of_pods import OfPods
from bmwg.drivers.kubernetes import manifest, pods, record
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.network import datapath
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.errors import DriverError
from bmwg.methodology.record import booted

if TYPE_CHECKING:
    from bmwg.drivers.containers.kubernetes import KubernetesRuntime


class KubernetesPod(OfPods):
    """A pod in a cluster.

    A restart kills its container; the kubelet starts another in the pod's namespaces.
    """

    def __init__(
        self,
        runtime: KubernetesRuntime,
        node: PlacedNode,
        spec: PodSpec,
        body: Mapping[str, Any],
        found: Mapping[str, Any],
        phases: pods.Phases,
    ) -> None:
        super().__init__(node, spec.pod_id)
        self._runtime = runtime
        self._spec = spec
        self._body = body
        self._found = found
        self.phases = phases
        self.ends = pods.Ends()
        self._container: Mapping[str, JsonValue] = {}

    @property
    def uid(self) -> str:
        """What the cluster knows it by."""
        return str(self._found["metadata"]["uid"])

    @property
    def start_steps_ns(self) -> dict[str, int]:
        """When its start came to each step; runner and nodes of the run's own cluster have one clock."""
        return self.phases.steps_ns()

    @property
    def end_steps_ns(self) -> dict[str, int]:
        """When its removal came to each step, once it is gone."""
        return self.ends.steps_ns()

    @property
    def image(self) -> str:
        """The image's name and the digest that the runtime has of it."""
        found = record.pod(self._found, self._body)
        return f"{found['image']} ({found['image_digest']})"

    def gone(self, ends: pods.Ends) -> None:
        """Take when its removal came to what; of its networks its node tells it."""
        self.ends = ends
        layout = self._runtime.layout(self.node.name)
        told = self.node.call(kubernetes_node.detached, folder=layout.folder, pod_uid=self.uid)
        if told is not None:
            ends.detached_ns = told["ended_ns"]

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Programs enter it as its container does, but for the root, for they are the node's.

        They keep to the CPUs that are wanted: a container without any of its own may run on others, too.
        """
        ours = {name: self._container[name] for name in ("pid", "start_ticks")}
        own = {"cpus": self._spec.cpus} if self._spec.programs else {}
        return {**ours, **own, "programs_of_node": True}

    def start(self, arguments: Sequence[str] = ()) -> None:
        """Tell the pod's shell its program, where it waits for one; else the kubelet has started it."""
        if self._spec.told_at_start:
            text = "exec " + shlex.join(arguments) + "\n"
            self._runtime.api.merge(
                pods.pods_path(self._runtime.namespace, self.pod_id),
                {"metadata": {"annotations": {manifest.COMMAND: text}}},
            )

    def said(self) -> list[str]:
        """Return the last lines of its program's output, by the API."""
        return pods.said(self._runtime.api, self._runtime.namespace, self.pod_id)

    @contextmanager
    def networked(self, networks: Sequence[PodNetwork]) -> Iterator[None]:
        """Read what the kubelet has attached; it detaches that when the pod is removed."""
        self.found()
        self.take_networks(networks)
        yield

    def found(self) -> None:
        """Find its processes on the node: the sandbox's, which holds its namespaces, and the container's."""
        self._container = self._process(pods.container_id(self._found))
        told = self._told()
        sandbox = self._process(told["container_id"])
        self.pid, self.start_ticks = sandbox["pid"], sandbox["start_ticks"]

    def _told(self) -> dict[str, JsonValue]:
        layout = self._runtime.layout(self.node.name)
        told = self.node.call(
            kubernetes_node.attached, cache_dir=f"{layout.folder}/cni-cache", pod_uid=self.uid
        )
        if told is None:
            raise DriverError("KUBE-40", f"pod {self.pod_id}", expected="a record of CNI ADD", found="none")
        found: dict[str, JsonValue] = told
        return found

    def _process(self, container: str, *, within_s: float = 5.0) -> dict[str, JsonValue]:
        layout = self._runtime.layout(self.node.name)
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            found: dict[str, JsonValue] | None = self.node.call(
                kubernetes_node.container_pid, cgroup=layout.cgroup, pod_uid=self.uid, container=container
            )
            if found is not None:
                return found
            time.sleep(0.05)
        raise DriverError(
            "KUBE-40", f"pod {self.pod_id}: container {container}", expected="a process", found="none"
        )

    def take_networks(self, networks: Sequence[PodNetwork]) -> None:
        """Read what the kubelet's plugins attached, from their record and from the kernel."""
        told = self._told()
        self.phases.cni = dict(told["times"])
        by_interface = {one["interface"]: one for one in told["attached"]}
        for network in networks:
            made = by_interface[network.attachment.interface]
            view = self.node.call(
                datapath.attachment_view, netns=self.netns_path, interface=network.attachment.interface
            )
            attached = Attached.seen(
                network.attachment,
                network.driver.spec.name,
                view,
                conflist=self._runtime.conflist(network),
                cni_version=made["version"],
                result=made["result"],
                executions=made["executions"],
            )
            assert isinstance(network.driver, PluginNetwork)  # see `conflist`
            more = network.driver.attached_by_plugin(self.node, attached, bridge=network.bridge)
            self.attached += (replace(attached, evidence={**attached.evidence, **more}),)
            self.checks += ({"executions": [], "skipped": "a kubelet never asks plugins to CHECK"},)

    def restart(self) -> dict[str, JsonValue]:
        """Kill the container and wait until the kubelet has started another; by the node's clock."""
        before = pods.restarts(self._found)
        killed = self.node.call(
            kubernetes_node.kill, pid=self._container["pid"], start_ticks=self._container["start_ticks"]
        )
        api, path = self._runtime.api, pods.pods_path(self._runtime.namespace)
        for _, found in api.watch(path, within_s=60.0, fieldSelector=f"metadata.name={self.pod_id}"):
            if pods.restarts(found) > before and pods.runs(found):
                self._found = found
                ended_ns = self.node.call(kubernetes_node.now_ns)
                self._container = self._process(pods.container_id(found))
                return {"began_ns": killed["began_ns"], "ended_ns": ended_ns}
        raise DriverError("KUBE-40", f"pod {self.pod_id}", expected="its container again", found="none")

    def sample(self) -> Sample:
        """What all processes of the pod use, by its cgroup."""
        cgroup = self._runtime.layout(self.node.name).cgroup
        return Sample(**self.node.call(kubernetes_node.sample, cgroup=cgroup, pod_uid=self.uid))

    def fault(self) -> str | None:
        """Say why the pod no longer runs, as the cluster has it; None while it does."""
        found = self._runtime.api.get(pods.pods_path(self._runtime.namespace, self.pod_id))
        if found is None:
            return "the pod is gone"
        return pods.fault(self._runtime.api, found, restarted=pods.restarts(self._found))

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the cluster has it and as the kernel enforces it, with the times of its start."""
        told: dict[str, JsonValue] = record.pod(self._found, self._body)
        limits = self.node.call(
            cgroups.read_limits, cgroup=record.within_hierarchy(str(self._container["cgroup"]))
        )
        return {
            **told,
            booted.KEY: self._runtime.boots_or_unpacks(self._found),
            "start_phases_ms": self.phases.took_ms(),
            **limits,
            "pid": self._container["pid"],
        }
