"""So many pods of one program, alike, asked for at once and removed at once, with or without a Service.

With a Service they stand when all of them are ready, the cluster has all of them behind it, and the node's
rules send to each. Ids: KUBE-42 the rules did not come, KUBE-48 fewer pods are ready, or behind the Service,
than were asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bmwg.drivers.api.instance import Limits, Program
from bmwg.drivers.api.protocols import JsonValue, PlacedNode
from bmwg.drivers.kubernetes import pods, program_pod, service_rules
from bmwg.drivers.kubernetes.batch import LABEL, Batch
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.methodology.errors import DriverError, ToolkitError

_REMOVED_S = 120.0  # choice: as of other pods
_BEHIND_S = 30.0  # choice: a ready pod stands behind its Service within a second
_RULES_S = 30.0  # choice: kube-proxy writes at most once a second
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
_SERVICES = "/api/v1/namespaces/{}/services/{}"
_FILES = "/api/v1/namespaces/{}/configmaps/{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The cluster, its one node and the run's namespace there; `owner` labels what is made."""

    api: Cluster
    node: PlacedNode
    layout: Layout
    namespace: str
    owner: str
    image: str


@dataclass(slots=True, kw_only=True)
class Replicas:
    """Pods that stand: each as the cluster has it, by name; the Service's evidence where there is one."""

    batch: Batch
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    service: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def addresses(self) -> dict[str, str]:
        """The pods' own addresses, by name."""
        return {name: str(found["status"]["podIP"]) for name, found in self.found.items()}


@contextmanager
def replicas(
    where: Where,
    program: Program,
    limits: Limits,
    names: Sequence[str],
    *,
    group: str,
    behind_service: bool,
    within_s: float,
) -> Iterator[Replicas]:
    """Yield pods of these names that run; with a Service, once all are ready and it leads to each of them.

    Raises TestbedError KUBE-23 (quota) and KUBE-40, DriverError KUBE-40, KUBE-42, KUBE-48. All of it lies in
    the run's namespace and is removed on leaving.
    """
    api, common = where.api, {"namespace": where.namespace, "owner": where.owner}
    ready_s = within_s if behind_service else 0.0
    bodies = [
        program_pod.pod(
            name,
            program,
            limits,
            group=group,
            image=where.image,
            node=where.layout.name,
            ready_s=ready_s,
            **common,
        )
        for name in names
    ]
    made = Replicas(
        batch=Batch(api, where.node, where.namespace, group, bodies, where.layout.folder),
    )
    paths = [_FILES.format(where.namespace, group)]
    try:
        api.apply(paths[0], program_pod.files(group, program, **common))
        if behind_service:
            paths.append(_SERVICES.format(where.namespace, group))
            applied = api.apply(paths[1], program_pod.service(group, program.port, **common))
        made.batch.ask(lambda _: time.monotonic_ns())
        made.found = _awaited(where, made.batch, group, ready=behind_service, within_s=within_s)
        made.batch.take_added()
        if behind_service:
            cluster_ip = str(applied["spec"]["clusterIP"])
            made.service = _led(where, group, cluster_ip, program.port, sorted(made.addresses.values()))
        yield made
    finally:
        made.batch.remove(within_s=_REMOVED_S)
        for path in reversed(paths):
            api.delete(path)


def _awaited(
    where: Where, batch: Batch, group: str, *, ready: bool, within_s: float
) -> dict[str, dict[str, Any]]:
    """Wait until all pods run or, where asked, are ready; return them as the cluster has them."""
    found: dict[str, dict[str, Any]] = {}
    unplaced_s: dict[str, float] = {}
    end_s = time.monotonic() + within_s
    watched = where.api.watch(
        pods.pods_path(where.namespace), within_s=within_s, labelSelector=f"{LABEL}={group}"
    )
    last: dict[str, dict[str, Any]] = {}
    for kind, one in watched:
        name = str(one["metadata"]["name"])
        if kind == "DELETED":
            raise DriverError("KUBE-48", f"pod {name}", expected="ready", found="it was deleted (evicted?)")
        last[name] = one
        batch.uids[name] = str(one["metadata"]["uid"])
        runs = batch.phases[name].take(one)
        if runs and (is_ready(one) or not ready):
            found[name] = one
        else:
            found.pop(name, None)
            pods.require_hope(where.api, where.namespace, name, one)
            _require_placed(name, one, unplaced_s)
        if len(found) == len(batch.phases):
            return found
        if time.monotonic() > end_s:
            break
    raise _too_few(where, batch, found, last, ready=ready, within_s=within_s)


def _require_placed(name: str, one: Mapping[str, Any], since_s: dict[str, float]) -> None:
    """Raise TestbedError KUBE-40 for a pod for which there is no room, once it has waited a while."""
    placed = pods.condition(one.get("status") or {}, "PodScheduled")
    if placed.get("status") != "False":
        since_s.pop(name, None)
        return
    began_s = since_s.setdefault(name, time.monotonic())
    if time.monotonic() - began_s > pods.UNPLACED_S or pods.never_placed(placed):
        raise pods.unplaced(name, placed)


def _too_few(
    where: Where,
    batch: Batch,
    found: Mapping[str, Any],
    last: Mapping[str, Mapping[str, Any]],
    *,
    ready: bool,
    within_s: float,
) -> ToolkitError:
    late = next(name for name in batch.phases if name not in found)
    placed = pods.condition((last.get(late) or {}).get("status") or {}, "PodScheduled")
    if placed.get("status") == "False":
        return pods.unplaced(late, placed)
    words = pods.events(where.api, where.namespace, late) or ["no event"]
    return DriverError(
        "KUBE-48",
        f"{len(batch.phases)} pods of one program",
        expected=f"all {'ready' if ready else 'running'} within {within_s:g} s",
        found=f"{len(found)}; of pod {late}: {'; '.join(words)}"[:800],
        hint="no request was sent",
    )


def is_ready(found: Mapping[str, Any]) -> bool:
    """Whether the cluster says of a pod that it is ready."""
    return pods.condition(found.get("status") or {}, "Ready").get("status") == "True"


def _led(where: Where, group: str, cluster_ip: str, port: int, wanted: Sequence[str]) -> dict[str, JsonValue]:
    """Wait until the Service leads to all of these addresses; return what is to be told of it."""
    began_s = time.monotonic()

    def behind() -> list[str]:
        told = where.api.get(
            _SLICES.format(where.namespace), labelSelector=f"kubernetes.io/service-name={group}"
        )
        return ready_addresses((told or {}).get("items", []))

    listed = _until(behind, wanted, _BEHIND_S)
    if listed != wanted:
        raise DriverError(
            "KUBE-48",
            f"Service {group}",
            expected=f"{len(wanted)} ready endpoints within {_BEHIND_S:g} s",
            found=str(len(listed)) if listed else "none: a Service without endpoints",
            hint="no request was sent",
        )
    listed_ms = (time.monotonic() - began_s) * 1e3

    def reached() -> list[str]:
        return where.node.call(service_rules.reached, cluster_ip=cluster_ip, port=port)

    sent = _until(reached, wanted, _RULES_S)
    if sent != wanted:
        raise DriverError(
            "KUBE-42",
            f"Service {group}",
            expected=f"rules of kube-proxy that send to {len(wanted)} pods within {_RULES_S:g} s",
            found=f"to {len(sent)} of them" if set(sent) <= set(wanted) else ", ".join(sent),
            hint="no request was sent",
        )
    return {
        "kind": "ClusterIP",
        "cluster_ip": cluster_ip,
        "port": port,
        "protocol": program_pod.PROTOCOL,
        "endpoints": len(listed),
        "listed_ms": round(listed_ms, 1),
        "rules_ms": round((time.monotonic() - began_s) * 1e3, 1),
        **service_rules.WORDS,
    }


def _until(look: Callable[[], list[str]], wanted: Sequence[str], within_s: float) -> list[str]:
    """Look until it is what is wanted, or the time is over; return the last look."""
    end_s = time.monotonic() + within_s
    while True:
        found = look()
        if found == list(wanted) or time.monotonic() > end_s:
            return found
        time.sleep(0.1)


def ready_addresses(slices: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the addresses that are ready in a Service's EndpointSlices, sorted, each once."""
    return sorted(
        {
            str(address)
            for one in slices
            for endpoint in one.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is True
            for address in endpoint.get("addresses") or ()
        }
    )
