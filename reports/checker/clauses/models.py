"""The draft's user-space and eBPF networking models as rules: what a deployment of each must have shown.

Evidence is what the network driver read on the node while the deployment stood (platform.json,
`deployments`): the switch's own words on its polling threads, ports and flows, and the kernel's on programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.reports.checker.deployed import every, has_part, silent_beside
from bmwg.reports.checker.verdicts import Answer, Scope, clause

USER_SPACE, EBPF, SR_IOV = "user-space", "ebpf", "sr-iov"
_IN_PORT = re.compile(r"(?:^|,)in_port=([^,]+)")
Check = Callable[[Mapping[str, Any]], bool]


def deployments(scope: Scope, model: str, **driven: str | bool) -> dict[str, Mapping[str, Any]]:
    """Return the evidence of those deployments of this scope's trials whose network is of a model.

    `driven` are further words of the network, or settings of the option. A deployment on the same option
    that tells nothing of its network is one of them, with nothing to show.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name in {trial.deployment_id for trial in scope.trials}:
        evidence = scope.evidence.deployments.get(name, {})
        network = below(evidence, "network")
        if isinstance(network, Mapping) and is_driven(network, {"networking_model": model, **driven}):
            found[name] = evidence
    return found | {name: {} for name in silent_beside(scope, found, has_part("network"))}


def is_driven(network: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a network's own words, or the settings of its option, are as wanted."""
    told: dict[str, Any] = {}
    for part in (network.get("settings"), network.get("af_xdp"), network):
        told |= part if isinstance(part, Mapping) else {}
    return all(told.get(key) == wanted[key] for key in wanted)


def _each(scope: Scope, model: str, what: str, check: Check, **driven: str | bool) -> Answer:
    """Whether the evidence of every deployment of a model shows something."""
    mine = deployments(scope, model, **driven)
    return every(mine, f"no deployment on such a network ({model})", what, check)


def attachments(evidence: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return what a deployment told of each interface of its pods."""
    found = evidence.get("attachments")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _outer(evidence: Mapping[str, Any], check: Check) -> bool:
    """Whether something holds of each attachment that reaches a NIC; within a chain others reach a pod."""
    found = [
        attachment
        for attachment in attachments(evidence)
        if below(attachment, "mapping", "nic") or "member" not in attachment
    ]
    return bool(found) and all(check(one) for one in found)


def _every(evidence: Mapping[str, Any], check: Check) -> bool:
    found = attachments(evidence)
    return bool(found) and all(check(one) for one in found)


def _pollers(attachment: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in below(attachment, "vswitch", "pollers") or ():
        if isinstance(one, Mapping):
            yield one


def _cores(attachment: Mapping[str, Any], *keys: str) -> list[Any]:
    """Return the CPU of each receive queue, served by a polling thread now, of the port named below keys."""
    named = below(attachment, *keys)
    return [
        poller.get("cpu")
        for poller in _pollers(attachment)
        for queue in poller.get("queues", ())
        if queue.get("enabled") and named is not None and queue.get("port") == named
    ]


def _nic_polled(attachment: Mapping[str, Any]) -> bool:
    return bool(_cores(attachment, "mapping", "nic"))


def _mapped(attachment: Mapping[str, Any]) -> bool:
    named = [below(attachment, "mapping", key) for key in ("nic", "vswitch_port")]
    return all(named) and bool(below(attachment, "interface", "name"))


def _joined(attachment: Mapping[str, Any]) -> bool:
    """Whether flows lead from each of two ports to the other, or more ports in pairs, and back."""
    said = [str(line).split() for line in below(attachment, "vswitch", "flows") or ()]
    pairs = set()
    for line in said:
        entered = _IN_PORT.search(line[0]) if len(line) > 1 else None
        if entered:
            pairs.add((entered[1], line[-1].rpartition(":")[2]))
    return len(pairs) >= 2 and {(b, a) for a, b in pairs} == pairs


@clause("CINF08-5.1.2.1-01")
def polled(scope: Scope) -> Answer:
    """A polling thread of the switch serves the receive queue of each NIC."""
    return _each(scope, USER_SPACE, "a polling thread for each NIC", lambda one: _outer(one, _nic_polled))


@clause("CINF08-5.1.2.1-02")
def shared_memory(scope: Scope) -> Answer:
    """The pod's interfaces are vhost-user sockets that a virtio device in the pod has opened."""

    def opened(attachment: Mapping[str, Any]) -> bool:
        kind = below(attachment, "interface", "kind")
        status = below(attachment, "vswitch", "vhost_user", "status")
        return bool(kind == "vhost-user" and status == "connected")

    return _each(scope, USER_SPACE, "connected vhost-user interfaces", lambda one: _every(one, opened))


@clause("CINF08-5.1.2.1-03")
def versions(scope: Scope) -> Answer:
    """The versions of the switch and of its DPDK stand in the record."""

    def told(evidence: Mapping[str, Any]) -> bool:
        said = " ".join(map(str, below(evidence, "network", "vswitch", "supported_versions") or ()))
        return all(re.search(rf"{name}\)? [0-9]+\.[0-9]+", said) for name in ("vSwitch", "DPDK"))

    return _each(scope, USER_SPACE, "versions of switch and DPDK", told)


@clause("CINF08-5.1.2.1-05")
def ports_added(scope: Scope) -> Answer:
    """The pod's port is one of the switch's, and polled."""

    def there(attachment: Mapping[str, Any]) -> bool:
        return bool(_cores(attachment, "mapping", "vswitch_port"))

    return _each(
        scope, USER_SPACE, "each pod's port among those of the switch", lambda one: _every(one, there)
    )


@clause("CINF08-5.1.2.1-06")
def flows_stored(scope: Scope) -> Answer:
    """The flows between NIC and pod stand in the record, both ways."""
    return _each(scope, USER_SPACE, "flows both ways", lambda one: _every(one, _joined))


@clause("CINF08-5.1.2.1-07")
def mapping_whole(scope: Scope) -> Answer:
    """NIC, switch port and pod interface of each attachment are told together."""
    return _each(scope, USER_SPACE, "NIC, switch port and pod interface", lambda one: _outer(one, _mapped))


@clause("CINF08-5.2.2-03")
def switch_placed(scope: Scope) -> Answer:
    """CPU and NUMA node of each polling thread stand in the record."""

    def placed(attachment: Mapping[str, Any]) -> bool:
        found = [(poller.get("cpu"), poller.get("numa_node")) for poller in _pollers(attachment)]
        return bool(found) and all(isinstance(number, int) for pair in found for number in pair)

    return _each(
        scope, USER_SPACE, "CPU and NUMA node of the polling threads", lambda one: _every(one, placed)
    )


@clause("CINF08-5.2.4-05")
def switch_cores(scope: Scope) -> Answer:
    """The number of the switch's cores stands in the record, and is that of its polling threads."""

    def counted(evidence: Mapping[str, Any]) -> bool:
        wanted = below(evidence, "network", "settings", "pmd_cpus")
        polling = {poller.get("cpu") for port in attachments(evidence) for poller in _pollers(port)}
        return isinstance(wanted, list) and bool(polling) and polling == set(wanted)

    return _each(scope, USER_SPACE, "polling threads on the cores that were asked for", counted)


@clause("CINF08-5.2.4-06")
def queues_placed(scope: Scope) -> Answer:
    """The core of every receive queue of each NIC stands in the record."""

    def placed(attachment: Mapping[str, Any]) -> bool:
        cores = _cores(attachment, "mapping", "nic")
        return bool(cores) and all(isinstance(core, int) for core in cores)

    return _each(scope, USER_SPACE, "the core of each NIC's receive queues", lambda one: _outer(one, placed))


@clause("CINF08-5.1.2.2-02")
def joined_by_programs(scope: Scope) -> Answer:
    """On networks of the tc hook, programs on the NIC and on the pod's end lead to each other."""

    def joined(attachment: Mapping[str, Any]) -> bool:
        members = below(attachment, "programs", "members") or ()
        targets = {
            member.get("interface"): member.get("target") for member in members if member.get("program_tag")
        }
        ends = {below(attachment, "mapping", "nic"), below(attachment, "mapping", "host_interface")}
        if (
            "member" in attachment and below(attachment, "mapping", "nic") is None
        ):  # it reaches another pod's end
            ends = set(targets) if below(attachment, "mapping", "host_interface") in targets else set()
        return len(ends) == 2 and set(targets) == ends and set(targets.values()) == ends and None not in ends

    return _each(
        scope,
        EBPF,
        "programs on NIC and pod that lead to each other",
        lambda one: _every(one, joined),
        driver="ebpf-tc",
    )


@clause("CINF08-5.2.5-01")
def busy_polling_told(scope: Scope) -> Answer:
    """On networks of AF_XDP sockets it is told whether they busy-poll, and within which budget.

    Where the kernel was asked as well, its sockets do as the record says.
    """

    def told(attachment: Mapping[str, Any]) -> bool:
        busy = below(attachment, "af_xdp", "busy_polling")
        budget = below(attachment, "af_xdp", "busy_budget_frames")
        prefer = [socket.get("prefer_busy_poll") for socket in _sockets(attachment)]
        as_asked = all(found is None or found is busy for found in prefer)
        return isinstance(busy, bool) and isinstance(budget, int) and busy is (budget > 0) and as_asked

    return _each(scope, EBPF, "busy polling and its budget", lambda one: _every(one, told), driver="af-xdp")


@clause("CINF08-5.2.4-04")
def pollers_dedicated(scope: Scope) -> Answer:
    """The core of each polling thread stands beside the pod's, so that a reader sees what they share."""

    def told(evidence: Mapping[str, Any]) -> bool:
        cores = [poller.get("cpu") for port in attachments(evidence) for poller in _pollers(port)]
        pod = below(evidence, "pod", "cpuset_cpus")
        return bool(cores) and all(isinstance(core, int) for core in cores) and bool(pod)

    return _each(scope, USER_SPACE, "the cores of the polling threads, and the pod's beside them", told)


@clause("CINF08-5.1.2.2-04")
def delivered_to_sockets(scope: Scope) -> Answer:
    """On networks of AF_XDP sockets the program in the pod holds them: the user-space library's way."""

    def held_in_pod(attachment: Mapping[str, Any]) -> bool:
        return bool(_sockets(attachment))

    return _each(
        scope,
        EBPF,
        "a socket of the pod's own process for each of its interfaces",
        lambda one: _every(one, held_in_pod),
        driver="af-xdp",
    )


@clause("CINF08-5.1.2.2-08")
def mapped_to_nics(scope: Scope) -> Answer:
    """On networks of the eBPF model each interface of a pod is told with the NIC that it is mapped to."""

    def mapped(attachment: Mapping[str, Any]) -> bool:
        plugins = below(attachment, "conflist", "plugins") or ()
        taken = [plugin.get("device") for plugin in plugins if isinstance(plugin, Mapping)]
        nic = below(attachment, "mapping", "nic") or next(filter(None, taken), None)
        return bool(nic) and bool(below(attachment, "interface", "name"))

    return _each(scope, EBPF, "the NIC of each interface of the pod", lambda one: _outer(one, mapped))


def by_sockets(attachment: Mapping[str, Any]) -> bool:
    """Whether the switch says that it drives an attachment's NIC by AF_XDP, and has a pod's port for it."""
    return below(attachment, "vswitch", "nic_driver") == "net_af_xdp" and _mapped(attachment)


@clause("CINF08-5.1.2.2-09")
def switch_on_sockets(scope: Scope) -> Answer:
    """Where the switch is to take its NICs by AF_XDP, it says itself that it does, and has a pod's port.

    The switch names the driver of each NIC; its own word counts, not the option.
    """

    return _each(
        scope,
        USER_SPACE,
        "NICs that the switch drives by net_af_xdp, each with a pod's port",
        lambda one: _outer(one, by_sockets),
        nic_port="af_xdp",
    )


@clause("CINF08-5.2.5-02")
def cores_without_busy_polling(scope: Scope) -> Answer:
    """Without busy polling, the cores of the program and those that process its packets are told apart."""

    def told(evidence: Mapping[str, Any]) -> bool:
        found = evidence.get("device_queues")
        queues = (
            [one.get("cpu") for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
        )
        placed = bool(queues) and all(isinstance(core, int) for core in queues)
        return placed and bool(below(evidence, "pod", "cpuset_cpus"))

    return _each(
        scope,
        EBPF,
        "the cores of the pod's program and of its device queues",
        told,
        driver="af-xdp",
        busy_polling=False,
    )


@clause("CINF08-5.1.2.3-01")
def functions_attached(scope: Scope) -> Answer:
    """On networks of the SR-IOV model each interface of a pod is a virtual function with its own address."""

    def attached(evidence: Mapping[str, Any]) -> bool:
        found = [below(attachment, "virtual_function", "address") for attachment in attachments(evidence)]
        return bool(found) and all(found) and len(set(found)) == len(found)

    return _each(scope, SR_IOV, "a virtual function with its address for each interface of the pod", attached)


@clause("CINF08-5.1.2.3-03")
def nic_capable(scope: Scope) -> Answer:
    """How many virtual functions each NIC can have is told, and no more were made."""

    def capable(attachment: Mapping[str, Any]) -> bool:
        total, made = (below(attachment, "virtual_function", key) for key in ("total", "configured"))
        return isinstance(total, int) and isinstance(made, int) and 0 < made <= total

    return _each(
        scope, SR_IOV, "NICs with as many virtual functions as were made", lambda one: _every(one, capable)
    )


@clause("CINF08-5.1.2.3-04")
def functions_driven(scope: Scope) -> Answer:
    """The number of functions that were made, and the driver of each that a pod has, are told."""

    def driven(attachment: Mapping[str, Any]) -> bool:
        function = below(attachment, "virtual_function")
        return bool(function) and bool(function.get("configured")) and bool(function.get("driver"))

    return _each(
        scope, SR_IOV, "virtual functions made, and the driver of the pod's", lambda one: _every(one, driven)
    )


def _sockets(attachment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = below(attachment, "af_xdp", "sockets")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
