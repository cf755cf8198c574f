"""Pods that are asked for at the same time, and removed at the same time: one watch sees all of them.

Nothing of the toolkit takes part between the request and the pods' first frames. Ids: KUBE-40 not all
came to run, KUBE-41 not all were removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from bmwg.drivers.api.protocols import PlacedNode, PodNetwork
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import manifest, pods
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import DriverError, ToolkitError

LABEL = "bmwg.ietf.org/batch"
_PART_OF_CPU = "20m"  # choice: of pods that are many; their kernels forward, and their program sleeps


class Batch:
    """So many pods of one node by their manifests, which have the label of the batch.

    `folder` is the node's part of the run's folder.
    """

    def __init__(
        self,
        api: Cluster,
        node: PlacedNode,
        namespace: str,
        name: str,
        bodies: Sequence[Mapping[str, Any]],
        folder: str,
    ) -> None:
        self._node, self._folder = node, folder
        self._api, self._namespace = api, namespace
        self._path = pods.pods_path(namespace)
        self._selector: dict[str, Any] = {"labelSelector": f"{LABEL}={name}"}
        self.bodies = {str(body["metadata"]["name"]): body for body in bodies}
        self.phases = {one: pods.Phases() for one in self.bodies}
        self.ends = {one: pods.Ends() for one in self.bodies}
        self.uids: dict[str, str] = {}
        self.failed: dict[str, ToolkitError] = {}

    def ask(self, begun: Callable[[int], int], *, keeps_on: bool = False) -> None:
        """Ask for all of them at once; `begun` is told which one is asked for and returns the time.

        Raises what the API refuses; with `keeps_on` that is in `failed`, by name.
        """

        def one(at: int, name: str) -> None:
            self.phases[name].asked_ns = begun(at)
            try:
                self._api.apply(f"{self._path}/{name}", self.bodies[name])
            except ToolkitError as error:
                self._note(name, error, keeps_on=keeps_on)
                return
            self.phases[name].accepted_ns = time.monotonic_ns()

        self._each(one)

    def _note(self, name: str, error: ToolkitError, *, keeps_on: bool) -> None:
        if not keeps_on:
            raise error
        self.failed[name] = error

    def wait_running(self, *, within_s: float, keeps_on: bool = False) -> None:
        """Wait until the containers of all run. Raises TestbedError or DriverError KUBE-40.

        With `keeps_on` those that did not come to run are in `failed`, by name, and the others run.
        """
        awaited = set(self.bodies) - set(self.failed)
        last: dict[str, Mapping[str, Any]] = {}
        if not awaited:
            return
        for _, found in self._api.watch(self._path, within_s=within_s, **self._selector):
            name = str(found["metadata"]["name"])
            self.uids[name], last[name] = str(found["metadata"]["uid"]), found
            if self.phases[name].take(found):
                awaited.discard(name)
            elif name in awaited:
                try:
                    pods.require_hope(self._api, self._namespace, name, found)
                    if keeps_on:
                        pods.require_place(name, found)
                except ToolkitError as error:
                    self._note(name, error, keeps_on=keeps_on)
                    awaited.discard(name)
            if not awaited:
                return
        if keeps_on:
            for name in awaited:
                self.failed[name] = pods.not_running(
                    self._api, self._namespace, name, last.get(name, {}), within_s=within_s
                )
            return
        raise DriverError(
            "KUBE-40",
            f"{len(self.bodies)} pods at once",
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
                f"{len(self.bodies)} pods",
                expected=f"gone within {within_s:g} s",
                found=f"{len(left)} are there",
            )
        for ends in self.ends.values():
            ends.gone_ns = ends.gone_ns or time.monotonic_ns()

    def take_added(self) -> None:
        """Take what the node tells of CNI ADD of each pod that stands."""
        for name, uid in self.uids.items():
            told = self._node.call(
                kubernetes_node.attached, cache_dir=f"{self._folder}/cni-cache", pod_uid=uid
            )
            if told is not None:
                self.phases[name].cni = dict(told["times"])

    def take_deleted(self) -> None:
        """Take what it tells of CNI DEL of each that is gone."""
        for name, uid in self.uids.items():
            told = self._node.call(kubernetes_node.detached, folder=self._folder, pod_uid=uid)
            if told is not None:
                self.ends[name].detached_ns = told["ended_ns"]

    def _each(self, act: Callable[[int, str], None]) -> None:
        with ThreadPoolExecutor(len(self.bodies)) as pool:
            for done in [pool.submit(act, at, name) for at, name in enumerate(self.bodies)]:
                done.result()


@contextmanager
def at_once(
    api: Cluster,
    node: PlacedNode,
    wanted: Sequence[tuple[PodSpec, Sequence[PodNetwork]]],
    conflists: Sequence[Sequence[Mapping[str, Any]]],
    *,
    namespace: str,
    owner: str,
    image: str,
    folder: str,
    removed_s: float,
) -> Iterator[Batch]:
    """Yield pods that nobody has asked for yet, whose networks' resources (`conflists`) stand.

    What is left of the pods is removed on leaving. Raises DriverError KUBE-41.
    """
    name = wanted[0][0].pod_id
    bodies = []
    resources: list[tuple[str, Mapping[str, Any]]] = []
    for (spec, networks), theirs in zip(wanted, conflists, strict=True):
        named = [f"{spec.pod_id}-{number}".lower() for number in range(len(networks))]
        resources += zip(named, theirs, strict=True)
        interfaces = [network.attachment.interface for network in networks]
        made = manifest.pod(
            spec,
            namespace=namespace,
            owner=owner,
            image=image,
            node=node.name,
            networks=list(zip(named, interfaces, strict=True)),
        )
        bodies.append(_of_batch(made, name))
    pods.make_networks(api, namespace, resources, bodies[0]["metadata"]["labels"])
    batch = Batch(api, node, namespace, name, bodies, folder)
    try:
        yield batch
    finally:
        batch.remove(within_s=removed_s)
        pods.remove_networks(api, namespace, [one for one, _ in resources])


def _of_batch(made: Mapping[str, Any], batch: str) -> dict[str, Any]:
    """Return a manifest as one of a batch, with a small part of a CPU.

    No limit: the runtime's own program runs within it while it makes the pod, and a quota would be timed.
    """
    labels = {**made["metadata"]["labels"], LABEL: batch}
    containers = [manifest.without_cpu_limit(made["spec"]["containers"][0], _PART_OF_CPU)]
    return {
        **made,
        "metadata": {**made["metadata"], "labels": labels},
        "spec": {**made["spec"], "containers": containers},
    }
