"""An embedded cluster on namespace nodes of a testbed: made for a run, ready within a deadline, gone with it.

The control plane stands on the first node. What the cluster keeps lies below the run's folder, its sockets
and addresses in the nodes' own namespaces; the host's network, services and kernel settings stay as they
are. Ids: KUBE-02 it did not become ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import yaml

from bmwg.drivers.api.protocols import JsonValue, PlacedNode, UndoLog, undone
from bmwg.drivers.kubernetes import attachments, flannel, joined, pods, policies, settings
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.certificates import Authority, signing_key
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.programs import CONTROL_PLANE
from bmwg.drivers.kubernetes.programs import folder as programs_folder
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.ports import interfaces, routing
from bmwg.methodology.errors import DriverError, ToolkitError

UNDO_KIND = "kubernetes_node"
READY_S = 240.0  # choice: 15 to 20 s on a quiet machine; of a shared one only the end of the wait
_PREFIX = "192.0.2."  # RFC 5737: nodes' addresses, in the run's own namespaces
_ALONE = "bmwg-node"  # the interface of a node that is alone
_ADMIN = "admin"


@dataclass(slots=True, kw_only=True)
class Embedded:
    """A cluster that stands: how it is reached, its nodes, and how long each step took (seconds)."""

    access: Access
    layouts: Mapping[str, Layout]
    nodes: Mapping[str, PlacedNode]
    image: Mapping[str, JsonValue]
    took_s: dict[str, float] = field(default_factory=dict)


@contextmanager
def embedded(
    nodes: Mapping[str, PlacedNode],
    *,
    run_dir: Path,
    undo: UndoLog,
    token: str,
    function_cpus: str,
    other_cpus: str,
    program_cpus: str,
    plugin_dirs: Sequence[str] = (settings.PLUGIN_DIR,),
    network: joined.Joining | None = None,
    version: str = "",
    interface: str = "",
    ranges: settings.Ranges = settings.Ranges(),  # noqa: B008 - frozen
    folder: str = "cluster",
    within_s: float = READY_S,
) -> Iterator[Embedded]:
    """Make a cluster of these nodes, the control plane on the first; remove it on leaving.

    `network` is the option whose daemon joins the nodes' pods, `plugin_dirs` are folders of CNI plugins,
    `version` is the minor version of the cluster's programs, where it is not the default, `ranges` are its
    addresses, `folder` that of its files in the run's folder.

    `interface` is the one by which the nodes reach each other (none for one node alone). `function_cpus` are
    for pods with CPUs of their own, `other_cpus` for other pods, `program_cpus` for the cluster's programs.

    Raises TestbedError KUBE-01, DriverError KUBE-02.
    """
    shared = run_dir / folder
    layouts = {
        name: Layout(
            name=name,
            number=number,
            folder=str(shared / name),
            shared=str(shared),
            programs=programs_folder(version),
            version=version,
            ranges=ranges,
            address=f"{_PREFIX}{number + 1}",
            api_address=f"{_PREFIX}1",
            cgroup=f"/bmwg-kubernetes-{token}-{name}",
            function_cpus=function_cpus,
            other_cpus=other_cpus,
            program_cpus=program_cpus,
            plugin_dirs=tuple(plugin_dirs),
            flannel=joined.flannel_of(network, number),
            cilium=joined.cilium_of(network, number, f"{_PREFIX}1"),
        )
        for number, name in enumerate(nodes)
    }
    began_s = time.monotonic()
    with ExitStack() as stack:
        first = next(iter(nodes.values()))
        stack.enter_context(_handed_down(first, undo))
        mine: dict[str, JsonValue] = {"folder": str(shared), "cgroup": f"/bmwg-kubernetes-{token}"}
        remove = partial(first.call_within, 80.0, kubernetes_node.remove, **mine)
        stack.enter_context(undone(undo, UNDO_KIND, first.place, remove, **mine))
        shared.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_shared(shared, layouts)
        image = first.call_within(120.0, kubernetes_node.build_image, archive=str(shared / "image.tar"))
        made = Embedded(
            access=Access(
                kubeconfig=str(shared / f"{_ADMIN}.kubeconfig"),
                netns=f"/proc/{first.place['pid']}/ns/net",
            ),
            layouts=layouts,
            nodes=nodes,
            image=image,
        )
        made.took_s["prepared"] = round(time.monotonic() - began_s, 3)
        starting = _Starting(nodes=nodes, layouts=layouts, end_s=began_s + within_s)
        for name, node in nodes.items():
            _address(node, layouts, name, interface)
            begun = _node(node, undo, layouts[name], starting.begun, control_plane=node is first)
            stack.enter_context(begun)
        starting.wait_for_runtime()
        made.took_s["runtime"] = round(time.monotonic() - began_s, 3)
        with Cluster(made.access, within_s=max(5.0, starting.end_s - time.monotonic())) as api:
            starting.wait_for_api(api, next(iter(nodes)))
            made.took_s["api"] = round(time.monotonic() - began_s, 3)
            _furnish(api)
            starting.wait_for_nodes(api)
            if network is not None:
                starting.wait_for_way(api)
            made.took_s["ready"] = round(time.monotonic() - began_s, 3)
        first.call(
            kubernetes_node.yield_cpus,
            pid=starting.begun[first.place["name"]]["pid"],
            names=list(CONTROL_PLANE),
        )
        yield made


@contextmanager
def _handed_down(node: PlacedNode, undo: UndoLog) -> Iterator[None]:
    """Take back on leaving what the root of cgroups (version 2) hands down because of the cluster."""
    controllers = node.call(cgroups.held_back)
    if not controllers:
        yield
        return
    hold_back = partial(node.call, cgroups.hold_back, controllers=controllers)
    with undone(undo, "cgroup_controllers", node.place, hold_back, controllers=controllers):
        yield


@contextmanager
def _node(
    node: PlacedNode,
    undo: UndoLog,
    layout: Layout,
    started: dict[str, Mapping[str, JsonValue]],
    *,
    control_plane: bool,
) -> Iterator[None]:
    """Start one node's programs; end and remove them on leaving."""
    place: dict[str, JsonValue] = {"folder": layout.folder, "cgroup": layout.cgroup}
    begun: dict[str, JsonValue] = {"pid": 0, "start_ticks": 0}

    def stop() -> None:
        node.call_within(100.0, kubernetes_node.stop, **place, **begun)

    with undone(undo, UNDO_KIND, node.place, stop, **place):
        done = node.call(kubernetes_node.start, layout=asdict(layout), control_plane=control_plane)
        begun = done["process"]
        started[layout.name] = begun
        yield


def _write_shared(shared: Path, layouts: Mapping[str, Layout]) -> None:
    """Write the certificates of this run and the kubeconfigs that use them."""
    pki, authority = shared / "pki", Authority()
    first = next(iter(layouts.values()))
    authority.pair.write(pki, "ca")
    signing_key().write(pki, "tokens")
    service = first.ranges.services.rpartition(".")[0] + ".1"
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
    names += [first.api_address, "127.0.0.1", service]
    authority.server("kube-apiserver", names, organization="system:masters").write(pki, "apiserver")
    users = {
        _ADMIN: ("bmwg-run", "system:masters"),
        "manager": ("system:kube-controller-manager", ""),
        "scheduler": ("system:kube-scheduler", ""),
        "proxy": ("system:kube-proxy", ""),
        "multinet": ("bmwg:multinet", ""),
        "flannel": ("bmwg:flannel", ""),
        policies.USER: (f"bmwg:{policies.USER}", ""),
    }
    for name, (user, group) in users.items():
        authority.client(user, group=group).write(pki, name)
    for name, layout in layouts.items():
        authority.client(f"system:node:{name}", group="system:nodes").write(pki, f"kubelet-{name}")
        authority.server(f"system:node:{name}", [name, layout.address]).write(pki, f"server-{name}")
    for user in users:
        file = shared / f"{user}.kubeconfig"
        file.write_text(yaml.safe_dump(settings.kubeconfig(first, user)))
        file.chmod(0o600)


def _address(node: PlacedNode, layouts: Mapping[str, Layout], name: str, interface: str) -> None:
    """Give a node its address, and routes to services and to the pods of the others."""
    own = interface or _ALONE
    if not interface:
        node.call(routing.add_bridge, bridge=_ALONE)
    node.call(interfaces.add_address, interface=own, address=f"{layouts[name].address}/24")
    # the bridge plugin would make it with a node's first pod, and the platform would change in mid-run
    gateway = layouts[name].pod_network.replace(".0/24", ".1/24")
    node.call(routing.add_bridge, bridge=settings.POD_BRIDGE)
    node.call(interfaces.add_address, interface=settings.POD_BRIDGE, address=gateway)
    port_address = f"{layouts[name].port_address}/32"  # before kube-proxy starts, which looks once
    node.call(interfaces.add_address, interface=settings.POD_BRIDGE, address=port_address)
    node.call(routing.set_forwarding, enabled=True)
    node.call(routing.add_route, destination=layouts[name].ranges.services, interface=own)
    for other in layouts.values():
        if other.name != name:
            node.call(routing.add_route, destination=other.pod_network, via=other.address)
    told = joined.underlay(layouts[name])
    if told is not None:
        node.call(interfaces.add_address, **told)
        for route in joined.routes(layouts, name):
            node.call(routing.add_route, **route)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Starting:
    """A cluster that is awaited until a time (s, monotonic); `begun` are the nodes' programs."""

    nodes: Mapping[str, PlacedNode]
    layouts: Mapping[str, Layout]
    end_s: float
    begun: dict[str, Mapping[str, JsonValue]] = field(default_factory=dict)

    def wait_for_runtime(self) -> None:
        """Wait until containerd answers on each node, and give it the image."""
        for name, node in self.nodes.items():
            folder = self.layouts[name].folder
            while not node.call(kubernetes_node.runtime_answers, folder=folder):
                self._still(name, "containerd that answers")
            archive = f"{self.layouts[name].shared}/image.tar"
            node.call_within(90.0, kubernetes_node.import_image, folder=folder, archive=archive)

    def wait_for_api(self, api: Cluster, first: str) -> None:
        """Wait until the first node's API server answers."""
        while True:
            with contextlib.suppress(ToolkitError):
                if api.get("/api/v1/namespaces/default", within_s=1.0) is not None:
                    return
            self._still(first, "an API server that answers")

    def wait_for_nodes(self, api: Cluster) -> None:
        """Wait until each node is ready and pods may be made (the namespace's service account is there)."""
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        while True:
            listed = api.get("/api/v1/nodes") or {}
            ready = {item["metadata"]["name"] for item in listed.get("items", []) if is_ready(item)}
            if ready >= set(self.nodes) and api.get(account) is not None:
                return
            late = next((name for name in self.nodes if name not in ready), next(iter(self.nodes)))
            self._still(late, f"node {late} ready")

    def wait_for_way(self, api: Cluster) -> None:
        """Wait until what joins the nodes' pods has made its way on each."""
        joined.begin(api, self.layouts)
        for name, node in self.nodes.items():
            while awaited := joined.awaited(node, name, self.layouts):
                self._still(name, awaited)

    def _still(self, name: str, expected: str) -> None:
        """Wait a moment; DriverError KUBE-02 past the deadline or when the node's programs have ended."""

        def state() -> dict[str, JsonValue]:
            folder = self.layouts[name].folder
            return self.nodes[name].call(kubernetes_node.state, folder=folder, **self.begun[name])

        if time.monotonic() < self.end_s:
            time.sleep(0.1)
            if state()["runs"]:
                return
        told = state()
        words = "; ".join(f"{name}: {text}" for name, text in told["said"].items() if text)
        if kept := os.environ.get("BMWG_KEEP_CLUSTER_LOGS"):
            Path(kept).write_text(json.dumps(told, indent=1))
        raise DriverError(
            "KUBE-02",
            f"the embedded cluster, node {name}",
            expected=f"{expected} within its deadline",
            found=f"{'its programs run' if told['runs'] else 'its programs ended'}; {words}"[:3000],
        )


def is_ready(node: Mapping[str, JsonValue]) -> bool:
    """Whether a node says that it is ready and takes pods."""
    ready = pods.condition(node.get("status") or {}, "Ready").get("status") == "True"
    taints = (node.get("spec") or {}).get("taints") or []
    return ready and not any(taint["key"].startswith("node.kubernetes.io/not-ready") for taint in taints)


def _furnish(api: Cluster) -> None:
    """Make what the cluster needs beside its own: the kind of further networks, and who may read it."""
    api.apply(
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{attachments.PLURAL}.{attachments.GROUP}",
        attachments.custom_resource_definition(),
    )
    _grant(
        api,
        "multinet",
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]},
            {"apiGroups": [attachments.GROUP], "resources": [attachments.PLURAL], "verbs": ["get"]},
        ],
    )
    _grant(api, "flannel", flannel.role())
    _grant(api, policies.USER, policies.role())


def _grant(api: Cluster, user: str, rules: Sequence[Mapping[str, JsonValue]]) -> None:
    """Give a user of the cluster's own programs these rights everywhere in it."""
    rbac, name = "rbac.authorization.k8s.io", f"bmwg-{user}"
    api.apply(
        f"/apis/{rbac}/v1/clusterroles/{name}",
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": list(rules),
        },
    )
    api.apply(
        f"/apis/{rbac}/v1/clusterrolebindings/{name}",
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": f"bmwg:{user}"}],
        },
    )
