"""Cilium on an embedded cluster: its agent on each node, all joined by a key-value store of their own.

Between nodes it is native routing: the nodes' NIC carries the pods' own frames, by routes that the run makes.
Its VXLAN is no choice: the agent refuses it with addresses that a plugin gives (`local-router-ipv4`).

The agents run without the Kubernetes API, whose resources of Cilium an operator would have to keep: it cannot
be built here (ADR 0375). So no NetworkPolicy is enforced, and a pod's identity has none of its labels.
Ids: KUBE-01 not built.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import built
from bmwg.methodology.errors import DriverError

FOLDER_VARIABLE = "BMWG_CILIUM"  # a folder with the programs, instead of what set-up built
BUILT = "/var/cache/bmwg/cilium/current"
MEND = "sh setup/install.sh cilium"
NETWORK = (
    "198.18.0.0/15"  # RFC 2544 appendix C.2.2; it has both sides' pods, and never leaves the run's nodes
)
SOCKET = "/run/cilium/cilium.sock"  # in the node's own /run; the plugin looks nowhere else
BPF_ROOT = (
    "/sys/fs/bpf"  # mounted in the mount namespace of the node's programs, with which all that is pinned goes
)
ROUTING = "native"
STORE_PORT = 2479  # choice: beside the cluster's own etcd, whose contents are nobody else's
_UNDERLAY = "198.18.194."  # choice: of the benchmark range, beside flannel's underlay
_ANSWER_S = 5.0
_PROGRAMS = ("cilium-agent", "bin/clang", "lib/bpf/bpf_lxc.c", "cni/cilium-cni", "cni/static")
# What of the agent's own answer the record keeps: all that bears on the way of a frame.
_CONFIGURATION = (
    "RoutingMode", "TunnelProtocol", "DatapathMode", "EnableIPv4", "EnableIPv6", "EnablePolicy", "IPAM",
    "EnableIPv4Masquerade", "EnableBPFMasquerade", "KubeProxyReplacement", "EnableSocketLB",
    "EnableL7Proxy", "EnableHubble", "EnableTCX",
    "EnableEndpointRoutes", "EnableLocalRedirectPolicy", "EnableXDPPrefilter", "EnableBandwidthManager",
    "EnableIPSec", "EnableWireguard", "EnableEncryptionStrictMode", "IdentityAllocationMode", "KVStore",
    "MonitorAggregation", "InstallIptRules", "BPFCompileDebug", "CTMapEntriesGlobalAny",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cilium:
    """What the agent of a node is told: NIC and address towards others, its pods and router, the store."""

    interface: str
    address: str
    pods: str
    router: str
    store: str


def folder() -> str:
    """Return the folder of the built programs."""
    return os.path.realpath(os.environ.get(FOLDER_VARIABLE, BUILT))


def plugin_dir() -> str:
    """Return the folder with Cilium's CNI plugin, and links to the distribution's."""
    return f"{folder()}/cni"


def missing() -> dict[str, str] | None:
    """Node function: what of Cilium is missing here (fields of `drivers.api.Missing`)."""
    for name in _PROGRAMS:
        if not os.path.exists(f"{folder()}/{name}"):
            return {"what": "Cilium", "reason": f"no {folder()}/{name}", "mend": MEND}
    return None


def versions() -> dict[str, JsonValue]:
    """Node function: versions and SHA-256 of the programs as set-up recorded them."""
    return built.versions(folder())


def of_node(number: int, *, interface: str, pods: str, router: str, store: str) -> Cilium:
    """Return what the agent of the node of that number is told."""
    return Cilium(
        interface=interface,
        address=f"{_UNDERLAY}{number + 1}/24",
        pods=pods,
        router=router,
        store=f"http://{store}:{STORE_PORT}",
    )


def store(address: str, *, programs: str, shared: str) -> dict[str, JsonValue]:
    """Return the key-value store of the agents as a program of the first node."""
    peers = f"http://127.0.0.1:{STORE_PORT + 1}"
    clients = f"http://{address}:{STORE_PORT}"
    argv = [
        f"{programs}/etcd",
        "--name=cilium",
        f"--data-dir={shared}/cilium-store",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=cilium={peers}",
        "--unsafe-no-fsync",  # its data is worth nothing when the run has ended
    ]
    return {"name": "cilium-store", "argv": argv}


def program(one: Cilium, *, node: str, node_folder: str) -> dict[str, JsonValue]:
    """Return the agent as a program of a node: name and argument vector."""
    settings = {
        "enable-k8s": "false",
        "kvstore": "etcd",
        "kvstore-opt": f"etcd.address={one.store}",
        "identity-allocation-mode": "kvstore",
        "enable-ipv6": "false",
        "bpf-root": BPF_ROOT,
        "cgroup-root": f"{node_folder}/cgroup2",
        "lib-dir": f"{folder()}/lib",
        "state-dir": f"{node_folder}/cilium",
        "socket-path": SOCKET,
        "devices": one.interface,
        "ipv4-node": one.address.partition("/")[0],
        "ipam": "delegated-plugin",  # the test's addresses come from the static plugin
        "local-router-ipv4": one.router,
        "routing-mode": "native",
        "ipv4-native-routing-cidr": NETWORK,
        "ipv4-range": one.pods,  # of which the agent makes a route to its own device
        "enable-ipv4-masquerade": "false",
        "enable-l7-proxy": "false",
        "enable-hubble": "false",
        "kube-proxy-replacement": "false",
        "bpf-lb-sock": "false",  # its programs would be attached to the whole machine's cgroups
        "enable-health-checking": "false",
        "enable-endpoint-health-checking": "false",
        # through the peer of the pod's device: past it, no program at the pod's interface sees a frame
        "enable-host-legacy-routing": "true",
        "enable-policy": "never",
        "monitor-aggregation": "medium",  # as its makers' chart has it; the bare agent tells of every packet
    }
    return {
        "name": "cilium-agent",
        "argv": [
            "env",
            f"K8S_NODE_NAME={node}",
            f"PATH={folder()}/bin:{os.environ.get('PATH', '/usr/sbin:/usr/bin:/sbin:/bin')}",
            f"{folder()}/cilium-agent",
            *(f"--{name}={value}" for name, value in settings.items()),
        ],
    }


def conflist(addresses: JsonValue) -> dict[str, JsonValue]:
    """Return the CNI configuration of a pod on Cilium: its plugin, and the address by the static one."""
    return {
        "cniVersion": "1.0.0",
        "name": "cilium",
        "plugins": [{"type": "cilium-cni", "ipam": {"type": "static", "addresses": addresses}}],
    }


def ready() -> str:
    """Node function: what is still awaited of the agent here; empty when it says that it is well."""
    try:
        told = _asked("/v1/healthz")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"an agent that answers ({error})"
    state = (told.get("cilium") or {}).get("state")
    return "" if state == "Ok" else f"an agent that is well, found {state}"


def node_address() -> str:
    """Node function: the address by which the other agents know this node."""
    options = (_asked("/v1/config").get("status") or {}).get("daemonConfigurationMap") or {}
    return str(options["IPv4NodeAddr"])


def knows(*, pods: dict[str, str], within_s: float = 20.0) -> dict[str, JsonValue]:
    """Node function: wait until this node's agent has these pods where they are; returns their identities.

    `pods` are addresses of pods with those of their nodes. Raises DriverError KUBE-43.
    """
    end_s = time.monotonic() + within_s
    while True:
        told = {str(one["cidr"]).partition("/")[0]: one for one in _listed("/v1/ip")}
        found = {address: str(told.get(address, {}).get("hostIP", "unknown")) for address in pods}
        if found == pods:
            return {address: told[address].get("identity") for address in pods}
        if time.monotonic() > end_s:
            raise DriverError(
                "KUBE-43",
                "Cilium's agent on a node",
                expected=f"pods on their nodes ({pods}) within {within_s:g} s",
                found=str(found),
                hint="its log is cilium-agent.log of the node's folder",
            )
        time.sleep(0.05)


def effective() -> dict[str, JsonValue]:
    """Node function: what the agent says of itself: state, the configuration it runs by, MTU."""
    told = _asked("/v1/config").get("status") or {}
    options = told.get("daemonConfigurationMap") or {}
    unsafe = options.get("UnsafeDaemonConfigOption") or {}
    health = _asked("/v1/healthz")
    return {
        "state": (health.get("cilium") or {}).get("state"),
        "store": (health.get("kvstore") or {}).get("state"),
        "device_mtu_octets": told.get("deviceMTU"),
        "route_mtu_octets": told.get("routeMTU"),
        "configuration": {
            **{key: options[key] for key in _CONFIGURATION if key in options},
            "EnableHostLegacyRouting": unsafe.get("EnableHostLegacyRouting"),
        },
    }


def _listed(path: str) -> list[dict[str, JsonValue]]:
    found = _asked(path)
    return found if isinstance(found, list) else []


def _asked(path: str) -> JsonValue:
    """Ask the agent by its socket; an answer of another status than 200 is an empty one."""
    connection = _Local(SOCKET)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        return json.loads(data) if answer.status == 200 else {}
    finally:
        connection.close()


class _Local(http.client.HTTPConnection):
    """A connection by a socket of the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_ANSWER_S)
        self._path = path

    def connect(self) -> None:
        """Open it."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def evidence() -> dict[str, JsonValue]:
    """Return what a record says of Cilium: how nodes are joined, network, programs; no address of a node."""
    return {
        "routing": ROUTING,
        "routes_between_nodes": "made by the run, one for the pods of each other node",
        "network": NETWORK,
        "store": "etcd of its own",
        "kubernetes_api": "not used: no operator can be built here, so no policy is enforced",
        "programs": versions(),
    }
