"""The record of one deployment: each node's and pod's network, its workloads, its CNI, its path, the tester.

It is taken where each part runs. Two deployments of one kind differ in names that plugins draw and in MAC
addresses; `comparable` takes those away, so that what is left must be equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.calls import name_of
from bmwg.drivers.api.protocols import (
    BetweenPods,
    Deployment,
    Evidence,
    JsonValue,
    NestedNode,
    PluginNetwork,
)
from bmwg.drivers.nodes import inside
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.platform_record import collect
from bmwg.drivers.platform_record.nested import nested
from bmwg.drivers.platform_record.of_tester import told_of
from bmwg.drivers.workload.row import Row
from bmwg.methodology.cells import parallel
from bmwg.methodology.record.facts import facts, is_fact
from bmwg.methodology.records import POD, Cell

_TESTER = "tester"
_OF_A_POD = 2  # attachments of a pod that forwards
_FLOWS = "UDP source and destination address and port; one stream a direction"
_MAC = re.compile(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b", re.IGNORECASE)
_BY_A_DAEMON = re.compile(r"veth[0-9a-f]{7,8}")  # Docker draws seven digits, CNI plugins eight
# of one guest; an image's hash holds when it was made; a file system holds a file as it likes
_OF_ONE_MAKING = ("boot_s", "name", "image", "allocated_octets")
_LINK_LOCAL = re.compile(r"\bfe80::[0-9a-f:]+\b", re.IGNORECASE)


def take(
    bed: Bed, cell: Cell, deployment: Deployment, tester: Mapping[str, JsonValue]
) -> dict[str, dict[str, JsonValue]]:
    """The records of a deployment that stands, by place: each node, and `<node>/<pod>` for each pod.

    `tester` is its driver's `describe()`. Raises what a node's call raises.
    """
    told = told_of(bed, deployment, tester)
    return _taken(bed, cell, deployment.evidence, told)


def take_between(
    bed: Bed, cell: Cell, between: BetweenPods, programs: Mapping[str, JsonValue]
) -> dict[str, dict[str, JsonValue]]:
    """The same for programs in pods, which are the tester; `programs` are their descriptions by name."""
    kind = "programs in the pods at the ends of the path"
    why = "the pods and their kernels are what is measured"
    told = _of_programs(kind, ", ".join(programs), programs, bed.testbed.pods.cpus, why)
    return _taken(bed, cell, between.evidence, told)


def take_ground(
    bed: Bed, cell: Cell, evidence: Evidence, offered_by: Mapping[str, JsonValue]
) -> dict[str, dict[str, JsonValue]]:
    """The same of nodes on which nothing stands: pods are made and removed there, and must leave nothing."""
    kind, why = "frames offered one by one while pods are made and removed", "times are measured, and no rate"
    told = _of_programs(kind, str(offered_by["program"]), offered_by, bed.testbed.tester.cpus, why)
    return _taken(bed, cell, evidence, told)


def take_place(
    bed: Bed, cell: Cell, evidence: Evidence, program: Mapping[str, JsonValue]
) -> dict[str, dict[str, JsonValue]]:
    """The same of a place where a program measures the host itself; `program` is its description."""
    kind, why = "a program that measures the host on which it runs", "the host is what is measured"
    told = _of_programs(kind, str(program["program"]), program, bed.testbed.pods.cpus, why)
    return _taken(bed, cell, evidence, told)


def _of_programs(
    kind: str, name: str, version: Mapping[str, JsonValue], cpus: Sequence[int], unqualified: str
) -> dict[str, JsonValue]:
    """What the record says of programs that are the tester: they have no ports, and nothing to qualify."""
    return {
        "kind": kind,
        "name": name,
        "version": dict(version),
        "configuration": {},
        "cpus": list(cpus),
        "ports": [],
        "qualification": {"not_applicable": unqualified},
    }


def _taken(
    bed: Bed, cell: Cell, evidence: Evidence, tester: Mapping[str, JsonValue]
) -> dict[str, dict[str, JsonValue]]:
    attachments = list(_attachments(evidence, ""))
    roles = pod_roles(bed)
    records: dict[str, dict[str, JsonValue]] = {}
    for name in bed.nodes:
        node = bed.host(name)
        mine = {role: pod for role, pod in roles.items() if bed.pods[pod].node.name == name}
        here = [found for where, found in attachments if where in ("", name)] if mine else []
        told: dict[str, JsonValue] = {"scope": "network"}
        if name == _TESTER:
            cabled = bool(bed.testbed.lab_ports)
            told["topology"] = _topology(cell, evidence, attachments, len(roles), cabled=cabled)
            told["tester"] = dict(tester)
        else:
            told["workloads"] = {
                role: _workload(bed, cell, pod, evidence, here, number)
                for number, (role, pod) in enumerate(mine.items())
            }
            if (machine := evidence.get("machine")) and evidence.get("host") == name:
                told["workloads"]["machine"] = _machine(cell, machine)
            told["workloads"] |= nested(name, evidence.get("machines", {}))
        if executed := [one for one in here if "conflist" in one]:
            network = bed.network(cell.network)
            plugin_dir = network.plugin_dir if isinstance(network, PluginNetwork) else ""
            told["attachments"] = _cni(executed, plugin_dir)
        records[name] = node.call(collect.collect, **told)
        for role, pod in mine.items():
            pid = bed.pods[pod].pid
            records[f"{name}/{role}"] = node.call(
                inside.run, pid=pid, function=name_of(collect.collect), arguments={"scope": "network"}
            )
    return records


def pod_roles(bed: Bed) -> dict[str, str]:
    """The pods that stand by what they are in the path (`pod0`, `pod1`), in the order they were made."""
    return {f"pod{number}": pod for number, pod in enumerate(bed.pods)}


def _attachments(node: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each attachment within the evidence, with the node that it names ("" where it names none)."""
    if isinstance(node, Mapping):
        if "network" in node and isinstance(node.get("interface"), Mapping):
            yield str(node.get("node", where)), node
            return
        named = node.get("node")
        for value in node.values():
            yield from _attachments(value, named if isinstance(named, str) else where)
    elif isinstance(node, list):
        for value in node:
            yield from _attachments(value, where)


def _cni(attachments: list[Mapping[str, Any]], plugin_dir: str) -> dict[str, JsonValue]:
    types = set()
    for attachment in attachments:
        for plugin in attachment["conflist"]["plugins"]:
            types |= {plugin["type"], plugin.get("ipam", {}).get("type")} - {None}
    return {
        "plugin_dir": plugin_dir,
        "types": sorted(types),
        "version": attachments[0].get("cni_version"),
        "configurations": {
            "/".join(
                filter(None, (attachment.get("member", ""), str(attachment["interface"]["name"])))
            ): attachment["conflist"]
            for attachment in attachments
        },
    }


def _made_by(attachment: Mapping[str, Any]) -> list[str]:
    """Return the CNI plugins that made an attachment; none where another driver did."""
    return [plugin["type"] for plugin in attachment.get("conflist", {}).get("plugins", ())]


def _workload(
    bed: Bed,
    cell: Cell,
    pod: str,
    evidence: Evidence,
    attachments: list[Mapping[str, Any]],
    number: int,
) -> dict[str, JsonValue]:
    function = evidence.get("function")
    endpoint = isinstance(function, Mapping) and function.get("name") == "none"
    each = 1 if endpoint else _OF_A_POD
    mine = attachments[each * number : each * (number + 1)]
    interfaces = {str(one["interface"]["name"]): one["interface"] for one in mine}
    limits, place = bed.testbed.pods, bed.pods[pod].node
    return {
        "pid": bed.pods[pod].pid,
        "kind": str(evidence.get("hosting", cell.hosting)),
        "function": _endpoint_words(function) if endpoint else str(cell.function),
        "image": bed.pods[pod].image,
        "virtual_interfaces": {
            name: {"type": facts["kind"], "mtu_octets": facts["mtu_octets"], "network": cell.network}
            for name, facts in interfaces.items()
        },
        "queues": {
            name: {"transmit": facts["transmit_queues"], "receive": facts["receive_queues"]}
            for name, facts in interfaces.items()
        },
        "af_xdp": _af_xdp(bed, cell, mine, endpoint=endpoint),
        "resource_request": {
            "cpus": place.pod_cpus if isinstance(place, NestedNode) else limits.cpuset,
            "memory_octets": limits.memory_octets,
            "hugepages_2mi": limits.hugepages_2mi,
            "hugepages_1gi": limits.hugepages_1gi,
        },
    }


def _machine(cell: Cell, machine: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What is told of a virtual machine that forwards; its process on the host is an emulator of it."""
    ports = machine.get("interfaces", ())
    return {
        "kind": cell.hosting,
        "function": cell.function,
        "image": machine.get("image"),
        "virtual_interfaces": {
            str(number): _machine_interface(cell, machine, number) for number, _ in enumerate(ports)
        },
        "queues": None,
        "af_xdp": {"not_applicable": "no AF_XDP socket in the workload"},
        "resource_request": {"cpus": machine["cpus"], "memory_octets": machine["memory_octets"]},
        "unmeasured": "a machine with a kernel of its own, not the process that emulates it on its host",
    }


def _machine_interface(cell: Cell, machine: Mapping[str, Any], number: int) -> dict[str, JsonValue]:
    """What is told of a machine's NIC: where it is of the cell's network, by what its emulator says of it."""
    if vnics := machine.get("vnics"):
        return {"type": f"virtio-net by {vnics[number]['backend']}", "network": cell.network}
    return {"type": "virtio-net", "network": "the provider's"}


def _endpoint_words(function: Any) -> str:
    return str(function.get("endpoint", "endpoint: its interface is the tester's port"))


def _af_xdp(
    bed: Bed, cell: Cell, attachments: list[Mapping[str, Any]], *, endpoint: bool
) -> dict[str, JsonValue]:
    """Who has AF_XDP sockets in a workload: the tester in an endpoint, or the function on such a network."""
    if endpoint and "af_xdp" in bed.port_kind.each:
        return {"used_by": "the tester", "busy_polling": False, "cpus": list(bed.testbed.tester.cpus)}
    asked = [attachment["af_xdp"] for attachment in attachments if "af_xdp" in attachment]
    if not asked:
        return {"not_applicable": "no AF_XDP socket in the workload"}
    return {
        "used_by": cell.function,
        "busy_polling": any(one["busy_polling"] for one in asked),
        "cpus": list(bed.testbed.pods.cpus),
    }


def _topology(
    cell: Cell,
    evidence: Evidence,
    attachments: list[tuple[str, Mapping[str, Any]]],
    pods: int,
    *,
    cabled: bool,
) -> dict[str, JsonValue]:
    """What the path is. With lab ports nobody here knows what hardware lies between: that is left untold."""
    plugins = sorted({name for _, one in attachments for name in _made_by(one)})
    kind = registry.paths().get(cell.path)  # none where nothing is sent
    between = bool(kind and kind.between_nodes)
    shown = evidence.get("network")
    option = next(iter(shown.values())) if isinstance(shown, Mapping) and between else shown
    if isinstance(option, Mapping) and "networking_model" not in option:
        option = next((value for value in option.values() if isinstance(value, Mapping)), {})
    model = option.get("networking_model") if isinstance(option, Mapping) else None
    function, told = cell.function, evidence.get("chain")
    if function == "none":
        ends = "in the pods" if cell.hosting == POD else "at the tester's other port"
        function = told if isinstance(told, str) else f"none: the tester's frames end {ends}"
    told = evidence.get(parallel.AXIS, told)
    chain = [function] * (len(told["members"]) if isinstance(told, Mapping) else 1)
    return {
        "scenario": kind.scenario if kind else evidence.get("scenario", "not told"),
        "model": model or {"not_applicable": "no container network takes part"},
        "host_component": {
            "plugins": plugins,
            "uplink": option.get("uplink") if isinstance(option, Mapping) else None,
            "forwarding": evidence.get("forwarding", "not told"),
        },
        "chain": chain,
        "chains": _chains(cell, evidence, chain),
        "physical_interfaces": None if cabled else [],
        "links": evidence.get("hops", []),
        "switches": None if cabled else [],
        "locality": "inter-node" if between else "intra-node",
        "internode": (kind and kind.between_nodes) or {"not_applicable": "the path stays on one node"},
        "underlay": evidence.get("tunnel")
        or (
            (None if cabled else {"kind": "a veth pair between the nodes' network namespaces"})
            if between
            else {"not_applicable": "the path stays on one node"}
        ),
        "services": {"chains_at_once": len(_chains(cell, evidence, chain)), "pods": pods},
        "flow_definition": evidence.get("flow_definition", _FLOWS),
    }


def _chains(cell: Cell, evidence: Evidence, alone: list[str]) -> list[JsonValue]:
    """Each chain with its functions by name and those that others share; by kind where there is one alone."""
    beside = evidence.get(parallel.AXIS)
    if not isinstance(beside, Mapping):
        return [{"functions": alone, "cni": cell.network, "shared_functions": []}]
    return [
        {
            "functions": list(service["functions"]),
            "cni": cell.network,
            "shared_functions": [name for name in service["functions"] if name in beside["shared"]],
        }
        for service in beside["services"]
    ]


def take_row(row: Row) -> dict[str, dict[str, JsonValue]]:
    """The records of clients, proxies' machine and server, by place. Raises what a node's call raises."""
    nodes = (row.client, row.proxy, row.server)
    return {node.name: node.call(collect.collect, scope="network") for node in nodes}


def on_users_cluster(evidence: JsonValue) -> bool:
    """Tell whether a deployment has a pod that the user's cluster made, with an interface of that one's."""
    if isinstance(evidence, Mapping):
        return "own_network" in evidence or any(map(on_users_cluster, evidence.values()))
    return isinstance(evidence, list | tuple) and any(map(on_users_cluster, evidence))


def drawn_names(
    evidence: Mapping[str, Any], records: Mapping[str, Mapping[str, JsonValue]] | None = None
) -> dict[str, str]:
    """Names that plugins and daemons draw anew at each deployment, with the part that they play."""
    names: dict[str, str] = dict(evidence.get("drawn_names", {}))
    for number, (_, attachment) in enumerate(_attachments(evidence, "")):
        if other := attachment.get("host_side"):
            names[str(other["name"])] = f"(host end {number})"
    for place, record in (records or {}).items():
        interfaces = record["fields"].get("nic", {}).get("interfaces", {}).get("value", ())
        # an end that an attachment names already must not shift the others' numbers: its place is drawn, too
        drawn = [name for name in interfaces if _BY_A_DAEMON.fullmatch(name) and name not in names]
        names |= {name: f"(container end {number} of {place})" for number, name in enumerate(drawn)}
    return names


def hosting_facts(evidence: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What a hosting form is made of, by path: versions, packages, accelerator. Equal each time.

    Empty where the evidence only names the form. What no instance was asked yet is left out.
    """
    hosting = evidence.get("hosting")
    return dict(_leaves(hosting, "")) if isinstance(hosting, Mapping) else {}


def _leaves(node: Mapping[str, Any], above: str) -> Iterator[tuple[str, JsonValue]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}/")
        elif key not in _OF_ONE_MAKING and value is not None:
            yield f"{above}{key}", value


def comparable(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, JsonValue]:
    """A copy of a record in which two deployments of one kind are equal: parts for names, no addresses of
    MAC and link.
    """
    text = json.dumps(record["fields"])
    if names:
        pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        text = re.sub(rf"(?<![\w-])(?:{pattern})(?![\w-])", lambda match: names[match[0]], text)
    text = _LINK_LOCAL.sub("(link-local)", _MAC.sub("(mac)", text))
    fields: dict[str, Any] = json.loads(text)
    for _, fact in facts(fields):
        if is_fact(fact) and "value" in fact:
            fact["value"] = _sorted(fact["value"])  # type: ignore[index]
    return {**record, "fields": fields}


def _sorted(value: Any) -> Any:
    """Lists in an order that the drawn names had no part in."""
    if isinstance(value, dict):
        return {key: _sorted(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted(
            (_sorted(entry) for entry in value), key=lambda entry: json.dumps(entry, sort_keys=True)
        )
    return value
