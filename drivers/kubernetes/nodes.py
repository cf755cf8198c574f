"""What is done to a cluster's nodes and to pods because of them: a node takes no pod, a pod is evicted.

A node is cordoned by the run alone: one that was unschedulable before is refused, and only a run's own mark
is taken away. Ids: KUBE-44 a pod may not be evicted, KUBE-45 a node is cordoned by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, PlacedNode, UndoLog, undone
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import DriverError, TestbedError

UNDO_KIND = "kubernetes_cordon"
MARK = "bmwg.ietf.org/cordoned-by"  # annotation of a node: the run that has cordoned it
_BUDGET = "disruption budget"  # what the API says of an eviction that a PodDisruptionBudget forbids


def node_path(name: str) -> str:
    """Return the API's path of a node."""
    return f"/api/v1/nodes/{name}"


@contextmanager
def cordoned(
    api: Cluster, undo: UndoLog, place: PlacedNode, *, node: str, owner: str
) -> Iterator[dict[str, int]]:
    """Have a node take no further pod while this is open; its undo stands in the ledger before.

    `place` is the node of the run whose end is also the cluster's. Raises TestbedError KUBE-45.
    """
    found = api.get(node_path(node)) or {}
    if (found.get("spec") or {}).get("unschedulable"):
        by = ((found.get("metadata") or {}).get("annotations") or {}).get(MARK)
        raise TestbedError(
            "KUBE-45",
            f"node {node}",
            expected="a node that takes pods",
            found=f"cordoned by {f'run {by}' if by else 'somebody else'}",
            hint="nothing was changed; uncordon it first (kubectl uncordon)",
        )
    told: dict[str, JsonValue] = {"access": api.access.data(), "node": node, "owner": owner}
    with undone(undo, UNDO_KIND, place.place, lambda: _lift(api, node, owner), **told):
        api.merge(
            node_path(node), {"metadata": {"annotations": {MARK: owner}}, "spec": {"unschedulable": True}}
        )
        yield {}


def uncordon(*, access: dict[str, JsonValue], node: str, owner: str, within_s: float = 20.0) -> bool:
    """Have a node take pods again that this run has cordoned; never another's. Idempotent. An undo."""
    with Cluster(Access(**access), within_s=within_s) as api:
        return _lift(api, node, owner)


def _lift(api: Cluster, node: str, owner: str) -> bool:
    found = api.get(node_path(node)) or {}
    if ((found.get("metadata") or {}).get("annotations") or {}).get(MARK) != owner:
        return False
    api.merge(node_path(node), {"metadata": {"annotations": {MARK: None}}, "spec": {"unschedulable": None}})
    return True


def evict(api: Cluster, namespace: str, name: str, *, grace_s: int, within_s: float) -> None:
    """Ask for a pod's eviction (policy/v1) until it is accepted. Raises TestbedError KUBE-44.

    A PodDisruptionBudget that forbids it is asked again until the deadline, as a drain does. A pod that is
    gone when it is asked for again was evicted by the request whose answer was lost.
    """
    asked = len(api.repeats)
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"gracePeriodSeconds": grace_s},
    }
    try:
        api.create(f"{pods.pods_path(namespace, name)}/eviction", body, within_s=within_s)
    except TestbedError as error:
        if error.error_id != "KUBE-25" or len(api.repeats) == asked:
            raise
    except DriverError as error:
        if error.error_id == "KUBE-21" and _BUDGET in str(error.found):
            raise TestbedError(
                "KUBE-44",
                f"pod {name} may not be evicted",
                expected=f"an eviction that its PodDisruptionBudget allows within {within_s:g} s",
                found=str(error.found),
                hint=_budgets(api, namespace),
            ) from error
        raise


def _budgets(api: Cluster, namespace: str) -> str:
    """Return the budgets of a namespace, and how many pods each may lose; no word where nobody may ask."""
    with suppress(DriverError, TestbedError):
        listed = api.get(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", within_s=5.0) or {}
        told = [
            f"{item['metadata']['name']} allows {(item.get('status') or {}).get('disruptionsAllowed', 0)}"
            for item in listed.get("items", [])
        ]
        return f"budgets: {', '.join(told) or 'none that can be seen'}"
    return "see `kubectl get pdb`"
