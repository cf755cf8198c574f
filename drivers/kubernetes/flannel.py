"""flannel on an embedded cluster: flanneld on each node, leases in the cluster's API.

Each node's part of the network is the pods' subnet of one side of a path over two nodes, so that flannel's
own routes are what frames go by. Ids: KUBE-01 not built.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import built

FOLDER_VARIABLE = "BMWG_FLANNEL"  # a folder with the programs, instead of what set-up built
BUILT = "/var/cache/bmwg/flannel/current"
MEND = "sh setup/install.sh kubernetes"
NETWORK = (
    "198.18.0.0/15"  # RFC 2544 appendix C.2.2; it has both sides' subnets, and never leaves the run's nodes
)
SUBNET_FILE = "/run/flannel/subnet.env"  # in the node's own /run
DATA_DIR = "/run/flannel/cni"
BACKENDS = ("vxlan", "host-gw")
TUNNEL = "flannel.1"  # flannel's own name for the device of VXLAN network 1
_UNDERLAY = "198.18.193."  # choice: of the benchmark range, beside the underlay of our own tunnels


@dataclass(frozen=True, slots=True, kw_only=True)
class Flannel:
    """What flanneld of one node is told: backend, the NIC towards the other nodes, this node's subnet."""

    backend: str
    interface: str
    address: str
    subnet: str


def folder() -> str:
    """Return the folder of the built programs."""
    return os.path.realpath(os.environ.get(FOLDER_VARIABLE, BUILT))


def plugin_dir() -> str:
    """Return the folder with flannel's CNI plugin, and links to the distribution's that it delegates to."""
    return f"{folder()}/cni"


def missing() -> dict[str, str] | None:
    """Node function: what of flannel is missing here (fields of `drivers.api.Missing`)."""
    for name in ("flanneld", "cni/flannel", "cni/bridge", "cni/static"):
        if not os.access(f"{folder()}/{name}", os.X_OK):
            return {"what": "flannel", "reason": f"no program {folder()}/{name}", "mend": MEND}
    return None


def versions() -> dict[str, JsonValue]:
    """Node function: versions and SHA-256 of the programs as set-up recorded them."""
    return built.versions(folder())


def of_node(number: int, *, backend: str, interface: str, subnet: str) -> Flannel:
    """Return what flanneld of the node of that number is told."""
    return Flannel(backend=backend, interface=interface, address=f"{_UNDERLAY}{number + 1}/24", subnet=subnet)


def configuration(one: Flannel) -> str:
    """Return flannel's network configuration: nftables, for no rule of another's is to be changed."""
    told = {
        "Network": NETWORK,
        "EnableIPv4": True,
        "EnableIPv6": False,
        "EnableNFTables": True,
        "Backend": {"Type": one.backend},
    }
    return json.dumps(told, indent=1)


def program(one: Flannel, *, node: str, node_folder: str, shared: str) -> dict[str, JsonValue]:
    """Return flanneld as a program of a node: name and argument vector."""
    return {
        "name": "flanneld",
        "argv": [
            "env",
            f"NODE_NAME={node}",
            f"{folder()}/flanneld",
            "--kube-subnet-mgr",
            f"--kubeconfig-file={shared}/flannel.kubeconfig",
            f"--net-config-path={node_folder}/flannel.json",
            f"--subnet-file={SUBNET_FILE}",
            f"--iface={one.interface}",
            "--ip-masq=false",
            "--iptables-forward-rules=false",
        ],
    }


def role() -> list[dict[str, JsonValue]]:
    """Return the rights that flanneld has in the cluster, as its makers' manifest asks for them."""
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]


def lease() -> dict[str, str]:
    """Node function: what flanneld has written of this node's part; empty while it has not."""
    try:
        lines = Path(SUBNET_FILE).read_text().splitlines()
    except OSError:
        return {}
    return {name: value for name, _, value in (line.partition("=") for line in lines) if value}


def ready(*, subnet: str, others: list[str]) -> str:
    """Node function: what is still awaited of flanneld here; empty when its routes stand."""
    from bmwg.drivers.ports import routing

    told = lease()
    if told.get("FLANNEL_SUBNET", "").rpartition(".")[0] != subnet.rpartition(".")[0]:
        return f"a lease of {subnet}, found {told or 'none'}"
    standing = {route["destination"] for route in routing.routes()}
    absent = [other for other in others if other not in standing]
    return f"routes to {', '.join(absent)}" if absent else ""


def conflist(bridge: str, addresses: JsonValue) -> dict[str, JsonValue]:
    """Return the CNI configuration of a pod on flannel: its own plugin, which delegates to the bridge."""
    return {
        "cniVersion": "0.4.0",  # what flannel's plugin speaks
        "name": "flannel",
        "plugins": [
            {
                "type": "flannel",
                "subnetFile": SUBNET_FILE,
                "dataDir": DATA_DIR,
                "ipam": {"type": "static", "addresses": addresses},
                "delegate": {"bridge": bridge, "ipMasq": False},
            }
        ],
    }


def evidence(one: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what a record says of flannel: backend, network, programs; no address of a node."""
    return {
        "backend": one["backend"],
        "network": NETWORK,
        "store": "kubernetes API",
        "ip_masq": False,
        "programs": versions(),
    }
