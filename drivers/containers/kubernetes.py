"""Pods by Kubernetes: on a cluster made on the run's own nodes, or on the user's by kubeconfig and context.

On the run's own cluster the kubelet attaches the networks: each attachment is a NetworkAttachmentDefinition
that the pod's annotation asks for. On the user's nothing is made outside the run's namespace, and the run
attaches its pods' networks on nodes that the testbed file names as well. Ids: KUBE-12 options that contradict
each other, KUBE-13 what a user's cluster does not give.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
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
from bmwg.drivers.kubernetes import (
    batch,
    manifest,
    moving,
    of_run,
    pods,
    policies,
    programs,
    record,
    run_namespace,
    services,
    users_node,
)
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes import options as options_of
from bmwg.drivers.kubernetes.access import Access, lasting
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import Embedded
from bmwg.drivers.kubernetes.joined import Joining
from bmwg.drivers.kubernetes.moving import Moving
from bmwg.drivers.kubernetes.pod import KubernetesPod
from bmwg.drivers.kubernetes.rights import NODE_RIGHTS, POD_RIGHTS, RIGHTS
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE, Layout
from bmwg.drivers.kubernetes.users_pod import UsersPod
from bmwg.drivers.network.handover import NETDEV
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.methodology.record import booted

UNDO_KIND = "kubernetes_namespace"
_UNKNOWN = Missing(what="", reason="not asked yet", mend="")
_RUNNING_S = 240.0  # choice: 5 s on a quiet machine; on a busy one a minute was too short
_REMOVED_S = 120.0  # choice: the same of its end
_FAILED_REMOVED_S = 20.0  # choice: of one that failed, as its node may be lost
_EMBEDDED = "options: {cluster: embedded} in `pods` of the testbed file"


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
        self._places: dict[str, str] = {}  # the user's nodes, by nodes of the file on the same machines
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
                hint=_EMBEDDED,
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
            return None if node.name in self._places else users_node.elsewhere(f"node {node.name}")
        return Missing.told(node.call(programs.missing, version=self._version))

    def refuses(self, network: NetworkDriver) -> Missing | None:
        """Interfaces are attached by CNI alone; daemons between nodes are those of the run's own cluster."""
        if not self.owns_cluster:
            if not self._places:
                return users_node.elsewhere("no node of the testbed file")
            if isinstance(network, Joining):
                return self.own_alone(f"the daemon of network option {network.spec.name}")
        if isinstance(network, PluginNetwork) and network.hands_over == NETDEV:
            return None
        return Missing(
            what=f"network option {network.spec.name} on Kubernetes",
            reason=f"a kubelet attaches interfaces by CNI; this option hands over {network.hands_over}"
            if network.hands_over != NETDEV
            else "a kubelet attaches by CNI, and this option is none",
            mend="pods.runtime: crun",
        )

    def own_alone(self, what: str) -> Missing | None:
        """Return that the run does this on a cluster of its own alone; None where this is one."""
        if self.owns_cluster:
            return None
        return Missing(what=what, reason="the cluster is the user's (KUBE-13)", mend=_EMBEDDED)

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
                self._embedded = stack.enter_context(
                    of_run.cluster(
                        nodes,
                        self._options,
                        run_dir=self._run_dir,
                        undo=self._undo,
                        token=self._token,
                        cpus=cpus,
                        kept_off=kept_off,
                        networks=networks,
                    )
                )
                access = self._embedded.access
            else:
                given = self._options
                access = lasting(
                    Access(kubeconfig=str(given["kubeconfig"]), context=str(given.get("context", "")))
                )
            self._api = stack.enter_context(Cluster(access))
            stack.callback(self._closed)
            if not self.owns_cluster:
                self._api.allowed((*RIGHTS, *POD_RIGHTS, *NODE_RIGHTS))
                self._places = users_node.places(self._api, nodes, self._options.get("node_selector") or {})
            stack.enter_context(self._namespace(access))
            self._cluster_record = record.cluster(self._api, self._embedded, self._places)
            yield

    def _closed(self) -> None:
        self._api = None

    @contextmanager
    def _namespace(self, access: Access) -> Iterator[None]:
        """Make the run's namespace; on the user's cluster remove it on leaving, its undo in the ledger."""
        if self.owns_cluster:
            run_namespace.make(self.api, self.namespace, self._token)
            yield
            return
        undo: dict[str, JsonValue] = {"access": access.data(), "name": self.namespace, "owner": self._token}
        remove = partial(run_namespace.remove, **undo)
        with undone(self._undo, UNDO_KIND, {"kind": "local"}, remove, **undo):
            run_namespace.make(self.api, self.namespace, self._token)
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
        if not self.owns_cluster and node.name not in self._places:
            lack = users_node.elsewhere(f"node {node.name}")
            raise TestbedError("KUBE-13", lack.what, found=lack.reason, hint=lack.mend)
        resources = [
            (f"{spec.pod_id}-{number}".lower(), self.conflist(one)) for number, one in enumerate(networks)
        ]
        by_kubelet = resources if self.owns_cluster else []
        self._clear()
        body = manifest.pod(
            # settings of the pod's network: the run makes them on the user's node, whose kubelet need not
            spec if self.owns_cluster else replace(spec, forwarding=False, sysctls=()),
            namespace=self.namespace,
            owner=self._token,
            image=str(self._options.get("image", PAUSE_IMAGE)),
            node=node.name if self.owns_cluster else self._places[node.name],
            node_selector=self._options.get("node_selector") or {},
            networks=[
                (name, one.attachment.interface) for (name, _), one in zip(by_kubelet, networks, strict=False)
            ],
        )
        kind = KubernetesPod if self.owns_cluster else UsersPod
        try:
            phases = pods.make(self.api, body, by_kubelet)
            found = pods.wait_running(self.api, self.namespace, spec.pod_id, phases, within_s=_RUNNING_S)
            pod = kind(self, node, spec, body, found, phases)
            with pod.networked(networks):
                yield pod
        except BaseException:
            self._left[spec.pod_id] = [name for name, _ in by_kubelet]
            with suppress(ToolkitError):  # the next pod waits for its end as long as it takes
                self._clear(within_s=_FAILED_REMOVED_S)
            raise
        self._left[spec.pod_id] = [name for name, _ in by_kubelet]
        pod.gone(self._clear()[spec.pod_id])

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
        return self.own_alone("a NetworkPolicy of the run") or policies.unenforced(node, network)

    def policies(self, node: PlacedNode, network: NetworkDriver) -> AbstractContextManager[policies.Policies]:
        """Yield policies of the run's namespace on a node, enforced while this is open."""
        layout = self.layout(node.name)
        return policies.enforced(self.api, node, network, layout, namespace=self.namespace, owner=self._token)

    def boots_or_unpacks(self, pod: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the octets of a pod's image: as it was built for the run's cluster, as the user's tells."""
        if self._embedded is not None:
            return dict(self._embedded.image[booted.KEY])
        return record.image_size(pod, self.api)

    def left(self) -> list[str]:
        """Return what is still there of this run's pods, in the API and on nodes of the run's cluster."""
        found = pods.left(self.api, self.namespace, self._token)
        for name, node in (self._embedded.nodes if self._embedded else {}).items():
            records = node.call_within(30.0, kubernetes_node.left, folder=self.layout(name).folder)
            found += [f"{name}/{one}" for one in records]
        return found

    def _clear(self, *, within_s: float = _REMOVED_S) -> dict[str, pods.Ends]:
        """Remove the pods that are no longer wanted. Raises DriverError KUBE-41.

        One that stays holds its CPU and its interfaces: another pod would wait for them in vain, or be seen
        to lead out of the run. Returns when each came to what.
        """
        ended = {}
        for name, networks in list(self._left.items()):
            ended[name] = pods.remove(self.api, self.namespace, name, networks, within_s=within_s)
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
        return self.own_alone("a node that is drained") or moving.missing(self._options)

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


_: type[ClusterRuntime] = KubernetesRuntime
