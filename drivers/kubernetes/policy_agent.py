"""Enforces NetworkPolicies on one node: watches pods and policies of a namespace, writes nftables rules.

The process of ours on a node of the run's own cluster, where no network option enforces policies. It says in
a file which policies its rules hold, and when it saw and wrote each. It is started while policies are
measured, and ended after that.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.kubernetes import attachments
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.policy_rules import END, PodView, script

STATUS = "policies.json"
_WATCH_S = 3600.0
_NFT_S = 60.0


def main() -> int:
    """Enforce until ended."""
    told = json.loads(Path(sys.argv[1]).read_text())
    changes: queue.Queue[tuple[str, str, dict[str, Any]]] = queue.Queue()
    base = f"/namespaces/{told['namespace']}"
    paths = {
        "pod": f"/api/v1{base}/pods",
        "policy": f"/apis/networking.k8s.io/v1{base}/networkpolicies",
    }
    for kind, path in paths.items():
        watch = threading.Thread(target=_watch, args=(told["kubeconfig"], kind, path, changes), daemon=True)
        watch.start()
    enforced = Enforced(told["node"], Path(told["folder"], STATUS))
    while True:
        batch = [changes.get()]
        with contextlib.suppress(queue.Empty):
            while True:
                batch.append(changes.get_nowait())
        enforced.take(batch, time.monotonic_ns())


def _watch(kubeconfig: str, kind: str, path: str, changes: queue.Queue[Any]) -> None:
    with Cluster(Access(kubeconfig=kubeconfig), within_s=_WATCH_S) as api:
        while True:
            for event, found in api.watch(path, within_s=_WATCH_S):
                changes.put((kind, event, found))


class Enforced:
    """What the node's rules hold; `status` is the file that says so."""

    def __init__(self, node: str, status: Path) -> None:
        self._node = node
        self._status = status
        self._pods: dict[str, PodView] = {}
        self._policies: dict[str, dict[str, Any]] = {}
        self._versions: dict[str, list[Any]] = {}  # resource version, seen and written (ns)
        self._gone: dict[str, list[Any]] = {}
        self._before = ""

    def take(self, changes: list[tuple[str, str, dict[str, Any]]], seen_ns: int) -> None:
        """Take what changed, write the rules if they differ, and say so."""
        fresh, gone = {}, []
        for kind, event, found in changes:
            name = str(found["metadata"]["name"])
            if kind == "pod":
                self._pods.pop(name, None)
                if event != "DELETED":
                    self._pods[name] = view(found)
            elif event == "DELETED":
                self._policies.pop(name, None)
                self._versions.pop(name, None)
                gone.append(name)
            else:
                self._policies[name] = found["spec"]
                fresh[name] = found["metadata"]["resourceVersion"]
                self._gone.pop(name, None)
        refused = ""
        try:
            text = script(tuple(self._pods.values()), self._policies, self._node)
            if text != self._before:
                done = subprocess.run(
                    ["nft", "-f", "-"],
                    input=text,
                    capture_output=True,
                    text=True,
                    timeout=_NFT_S,
                    check=False,
                )
                if done.returncode != 0:
                    raise ValueError(f"nft: {done.stderr.strip()[:400]}")
                self._before = text
        except (ValueError, KeyError, TypeError) as error:
            refused = f"{type(error).__name__}: {error}"
        written_ns = time.monotonic_ns()
        if not refused:
            self._versions |= {name: [version, seen_ns, written_ns] for name, version in fresh.items()}
            self._gone |= {name: [seen_ns, written_ns] for name in gone}
        ends = sorted(pod.name for pod in self._pods.values() if END in pod.labels)
        told = {
            "ends": ends,
            "policies": self._versions,
            "gone": self._gone,
            "pods": sorted(self._pods),
            "refused": refused,
        }
        beside = self._status.with_suffix(".new")
        beside.write_text(json.dumps(told))
        beside.replace(self._status)


def view(pod: Mapping[str, Any]) -> PodView:
    """Return a pod of the API as policies see it."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    addresses = [str(podip["ip"]) for podip in status.get("podIPs") or ()]
    addresses += list(_further(metadata.get("annotations") or {}))
    return PodView(
        name=str(metadata["name"]),
        node=str((pod.get("spec") or {}).get("nodeName", "")),
        labels=metadata.get("labels") or {},
        addresses=tuple(dict.fromkeys(addresses)),
    )


def _further(annotations: Mapping[str, str]) -> Iterator[str]:
    with contextlib.suppress(ValueError):
        for load in json.loads(annotations.get(attachments.STATUS) or "[]"):
            for address in load.get("ips") or ():
                yield str(address).partition("/")[0]


if __name__ == "__main__":
    raise SystemExit(main())
