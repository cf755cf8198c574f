"""A Service of a cluster in front of one address: made, awaited until the node's rules send to it, removed.

It has no selector: which address is behind it is told by an EndpointSlice, so that frames of a tester,
which has no listening program, reach the pod's interface of a benchmark network. Ids: KUBE-42 the rules
did not come.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api import JsonValue, PlacedNode
from bmwg.drivers.hosting import bounded
from bmwg.drivers.kubernetes.client import OWNER_LABEL, Cluster
from bmwg.methodology.errors import DriverError

PROTOCOL = "UDP"
_TABLE = "kube-proxy"
_RULES_S = 20.0  # choice: kube-proxy writes at most once a second
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}"
_SERVICES = "/api/v1/namespaces/{}/services/{}"


@contextmanager
def service(
    api: Cluster, node: PlacedNode, *, namespace: str, owner: str, name: str, address: str, port: int
) -> Iterator[dict[str, JsonValue]]:
    """Yield evidence of a ClusterIP Service for `address` and UDP `port`, with `cluster_ip`.

    Everything lies in the run's namespace and goes with it, so it needs no undo. Raises DriverError KUBE-42.
    """
    labels = {OWNER_LABEL: owner}
    ports = [{"name": "test", "protocol": PROTOCOL, "port": port}]
    try:
        made = api.apply(
            _SERVICES.format(namespace, name),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "spec": {"type": "ClusterIP", "ports": ports},
            },
        )
        api.apply(
            _SLICES.format(namespace, name),
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": {
                        **labels,
                        "kubernetes.io/service-name": name,
                        "endpointslice.kubernetes.io/managed-by": "bmwg",
                    },
                },
                "addressType": "IPv4",
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                "ports": ports,
            },
        )
        cluster_ip = str(made["spec"]["clusterIP"])
        asked_s = time.monotonic()
        told = _awaited(node, cluster_ip=cluster_ip, address=address, port=port)
        forgotten = _forget(node, cluster_ip, address, port)
        try:
            yield {
                "kind": "ClusterIP",
                "cluster_ip": cluster_ip,
                "port": port,
                "protocol": PROTOCOL,
                "rules_ms": round((time.monotonic() - asked_s) * 1e3, 1),
                "connections_forgotten": forgotten,
                **told,
            }
        finally:
            _forget(node, cluster_ip, address, port)
    finally:
        for path in (_SLICES, _SERVICES):
            api.delete(path.format(namespace, name))


def _forget(node: PlacedNode, cluster_ip: str, address: str, port: int) -> int:
    """Forget earlier connections to both addresses: the rules would rename the flows that are like them."""
    forgotten: int = node.call(
        "bmwg.drivers.hosting.connections:forget", addresses=[cluster_ip, address], port=port
    )
    return forgotten


def _awaited(node: PlacedNode, *, cluster_ip: str, address: str, port: int) -> dict[str, JsonValue]:
    end_s = time.monotonic() + _RULES_S
    while True:
        told: dict[str, JsonValue] = node.call(
            "bmwg.drivers.kubernetes.services:rules", cluster_ip=cluster_ip, address=address, port=port
        )
        if told["translated"]:
            return told
        if time.monotonic() > end_s:
            raise DriverError(
                "KUBE-42",
                f"Service with cluster address {cluster_ip}",
                expected=f"rules of kube-proxy that send to {address} within {_RULES_S:g} s",
                found=f"{told['rules']} rules in table {_TABLE}, none of them",
            )
        time.sleep(0.1)


def rules(*, cluster_ip: str, address: str, port: int) -> dict[str, JsonValue]:
    """Node function: whether this node's kernel sends the Service's frames to `address`, and by what."""
    done = bounded.run(["nft", "--numeric", "list", "table", "ip", _TABLE], deadline_s=10.0)
    return {"by": "nftables", **read_rules(done.stdout, cluster_ip=cluster_ip, address=address, port=port)}


def read_rules(text: str, *, cluster_ip: str, address: str, port: int) -> dict[str, JsonValue]:
    """Find a Service's way in kube-proxy's table: its entry in the map of Services, the translation."""
    entry = re.search(
        rf"(?<![\d.]){re.escape(cluster_ip)} \. (?:udp|17) \. {port} : goto (?P<chain>\S+?),?(?:\s|$|}})",
        text,
    )
    target = re.search(rf"dnat (?:ip )?to {re.escape(address)}:{port}\b", text)
    return {
        "translated": entry is not None and target is not None,
        "rules": sum(line.startswith("\t\t") for line in text.splitlines()),
    }
