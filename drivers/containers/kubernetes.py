"""Pods by Kubernetes: on a cluster made on the run's own nodes, or on the user's by kubeconfig and context.

The kubelet attaches the networks: each attachment is a NetworkAttachmentDefinition that the pod's
annotation asks for. On the user's cluster nothing is made outside the run's namespace. Ids: KUBE-12 options
that contradict each other, KUBE-13 an act that needs the node itself, which a user's cluster does not give.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from bmwg.drivers.api.protocols import (
    ClusterRuntime,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    PluginNetwork,
    Pod,
    PodNetwork,
    UndoLog,
    undone,
)
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import batch, manifest, moving, pods, policies, programs, record, services
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes import options as options_of
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import READY_S, Embedded, embedded
from bmwg.drivers.kubernetes.joined import joining_of
from bmwg.drivers.kubernetes.moving import Moving
from bmwg.drivers.kubernetes.pod import KubernetesPod
from bmwg.drivers.kubernetes.rights import NETWORK_RIGHTS, POD_RIGHTS, RIGHTS
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE, PLUGIN_DIR, Layout
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.methodology.trial.cpu_lists import cpu_list

UNDO_KIND = "kubernetes_namespace"
_UNKNOWN = Missing(what="", reason="not asked yet", mend="")
_RUNNING_S = 240.0  # choice: 5 s on a quiet machine; on a busy one a minute was too short
_REMOVED_S = 120.0  # choice: the same of its end


class KubernetesRuntime:
    """Makes pods by a cluster's API. Without a kubeconfig the cluster is made on the nodes of the run."""

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._options = dict(options or {})
        options_of.require_sound(self._options)
        self._version = str(self._options.get("version", ""))
        self._run_dir = Path(run_dir)
        self._undo = undo
        self._token = secrets.token_hex(3)
        self.namespace = str(self._options.get("namespace", f"bmwg-{self._token}"))
        self._embedded: Embedded | None = None
        self._api: Cluster | None = None
        self._cluster_record: dict[str, JsonValue] = {}
        self._unbalanced: Missing | None = _UNKNOWN
        self._left: dict[str, list[str]] = {}  # pods that failed and were not removed in time, with networks

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

    def layout(self, node: str) -> Layout:
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
        return Missing.told(node.call(programs.missing, version=self._version))

    def refuses(self, network: NetworkDriver) -> Missing | None:
        """A kubelet attaches by CNI alone, and frames reach pods of the run's own cluster alone."""
        if not self.owns_cluster:
            return Missing(
                what="a cell with frames on the user's cluster",
                reason="no port of the tester reaches a NIC of its nodes in this version (KUBE-13)",
                mend="options: {cluster: embedded} in `pods` of the testbed file",
            )
        if isinstance(network, PluginNetwork) and network.hands_over == NETDEV:
            return None
        return Missing(
            what=f"network option {network.spec.name} on Kubernetes",
            reason=f"a kubelet attaches interfaces by CNI; this option hands over {network.hands_over}"
            if network.hands_over != NETDEV
            else "a kubelet attaches by CNI, and this option is none",
            mend="pods.runtime: crun",
        )

    def side_by_side(self, functions: int) -> Missing | None:
        """A guaranteed pod has its CPUs for itself, and each pod with a function gets all of `pods.cpus`."""
        if functions == 1:
            return None
        return Missing(
            what=f"{functions} pods with functions on one node of Kubernetes",
            reason="each is guaranteed all CPUs of `pods.cpus` for itself, so there is room for one",
            mend="pods.runtime: crun, whose pods share them",
        )

    def no_further_container(self) -> Missing | None:
        """A pod is asked for with all of its containers."""
        return Missing(
            what="a second container in a pod",
            reason="pods.runtime is kubernetes",
            mend="pods.runtime: crun",
        )

    def ready(self, node: PlacedNode) -> AbstractContextManager[None]:
        """Nothing: the cluster stands."""
        return nullcontext()

    def conflist(self, one: PodNetwork) -> dict[str, JsonValue]:
        """Return the CNI configuration of one network of a pod."""
        refused = self.refuses(one.driver)
        if refused is not None:
            raise ConfigError("KUBE-31", refused.what, found=refused.reason, hint=refused.mend)
        assert isinstance(one.driver, PluginNetwork)  # see `refuses`
        return one.driver.conflist(one.attachment, bridge=one.bridge)

    @contextmanager
    def standing(
        self,
        nodes: Mapping[str, PlacedNode],
        *,
        cpus: str,
        kept_off: Sequence[Sequence[int]] = (),
        networks: Sequence[NetworkDriver] = (),
    ) -> Iterator[None]:
        """Make the run's cluster, or open the user's, and in it the run's namespace; remove both on leaving.

        Rights are asked for before anything is made (TestbedError KUBE-22).
        """
        with ExitStack() as stack:
            if self.owns_cluster:
                access = stack.enter_context(self._made(nodes, cpus, kept_off, networks))
            else:
                given = self._options
                access = Access(kubeconfig=str(given["kubeconfig"]), context=str(given.get("context", "")))
            self._api = stack.enter_context(Cluster(access))
            stack.callback(self._closed)
            if not self.owns_cluster:
                self._api.allowed((*RIGHTS, *POD_RIGHTS, *NETWORK_RIGHTS))
            stack.enter_context(self._namespace(access))
            self._cluster_record = record.cluster(self._api, self._embedded)
            yield

    @contextmanager
    def _made(
        self,
        nodes: Mapping[str, PlacedNode],
        cpus: str,
        kept_off: Sequence[Sequence[int]],
        networks: Sequence[NetworkDriver],
    ) -> Iterator[Access]:
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
        network = joining_of(networks, first)
        online = first.call(cgroups.default_cpus)
        with embedded(
            {name: nodes[name] for name in names},
            run_dir=self._run_dir,
            undo=self._undo,
            token=self._token,
            function_cpus=cpus,
            other_cpus=_others(str(online), [cpu_list(cpus)]),
            program_cpus=_others(str(online), [cpu_list(cpus), *kept_off]),
            plugin_dirs=_plugin_dirs(networks),
            network=network,
            version=self._version,
            interface=str(self._options.get("interface", "")),
            within_s=float(self._options.get("ready_s", READY_S)),
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
        undo: dict[str, JsonValue] = {"access": access.data(), "name": self.namespace, "owner": self._token}
        remove = partial(pods.remove_namespace, **undo)
        with undone(self._undo, UNDO_KIND, {"kind": "local"}, remove, **undo):
            pods.make_namespace(self.api, self.namespace, self._token)
            yield

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
        self._clear()
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
            self._left[spec.pod_id] = [name for name, _ in resources]
            with suppress(ToolkitError):
                self._clear()
            raise
        self._left[spec.pod_id] = [name for name, _ in resources]
        ended = self._clear()
        if self.owns_cluster:
            pod.gone(ended[spec.pod_id])

    def at_once(
        self, node: PlacedNode, wanted: Sequence[tuple[PodSpec, Sequence[PodNetwork]]]
    ) -> AbstractContextManager[batch.Batch]:
        """Yield so many pods that can be asked for at the same time; none of them has CPUs for itself."""
        return batch.at_once(
            self.api,
            node,
            wanted,
            [[self.conflist(network) for network in networks] for _, networks in wanted],
            namespace=self.namespace,
            owner=self._token,
            image=str(self._options.get("image", PAUSE_IMAGE)),
            folder=self.layout(node.name).folder,
            removed_s=_REMOVED_S,
        )

    def enforces(self, node: Node, network: NetworkDriver) -> Missing | None:
        """Return why no NetworkPolicy is enforced between pods of a node on this option, or None."""
        return policies.unenforced(node, network, owns_cluster=self.owns_cluster)

    def policies(self, node: PlacedNode, network: NetworkDriver) -> AbstractContextManager[policies.Policies]:
        """Yield policies of the run's namespace on a node, enforced while this is open."""
        layout = self.layout(node.name)
        return policies.enforced(self.api, node, network, layout, namespace=self.namespace, owner=self._token)

    def left(self) -> list[str]:
        """Return what is still there of this run's pods, in the API and on nodes of the run's cluster."""
        found = pods.left(self.api, self.namespace, self._token)
        for name, node in (self._embedded.nodes if self._embedded else {}).items():
            records = node.call_within(30.0, kubernetes_node.left, folder=self.layout(name).folder)
            found += [f"{name}/{one}" for one in records]
        return found

    def _clear(self) -> dict[str, pods.Ends]:
        """Remove the pods that are no longer wanted. Raises DriverError KUBE-41.

        One that stays holds its CPU and its interfaces: another pod would wait for them in vain, or be seen
        to lead out of the run. Returns when each came to what.
        """
        ended = {}
        for name, networks in list(self._left.items()):
            ended[name] = pods.remove(self.api, self.namespace, name, networks, within_s=_REMOVED_S)
            del self._left[name]
        return ended

    @contextmanager
    def service(
        self, node: PlacedNode, *, name: str, address: str, port: int, **front: str
    ) -> Iterator[dict[str, JsonValue]]:
        """Yield a Service in front of an address, once the node's rules send to it; remove it.

        `front` is its kind, and a NodePort's address, as `services.service` takes them.
        """
        mine = {"namespace": self.namespace, "owner": self._token, "name": name}
        with services.service(self.api, node, **mine, address=address, port=port, **front) as told:
            yield {**told, "kube_proxy": self._cluster_record.get("kube_proxy")}

    def unbalanced(self) -> Missing | None:
        """Return that no implementation gives a Service of type LoadBalancer an address; asked once a run."""
        if self._unbalanced is _UNKNOWN:
            mine = {"namespace": self.namespace, "owner": self._token, "name": "bmwg-balanced"}
            self._unbalanced = services.unbalanced(self.api, **mine)
        return self._unbalanced

    def no_move(self) -> Missing | None:
        """Return why no pod can be moved to another node of this cluster, or None."""
        return moving.missing(self._options, owns_cluster=self.owns_cluster)

    def ways_to(self, node: str) -> dict[str, str]:
        """Return the other nodes of the run's cluster, each with the address by which it reaches this one."""
        via = str(self.layout(node).address)
        names = self._embedded.layouts if self._embedded else {}
        return {name: via for name in names if name != node}

    def moving(
        self, node: PlacedNode, spec: PodSpec, *, target: tuple[str, int], port: int
    ) -> AbstractContextManager[moving.Moving]:
        """Yield a pod that relays what comes for a Service at a node and moves between nodes; remove it."""
        assert self._embedded is not None
        return moving.moving(
            self.api,
            self._undo,
            self._embedded,
            node,
            namespace=self.namespace,
            owner=self._token,
            image=str(self._options.get("image", PAUSE_IMAGE)),
            spec=spec,
            target=target,
            port=port,
            within_s=_RUNNING_S,
        )

    def pod_of(self, moving: Moving, node: PlacedNode, spec: PodSpec) -> Pod:
        """Return the pod that a moving one is now, with its processes on its node."""
        pod = KubernetesPod(self, node, spec, {}, moving.pod, pods.Phases())
        pod.found()
        return pod


def _plugin_dirs(networks: Sequence[NetworkDriver]) -> list[str]:
    """Return the folders of CNI plugins of all options, the distribution's first."""
    named = (network.plugin_dir for network in networks if isinstance(network, PluginNetwork))
    folders = dict.fromkeys([PLUGIN_DIR, *filter(None, named)])
    return [folder for folder in folders if Path(folder).is_dir()]


def _others(online: str, kept_off: Sequence[Sequence[int]]) -> str:
    """Return the CPUs outside of all these lists; where none would be left, a later list does not count."""
    rest = set(cpu_list(online))
    for busy in kept_off:
        rest = rest - set(busy) or rest
    return ",".join(map(str, sorted(rest)))


_: type[ClusterRuntime] = KubernetesRuntime
