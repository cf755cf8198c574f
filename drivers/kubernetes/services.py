"""A Service of a cluster: made, awaited until the node's rules send to what is behind it, removed.

In front of one address it has no selector: which address is behind it is told by an EndpointSlice, so that
frames of a tester, which has no listening program, reach the pod's interface of a benchmark network. In front
of pods (`selecting`) the cluster's own controllers tell. Ids: KUBE-42 the rules did not come, KUBE-47 nothing
gave a Service of type LoadBalancer an address, KUBE-49 rules of a removed Service stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing, PlacedNode
from bmwg.drivers.kubernetes.client import Cluster, resource
from bmwg.drivers.nodes import bounded
from bmwg.drivers.ports import connections
from bmwg.methodology.errors import DriverError, TestbedError

CLUSTER_IP, NODE_PORT, LOAD_BALANCER = "ClusterIP", "NodePort", "LoadBalancer"
PROTOCOL = "UDP"
_TABLE = "kube-proxy"
_RULES_S = 20.0  # choice: kube-proxy writes at most once a second
BALANCED_S = 10.0  # choice: an implementation in the same cluster answers within seconds
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}"
_SERVICES = "/api/v1/namespaces/{}/services/{}"


@contextmanager
def service(
    api: Cluster,
    node: PlacedNode,
    *,
    namespace: str,
    owner: str,
    name: str,
    address: str,
    port: int,
    kind: str = CLUSTER_IP,
    node_address: str = "",
) -> Iterator[dict[str, JsonValue]]:
    """Yield evidence of a Service for `address` and UDP `port`; frames go to its `front`.

    A NodePort is `port` at `node_address`. Everything lies in the run's namespace and goes with it, so it
    needs no undo. Raises DriverError KUBE-42, TestbedError KUBE-47.
    """
    ports = [{"name": "test", "protocol": PROTOCOL, "port": port}]
    behind = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "nodeName": node.name, "conditions": {"ready": True}}],
        "ports": ports,
    }
    with (
        _standing(api, namespace, name, owner, spec=_spec(kind, port), behind=behind) as made,
        _led(api, node, made, address=address, port=port, node_address=node_address) as told,
    ):
        yield told


@contextmanager
def selecting(
    api: Cluster,
    node: PlacedNode,
    *,
    namespace: str,
    owner: str,
    name: str,
    label: tuple[str, str],
    port: int,
    target_port: int,
    address: str,
) -> Iterator[dict[str, JsonValue]]:
    """Yield evidence of a ClusterIP Service of the pods with a label, once the rules send to one's `address`.

    Which pods are behind it later is the cluster's own affair. Raises DriverError KUBE-42.
    """
    spec = _spec(CLUSTER_IP, port)
    spec["selector"] = dict([label])
    spec["ports"][0]["targetPort"] = target_port
    with (
        _standing(api, namespace, name, owner, spec=spec) as made,
        _led(api, node, made, address=address, port=port, target_port=target_port) as told,
    ):
        yield told


def unbalanced(api: Cluster, *, namespace: str, owner: str, name: str) -> Missing | None:
    """Return that nothing gives a Service of type LoadBalancer an address within its deadline, or None.

    One is made for that and removed.
    """
    with _standing(api, namespace, name, owner, spec=_spec(LOAD_BALANCER, 7)) as made:
        try:
            _balanced(api, made)
        except TestbedError as error:
            return Missing(
                what="a Service of type LoadBalancer",
                reason=f"{error.found} within {BALANCED_S:g} s",
                mend="an implementation that gives such Services addresses; or path p2p-nodeport",
            )
    return None


def _spec(kind: str, port: int) -> dict[str, Any]:
    one: dict[str, Any] = {"name": "test", "protocol": PROTOCOL, "port": port}
    if kind == NODE_PORT:
        one["nodePort"] = port
    # by the other policy, Cluster, kube-proxy gives each flow a source port drawn at random: a tester that
    # knows its frames by their ports would take them for somebody's
    more: dict[str, Any] = {} if kind == CLUSTER_IP else {"externalTrafficPolicy": "Local"}
    if kind == LOAD_BALANCER:
        more["allocateLoadBalancerNodePorts"] = False
    return {"type": kind, "ports": [one], **more}


@contextmanager
def _standing(
    api: Cluster,
    namespace: str,
    name: str,
    owner: str,
    *,
    spec: dict[str, Any],
    behind: dict[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Make a Service and, where no selector does, say what is behind it; remove both on leaving."""
    place = (name, namespace, owner)
    told = {"kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "bmwg"}
    try:
        made = api.apply(_SERVICES.format(namespace, name), resource("Service", *place, spec=spec))
        if behind is not None:
            version = "discovery.k8s.io/v1"
            slices = resource("EndpointSlice", *place, version=version, labels=told, **behind)
            api.apply(_SLICES.format(namespace, name), slices)
        yield made
    finally:
        for path in (_SLICES, _SERVICES) if behind is not None else (_SERVICES,):
            api.delete(path.format(namespace, name))


@contextmanager
def _led(
    api: Cluster,
    node: PlacedNode,
    made: dict[str, Any],
    *,
    address: str,
    port: int,
    target_port: int = 0,
    node_address: str = "",
) -> Iterator[dict[str, JsonValue]]:
    """Wait until the node's rules lead from the Service's front to an address; yield the evidence of it."""
    kind, cluster_ip = str(made["spec"]["type"]), str(made["spec"]["clusterIP"])
    asked_s = time.monotonic()
    front = {NODE_PORT: lambda: node_address, LOAD_BALANCER: lambda: _balanced(api, made)}.get(
        kind, lambda: cluster_ip
    )()
    told = _awaited(
        node,
        front=front,
        by_port=kind == NODE_PORT,
        address=address,
        port=port,
        target_port=target_port or port,
    )
    forgotten = _forget(node, front, address, port)
    try:
        yield {
            "kind": kind,
            "cluster_ip": cluster_ip,
            "front": front,
            "port": port,
            "protocol": PROTOCOL,
            "external_traffic_policy": made["spec"].get("externalTrafficPolicy"),
            "rules_ms": round((time.monotonic() - asked_s) * 1e3, 1),
            "connections_forgotten": forgotten,
            **told,
        }
    finally:
        _forget(node, front, address, port)


def _balanced(api: Cluster, made: dict[str, Any]) -> str:
    """Wait for the address that an implementation gives a Service. Raises TestbedError KUBE-47."""
    metadata = made["metadata"]
    path = _SERVICES.format(metadata["namespace"], metadata["name"])
    end_s = time.monotonic() + BALANCED_S
    while True:
        status = ((api.get(path) or {}).get("status") or {}).get("loadBalancer") or {}
        for one in status.get("ingress") or ():
            if one.get("ip"):
                return str(one["ip"])
        if time.monotonic() > end_s:
            raise TestbedError(
                "KUBE-47",
                f"Service {metadata['name']} of type LoadBalancer",
                expected=f"an address (status.loadBalancer.ingress) within {BALANCED_S:g} s",
                found="no implementation in the cluster gave it an address",
            )
        time.sleep(0.2)


def _forget(node: PlacedNode, front: str, address: str, port: int) -> int:
    """Forget earlier connections to both addresses: the rules would rename the flows that are like them."""
    return node.call(connections.forget, addresses=[front, address], port=port)


def _awaited(
    node: PlacedNode, *, front: str, by_port: bool, address: str, port: int, target_port: int
) -> dict[str, JsonValue]:
    end_s = time.monotonic() + _RULES_S
    asked: dict[str, Any] = {"front": front, "by_port": by_port, "address": address}
    asked |= {"port": port, "target_port": target_port}
    while True:
        told: dict[str, JsonValue] = node.call(rules, **asked)
        if told["translated"]:
            return told
        if time.monotonic() > end_s:
            raise DriverError(
                "KUBE-42",
                f"Service at {front}, port {port}",
                expected=f"rules of kube-proxy that send to {address} within {_RULES_S:g} s",
                found=f"{told['rules']} rules in table {_TABLE}, none of them",
            )
        time.sleep(0.1)


def wait_forgotten(nodes: Iterable[PlacedNode], namespace: str, names: Sequence[str]) -> None:
    """Wait until no node's rules name these removed Services any more. Raises DriverError KUBE-49."""
    end_s = time.monotonic() + _RULES_S
    for node in nodes:
        while left := node.call(naming, namespace=namespace, names=list(names)):
            if time.monotonic() > end_s:
                raise DriverError(
                    "KUBE-49",
                    f"removed Services {', '.join(names)}: rules of kube-proxy on node {node.name}",
                    expected=f"none that names them, within {_RULES_S:g} s",
                    found=f"{left} rules in table {_TABLE}",
                )
            time.sleep(0.1)


def naming(*, namespace: str, names: list[str]) -> int:
    """Node function: how many of kube-proxy's rules and entries of maps name one of these Services.

    Chains without a rule don't count: kube-proxy removes them when it next writes.
    """
    done = bounded.run(["nft", "--numeric", "list", "table", "ip", _TABLE], deadline_s=10.0)
    return read_naming(done.stdout, namespace=namespace, names=names)


def read_naming(text: str, *, namespace: str, names: Sequence[str]) -> int:
    """Count the lines of kube-proxy's table that name one of these Services, but for the heads of chains."""
    marks = [f"-{namespace}/{name}/" for name in names]
    return sum(
        not line.startswith("\tchain ") and any(mark in line for mark in marks) for line in text.splitlines()
    )


def rules(**asked: Any) -> dict[str, JsonValue]:
    """Node function: whether this node's kernel sends the Service's frames to `address`, and by what."""
    done = bounded.run(["nft", "--numeric", "list", "table", "ip", _TABLE], deadline_s=10.0)
    return {"by": "nftables", **read_rules(done.stdout, **asked)}


def read_rules(
    text: str, *, front: str, address: str, port: int, target_port: int, by_port: bool = False
) -> dict[str, JsonValue]:
    """Find a Service's way in kube-proxy's table: its entry in the map of Services, the translation.

    `by_port`: the entry is one of the map of node ports, and `front` one of the addresses that have them.
    """
    if by_port:
        entry = re.search(rf"(?<!\. )(?<![\d])(?:udp|17) \. {port} : goto \S", text)
        addresses = re.search(r"set nodeport-ips \{(?P<body>.*?)\n\t\}", text, re.DOTALL)
        named = addresses is not None and re.search(
            rf"(?<![\d.]){re.escape(front)}(?![\d.])", addresses["body"]
        )
        stands = entry is not None and bool(named)
    else:
        stands = bool(
            re.search(
                rf"(?<![\d.]){re.escape(front)} \. (?:udp|17) \. {port} : goto (?P<chain>\S+?),?(?:\s|$|}})",
                text,
            )
        )
    target = re.search(rf"dnat (?:ip )?to {re.escape(address)}:{target_port}\b", text)
    return {
        "translated": stands and target is not None,
        "rules": sum(line.startswith("\t\t") for line in text.splitlines()),
    }
