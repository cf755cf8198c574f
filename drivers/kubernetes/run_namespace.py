"""The namespace of a run on a cluster, in which all that it makes there stands: made, and removed with it.

Ids: KUBE-20 one of that name that is somebody else's, KUBE-41 not removed.
"""

from __future__ import annotations

import contextlib
import time

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import manifest, pods
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import OWNER_LABEL, Cluster
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError


def make(api: Cluster, name: str, owner: str) -> None:
    """Make the run's namespace; refuse one of that name that is not the run's (TestbedError KUBE-20)."""
    there = api.get(f"/api/v1/namespaces/{name}")
    if there is not None and (there["metadata"].get("labels") or {}).get(OWNER_LABEL) != owner:
        raise TestbedError(
            "KUBE-20",
            f"namespace {name}",
            expected="none, or the run's own",
            found="somebody else's",
            hint="nothing was made",
        )
    api.apply(f"/api/v1/namespaces/{name}", manifest.namespace(name, owner))


def remove(*, access: dict[str, JsonValue], name: str, owner: str, within_s: float = 60.0) -> bool:
    """Remove a run's namespace with all in it, and wait for it; never one of somebody else. Idempotent.

    This is an undo of the ledger's: it runs where the kubeconfig is. Raises DriverError KUBE-41.
    """
    with Cluster(Access(**access), within_s=within_s) as api:
        there = api.get(f"/api/v1/namespaces/{name}")
        if there is None or (there["metadata"].get("labels") or {}).get(OWNER_LABEL) != owner:
            return False
        api.delete(f"/api/v1/namespaces/{name}")
        end_s = time.monotonic() + within_s
        while api.get(f"/api/v1/namespaces/{name}") is not None:
            if time.monotonic() > end_s:
                raise DriverError(
                    "KUBE-41",
                    f"namespace {name}",
                    expected=f"gone within {within_s:g} s",
                    found="; ".join(["there", *_staying(api, name)]),
                    hint="`bmwg cleanup` tries again; pods of a node that is lost stay until it is back",
                )
            time.sleep(0.2)
    return True


def _staying(api: Cluster, namespace: str) -> list[str]:
    """Say which pods are still there, with what is wrong with the node of each, where that may be asked."""
    told = []
    with contextlib.suppress(ToolkitError):
        for found in (api.get(pods.pods_path(namespace), within_s=5.0) or {}).get("items", []):
            told.append(": ".join([f"pod {found['metadata']['name']}", *pods.node_fault(api, found)]))
    return told
