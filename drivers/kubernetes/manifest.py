"""The manifest of a pod: a pure function of what is wanted. Guaranteed QoS, and the fewest rights that serve.

Resources are requests and limits alike. A pod that only holds its interfaces asks for a tenth of a CPU. One
in which programs of a workload run asks for no more, and has no limit of CPU time: pods share a node's CPUs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers.bundle import HUGEPAGE_OCTETS, PodSpec
from bmwg.drivers.kubernetes import attachments
from bmwg.drivers.kubernetes.client import OWNER_LABEL
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.cpu_lists import cpu_list

CONTAINER = "function"
COMMAND = "bmwg.ietf.org/command"  # annotation: what a program that is told at its start is to run
_MOUNT = "/run/bmwg"
_NOBODY = 65534
_ENDPOINT_CPU = "100m"  # choice: its own program sleeps
_WAITS = f"until [ -s {_MOUNT}/command ]; do sleep 0.05; done; . {_MOUNT}/command"
GRACE_S = 2  # choice: between SIGTERM and SIGKILL; a function has nothing to save


def pod(
    spec: PodSpec,
    *,
    namespace: str,
    owner: str,
    image: str,
    node: str = "",
    node_selector: Mapping[str, str] | None = None,
    networks: Sequence[tuple[str, str]] = (),
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the manifest. `networks` are `(resource, interface)`, `node` the name of the node it must be on.

    Raises ConfigError KUBE-31 for what no pod of Kubernetes can be.
    """
    if spec.binds:
        raise ConfigError(
            "KUBE-31",
            f"pod {spec.pod_id}: folders of the node",
            expected="none: a pod in a cluster sees nothing of its node",
            found=", ".join(bind[0] for bind in spec.binds),
        )
    if spec.netns:
        raise ConfigError("KUBE-31", f"pod {spec.pod_id}: a namespace", expected="its own", found=spec.netns)
    annotations = {COMMAND: ""}
    if networks:
        annotations[attachments.NETWORKS] = attachments.annotation(networks)
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _WAITS] if spec.told_at_start else list(spec.arguments),
        "resources": _resources(spec),
        "securityContext": container_security(spec),
        "volumeMounts": [{"name": "told", "mountPath": _MOUNT, "readOnly": True}, *_mounts(spec)],
        "env": [_variable(text) for text in spec.environment],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    told = {"items": [{"path": "command", "fieldRef": {"fieldPath": f"metadata.annotations['{COMMAND}']"}}]}
    body: dict[str, Any] = {
        "restartPolicy": "Always",
        "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": GRACE_S,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(spec),
        "containers": [container],
        "volumes": [{"name": "told", "downwardAPI": told}, *_volumes(spec)],
    }
    selector = dict(node_selector or {})
    if node:
        selector["kubernetes.io/hostname"] = node
    if selector:
        body["nodeSelector"] = selector
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": spec.pod_id,
            "namespace": namespace,
            "labels": {OWNER_LABEL: owner, "app.kubernetes.io/managed-by": "bmwg", **dict(labels or {})},
            "annotations": annotations,
        },
        "spec": body,
    }


def without_cpu_limit(container: Mapping[str, Any], cpu: str) -> dict[str, Any]:
    """Return a container that asks for a part of a CPU and has no limit of it, whose quota would be timed."""
    wanted = container["resources"]
    limits = {key: value for key, value in wanted["limits"].items() if key != "cpu"}
    return {**container, "resources": {"requests": {**wanted["requests"], "cpu": cpu}, "limits": limits}}


def pod_security(spec: PodSpec) -> dict[str, Any]:
    """Return the pod's security context: no root unless the function needs it, its namespaces' settings."""
    context: dict[str, Any] = {"seccompProfile": {"type": "RuntimeDefault"}}
    if not spec.root:
        context |= {"runAsNonRoot": True, "runAsUser": _NOBODY, "runAsGroup": _NOBODY}
    sysctls = forwarding_sysctls(spec)
    if sysctls:
        context["sysctls"] = [{"name": key, "value": value} for key, value in sorted(sysctls.items())]
    return context


def container_security(spec: PodSpec) -> dict[str, Any]:
    """Return the container's security context: what it needs and nothing more (CINF08-7-03)."""
    capabilities: dict[str, Any] = {"drop": ["ALL"]}
    if spec.capabilities:
        capabilities["add"] = [name.removeprefix("CAP_") for name in spec.capabilities]
    context: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "privileged": False,
        "capabilities": capabilities,
    }
    if spec.root:
        context["runAsUser"] = 0
    return context


def forwarding_sysctls(spec: PodSpec) -> dict[str, str]:
    """Return the settings of the pod's own network namespace; they are made after its interfaces."""
    settings: dict[str, str] = {}
    if spec.forwarding:
        settings |= {
            "net.ipv4.ip_forward": "1",
            "net.ipv6.conf.all.forwarding": "1",
            "net.ipv4.conf.all.rp_filter": "0",
            "net.ipv4.conf.all.send_redirects": "0",
        }
    return {**settings, **dict(spec.sysctls)}


def _resources(spec: PodSpec) -> dict[str, dict[str, str]]:
    cpu = _ENDPOINT_CPU if spec.endpoint else str(len(cpu_list(spec.cpus)))
    wanted = {"cpu": cpu, "memory": str(spec.memory_octets)}
    if spec.hugepages_2mi:
        wanted["hugepages-2Mi"] = str(spec.hugepages_2mi * HUGEPAGE_OCTETS)
    limits = {name: value for name, value in wanted.items() if name != "cpu" or not spec.programs}
    return {"requests": wanted, "limits": limits}


def _mounts(spec: PodSpec) -> list[JsonValue]:
    mounts: list[JsonValue] = [{"name": "tmp", "mountPath": "/tmp"}]
    if spec.hugepages_2mi:
        mounts.append({"name": "hugepages", "mountPath": "/dev/hugepages"})
    return mounts


def _volumes(spec: PodSpec) -> list[JsonValue]:
    volumes: list[JsonValue] = [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]
    if spec.hugepages_2mi:
        volumes.append({"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}})
    return volumes


def _variable(text: str) -> dict[str, str]:
    name, _, value = text.partition("=")
    return {"name": name, "value": value}


def namespace(name: str, owner: str) -> dict[str, Any]:
    """Return the namespace of a run.

    Its label says which pods may be in it: capabilities are the pods' own.
    """
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                OWNER_LABEL: owner,
                "app.kubernetes.io/managed-by": "bmwg",
                "pod-security.kubernetes.io/enforce": "privileged",
            },
        },
    }


def redacted(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest as evidence: what was asked for, without what the run tells its program."""
    found: dict[str, Any] = json.loads(json.dumps(manifest))
    found["metadata"]["annotations"].pop(COMMAND, None)
    return found
