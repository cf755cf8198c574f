"""What a deployment is held against: the first of its kind in the run, and the state of nodes that stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.methodology.record.drift import Change, drift

_OF_A_PORT = (
    "master",
    "port_settings",
    "promiscuous",
)  # a deployment may make a bridge's port of a node's NIC
_NOT_THERE = "(not in the record)"  # as `drift` says it
Records = Mapping[str, Mapping[str, JsonValue]]
Normal = dict[str, dict[str, JsonValue]]


class DeploymentIdentity:
    """The first deployment of each kind, and what each hosting form was made of when it was first told."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], tuple[str, Normal]] = {}
        self._hostings: dict[str, tuple[str, Mapping[str, JsonValue]]] = {}

    def unlike(
        self, deployment_id: str, evidence: Mapping[str, Any], normal: Normal
    ) -> tuple[str, tuple[Change, ...]]:
        """Compare with the first deployment of this kind (return it and what differs), or register it."""
        first_id, first = self._kinds.setdefault(_kind(deployment_id, evidence), (deployment_id, normal))
        changes = () if first_id == deployment_id else between_looks(first, normal)
        made_id, others = self._made_otherwise(deployment_id, evidence)
        return first_id if changes or not others else made_id, (*changes, *others)

    def _made_otherwise(
        self, deployment_id: str, evidence: Mapping[str, Any]
    ) -> tuple[str, tuple[Change, ...]]:
        """Compare versions and packages over all kinds of a form. What one of the two was not asked is left
        out: a guest's machine is told only once one has run.
        """
        facts = record_of.hosting_facts(evidence)
        form = _form(evidence)
        first_id, first = self._hostings.get(form, (deployment_id, facts))
        self._hostings[form] = first_id, {**facts, **first}
        both = {_top(path) for path in facts} & {_top(path) for path in first}
        return first_id, tuple(
            Change(
                path=f"hosting: {path}",
                before=str(first.get(path, "(absent)")),
                after=str(facts.get(path, "(absent)")),
            )
            for path in sorted(first.keys() | facts.keys())
            if _top(path) in both and first.get(path) != facts.get(path)
        )


def _top(path: str) -> str:
    return path.partition("/")[0]


def _kind(deployment_id: str, evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """What two deployments must share to be the same: their id but for the number, the hosting, and which
    forms stand beside it: these are in the records of its nodes.
    """
    return deployment_id.rpartition("-")[0], _form(evidence), *evidence.get("beside", ())


def _form(evidence: Mapping[str, Any]) -> str:
    hosting = evidence.get("hosting")
    return str(hosting.get("form") if isinstance(hosting, Mapping) else hosting)


def normal_form(records: Records, evidence: Mapping[str, Any]) -> Normal:
    """Records in the form in which two deployments of one kind are equal."""
    names = record_of.drawn_names(evidence, records)
    return {place: record_of.comparable(record, names) for place, record in records.items()}


def between_looks(before: Records, after: Records) -> tuple[Change, ...]:
    """Changes of all places; a place that one of the two lacks is a change itself."""
    changes: list[Change] = []
    for place in sorted(before.keys() | after.keys()):
        if place in before and place in after:
            changes.extend(at_place(place, drift(before[place], after[place])))
        else:
            said = ("there", "(absent)") if place in before else ("(absent)", "there")
            changes.append(Change(path=f"{place}: record", before=said[0], after=said[1]))
    return tuple(changes)


def at_place(place: str, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Changes with the place before their path."""
    return tuple(replace(change, path=f"{place}: {change.path}") for change in changes)


def of_cluster(changes: tuple[Change, ...]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Part what changed between two deployments: what comes and goes with pods that a cluster makes on the
    machine, and the rest.

    These are interfaces that one of the two looks lacks, bridges that have other ports, their routes.
    """
    names = set()
    for change in changes:
        _, _, path = change.path.partition(": ")
        parts = path.split("/")
        if parts[0] == "nic" and _NOT_THERE in (change.before, change.after):
            names.add(parts[1])
        if path.startswith("datapath/bridges/"):
            names.add(parts[2])
    if not names:
        return (), changes
    theirs, others = list[Change](), list[Change]()
    for change in changes:
        _, _, path = change.path.partition(": ")
        of_nic = path.startswith("nic/") and path.split("/")[1] in {*names, "interfaces"}
        forwards = path.startswith(("datapath/bridges/", "datapath/routes"))
        (theirs if of_nic or forwards else others).append(change)
    return tuple(theirs), tuple(others)


def between_deployments(before: Normal, after: Normal, own: Collection[str]) -> tuple[Change, ...]:
    """What changed on nodes that stay while one deployment went and the next came: settings of the kernel and
    of the nodes' own interfaces, unless one is gone into a pod. All others and forwarding state belong to
    what is deployed.
    """
    changes: list[Change] = []
    for place in sorted(before.keys() & after.keys()):
        both = [
            name
            for name in own
            if all(name in one[place]["fields"].get("nic", {}) for one in (before, after))
        ]
        found = drift(_lasting(before[place], both), _lasting(after[place], both))
        changes.extend(at_place(place, found))
    return tuple(changes)


def _lasting(record: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    fields = record["fields"]
    nic = {
        name: {key: fact for key, fact in facts.items() if key not in _OF_A_PORT}
        for name, facts in fields.get("nic", {}).items()
        if name in own
    }
    return {**record, "fields": {"nic": nic, "kernel": fields.get("kernel", {})}}
