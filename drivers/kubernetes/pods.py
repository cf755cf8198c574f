"""Pods by a cluster's API: made, waited for, told what to run, removed; each step with its time.

Ids: KUBE-40 a pod did not come to run (the message has what the cluster said), KUBE-41 not removed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import attachments, manifest
from bmwg.drivers.kubernetes.client import OWNER_LABEL, Cluster
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

# Reasons of a container that waits, or of a pod that is not placed, which no wait mends here.
_HOPELESS = {
    "ErrImageNeverPull": "the image is not on the node: import it, or let it be pulled",
    "ImagePullBackOff": "the image cannot be fetched: check its name, the registry and imagePullSecrets",
    "ErrImagePull": "the image cannot be fetched: check its name, the registry and imagePullSecrets",
    "InvalidImageName": "the image's name is none",
    "CreateContainerConfigError": "the pod's configuration is refused by the kubelet",
    "RunContainerError": "the runtime did not start the program",
    "CrashLoopBackOff": "the program ends at once: see its output",
}
_REJECTED = {
    "SysctlForbidden": "allow net.ipv4.* and net.ipv6.* in the kubelet's allowedUnsafeSysctls",
    "UnexpectedAdmissionError": "a device or CPU could not be given: see the kubelet's log",
    "TopologyAffinityError": "the topology manager's policy refuses it",
    "OutOfcpu": "more CPUs for pods on that node, or a smaller `pods.cpus`",
    "OutOfmemory": "more memory on that node, or a smaller `pods.memory`",
    "Evicted": "the node was short of something: see its conditions",
    "NodeAffinity": "the node's labels are not those asked for",
}
_LOOK_S = 0.5  # choice: between two looks at a pod that has no place
UNPLACED_S = 5.0  # choice: a pod that is refused by the scheduler may be placed when another has gone


@dataclass(slots=True, kw_only=True)
class Phases:
    """When a pod's start came to each step: nanoseconds of the runner's monotonic clock, None until then."""

    asked_ns: int = 0
    accepted_ns: int | None = None
    scheduled_ns: int | None = None
    sandbox_ns: int | None = None
    running_ns: int | None = None
    cni: dict[str, JsonValue] = field(default_factory=dict)

    def steps_ns(self) -> dict[str, int]:
        """Return when each step was done that is known."""
        told = {
            "pod_asked": self.asked_ns,
            "api_accepted": self.accepted_ns,
            "scheduled": self.scheduled_ns,
            "cni_began": self.cni.get("began_ns"),
            "networks_attached": self.cni.get("ended_ns"),
            "networks_reported": self.sandbox_ns,
            "container_running": self.running_ns,
        }
        return {name: at_ns for name, at_ns in told.items() if at_ns is not None}

    def take(self, found: Mapping[str, Any]) -> bool:
        """Take what a watch says of the pod; returns whether its container runs."""
        now_ns = time.monotonic_ns()
        if self.scheduled_ns is None and (found.get("spec") or {}).get("nodeName"):
            self.scheduled_ns = now_ns
        noted = found["metadata"].get("annotations") or {}
        if self.sandbox_ns is None and attachments.STATUS in noted:
            self.sandbox_ns = now_ns
        if self.running_ns is None and runs(found):
            self.running_ns = now_ns
        return runs(found)

    def took_ms(self) -> dict[str, JsonValue]:
        """Return the milliseconds from the request to each step; of CNI ADD what it took itself."""
        steps = {
            "api_accept": self.accepted_ns,
            "scheduled": self.scheduled_ns,
            "networks_reported": self.sandbox_ns,
            "container_running": self.running_ns,
        }
        told: dict[str, JsonValue] = {
            name: None if at is None else round((at - self.asked_ns) / 1e6, 3) for name, at in steps.items()
        }
        if self.cni:
            told["cni_add"] = round((self.cni["ended_ns"] - self.cni["began_ns"]) / 1e6, 3)
        return told


@dataclass(slots=True, kw_only=True)
class Ends:
    """When a pod's removal came to each step: ns of the runner's monotonic clock, None until then."""

    asked_ns: int = 0
    accepted_ns: int | None = None
    container_ns: int | None = None
    detached_ns: int | None = None
    gone_ns: int | None = None

    def steps_ns(self) -> dict[str, int]:
        """Return when each step was done that is known."""
        told = {
            "delete_accepted": self.accepted_ns,
            "container_ended": self.container_ns,
            "networks_detached": self.detached_ns,
            "pod_gone": self.gone_ns,
        }
        return {name: at_ns for name, at_ns in told.items() if at_ns is not None}

    def take(self, kind: str, found: Mapping[str, Any]) -> None:
        """Take what a watch says of the pod."""
        now_ns = time.monotonic_ns()
        ended = "terminated" in (_container(found.get("status") or {}).get("state") or {})
        if self.container_ns is None and ended:
            self.container_ns = now_ns
        if kind == "DELETED" and self.gone_ns is None:
            self.gone_ns = now_ns


def pods_path(namespace: str, name: str = "") -> str:
    """Return the API's path of a namespace's pods, or of one."""
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def make(
    api: Cluster,
    body: Mapping[str, Any],
    networks: Sequence[tuple[str, Mapping[str, Any]]],
) -> Phases:
    """Ask for a pod and, before it, for the resources `(name, conflist)` of its further networks."""
    metadata = body["metadata"]
    namespace = metadata["namespace"]
    make_networks(api, namespace, networks, metadata["labels"])
    phases = Phases(asked_ns=time.monotonic_ns())
    api.apply(pods_path(namespace, metadata["name"]), body)
    phases.accepted_ns = time.monotonic_ns()
    return phases


def wait_running(
    api: Cluster, namespace: str, name: str, phases: Phases, *, within_s: float
) -> dict[str, Any]:
    """Wait until the pod's container runs; returns the pod as the cluster has it. Fills `phases`.

    Raises TestbedError KUBE-40 as soon as no wait can help, DriverError KUBE-40 past the deadline.
    """
    last: dict[str, Any] = {}
    unplaced_s: float | None = None
    field_selector = f"metadata.name={name}"
    end_s = time.monotonic() + within_s
    while (left_s := end_s - time.monotonic()) > 0:
        for kind, found in api.watch(pods_path(namespace), within_s=left_s, fieldSelector=field_selector):
            if kind == "DELETED":
                raise TestbedError(
                    "KUBE-40", f"pod {name}", expected="running", found="it was deleted (evicted?)"
                )
            last = found
            if phases.take(found):
                return found
            require_hope(api, namespace, name, found)
            placed = condition(found.get("status") or {}, "PodScheduled")
            if placed.get("status") == "False":
                unplaced_s = unplaced_s or time.monotonic()
                if time.monotonic() - unplaced_s > UNPLACED_S or never_placed(placed):
                    raise unplaced(name, placed)
                break  # nothing more may be told of it: it is looked at again
        time.sleep(_LOOK_S)
    raise not_running(api, namespace, name, last, within_s=within_s)


def not_running(
    api: Cluster, namespace: str, name: str, last: Mapping[str, Any], *, within_s: float
) -> ToolkitError:
    """Return the error of a pod that did not run in time, by what the cluster says of it."""
    placed = condition(last.get("status") or {}, "PodScheduled")
    if placed.get("status") == "False":
        return unplaced(name, placed)
    return DriverError(
        "KUBE-40",
        f"pod {name}",
        expected=f"a running container within {within_s:g} s",
        found="; ".join(
            [_state(last), *node_fault(api, last), *(events(api, namespace, name) or ["no event"])]
        )[:1500],
    )


def node_fault(api: Cluster, found: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the node of a pod, in words; none when it is ready, or may not be asked."""
    node = str((found.get("spec") or {}).get("nodeName") or "")
    if not node:
        return []
    with contextlib.suppress(ToolkitError):
        ready = condition((api.get(f"/api/v1/nodes/{node}", within_s=5.0) or {}).get("status") or {}, "Ready")
        if ready and ready.get("status") != "True":
            return [f"its node is not ready: {ready.get('message') or ready.get('reason') or 'no word'}"]
    return []


def fault(api: Cluster, found: Mapping[str, Any], *, restarted: int) -> str | None:
    """Say why a pod that ran no longer does, as the cluster has it; None while it does.

    `restarted` is how often its container had been started again when it ran.
    """
    status = found.get("status") or {}
    if status.get("phase") == "Running" and restarts(found) == restarted:
        if condition(status, "Ready").get("status") != "False":
            return None
        return next(iter(node_fault(api, found)), None)
    reason = f"{status['reason']}: " if status.get("reason") else ""
    return f"phase {status.get('phase')}, {restarts(found)} restarts: {reason}{status.get('message', '')}"


def never_placed(placed: Mapping[str, Any]) -> bool:
    """Whether the scheduler says of a pod that no other pod's end would make room for it."""
    return "preemption is not helpful" in str(placed.get("message", "")).lower()


def unplaced(name: str, placed: Mapping[str, Any]) -> TestbedError:
    """Return the error of a pod for which there is no room, by the condition that says so."""
    return TestbedError(
        "KUBE-40",
        f"pod {name} was not placed on a node",
        expected="a node with what it asks for",
        found=str(placed.get("message", "no word of the scheduler"))[:600],
        hint="`pods` of the testbed file says what a pod asks for; CPUs of its own must be free",
    )


def require_place(name: str, found: Mapping[str, Any]) -> None:
    """Raise TestbedError KUBE-40 for a pod that the scheduler says no node can ever have."""
    placed = condition(found.get("status") or {}, "PodScheduled")
    if placed.get("status") == "False" and never_placed(placed):
        raise unplaced(name, placed)


def require_hope(api: Cluster, namespace: str, name: str, found: Mapping[str, Any]) -> None:
    """Raise TestbedError KUBE-40 for a pod that no wait can bring to run."""
    status = found.get("status") or {}
    reason = str(status.get("reason", ""))
    waiting = _container(status).get("state", {}).get("waiting") or {}
    mend = _REJECTED.get(reason) or _HOPELESS.get(str(waiting.get("reason", "")))
    if status.get("phase") in ("Failed", "Succeeded") or mend:
        said = waiting.get("message") or status.get("message") or ""
        raise TestbedError(
            "KUBE-40",
            f"pod {name}",
            expected="a running container",
            found=f"{reason or waiting.get('reason') or status.get('phase')}: {said}"[:800],
            hint=mend or "; ".join(events(api, namespace, name))[:400],
        )


def _container(status: Mapping[str, Any]) -> dict[str, Any]:
    found = status.get("containerStatuses") or [{}]
    return dict(found[0])


def condition(status: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a condition of a status; empty where it has none of that kind."""
    return next((dict(one) for one in status.get("conditions") or () if one["type"] == kind), {})


def _state(found: Mapping[str, Any]) -> str:
    status = found.get("status") or {}
    state = _container(status).get("state") or {}
    return f"phase {status.get('phase', 'unknown')}, container {json.dumps(state)[:300]}"


def container_id(found: Mapping[str, Any]) -> str:
    """Return the id of the pod's container, without the runtime's name."""
    return str(_container(found.get("status") or {}).get("containerID", "")).rpartition("/")[2]


def runs(found: Mapping[str, Any]) -> bool:
    """Whether the pod's container runs."""
    return "running" in (_container(found.get("status") or {}).get("state") or {})


def restarts(found: Mapping[str, Any]) -> int:
    """Return how often the container was started again."""
    return int(_container(found.get("status") or {}).get("restartCount", 0))


def events(api: Cluster, namespace: str, name: str) -> list[str]:
    """Return the last things that the cluster says about a pod; none when it may not be asked."""
    with contextlib.suppress(ToolkitError):
        listed = api.get(
            f"/api/v1/namespaces/{namespace}/events",
            within_s=5.0,
            fieldSelector=f"involvedObject.name={name}",
        )
        items = (listed or {}).get("items", [])
        return [f"{item.get('reason')}: {item.get('message')}" for item in items][-4:]
    return []


def said(api: Cluster, namespace: str, name: str, *, lines: int = 400) -> list[str]:
    """Return the last lines of a pod's output; none while there is none."""
    text = api.text(pods_path(namespace, name) + "/log", tailLines=lines, container=manifest.CONTAINER)
    return text.splitlines()


def remove(
    api: Cluster, namespace: str, name: str, networks: Sequence[str], *, within_s: float = 30.0
) -> Ends:
    """Delete a pod and the resources of its networks, and wait until the pod is gone. Idempotent.

    Returns when it came to what. Raises DriverError KUBE-41.
    """
    ends = Ends(asked_ns=time.monotonic_ns())
    api.delete(pods_path(namespace, name), grace_s=manifest.GRACE_S)
    ends.accepted_ns = time.monotonic_ns()
    field_selector = f"metadata.name={name}"
    for event in api.until_absent(pods_path(namespace), within_s=within_s, fieldSelector=field_selector):
        ends.take(event["type"], event["object"])
    if api.get(pods_path(namespace, name)) is not None:
        raise DriverError("KUBE-41", f"pod {name}", expected=f"gone within {within_s:g} s", found="there")
    ends.gone_ns = ends.gone_ns or time.monotonic_ns()
    remove_networks(api, namespace, networks)
    return ends


def make_networks(
    api: Cluster,
    namespace: str,
    networks: Sequence[tuple[str, Mapping[str, Any]]],
    labels: Mapping[str, str],
) -> None:
    """Make the resources `(name, conflist)` by which pods ask for further networks."""
    for name, conflist in networks:
        api.apply(_network_path(namespace, name), attachments.definition(name, namespace, conflist, labels))


def remove_networks(api: Cluster, namespace: str, networks: Sequence[str]) -> None:
    """Delete them. Idempotent."""
    for network in networks:
        api.delete(_network_path(namespace, network))


def _network_path(namespace: str, name: str) -> str:
    group = f"/apis/{attachments.GROUP}/{attachments.VERSION}"
    return f"{group}/namespaces/{namespace}/{attachments.PLURAL}/{name}"


def left(api: Cluster, namespace: str, owner: str) -> list[str]:
    """Return what of a run's there still is in its namespace, as `kind/name`."""
    found = []
    paths = {
        "pod": pods_path(namespace),
        "network": f"/apis/{attachments.GROUP}/{attachments.VERSION}/namespaces/{namespace}"
        f"/{attachments.PLURAL}",
    }
    for kind, path in paths.items():
        listed = api.get(path, labelSelector=f"{OWNER_LABEL}={owner}") or {}
        found += [f"{kind}/{item['metadata']['name']}" for item in listed.get("items", [])]
    return found
