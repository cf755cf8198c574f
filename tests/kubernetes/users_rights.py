"""A user of a cluster, as docs/my-cluster.md has one: a kubeconfig, and no rights but those of its role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bmwg.drivers.kubernetes.client import Cluster

GUIDE = Path(__file__).parents[2] / "docs" / "my-cluster.md"
ROLE = "apiVersion: rbac.authorization.k8s.io/v1"  # how the guide's role begins
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/bmwg-user"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def block(beginning: str) -> Any:
    """Return the guide's indented block that begins so, as YAML."""
    lines = GUIDE.read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line == f"    {beginning}")
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("    "))
    return yaml.safe_load("\n".join(line[4:] for line in lines[first:end]))


def kubeconfig(api: Cluster, admins: str, file: Path) -> Path:
    """Make the user, and write its kubeconfig (context `lab`) by that of somebody who may all."""
    api.apply(_ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bmwg-user"}})
    answer = api.create(
        f"{_ACCOUNT}/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    config = yaml.safe_load(Path(admins).read_text())
    config["users"] = [{"name": "me", "user": {"token": answer["status"]["token"]}}]
    context = {"cluster": config["clusters"][0]["name"], "user": "me"}
    config |= {"contexts": [{"name": "lab", "context": context}], "current-context": ""}
    file.write_text(yaml.safe_dump(config))
    return file


def grant(api: Cluster, role: dict[str, Any]) -> None:
    """Give the user these rights, and no others."""
    api.apply(f"{_RBAC}/clusterroles/bmwg", role)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "bmwg"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bmwg"},
        "subjects": [{"kind": "ServiceAccount", "name": "bmwg-user", "namespace": "default"}],
    }
    api.apply(f"{_RBAC}/clusterrolebindings/bmwg", binding)


def remove(api: Cluster) -> None:
    """Take the user and its rights away."""
    api.delete(f"{_RBAC}/clusterrolebindings/bmwg")
    api.delete(f"{_RBAC}/clusterroles/bmwg")
    api.delete(_ACCOUNT)
