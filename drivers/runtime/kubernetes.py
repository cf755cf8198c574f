"""Pods by Kubernetes: on a cluster made on the run's own nodes, or on the user's by kubeconfig and context.

The kubelet attaches the networks: each attachment is a NetworkAttachmentDefinition that the pod's
annotation asks for. On the user's cluster nothing is made outside the run's namespace. Ids: KUBE-12 options
that contradict each other, KUBE-13 an act that needs the node itself, which a user's cluster does not give.
"""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from bmwg.drivers.api import (
    Attached,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    Pod,
    PodNetwork,
    PodRuntime,
    UndoLog,
)
from bmwg.drivers.hosting.bundle import PodSpec
from bmwg.drivers.hosting.instance import Sample
from bmwg.drivers.kubernetes import manifest, pods, record
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import Embedded, embedded
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError

UNDO_KIND = "kubernetes_namespace"
EMBEDDED = "embedded"
_NODE = "bmwg.drivers.kubernetes.node"
_DATAPATH = "bmwg.drivers.network.datapath"
_KEYS = {
    "cluster", "kubeconfig", "context", "namespace", "node_selector", "image", "nodes", "interface",
    "ready_s",
}  # fmt: skip
_RUNNING_S = 60.0  # choice: an image is pulled by then, or the message says that it is not
RIGHTS = (
    ("get", "", "namespaces"),
    ("create", "", "namespaces"),
    ("patch", "", "namespaces"),
    ("delete", "", "namespaces"),
)
POD_RIGHTS = (
    ("get", "", "pods"),
    ("list", "", "pods"),
    ("create", "", "pods"),
    ("patch", "", "pods"),
    ("delete", "", "pods"),
    ("watch", "", "pods"),
    ("get", "", "pods/log"),
)
NETWORK_RIGHTS = (
    ("create", "k8s.cni.cncf.io", "network-attachment-definitions"),
    ("delete", "k8s.cni.cncf.io", "network-attachment-definitions"),
)


class KubernetesPod:
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
        self._runtime = runtime
        self._spec = spec
        self._body = body
        self._found = found
        self.phases = phases
        self.node = node
        self.pod_id = spec.pod_id
        self.pid = 0
        self.start_ticks = 0
        self.attached: tuple[Attached, ...] = ()
        self.checks: tuple[dict[str, JsonValue], ...] = ()
        self._container: Mapping[str, JsonValue] = {}

    @property
    def uid(self) -> str:
        """What the cluster knows it by."""
        return str(self._found["metadata"]["uid"])

    @property
    def netns_path(self) -> str:
        """The pod's network namespace, valid while its sandbox stands."""
        return f"/proc/{self.pid}/ns/net"

    @property
    def image(self) -> str:
        """The image's name and the digest that the runtime has of it."""
        found = record.pod(self._found, self._body)
        return f"{found['image']} ({found['image_digest']})"

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

    def found(self) -> None:
        """Find its processes on the node: the sandbox's, which holds its namespaces, and the container's."""
        self._container = self._process(pods.container_id(self._found))
        told = self._told()
        sandbox = self._process(told["container_id"])
        self.pid, self.start_ticks = sandbox["pid"], sandbox["start_ticks"]

    def _told(self) -> dict[str, JsonValue]:
        layout = self._runtime.layout(self.node.name)
        told = self.node.call(f"{_NODE}:attached", cache_dir=f"{layout.folder}/cni-cache", pod_uid=self.uid)
        if told is None:
            raise DriverError("KUBE-40", f"pod {self.pod_id}", expected="a record of CNI ADD", found="none")
        found: dict[str, JsonValue] = told
        return found

    def _process(self, container: str, *, within_s: float = 5.0) -> dict[str, JsonValue]:
        layout = self._runtime.layout(self.node.name)
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            found: dict[str, JsonValue] | None = self.node.call(
                f"{_NODE}:container_pid", cgroup=layout.cgroup, pod_uid=self.uid, container=container
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
        for one in networks:
            made = by_interface[one.attachment.interface]
            view = self.node.call(
                f"{_DATAPATH}:attachment_view",
                netns=self.netns_path,
                interface=one.attachment.interface,
            )
            conflist = self._runtime.conflist(one)
            inside, other = view["inside"], view["host_side"] or {}
            self.attached += (
                Attached(
                    attachment=one.attachment,
                    link_kind=inside["kind"],
                    mac=inside["mac"],
                    mtu_octets=inside["mtu_octets"],
                    addresses=tuple(inside["addresses"]),
                    host_interface=other.get("name"),
                    host_mac=other.get("mac"),
                    took_nic=one.attachment.uplink is not None
                    and one.attachment.uplink not in view["node_interfaces"],
                    evidence={
                        "network": one.driver.spec.name,
                        "conflist": conflist,
                        "cni_version": made["version"],
                        "result": made["result"],
                        "executions": made["executions"],
                        "interface": inside,
                        "host_side": view["host_side"],
                    },
                ),
            )
            self.checks += ({"executions": [], "skipped": "a kubelet never asks plugins to CHECK"},)

    def restart(self) -> dict[str, JsonValue]:
        """Kill the container and wait until the kubelet has started another; by the node's clock."""
        before = pods.restarts(self._found)
        killed = self.node.call(
            f"{_NODE}:kill", pid=self._container["pid"], start_ticks=self._container["start_ticks"]
        )
        api, path = self._runtime.api, pods.pods_path(self._runtime.namespace)
        for _, found in api.watch(path, within_s=60.0, fieldSelector=f"metadata.name={self.pod_id}"):
            if pods.restarts(found) > before and pods.runs(found):
                self._found = found
                ended_ns = self.node.call(f"{_NODE}:now_ns")
                self._container = self._process(pods.container_id(found))
                return {"began_ns": killed["began_ns"], "ended_ns": ended_ns}
        raise DriverError("KUBE-40", f"pod {self.pod_id}", expected="its container again", found="none")

    def inside(self, function: str, *, within_s: float = 10.0, **arguments: JsonValue) -> JsonValue:
        """Run a function on the node, in the pod's network namespace."""
        return self.node.call(
            "bmwg.drivers.hosting.inside:run",
            deadline_s=within_s + 20.0,
            pid=self.pid,
            function=function,
            arguments=arguments,
            within_s=within_s,
        )

    def sample(self) -> Sample:
        """What all processes of the pod use, by its cgroup."""
        cgroup = self._runtime.layout(self.node.name).cgroup
        return Sample(**self.node.call(f"{_NODE}:sample", cgroup=cgroup, pod_uid=self.uid))

    def fault(self) -> str | None:
        """Say why the pod no longer runs, as the cluster has it; None while it does."""
        found = self._runtime.api.get(pods.pods_path(self._runtime.namespace, self.pod_id))
        if found is None:
            return "the pod is gone"
        status = found.get("status") or {}
        if status.get("phase") == "Running" and pods.restarts(found) == pods.restarts(self._found):
            return None
        return f"phase {status.get('phase')}, {pods.restarts(found)} restarts: {status.get('message', '')}"

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the cluster has it and as the kernel enforces it, with the times of its start."""
        told: dict[str, JsonValue] = record.pod(self._found, self._body)
        limits = self.node.call(
            "bmwg.drivers.hosting.cgroups:read_limits",
            cgroup=record.within_hierarchy(str(self._container["cgroup"])),
        )
        return {**told, "start_phases_ms": self.phases.took_ms(), **limits, "pid": self._container["pid"]}


class KubernetesRuntime:
    """Makes pods by a cluster's API. Without a kubeconfig the cluster is made on the nodes of the run."""

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._options = dict(options or {})
        _require_sound(self._options)
        self._run_dir = Path(run_dir)
        self._undo = undo
        self._token = secrets.token_hex(3)
        self.namespace = str(self._options.get("namespace", f"bmwg-{self._token}"))
        self._embedded: Embedded | None = None
        self._api: Cluster | None = None
        self._cluster_record: dict[str, JsonValue] = {}

    @property
    def owns_cluster(self) -> bool:
        """Whether the cluster is made for the run."""
        return "kubeconfig" not in self._options

    @property
    def api(self) -> Cluster:
        """The cluster that stands; ConfigError KUBE-12 when none does."""
        if self._api is None:
            raise ConfigError("KUBE-12", "pods of Kubernetes", expected="a cluster that stands", found="none")
        return self._api

    def layout(self, node: str) -> Any:
        """Return what is known of a node of the run's own cluster; TestbedError KUBE-13 of the user's."""
        if self._embedded is None or node not in self._embedded.layouts:
            raise TestbedError(
                "KUBE-13",
                f"node {node}",
                expected="a node of the cluster that the run has made",
                found="the user's cluster, or a node outside of it",
                hint="paths with frames are measured on the embedded cluster in this version",
            )
        return self._embedded.layouts[node]

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the client's library, the cluster's programs."""
        try:
            import kubernetes  # noqa: F401 - an optional extra
        except ImportError as error:
            return Missing(
                what="Kubernetes client", reason=str(error), mend="pip install 'bmwg-toolkit[kubernetes]'"
            )
        if not self.owns_cluster:
            return None
        found = node.call("bmwg.drivers.kubernetes.programs:missing")
        return Missing(**found) if found else None

    def refuses(self, network: NetworkDriver) -> Missing | None:
        """A kubelet attaches by CNI alone, and frames reach pods of the run's own cluster alone."""
        if not self.owns_cluster:
            return Missing(
                what="a cell with frames on the user's cluster",
                reason="no port of the tester reaches a NIC of its nodes in this version (KUBE-13)",
                mend="options: {cluster: embedded} in `pods` of the testbed file",
            )
        if hasattr(network, "conflist"):
            return None
        return Missing(
            what=f"network option {network.spec.name} on Kubernetes",
            reason="a kubelet attaches by CNI, and this option is none",
            mend="pods.runtime: crun",
        )

    def conflist(self, one: PodNetwork) -> dict[str, Any]:
        """Return the CNI configuration of one network of a pod."""
        refused = self.refuses(one.driver)
        if refused is not None:
            raise ConfigError("KUBE-31", refused.what, found=refused.reason, hint=refused.mend)
        found: dict[str, Any] = one.driver.conflist(one.attachment, bridge=one.bridge)  # type: ignore[attr-defined]
        return found

    @contextmanager
    def standing(self, nodes: Mapping[str, PlacedNode], *, cpus: str) -> Iterator[None]:
        """Make the run's cluster, or open the user's, and in it the run's namespace; remove both on leaving.

        Rights are asked for before anything is made (TestbedError KUBE-22).
        """
        with ExitStack() as stack:
            if self.owns_cluster:
                access = stack.enter_context(self._made(nodes, cpus))
            else:
                access = Access(
                    kubeconfig=str(self._options["kubeconfig"]),
                    context=str(self._options.get("context", "")),
                )
            self._api = stack.enter_context(Cluster(access))
            stack.callback(self._closed)
            if not self.owns_cluster:
                self._api.allowed((*RIGHTS, *POD_RIGHTS, *NETWORK_RIGHTS))
            stack.enter_context(self._namespace(access))
            self._cluster_record = record.cluster(self._api, self._embedded)
            yield

    @contextmanager
    def _made(self, nodes: Mapping[str, PlacedNode], cpus: str) -> Iterator[Access]:
        first = next(iter(nodes.values()))
        lack = self.probe(first)
        if lack is not None:
            raise TestbedError("KUBE-01", f"no {lack.what}", found=lack.reason, hint=lack.mend)
        names = self._options.get("nodes") or [next(iter(nodes))]
        unknown = [name for name in names if name not in nodes]
        if unknown:
            raise ConfigError(
                "KUBE-12",
                "pods.options.nodes of the testbed file",
                expected=f"nodes of the file ({', '.join(nodes)})",
                found=", ".join(unknown),
            )
        online = first.call("bmwg.drivers.hosting.cgroups:default_cpus")
        with embedded(
            {name: nodes[name] for name in names},
            run_dir=self._run_dir,
            undo=self._undo,
            token=self._token,
            function_cpus=cpus,
            other_cpus=_others(str(online), cpus),
            interface=str(self._options.get("interface", "")),
            within_s=float(self._options.get("ready_s", 60.0)),
        ) as made:
            self._embedded = made
            yield made.access

    def _closed(self) -> None:
        self._api = None

    @contextmanager
    def _namespace(self, access: Access) -> Iterator[None]:
        """Make the run's namespace; on the user's cluster remove it on leaving, its undo in the ledger."""
        if self.owns_cluster:
            pods.make_namespace(self.api, self.namespace, self._token)
            yield
            return
        undo: dict[str, JsonValue] = {
            "access": access.data(),
            "name": self.namespace,
            "owner": self._token,
        }
        entry = self._undo.before(UNDO_KIND, {"kind": "local"}, **undo)
        try:
            pods.make_namespace(self.api, self.namespace, self._token)
            yield
        finally:
            pods.remove_namespace(**undo)
            self._undo.done(entry)

    def describe(self) -> Mapping[str, JsonValue]:
        """The cluster: versions, gates, kubelets' configuration, runtime, networks, digests; redacted."""
        return {"runtime": "kubernetes", **self._cluster_record}

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()) -> Iterator[Pod]:
        """Make a pod with its networks, wait until its container runs, remove it on leaving.

        Raises TestbedError KUBE-40 as soon as no wait can help. What is in the namespace goes with it, so a
        pod needs no undo of its own.
        """
        resources = [
            (f"{spec.pod_id}-{number}".lower(), self.conflist(one)) for number, one in enumerate(networks)
        ]
        body = manifest.pod(
            spec,
            namespace=self.namespace,
            owner=self._token,
            image=str(self._options.get("image", PAUSE_IMAGE)),
            node=node.name if self.owns_cluster else "",
            node_selector=self._options.get("node_selector") or {},
            networks=[
                (name, one.attachment.interface) for (name, _), one in zip(resources, networks, strict=True)
            ],
        )
        try:
            phases = pods.make(self.api, body, resources)
            found = pods.wait_running(self.api, self.namespace, spec.pod_id, phases, within_s=_RUNNING_S)
            pod = KubernetesPod(self, node, spec, body, found, phases)
            if self.owns_cluster:
                pod.found()
                pod.take_networks(networks)
            yield pod
        except BaseException:
            with suppress(ToolkitError):
                pods.remove(self.api, self.namespace, spec.pod_id, [name for name, _ in resources])
            raise
        pods.remove(self.api, self.namespace, spec.pod_id, [name for name, _ in resources])


def _require_sound(options: Mapping[str, JsonValue]) -> None:
    """Refuse options that are unknown or contradict each other (ConfigError KUBE-12)."""
    problems = [f"unknown key {key}" for key in sorted(set(options) - _KEYS)]
    cluster = options.get("cluster", EMBEDDED if "kubeconfig" not in options else "kubeconfig")
    if cluster == EMBEDDED:
        problems += [f"{key} with cluster: embedded" for key in ("kubeconfig", "context") if key in options]
    elif cluster != "kubeconfig" or "kubeconfig" not in options:
        problems.append(f"cluster: {cluster} without a kubeconfig")
    nodes = options.get("nodes", [])
    if not isinstance(nodes, list) or not all(isinstance(name, str) for name in nodes):
        problems.append("nodes that are no list of names")
    elif len(nodes) > 1 and not options.get("interface"):
        problems.append("several nodes without the interface by which they reach each other")
    if problems:
        raise ConfigError(
            "KUBE-12",
            "pods.options of the testbed file",
            expected="cluster: embedded (nodes, interface), or kubeconfig and context",
            found="; ".join(problems),
            hint="docs/my-cluster.md explains each key",
        )


def _others(online: str, cpus: str) -> str:
    """Return the CPUs that are not for functions; all of them where nothing would be left."""
    from bmwg.drivers.testbed import cpu_list

    rest = sorted(set(cpu_list(online)) - set(cpu_list(cpus)))
    return ",".join(map(str, rest)) or online


_: type[PodRuntime] = KubernetesRuntime
