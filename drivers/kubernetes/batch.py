"""Pods that are asked for at the same time, and removed at the same time: one watch sees all of them.

Nothing of the toolkit takes part between the request and the pods' first frames. Ids: KUBE-40 not all
came to run, KUBE-41 not all were removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bmwg.drivers.kubernetes import manifest, pods
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import DriverError

LABEL = "bmwg.ietf.org/batch"


class Batch:
    """So many pods by their manifests, which have the label of the batch."""

    def __init__(self, api: Cluster, namespace: str, name: str, bodies: Sequence[Mapping[str, Any]]) -> None:
        self._api, self._namespace = api, namespace
        self._path = pods.pods_path(namespace)
        self._selector: dict[str, Any] = {"labelSelector": f"{LABEL}={name}"}
        self._bodies = {str(body["metadata"]["name"]): body for body in bodies}
        self.phases = {one: pods.Phases() for one in self._bodies}
        self.ends = {one: pods.Ends() for one in self._bodies}
        self.uids: dict[str, str] = {}

    def ask(self, begun: Callable[[int], int]) -> None:
        """Ask for all of them at once; `begun` is told which one is asked for and returns the time.

        Raises what the API refuses.
        """

        def one(at: int, name: str) -> None:
            self.phases[name].asked_ns = begun(at)
            self._api.apply(f"{self._path}/{name}", self._bodies[name])
            self.phases[name].accepted_ns = time.monotonic_ns()

        self._each(one)

    def wait_running(self, *, within_s: float) -> None:
        """Wait until the containers of all run. Raises TestbedError or DriverError KUBE-40."""
        awaited = set(self._bodies)
        for _, found in self._api.watch(self._path, within_s=within_s, **self._selector):
            name = str(found["metadata"]["name"])
            self.uids[name] = str(found["metadata"]["uid"])
            if self.phases[name].take(found):
                awaited.discard(name)
            else:
                pods.require_hope(self._api, self._namespace, name, found)
            if not awaited:
                return
        raise DriverError(
            "KUBE-40",
            f"{len(self._bodies)} pods at once",
            expected=f"all running within {within_s:g} s",
            found=f"{len(awaited)} are not",
        )

    def remove(self, *, within_s: float) -> None:
        """Delete all of them at once and wait until they are gone. Idempotent. Raises DriverError KUBE-41."""

        def one(_: int, name: str) -> None:
            self.ends[name].asked_ns = time.monotonic_ns()
            self._api.delete(f"{self._path}/{name}", grace_s=manifest.GRACE_S)
            self.ends[name].accepted_ns = time.monotonic_ns()

        if all(ends.gone_ns is not None for ends in self.ends.values()):
            return
        self._each(one)
        for event in self._api.until_absent(self._path, within_s=within_s, **self._selector):
            self.ends[str(event["object"]["metadata"]["name"])].take(event["type"], event["object"])
        left = (self._api.get(self._path, within_s=within_s, **self._selector) or {}).get("items", [])
        if left:
            raise DriverError(
                "KUBE-41",
                f"{len(self._bodies)} pods",
                expected=f"gone within {within_s:g} s",
                found=f"{len(left)} are there",
            )
        for ends in self.ends.values():
            ends.gone_ns = ends.gone_ns or time.monotonic_ns()

    def _each(self, act: Callable[[int, str], None]) -> None:
        with ThreadPoolExecutor(len(self._bodies)) as pool:
            for done in [pool.submit(act, at, name) for at, name in enumerate(self._bodies)]:
                done.result()


def body(made: Mapping[str, Any], batch: str, cpu: str) -> dict[str, Any]:
    """Return a manifest as one of a batch, with this part of a CPU."""
    labels = {**made["metadata"]["labels"], LABEL: batch}
    container = dict(made["spec"]["containers"][0])
    wanted = {**container["resources"]["requests"], "cpu": cpu}
    container["resources"] = {"requests": wanted, "limits": dict(wanted)}
    return {
        **made,
        "metadata": {**made["metadata"], "labels": labels},
        "spec": {**made["spec"], "containers": [container]},
    }
