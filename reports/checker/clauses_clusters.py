"""The draft's rows on clusters as rules: who made the pods, and by which networks they are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

KUBERNETES = "kubernetes"
ACCELERATED = ("user-space", "ebpf", "sr-iov", "combination")
_NAMED = 3  # deployments without it that a verdict names
Told = Mapping[str, Any]


def _pods(scope: Scope) -> dict[str, Told]:
    """Return the evidence of those deployments of this scope's trials that have pods."""
    told = (scope.evidence.platform or {}).get("deployments", {})
    found = {name: told.get(name) for name in {trial.deployment_id for trial in scope.trials}}
    return {
        name: one
        for name, one in found.items()
        if isinstance(one, Mapping) and isinstance(one.get("pod_runtime"), Mapping)
    }


def _of_clusters(scope: Scope) -> dict[str, Told]:
    return {
        name: one for name, one in _pods(scope).items() if one["pod_runtime"].get("runtime") == KUBERNETES
    }


def _held(mine: Mapping[str, Told], none: str, what: str, check: Callable[[Told], bool]) -> Answer:
    if not mine:
        return not_applicable(none)
    lacking = sorted(name for name, one in mine.items() if not check(one))
    found = f"{len(lacking)} of {len(mine)} deployments without: {', '.join(lacking[:_NAMED]) or 'none'}"
    return held(not lacking, what, found)


def _text(told: Any) -> bool:
    return isinstance(told, str) and bool(told.strip())


def _attachments(told: Told) -> Sequence[Told]:
    found = told.get("attachments")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _plugins(conflist: Any) -> list[str]:
    """Return the plugins of a CNI configuration list by type; of one that delegates, the delegate's."""
    found = conflist.get("plugins") if isinstance(conflist, Mapping) else None
    names: list[str] = []
    for one in found if isinstance(found, list) else ():
        if isinstance(one, Mapping):
            names += _plugins(one.get("delegate")) or ([str(one["type"])] if one.get("type") else [])
    return names


@clause("CINF08-5.1-02")
def orchestrated(scope: Scope) -> Answer:
    """Every pod was made through the API of a cluster whose version is told."""

    def by_cluster(told: Told) -> bool:
        made = told["pod_runtime"]
        return made.get("runtime") == KUBERNETES and _text(made.get("version"))

    return _held(_pods(scope), "no deployment of pods", "pods made by Kubernetes", by_cluster)


_NO_CLUSTER = "no deployment on a cluster"


@clause("CINF08-5.2.1-02")
def distribution_told(scope: Scope) -> Answer:
    """The distribution of the cluster stands in the record, read or declared."""
    declared = _declared(scope)
    return _held(
        _of_clusters(scope),
        _NO_CLUSTER,
        "the distribution of the cluster",
        lambda told: declared or _text(told["pod_runtime"].get("distribution")),
    )


def _declared(scope: Scope) -> bool:
    """Whether the record of the machine names a distribution, as a person can."""
    base = (scope.evidence.platform or {}).get("base")
    before = base.get("before") if isinstance(base, Mapping) else None
    fields = before.get("fields") if isinstance(before, Mapping) else None
    cluster = fields.get(KUBERNETES) if isinstance(fields, Mapping) else None
    fact = cluster.get("distribution") if isinstance(cluster, Mapping) else None
    return isinstance(fact, Mapping) and _text(fact.get("value"))


@clause("CINF08-5.2.1-03")
def version_told(scope: Scope) -> Answer:
    """The version of the cluster's API server stands in the record."""
    return _held(
        _of_clusters(scope),
        _NO_CLUSTER,
        "the version of the cluster",
        lambda told: _text(told["pod_runtime"].get("version")),
    )


@clause("CINF08-5.1.1-05")
def configuration_applied(scope: Scope) -> Answer:
    """The configuration of each attachment, as it was applied to the cluster, stands in the record whole."""

    def applied(told: Told) -> bool:
        networks = _attachments(told)
        defined = told["pod_runtime"].get("network_attachment_definitions") is True
        return defined and all(_plugins(one.get("conflist")) for one in networks)

    return _held(
        {name: told for name, told in _of_clusters(scope).items() if _attachments(told)},
        "no attachment that was applied to a cluster",
        "each attachment's configuration as it was applied",
        applied,
    )


@clause("CINF08-5.1.2-01")
def two_networks(scope: Scope) -> Answer:
    """A pod of an accelerated model has a network of the cluster and another one for data, told apart.

    Only of clusters: a pod that no orchestrator made has no interface for management.
    """

    def accelerated(told: Told) -> bool:
        network = told.get("network")
        return isinstance(network, Mapping) and network.get("networking_model") in ACCELERATED

    def told_apart(told: Told) -> bool:
        own = set(_plugins(told["pod_runtime"].get("cni_configuration")))
        data = [set(_plugins(one.get("conflist"))) for one in _attachments(told)]
        return bool(own and data) and all(used and used != own for used in data)

    return _held(
        {name: told for name, told in _of_clusters(scope).items() if accelerated(told)},
        "no pod of an accelerated model on a cluster",
        "a network of the cluster, and another for each data interface",
        told_apart,
    )


RULES: tuple[ClauseRule, ...] = (
    orchestrated,
    distribution_told,
    version_told,
    configuration_applied,
    two_networks,
)
