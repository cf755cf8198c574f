"""What the platform record says of a cluster and its pods: by the API, redacted; nothing is asked of a shell.

A name of a host, a user, an address or a label's free text tells who somebody is: of labels only those of the
node's make are kept, of addresses none.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import cilium, flannel, manifest, programs, settings
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import Embedded
from bmwg.drivers.kubernetes.users_node import HOSTNAME
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted

_LABELS = (
    "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type",
    "feature.node.kubernetes.io/", "node-role.kubernetes.io/", "bmwg.ietf.org/",
)  # fmt: skip
_KUBELET = (
    "cpuManagerPolicy", "cpuManagerPolicyOptions", "memoryManagerPolicy", "topologyManagerPolicy",
    "topologyManagerScope", "reservedSystemCPUs", "kubeReserved", "systemReserved", "cgroupDriver",
    "failCgroupV1", "featureGates", "maxPods", "cpuCFSQuota", "allowedUnsafeSysctls", "evictionHard",
    "protectKernelDefaults", "containerRuntimeEndpoint", "singleProcessOOMKill", "cgroupVersion",
)  # fmt: skip
_GATE = re.compile(r'^kubernetes_feature_enabled\{name="([^"]+)",stage="([^"]*)"\} ([01])$', re.MULTILINE)
_STATUS = re.compile(r"\d{3} [A-Z][A-Za-z ]*")
_CNI_IMAGES = (
    "cilium",
    "calico",
    "flannel",
    "multus",
    "ovn",
    "weave",
    "antrea",
    "kube-router",
    "sriov",
    "whereabouts",
)
_PLACES = ("api", "cacheDir", "endedDir", "pluginDir")  # folders and keys of the run
_CGROUP = re.compile(
    r"^/sys/fs/cgroup(?:/(?:cpuset|cpu|memory|pids|devices|freezer|blkio|cpuacct|systemd|unified))?"
)


def cluster(api: Cluster, made: Embedded | None, places: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the record of a cluster; what may not be asked or is absent is null with a reason.

    `places` are host names of the user's nodes that pods are on, by nodes of the testbed file.
    """
    told: dict[str, JsonValue] = {
        "distribution": "embedded, from upstream sources" if made else None,
        "version": _asked(lambda: (api.get("/version") or {}).get("gitVersion")),
        "feature_gates": _asked(lambda: gates(api.text("/metrics"))),
        "nodes": _asked(lambda: nodes(api)),
        "networks": _asked(lambda: cni(api)),
        "kube_proxy": _asked(lambda: proxy_mode(api, made)),
        "network_attachment_definitions": _asked(
            lambda: (
                api.get(
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
                    "/network-attachment-definitions.k8s.cni.cncf.io"
                )
                is not None
            )
        ),
    }
    if made is None:
        told["pods_on"] = _asked(lambda: _numbered(api, places))
        told["distribution_reason"] = "declared by the user, or seen in the version's suffix"
        return told
    first = next(iter(made.layouts.values()))
    told["programs"] = made.nodes[first.name].call(programs.versions, folder=first.programs)
    told["image"] = dict(made.image)
    told["took_s"] = dict(made.took_s)
    if first.flannel is not None:
        told["flannel"] = flannel.evidence({"backend": first.flannel.backend})
    if first.cilium is not None:
        told["cilium"] = {
            **cilium.evidence(),
            "agents": {
                f"node{number}": made.nodes[name].call(cilium.effective)
                for number, name in enumerate(made.layouts)
            },
        }
    told["program_cpus"] = made.nodes[first.name].call(cgroups.read_limits, cgroup=first.program_cgroup)[
        "cpuset_cpus"
    ]
    told["cni_configuration"] = _without_paths(settings.cni(first))
    told["kernel_settings_shown_to_kubelet"] = dict(_shown())
    return told


def _shown() -> Mapping[str, str]:
    from bmwg.drivers.kubernetes.first import KERNEL_SETTINGS

    return KERNEL_SETTINGS


def _without_paths(conflist: dict[str, JsonValue]) -> dict[str, JsonValue]:
    plugin = {key: value for key, value in conflist["plugins"][0].items() if key not in _PLACES}
    for one in plugin["delegate"]["plugins"]:
        if isinstance(one.get("ipam"), dict):
            one["ipam"].pop("dataDir", None)
    return {**conflist, "plugins": [plugin]}


def _asked(question: Any) -> JsonValue:
    try:
        return question()
    except ToolkitError as error:
        status = _STATUS.match(str(error.found))  # what follows names the user, and a node
        return {"value": None, "reason": " ".join([error.error_id, *([status[0]] if status else [])])}


def gates(metrics: str) -> dict[str, JsonValue]:
    """Return the API server's feature gates that are no longer or not yet stable, from its metrics."""
    found = {name: enabled == "1" for name, stage, enabled in _GATE.findall(metrics) if stage}
    if not found:
        return {"value": None, "reason": "the API server's metrics may not be read"}
    return dict(sorted(found.items()))


def nodes(api: Cluster) -> dict[str, JsonValue]:
    """Return each node by number: versions, capacity, labels of its make, the kubelet's own configuration."""
    listed = (api.get("/api/v1/nodes") or {}).get("items", [])
    return {f"node{number}": node(api, one) for number, one in enumerate(listed)}


def _numbered(api: Cluster, places: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the node of the record that pods of each node of the testbed file are on."""
    listed = (api.get("/api/v1/nodes") or {}).get("items", [])
    hosts = [(one["metadata"].get("labels") or {}).get(HOSTNAME) for one in listed]
    return {name: f"node{hosts.index(host)}" for name, host in places.items() if host in hosts}


def node(api: Cluster, found: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return the record of one node as the API has it."""
    name, status = found["metadata"]["name"], found.get("status") or {}
    info = status.get("nodeInfo") or {}
    labels = found["metadata"].get("labels") or {}
    return {
        "kubelet": info.get("kubeletVersion"),
        "runtime": info.get("containerRuntimeVersion"),
        "kernel": info.get("kernelVersion"),
        "operating_system": info.get("osImage"),
        "architecture": info.get("architecture"),
        "capacity": dict(status.get("capacity") or {}),
        "allocatable": dict(status.get("allocatable") or {}),
        "labels": {key: value for key, value in sorted(labels.items()) if key.startswith(_LABELS)},
        "taints": [
            f"{taint['key']}:{taint['effect']}" for taint in (found.get("spec") or {}).get("taints") or ()
        ],
        "kubelet_configuration": _asked(lambda: kubelet(api, name)),
    }


def kubelet(api: Cluster, name: str) -> dict[str, JsonValue]:
    """Return what of a kubelet's effective configuration bears on a measurement."""
    found = (api.get(f"/api/v1/nodes/{name}/proxy/configz", within_s=10.0) or {}).get("kubeletconfig") or {}
    if not found:
        return {"value": None, "reason": "the kubelet does not tell its configuration"}
    return {key: found[key] for key in _KUBELET if key in found}


def cni(api: Cluster) -> list[JsonValue]:
    """Return the images of known networks with their digests, from the pods that run them."""
    listed = (api.get("/api/v1/pods", limit=2000) or {}).get("items", [])
    seen: dict[str, JsonValue] = {}
    for one in listed:
        for container in (one.get("status") or {}).get("containerStatuses") or ():
            image = str(container.get("image", ""))
            if any(word in image for word in _CNI_IMAGES):
                seen[image] = {"image": image, "digest": str(container.get("imageID", "")).rpartition("@")[2]}
    return list(seen.values())


def proxy_mode(api: Cluster, made: Embedded | None) -> JsonValue:
    """Return what realizes Services: kube-proxy's mode, or that the cluster does not tell."""
    if made is not None:
        first = next(iter(made.layouts.values()))
        return {"mode": settings.kube_proxy(first)["mode"], "by": "kube-proxy"}
    found = api.get("/api/v1/namespaces/kube-system/configmaps/kube-proxy", within_s=10.0)
    text = str(((found or {}).get("data") or {}).get("config.conf", ""))
    match = re.search(r"^mode:\s*\"?(\w*)\"?", text, re.MULTILINE)
    if match is None:
        return {"mode": None, "reason": "no ConfigMap kube-proxy in kube-system: another implementation?"}
    return {"mode": match[1] or "iptables", "by": "kube-proxy"}


def pod(found: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return the record of a pod: what was asked for and granted, class, image and digest, networks."""
    status, spec = found.get("status") or {}, found.get("spec") or {}
    container: Mapping[str, Any] = next(iter(status.get("containerStatuses") or ({},)))
    mine: Mapping[str, Any] = next(iter(spec.get("containers") or ({},)))
    with contextlib.suppress(KeyError):
        asked = manifest.redacted(asked)
    return {
        "hosting": "pod",
        "orchestrator": "kubernetes",
        "image": container.get("image"),
        "image_digest": container.get("imageID"),
        "runtime": str(container.get("containerID", "")).partition(":")[0] or None,
        "status": str(status.get("phase", "")).lower(),
        "qos_class": status.get("qosClass"),
        "resources": mine.get("resources"),
        "security_context": {
            "pod": spec.get("securityContext"),
            "container": mine.get("securityContext"),
        },
        "annotations_asked": asked["metadata"].get("annotations"),
        "restarts": container.get("restartCount"),
    }


def image_size(found: Mapping[str, Any], api: Cluster) -> dict[str, JsonValue]:
    """Return the octets of a pod's image as its node tells them; without a word of it, why there are none.

    A kubelet tells what its runtime does: containerd the compressed layers, others what they unpack to.
    """
    container: Mapping[str, Any] = next(iter((found.get("status") or {}).get("containerStatuses") or ({},)))
    digest = str(container.get("imageID", "")).rpartition("@")[2]
    place = (found.get("spec") or {}).get("nodeName")
    listed = _asked(lambda: (api.get("/api/v1/nodes") or {}).get("items", []))
    if isinstance(listed, dict):
        return Booted(besides=f"not known: nodes may not be read, {listed['reason']}").as_builtins()
    mine = [one for one in listed if one["metadata"]["name"] == place]
    for image in [image for one in mine for image in (one.get("status") or {}).get("images") or []]:
        if digest and any(name.endswith(digest) for name in image.get("names") or ()):
            told = {booted.LAYERS: {Counted.AS_TOLD: int(image["sizeBytes"])}}
            return Booted(parts=told).as_builtins()
    return Booted(besides="not known: its node lists no image of this digest").as_builtins()


def within_hierarchy(folder: str) -> str:
    """Return a cgroup's name from its folder in any hierarchy."""
    return _CGROUP.sub("", folder)
