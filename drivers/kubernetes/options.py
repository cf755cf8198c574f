"""What `pods.options` of a testbed file may say of a cluster. Ids: KUBE-12 options that do not fit."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import programs
from bmwg.methodology.errors import ConfigError

EMBEDDED = "embedded"
_KEYS = {
    "cluster", "kubeconfig", "context", "namespace", "node_selector", "image", "nodes", "interface",
    "ready_s", "version",
}  # fmt: skip


def require_sound(options: Mapping[str, JsonValue]) -> None:
    """Refuse options that are unknown or contradict each other (ConfigError KUBE-12)."""
    problems = [f"unknown key {key}" for key in sorted(set(options) - _KEYS)]
    cluster = options.get("cluster", EMBEDDED if "kubeconfig" not in options else "kubeconfig")
    if cluster == EMBEDDED:
        problems += [f"{key} with cluster: embedded" for key in ("kubeconfig", "context") if key in options]
    elif cluster != "kubeconfig" or "kubeconfig" not in options:
        problems.append(f"cluster: {cluster} without a kubeconfig")
    elif "image" not in options:
        problems.append("a kubeconfig without an image, which your cluster has or pulls")
    version = options.get("version", programs.VERSIONS[0])
    if version not in programs.VERSIONS:
        problems.append(f"version {version!r}, which is none of {', '.join(programs.VERSIONS)} (a text)")
    elif "version" in options and "kubeconfig" in options:
        problems.append("version with a kubeconfig, whose cluster has its own")
    nodes = options.get("nodes", [])
    if not isinstance(nodes, list) or not all(isinstance(name, str) for name in nodes):
        problems.append("nodes that are no list of names")
    elif len(nodes) > 1 and not options.get("interface"):
        problems.append("several nodes without the interface by which they reach each other")
    if problems:
        raise ConfigError(
            "KUBE-12",
            "pods.options of the testbed file",
            expected="cluster: embedded (nodes, interface, version), or kubeconfig, context and image",
            found="; ".join(problems),
            hint="docs/my-cluster.md explains each key",
        )
