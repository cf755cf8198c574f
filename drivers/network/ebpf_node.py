"""Joins interfaces of a node by a program at their tc ingress hooks; node functions.

A segment has two members, such as a NIC and the node's end of a pod's veth pair; what enters by one leaves by
the other. A segment with one member passes nothing on. A NIC that is a member is promiscuous: its filter
would drop frames for the pod's MAC, and questions of ND. All of it vanishes with the node's namespace.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ebpf_build, libbpf
from bmwg.drivers.network.datapath import attachment_view
from bmwg.drivers.network.ebpf_words import KEY, OBJECT_NOTE, TARGET, member_told
from bmwg.drivers.nodes import inside
from bmwg.drivers.ports import interfaces
from bmwg.drivers.ports.interfaces import index, rtnetlink
from bmwg.methodology.errors import TestbedError

_INTERFACES = "bmwg.drivers.ports.interfaces"


@dataclass(slots=True)
class _State:
    """The loaded program and who is joined by it, while the agent runs."""

    loaded: libbpf.Object
    program: int
    targets: int
    segments: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    promiscuous: dict[int, socket.socket] = field(default_factory=dict)  # NICs by number


_states: list[_State] = []


def probe() -> dict[str, str] | None:
    """Node function: return what is missing (fields of `drivers.api.Missing`): program, libbpf, kernel."""
    missing = ebpf_build.missing()
    if missing is not None:
        return {"what": missing.what, "reason": missing.reason, "mend": missing.mend}
    try:
        built = ebpf_build.ensure_built()
        libbpf.Object(built).close()
        OBJECT_NOTE.parent.mkdir(parents=True, exist_ok=True)
        OBJECT_NOTE.write_text(str(built))
    except TestbedError as error:
        reason = error.what + (f": {error.found}" if error.found else "")
        return {"what": "programs at the tc hook", "reason": reason, "mend": error.hint}
    return None


def add_pair(*, host: str, pid: int, interface: str, addresses: list[str], mtu_octets: int) -> None:
    """Node function: make a veth pair, one end up in the network namespace of `pid` with these addresses."""
    with rtnetlink(f"make veth pair {host}") as kernel:
        peer = {"ifname": interface, "net_ns_pid": pid}
        kernel.link("add", ifname=host, kind="veth", peer=peer)
    steps: list[tuple[str, dict[str, JsonValue]]] = [
        ("set_mtu", {"mtu_octets": mtu_octets}),
        ("up", {}),
        *(("add_address", {"address": address}) for address in addresses),
    ]
    interfaces.set_mtu(interface=host, mtu_octets=mtu_octets)
    for name, arguments in steps:
        inside.run(pid=pid, function=f"{_INTERFACES}:{name}", arguments={"interface": interface, **arguments})
    interfaces.up(interface=host)


def join(*, segment: str, nic: str, host: str, pid: int, interface: str) -> dict[str, JsonValue]:
    """Node function: make NIC (empty: none) and a pod's veth end members; return how all of it stands."""
    state = _state()
    members = state.segments.setdefault(segment, {})
    for name, peer in ((nic, 0), (host, 1)):
        if name and name not in members:
            with rtnetlink(f"look up {name}") as kernel:
                number = index(kernel, name)
            members[name] = {"number": number, "peer": peer}
            members[name]["program_id"] = state.loaded.attach(state.program, number)
            if not peer:
                state.promiscuous[number] = interfaces.promiscuous(interface=name)
    _direct(state, members)
    view = attachment_view(netns=f"/proc/{pid}/ns/net", interface=interface)
    return {**view, "segment": standing(segment=segment)}


def leave(*, segment: str, host: str) -> None:
    """Node function: take a pod's veth end out of its segment and delete the pair; the last also takes the
    NIC out. Idempotent.
    """
    for state in _states:
        members = state.segments.get(segment, {})
        gone = members.pop(host, None)
        if gone is not None:
            state.loaded.erase(state.targets, _key(gone["number"]))
        if not any(member["peer"] for member in members.values()):
            for member in members.values():
                state.loaded.erase(state.targets, _key(member["number"]))
                libbpf.detach(member["number"])
                if nic := state.promiscuous.pop(member["number"], None):
                    nic.close()
            state.segments.pop(segment, None)
        else:
            _direct(state, members)
    interfaces.delete(interface=host)


def standing(*, segment: str) -> dict[str, JsonValue]:
    """Node function: return a segment's members: program by id and tag, target, frames sent there so far."""
    state = _state()
    members = state.segments.get(segment, {})
    names = {member["number"]: name for name, member in members.items()}
    told = [
        member_told(name, names, libbpf.read(state.targets, _key(one["number"]), TARGET.size), one)
        for name, one in members.items()
    ]
    return {"members": told}


def _direct(state: _State, members: dict[str, dict[str, Any]]) -> None:
    for name, member in members.items():
        others = [other for at, other in members.items() if at != name]
        key = _key(member["number"])
        if len(others) == 1:
            value = TARGET.pack(others[0]["number"], others[0]["peer"], 0)
            state.loaded.write(state.targets, key, value)
        else:
            state.loaded.erase(state.targets, key)


def _state() -> _State:
    if not _states:
        loaded = libbpf.Object(ebpf_build.ensure_built())
        _states.append(
            _State(loaded=loaded, program=loaded.program("redirect"), targets=loaded.map("targets"))
        )
    return _states[0]


def _key(number: int) -> bytes:
    return KEY.pack(number)
