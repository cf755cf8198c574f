"""NetworkPolicies of a run: made, awaited until they are in force, removed; and the agent that enforces them.

No network option of the embedded cluster enforces policies: a process of ours does on the node, as rules of
nftables on what the node routes (docs/adr/0380). Ids: KUBE-43 a policy did not come into force.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing, NetworkDriver, Node, PlacedNode
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.kubernetes.client import Cluster, resource
from bmwg.drivers.kubernetes.policy_rules import END, INGRESS, TABLE
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.nodes import bounded, programs
from bmwg.drivers.paths import uplinks
from bmwg.methodology.errors import DriverError

USER = "policies"
BY = "the toolkit's own agent, rules of nftables in the node's forwarding"
_AGENT = "bmwg.drivers.kubernetes.policy_agent"
_STATUS = "policies.json"  # of the agent
_IN_FORCE_S = 120.0  # choice: a thousand policies are asked for one by one
_AT_A_TIME = 4  # choice: requests to the API at the same time
_OTHERS = "10."  # what further policies allow: addresses that no frame of a run has


def role() -> list[dict[str, JsonValue]]:
    """Return the rights of the agent in the cluster."""
    watched = ["get", "list", "watch"]
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": watched},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": watched},
    ]


def deny(end: str) -> dict[str, Any]:
    """Return the spec of a policy by which the pod of that end takes nothing."""
    return {"podSelector": {"matchLabels": {END: end}}, "policyTypes": [INGRESS], "ingress": []}


def allow(end: str, *blocks: str) -> dict[str, Any]:
    """Return the spec of a policy by which the pod of that end takes what comes from these addresses."""
    return {**deny(end), "ingress": [{"from": [{"ipBlock": {"cidr": block}} for block in blocks]}]}


def further(end: str, count: int) -> list[dict[str, Any]]:
    """Return so many specs for the pod of that end, each of which allows another network of nobody's."""
    return [allow(end, f"{_OTHERS}{number // 256}.{number % 256}.0/24") for number in range(count)]


class Policies:
    """The policies of a run on one node. `folder` is the agent's, empty where a network option enforces."""

    def __init__(self, api: Cluster, node: PlacedNode, *, namespace: str, owner: str, folder: str) -> None:
        self._api, self._node, self._folder = api, node, folder
        self._namespace, self._owner = namespace, owner
        self._path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"

    def mark(self, ends: Sequence[str]) -> None:
        """Give pods, by name, the labels of a path's ends: "0", "1"; wait until the agent knows them."""
        for number, name in enumerate(ends):
            labels = {"metadata": {"labels": {END: str(number)}}}
            self._api.merge(pods.pods_path(self._namespace, name), labels)
        self._awaited(lambda told: [name for name in ends if name not in told["ends"]])

    def apply(self, name: str, spec: Mapping[str, Any]) -> str:
        """Make a policy; returns its resource version."""
        place = (name, self._namespace, self._owner)
        body = resource("NetworkPolicy", *place, version="networking.k8s.io/v1", spec=dict(spec))
        made = self._api.apply(f"{self._path}/{name}", body)
        return str(made["metadata"]["resourceVersion"])

    def delete(self, name: str) -> None:
        """Remove a policy. Idempotent."""
        self._api.delete(f"{self._path}/{name}")

    @contextmanager
    def standing(self, specs: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, JsonValue]]:
        """Make policies, wait until they are in force; remove them on leaving. Raises DriverError KUBE-43."""
        began_s = time.monotonic()
        try:
            with ThreadPoolExecutor(_AT_A_TIME) as pool:
                versions = dict(zip(specs, pool.map(self.apply, specs, specs.values()), strict=True))
            self._awaited(lambda told: _lacking(told, versions))
            yield {
                "policies": len(specs),
                "enforced_by": BY if self._folder else "the network option",
                "in_force_s": round(time.monotonic() - began_s, 3),
            }
        finally:
            with ThreadPoolExecutor(_AT_A_TIME) as pool:
                list(pool.map(self.delete, specs))
            self._awaited(lambda told: [spec for spec in specs if spec in told["policies"]])

    def moments(self, name: str, version: str = "") -> dict[str, int]:
        """Return when the agent saw and wrote that version of a policy, or (none) its end; by its clock."""
        if not self._folder:
            return {}
        seen: list[int] = []

        def lacks(told: Mapping[str, Any]) -> list[str]:
            found = told["policies"].get(name) if version else told["gone"].get(name)
            if found is None or (version and found[0] != version):
                return [name]
            seen[:] = found[-2:]
            return []

        self._awaited(lacks)
        return {"agent_saw": seen[0], "rules_written": seen[1]}

    def _awaited(self, lacks: Any) -> None:
        """Wait until nothing lacks of what the agent's file says. Raises DriverError KUBE-43."""
        if not self._folder:
            return
        end_s = time.monotonic() + _IN_FORCE_S
        while True:
            state = self._node.call(told, folder=self._folder)
            refused = state.get("refused")
            absent = lacks(state) if not refused else []
            if not refused and not absent:
                return
            if refused or time.monotonic() > end_s:
                raise DriverError(
                    "KUBE-43",
                    f"policies on node {self._node.name}",
                    expected=f"in force within {_IN_FORCE_S:g} s",
                    found=refused or f"{len(absent)} are not: {', '.join(absent[:3])}; {state['said']}"[:600],
                )
            time.sleep(0.05)


def _lacking(told: Mapping[str, Any], versions: Mapping[str, str]) -> list[str]:
    held = told["policies"]
    return [name for name, version in versions.items() if held.get(name, [""])[0] != version]


def unenforced(node: Node, network: NetworkDriver) -> Missing | None:
    """Return why no NetworkPolicy is enforced between pods of a node on this option, or None.

    An option that enforces them itself says so (`enforces_policies`); else the toolkit's agent does, where
    frames pass the node's netfilter.
    """
    if network.enforces_policies:
        return None
    reason = "its frames pass no netfilter of the node"
    if network.own_router:
        pass  # programs carry them from pod to pod, whatever the node would route
    elif network.spec.uplink == uplinks.ROUTED:
        return None
    elif network.spec.uplink == uplinks.BRIDGE_PORT:
        if node.call(bridged_frames_pass):
            return None
        reason = "frames within its bridge pass no netfilter (bridge-nf-call-iptables is not 1)"
    return Missing(
        what=f"a NetworkPolicy on network option {network.spec.name}",
        reason=f"nothing enforces it: {reason}",
        mend="an option with `uplink: routed`, such as ptp, or one that enforces policies itself",
    )


@contextmanager
def enforced(
    api: Cluster, node: PlacedNode, network: NetworkDriver, layout: Layout, *, namespace: str, owner: str
) -> Iterator[Policies]:
    """Yield policies of a namespace that are enforced on a node while this is open."""
    with ExitStack() as stack:
        folder = ""
        if not network.enforces_policies:
            folder = stack.enter_context(
                agent(
                    node,
                    namespace=namespace,
                    kubeconfig=f"{layout.shared}/{USER}.kubeconfig",
                    folder=f"{layout.folder}/policies",
                    cpus=layout.program_cpus,
                )
            )
        made = Policies(api, node, namespace=namespace, owner=owner, folder=folder)
        with made.standing({"ready": deny("nobody")}):  # it watches: a policy is timed without its start
            pass
        yield made


@contextmanager
def agent(node: PlacedNode, *, namespace: str, kubeconfig: str, folder: str, cpus: str) -> Iterator[str]:
    """Have the agent enforce policies on a node; end it with its rules on leaving. Yields its folder."""
    order = {"namespace": namespace, "kubeconfig": kubeconfig, "node": node.name, "folder": folder}
    process = node.call(start, folder=folder, order=order, cpus=cpus)
    try:
        yield folder
    finally:
        node.call(stop, folder=folder, **process)


def start(*, folder: str, order: dict[str, JsonValue], cpus: str) -> dict[str, int]:
    """Node function: start the agent on these CPUs; returns pid and start time (ticks)."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder, "order.json")
    file.write_text(json.dumps(order))
    command = ["taskset", "-c", cpus, sys.executable, "-m", _AGENT, str(file)]
    return programs.start(command=command, folder=folder, packages=["util-linux"])


def stop(*, folder: str, pid: int, start_ticks: int) -> None:
    """Node function: end the agent, remove its rules and its folder. Idempotent."""
    programs.stop(pid=pid, start_ticks=start_ticks, folder=folder)
    both = f"add table inet {TABLE}; delete table inet {TABLE}"  # gone, whether it was there or not
    done = bounded.run(["nft", both], deadline_s=20.0)
    if done.returncode != 0:
        raise DriverError("KUBE-43", "rules of policies", expected="removed", found=done.stderr[:300])


def bridged_frames_pass() -> bool:
    """Node function: whether the kernel shows frames within a bridge to the rules of what it routes."""
    try:
        return Path("/proc/sys/net/bridge/bridge-nf-call-iptables").read_text().strip() == "1"
    except OSError:
        return False


def rules() -> list[str]:
    """Node function: the lines of the agent's rules in the kernel; none where there is no table of its."""
    done = bounded.run(["nft", "list", "table", "inet", TABLE], deadline_s=20.0)
    return done.stdout.splitlines() if done.returncode == 0 else []


def told(*, folder: str) -> dict[str, JsonValue]:
    """Node function: what the agent says that its rules hold, and its last words."""
    try:
        found: dict[str, JsonValue] = json.loads(Path(folder, _STATUS).read_text())
    except (OSError, ValueError):
        found = {"ends": [], "policies": {}, "gone": {}, "refused": ""}
    return {**found, "said": programs.said(folder)}
