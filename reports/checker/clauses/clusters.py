"""The draft's rows on clusters as rules: who made the pods, and by which networks they are joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.answers.data_plane import frames_of
from bmwg.methodology.cells.paths import ACCELERATED
from bmwg.methodology.record.facts import below
from bmwg.reports.checker.clauses.models import attachments
from bmwg.reports.checker.deployed import every, has_part, silent_beside
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

KUBERNETES = "kubernetes"
_EXAMPLES = ("flannel", "calico", "ovs", "ovn", "macvlan", "ipvlan")  # the draft's, of the kernel model
_MOST_MANAGEMENT = 0.01  # choice: of a trial's frames, what neighbours ask and answer meanwhile is far less
Told = Mapping[str, Any]


def _pods(scope: Scope) -> dict[str, Told]:
    """Return the evidence of those deployments of this scope's trials that have pods.

    One of the same hosting form and network that does not tell who made its pods has nothing to show.
    """
    ran = {trial.deployment_id for trial in scope.trials}
    has_pods = has_part("pod_runtime")
    mine = {name: one for name, one in scope.evidence.deployments.items() if name in ran and has_pods(one)}
    return mine | _silent(scope, mine)


def _of_clusters(scope: Scope) -> dict[str, Told]:
    mine = {
        name: one for name, one in _pods(scope).items() if one["pod_runtime"].get("runtime") == KUBERNETES
    }
    return mine | _silent(scope, mine)


def _silent(scope: Scope, mine: Mapping[str, Told]) -> dict[str, Told]:
    return {name: {"pod_runtime": {}} for name in silent_beside(scope, mine, has_part("pod_runtime"))}


def _management(told: Told) -> str:
    """Return the network option of a pod's own interface for management; empty where it has none."""
    return str(below(told, "pod", "management", "option") or "")


def _text(told: Any) -> bool:
    return isinstance(told, str) and bool(told.strip())


def _plugins(conflist: Any) -> list[str]:
    """Return the plugins of a CNI configuration list by type; of one that delegates, the delegate's."""
    found = below(conflist, "plugins")
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

    return every(_pods(scope), "no deployment of pods", "pods made by Kubernetes", by_cluster)


_NO_CLUSTER = "no deployment on a cluster"


@clause("CINF08-5.2.1-02")
def distribution_told(scope: Scope) -> Answer:
    """The distribution of the cluster stands in the record, read or declared."""
    declared = _declared(scope)
    return every(
        _of_clusters(scope),
        _NO_CLUSTER,
        "the distribution of the cluster",
        lambda told: declared or _text(told["pod_runtime"].get("distribution")),
    )


def _declared(scope: Scope) -> bool:
    """Whether the record of the machine names a distribution, as a person can."""
    keys = ("base", "before", "fields", KUBERNETES, "distribution", "value")
    return _text(below(scope.evidence.platform, *keys))


@clause("CINF08-5.2.1-03")
def version_told(scope: Scope) -> Answer:
    """The version of the cluster's API server stands in the record."""
    return every(
        _of_clusters(scope),
        _NO_CLUSTER,
        "the version of the cluster",
        lambda told: _text(told["pod_runtime"].get("version")),
    )


@clause("CINF08-5.1.1-05")
def configuration_applied(scope: Scope) -> Answer:
    """The configuration of each attachment, as it was applied to the cluster, stands in the record whole."""

    def applied(told: Told) -> bool:
        networks = attachments(told)
        defined = told["pod_runtime"].get("network_attachment_definitions") is True
        return defined and all(_plugins(network.get("conflist")) for network in networks)

    return every(
        {name: told for name, told in _of_clusters(scope).items() if attachments(told)},
        "no attachment that was applied to a cluster",
        "each attachment's configuration as it was applied",
        applied,
    )


@clause("CINF08-5.1.2-01")
def two_networks(scope: Scope) -> Answer:
    """A pod of an accelerated model has a network of the cluster and another one for data, told apart.

    Without a cluster the pod's own interface for management is the first of both.
    """

    def told_apart(told: Told) -> bool:
        networks = {one.get("network") for one in attachments(told)}
        if managed := _management(told):
            return bool(networks) and not networks & {None, managed}
        own = set(_plugins(told["pod_runtime"].get("cni_configuration")))
        data = [set(_plugins(attachment.get("conflist"))) for attachment in attachments(told)]
        return bool(own and data) and all(used and used != own for used in data)

    clusters = _of_clusters(scope)
    return every(
        {
            name: told
            for name, told in _pods(scope).items()
            if _accelerated(told) and (name in clusters or _management(told))
        },
        "no pod of an accelerated model on a cluster, or with an interface for management",
        "a network for management, and another for each data interface",
        told_apart,
    )


@clause("CINF08-5.1.2-02")
def networks_defined(scope: Scope) -> Answer:
    """A pod's default network and each accelerated one are defined for a plugin that delegates to them.

    Multus, or another that reads the same annotation and resources: its configuration is in the record.
    """

    def defined(told: Told) -> bool:
        plugins = below(told["pod_runtime"], "cni_configuration", "plugins")
        delegates = [
            plugin
            for plugin in plugins or ()
            if isinstance(plugin, Mapping) and (plugin.get("delegate") or plugin.get("delegates"))
        ]
        named = told["pod_runtime"].get("network_attachment_definitions") is True
        further = [_plugins(attachment.get("conflist")) for attachment in attachments(told)]
        return bool(delegates and named and further) and all(further)

    return every(
        {name: told for name, told in _of_clusters(scope).items() if _accelerated(told)},
        "no pod of an accelerated model on a cluster",
        "a plugin that delegates, its default network, and a definition of each further one",
        defined,
    )


@clause("CINF08-5.1.2-03")
def data_interface_measured(scope: Scope) -> Answer:
    """The frames of each trial passed the data interfaces of pods, and hardly one their management interface.

    In each valid trial that frames came through: interfaces beside those for data counted fewer than a
    hundredth of them, and those for data, where the kernel counts them, all. A socket has no such counter:
    what neither was lost nor passed another interface went by it.
    """
    mine = {name: told for name, told in _pods(scope).items() if _accelerated(told)}
    found: dict[str, list[bool]] = {}
    for trial in scope.trials:
        if trial.deployment_id in mine and trial.trial.valid and trial.trial.result.received_frames:
            proven = _by_data_interface(trial, mine[trial.deployment_id])
            if proven is not None:
                found.setdefault(trial.deployment_id, []).append(proven)
    if not found:
        return not_applicable("no accelerated pod with an interface beside those for data")
    return every(
        {name: {"proven": all(proven)} for name, proven in found.items()},
        "",
        f"in each trial fewer than {_MOST_MANAGEMENT:.0%} of its frames beside the data interfaces",
        lambda told: bool(told["proven"]),
    )


def _by_data_interface(trial: Trial, told: Told) -> bool | None:
    """Whether a trial's frames passed data interfaces alone; None where no other interface was counted."""
    data = {
        str(attachment["interface"].get("name"))
        for attachment in attachments(told)
        if isinstance(attachment.get("interface"), Mapping)
    }
    counted = frames_of(trial.trial.result)
    beside = [
        frames for (part, name), frames in counted.items() if part.startswith("pod") and name not in data
    ]
    carried = [frames for (part, name), frames in counted.items() if part.startswith("pod") and name in data]
    if not beside:
        return None
    received = trial.trial.result.received_frames
    return sum(beside) < _MOST_MANAGEMENT * received and (not carried or sum(carried) >= received)


def _accelerated(told: Told) -> bool:
    return below(told, "network", "networking_model") in ACCELERATED


@clause("CINF08-5.1.1-04")
def examples_covered(scope: Scope) -> Answer:
    """Of the draft's examples of the kernel model at least one was deployed; which ones is told."""
    kernel = {
        name: told
        for name, told in _pods(scope).items()
        if below(told, "network", "networking_model") == "kernel"
    }
    if not kernel:
        return not_applicable("no deployment of the kernel model")
    words = {str(told["network"].get("driver")) for told in kernel.values()}
    words |= {
        name
        for told in kernel.values()
        for attachment in attachments(told)
        for name in _plugins(attachment.get("conflist"))
    }
    covered = [name for name in _EXAMPLES if name in words]
    absent = [name for name in _EXAMPLES if name not in words]
    return held(
        bool(covered),
        f"at least one of {', '.join(_EXAMPLES)}",
        f"{', '.join(covered) or 'none'}; not {', '.join(absent) or 'none'}",
    )
