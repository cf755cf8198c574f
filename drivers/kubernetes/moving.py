"""One pod that a Deployment keeps, behind a Service: its node is drained, and it comes up on another one.

The pod relays datagrams: what comes for the Service it sends on to another address, by a second Service in
front of that one. Nothing of the toolkit takes part between the request to evict it and the first frame that
the next pod relays. Ids: KUBE-46 the pod was not replaced in time.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bmwg.drivers.api.protocols import Evidence, Missing, PlacedNode, UndoLog
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import manifest, nodes, pods, services
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import Embedded
from bmwg.methodology.errors import DriverError

LABEL = "bmwg.ietf.org/moving"
_HOST = "kubernetes.io/hostname"
_RELAY_PORT = 1107  # choice: one that needs no right
_PART_OF_CPU = "50m"  # choice: a request without a limit, whose quota would be timed
_GONE_S = 60.0
_DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments/{}"
# A relay of datagrams by what every perl has. It ends as soon as it is told to.
_PROGRAM = (
    "$SIG{TERM}=sub{exit 0};"
    'socket(S,2,2,17)&&bind(S,pack("S n a4 x8",2,$ARGV[0],"\\0"x4))||die"$!";'
    '$to=pack("S n C4 x8",2,$ARGV[2],split(/\\./,$ARGV[1]));'
    "while(1){defined recv(S,$d,65535,0)&&send(S,$d,0,$to)}"
)


def relay(port: int, address: str, to_port: int) -> tuple[str, ...]:
    """Return the command line of the relay: what comes to `port` goes to that address and port."""
    return ("perl", "-e", _PROGRAM, str(port), str(ipaddress.IPv4Address(address)), str(to_port))


def deployment(body: Mapping[str, Any], *, name: str, places: Sequence[str]) -> dict[str, Any]:
    """Return a Deployment of one pod by its manifest: on one of `places`, rather on the first."""
    pod = body["spec"]
    container = manifest.without_cpu_limit(pod["containers"][0], _PART_OF_CPU)

    def on(*hosts: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": _HOST, "operator": "In", "values": list(hosts)}]}

    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on(*places)]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": on(places[0])}],
        }
    }
    metadata = body["metadata"]
    labels = {**metadata["labels"], LABEL: name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": metadata["namespace"], "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {LABEL: name}},
            "template": {
                "metadata": {"labels": labels, "annotations": dict(metadata["annotations"])},
                "spec": {**pod, "containers": [container], "affinity": affinity},
            },
        },
    }


@dataclass(slots=True, kw_only=True)
class Moved:
    """One drain: when it came to each step (ns of the monotonic clock), and where the pod was and is."""

    asked_ns: int
    from_node: str
    to_node: str
    steps: dict[str, int] = field(default_factory=dict)


class Moving:
    """The pod that stands, and the acts on it. `evidence` is for the record."""

    def __init__(
        self, api: Cluster, undo: UndoLog, cluster: Embedded, *, namespace: str, owner: str, name: str
    ) -> None:
        self._api, self._undo, self._cluster = api, undo, cluster
        self._namespace, self._owner = namespace, owner
        self._path = pods.pods_path(namespace)
        self._selector: dict[str, Any] = {"labelSelector": f"{LABEL}={name}"}
        self.name = name
        self.evidence: Evidence = {}
        self._pod: dict[str, Any] = {}

    @property
    def pod(self) -> dict[str, Any]:
        """The pod as the cluster has it."""
        return self._pod

    @property
    def node(self) -> str:
        """The node on which the pod is."""
        return str(self._pod["spec"]["nodeName"])

    @property
    def address(self) -> str:
        """The pod's address in the pods' own network."""
        return str(self._pod["status"]["podIP"])

    def wait_ready(self, *, within_s: float) -> None:
        """Wait until the pod is ready. Raises TestbedError KUBE-40, DriverError KUBE-46."""
        for kind, found in self._api.watch(self._path, within_s=within_s, **self._selector):
            if kind == "DELETED":
                continue
            pods.require_hope(self._api, self._namespace, str(found["metadata"]["name"]), found)
            if _ready(found):
                self._pod = found
                return
        raise self._late(within_s, "no pod that is ready")

    @contextmanager
    def drained(self, *, within_s: float) -> Iterator[Moved]:
        """Cordon the pod's node, have the pod evicted, wait until another is ready and it is gone.

        The node takes pods again on leaving, whatever happened. Raises TestbedError KUBE-44, KUBE-45 and
        KUBE-40, DriverError KUBE-46.
        """
        node, first = self.node, next(iter(self._cluster.nodes.values()))
        with nodes.cordoned(self._api, self._undo, first, node=node, owner=self._owner):
            yield self._moved(node, within_s)

    def _moved(self, node: str, within_s: float) -> Moved:
        old = str(self._pod["metadata"]["uid"])
        phases, ends = pods.Phases(), pods.Ends()
        moved = Moved(asked_ns=0, from_node=node, to_node="")
        new: dict[str, Any] = {}
        for kind, found in self._api.watch(self._path, within_s=within_s, **self._selector):
            if not moved.asked_ns:  # what it tells from here on is of the eviction
                moved.asked_ns = self._evict(moved.steps, within_s)
            uid = str(found["metadata"]["uid"])
            if uid == old:
                ends.take(kind, found)
            elif kind != "DELETED":
                moved.steps.setdefault("pod_created", time.monotonic_ns())
                phases.take(found)
                pods.require_hope(self._api, self._namespace, str(found["metadata"]["name"]), found)
                if _ready(found):
                    moved.steps.setdefault("pod_ready", time.monotonic_ns())
                    new = found
            if new and ends.gone_ns:
                break
        if not new or not ends.gone_ns:
            raise self._late(
                within_s, "no other pod is ready" if not new else "the pod before is still there"
            )
        self._pod = new
        moved.to_node = self.node
        moved.steps |= self._told(phases, ends, node, old)
        return moved

    def _evict(self, steps: dict[str, int], within_s: float) -> int:
        asked_ns = time.monotonic_ns()
        name = str(self._pod["metadata"]["name"])
        nodes.evict(self._api, self._namespace, name, grace_s=manifest.GRACE_S, within_s=within_s)
        steps["eviction_accepted"] = time.monotonic_ns()
        return asked_ns

    def _told(self, phases: pods.Phases, ends: pods.Ends, node: str, old: str) -> dict[str, int]:
        """Return the steps of both pods; those of CNI as their nodes tell them."""
        before, after = self._cluster.layouts[node].folder, self._cluster.layouts[self.node].folder
        added = self._cluster.nodes[self.node].call(
            kubernetes_node.attached,
            cache_dir=f"{after}/cni-cache",
            pod_uid=str(self._pod["metadata"]["uid"]),
        )
        if added is not None:
            phases.cni = dict(added["times"])
        removed = self._cluster.nodes[node].call(kubernetes_node.detached, folder=before, pod_uid=old)
        if removed is not None:
            ends.detached_ns = removed["ended_ns"]
        new = {
            name: at for name, at in phases.steps_ns().items() if name not in ("pod_asked", "api_accepted")
        }
        return {**new, **{f"old_{name}": at for name, at in ends.steps_ns().items()}}

    def _late(self, within_s: float, found: str) -> DriverError:
        return DriverError(
            "KUBE-46",
            f"the pod of Deployment {self.name}",
            expected=f"ready within {within_s:g} s, the one before gone",
            found="; ".join([found, *pods.events(self._api, self._namespace, "")])[:800],
        )


def _ready(found: Mapping[str, Any]) -> bool:
    ready = pods.condition(found.get("status") or {}, "Ready").get("status") == "True"
    return ready and not found["metadata"].get("deletionTimestamp")


def missing(cluster: Mapping[str, Any]) -> Missing | None:
    """Return why no pod can be moved on the run's cluster, by the options that the testbed file gives."""
    if len(cluster.get("nodes") or ()) > 1:
        return None
    return Missing(
        what="a node to which a pod can move",
        reason="the cluster has one node",
        mend="pods.options.nodes with two nodes, as in testbeds/kubernetes.yaml",
    )


@contextmanager
def moving(
    api: Cluster,
    undo: UndoLog,
    cluster: Embedded,
    node: PlacedNode,
    *,
    namespace: str,
    owner: str,
    image: str,
    spec: PodSpec,
    target: tuple[str, int],
    port: int,
    within_s: float,
) -> Iterator[Moving]:
    """Yield a pod of the cluster's that relays what comes for a Service's `port` to the target; remove all.

    `node` is where frames come in: its rules must send to the pod. The pod is rather on that node. Everything
    lies in the run's namespace. Raises TestbedError KUBE-40, DriverError KUBE-42, KUBE-46 and KUBE-49.
    """
    name = spec.pod_id
    made = Moving(api, undo, cluster, namespace=namespace, owner=owner, name=name)
    with ExitStack() as stack:
        # what is looked at next is the ground without them
        stack.callback(services.wait_forgotten, cluster.nodes.values(), namespace, [name, f"{name}-on"])
        # the pods' own network has routes to the cluster's Services alone, so the way on is one of these
        onward = stack.enter_context(
            services.service(
                api, node, namespace=namespace, owner=owner, name=f"{name}-on", address=target[0],
                port=target[1],
            )
        )  # fmt: skip
        command = relay(_RELAY_PORT, str(onward["front"]), target[1])
        body = manifest.pod(
            replace(spec, arguments=command), namespace=namespace, owner=owner, image=image, networks=()
        )
        places = [node.name, *(name for name in cluster.nodes if name != node.name)]
        stack.callback(_removed, api, namespace, name)
        api.apply(_DEPLOYMENTS.format(namespace, name), deployment(body, name=name, places=places))
        made.wait_ready(within_s=within_s)
        told = stack.enter_context(
            services.selecting(
                api, node, namespace=namespace, owner=owner, name=name, label=(LABEL, name),
                port=port, target_port=_RELAY_PORT, address=made.address,
            )
        )  # fmt: skip
        made.evidence = {
            "service": told,
            "onward_service": onward,
            "relay": {"program": " ".join(command[:1]), "runs_in": "a pod that a Deployment keeps"},
            "placement": {"one_of": places, "rather": places[0], "at_first": made.node},
        }
        yield made


def _removed(api: Cluster, namespace: str, name: str) -> None:
    """Remove a Deployment and wait until its pods are gone. Raises DriverError KUBE-41."""
    api.delete(_DEPLOYMENTS.format(namespace, name))
    selector: dict[str, Any] = {"labelSelector": f"{LABEL}={name}"}
    end_s = time.monotonic() + _GONE_S
    path = pods.pods_path(namespace)
    while time.monotonic() < end_s:
        for _ in api.until_absent(path, within_s=end_s - time.monotonic(), **selector):
            pass
        if api.get(_DEPLOYMENTS.format(namespace, name)) is None and not (
            api.get(path, **selector) or {}
        ).get("items"):
            return
        time.sleep(0.1)
    raise DriverError(
        "KUBE-41", f"pods of Deployment {name}", expected=f"gone within {_GONE_S:g} s", found="some are there"
    )
