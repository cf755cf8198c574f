"""The network of programs at the tc hook as a CNI plugin, for a kubelet, which attaches by plugins alone.

Each call is a process of its own: who is joined stands in a file of the node's /run; program and map live by
what they are attached to, as in `ebpf_node`. Addresses come from the configuration's IPAM plugin. A pod
waits for that process: it imports no more than it needs, and `ip` does what rtnetlink does elsewhere
(docs/adr/0390).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bmwg.drivers.network import libbpf
from bmwg.drivers.network.ebpf_words import KEY, OBJECT_NOTE, TARGET, member_told
from bmwg.drivers.network.exec import run_plugin
from bmwg.methodology.errors import ToolkitError

PLUGIN = "bmwg-tc"
VERSIONS = ["0.4.0", "1.0.0"]
_STATE = Path("/run/bmwg-tc")
_OTHER = 100  # of the CNI specification: a plugin's own error
_IPAM_S = _IP_S = 10.0
JsonValue = Any  # as in drivers.api


def main() -> int:
    """Do what CNI_COMMAND says; returns the exit status."""
    command = os.environ.get("CNI_COMMAND", "")
    if command == "VERSION":
        print(json.dumps({"cniVersion": "1.0.0", "supportedVersions": VERSIONS}))
        return 0
    try:
        config = json.load(sys.stdin)
        if command == "ADD":
            print(json.dumps(_add(config)))
        elif command == "DEL":
            _delete(config)
        elif command != "CHECK":
            raise ValueError(f"CNI_COMMAND {command!r}")
    except (ToolkitError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        print(json.dumps({"cniVersion": "1.0.0", "code": _OTHER, "msg": str(error)}))
        return 1
    return 0


def seen(*, segment: str) -> dict[str, JsonValue]:
    """Node function: a segment's members as the kernel has them: program, target, frames sent there."""
    held = _held(segment)
    names = {member["number"]: name for name, member in held["members"].items()}
    with libbpf.map_of(held["map"]) as targets:
        return {
            "members": [
                member_told(name, names, libbpf.read(targets, KEY.pack(one["number"]), TARGET.size), one)
                for name, one in held["members"].items()
            ]
        }


def _add(config: Mapping[str, Any]) -> dict[str, JsonValue]:
    netns, interface = os.environ["CNI_NETNS"], os.environ["CNI_IFNAME"]
    host, segment = _host(), str(config["segment"])
    addressed = _ipam(config, "ADD")
    try:
        addresses = [str(one["address"]) for one in addressed.get("ips") or ()]
        mac = _pair(host, netns, interface, addresses, int(config.get("mtu_octets", 1500)))
        with _alone():
            held = _held(segment)
            _enter(held["members"], str(config.get("nic") or ""), host)
            _join(segment, held["members"])
            _accept(held["members"], accepts=True)
    except BaseException:
        with contextlib.suppress(Exception):
            _delete(config)
        raise
    return {
        "cniVersion": config["cniVersion"],
        "interfaces": [{"name": host}, {"name": interface, "mac": mac, "sandbox": netns}],
        "ips": [{**one, "interface": 1} for one in addressed.get("ips") or ()],
    }


def _delete(config: Mapping[str, Any]) -> None:
    """Take the pod's end out of its segment and delete the pair. Idempotent."""
    host, segment = _host(), str(config["segment"])
    with _alone():
        held = _held(segment)
        if held["members"].pop(host, None) is not None:
            if any(member["peer"] for member in held["members"].values()):
                _join(segment, held["members"])
            else:
                for member in held["members"].values():
                    libbpf.detach(member["number"])
                _file(segment).unlink(missing_ok=True)
                with contextlib.suppress(ValueError):  # the NIC may have gone
                    _accept(held["members"], accepts=False)
        with contextlib.suppress(OSError):
            socket.if_nametoindex(host)
            _ip(f"link del {host}")
    _ipam(config, "DEL")


def _pair(host: str, netns: str, interface: str, addresses: list[str], mtu_octets: int) -> str:
    """Make a veth pair, one end up in the pod with these addresses; returns that end's MAC."""
    drawn = hashlib.sha256(f"{host}/{netns}".encode()).digest()
    mac = ":".join(f"{octet:02x}" for octet in (0x02, *drawn[:5]))
    there = f"peer name {interface} address {mac} mtu {mtu_octets} netns {netns}"
    _ip(f"link add {host} mtu {mtu_octets} type veth {there}", f"link set {host} up")
    lines = [f"addr add {address} dev {interface}" for address in addresses]
    _ip(f"link set {interface} up", *lines, netns=netns)
    return mac


def _ip(*lines: str, netns: str = "") -> None:
    """Have `ip` do these lines in a network namespace. Raises ValueError with what it said."""
    command = [*(["nsenter", f"--net={netns}"] if netns else []), "ip", "-batch", "-"]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, timeout=_IP_S, check=False
    )
    if done.returncode:
        raise ValueError(f"ip {'; '.join(lines)}: {done.stderr.strip()[:300]}")


def _enter(members: dict[str, Any], nic: str, host: str) -> None:
    for name, peer in ((nic, 0), (host, 1)):
        if name and name not in members:
            members[name] = {"number": socket.if_nametoindex(name), "peer": peer}


def _accept(members: Mapping[str, Any], *, accepts: bool) -> None:
    """Have the NIC take frames for the pod's MAC too, or no longer."""
    for name in (name for name, member in members.items() if not member["peer"]):
        _ip(f"link set {name} promisc {'on' if accepts else 'off'}")


def _join(segment: str, members: dict[str, Any]) -> None:
    """Attach a program with a map of its own to all members: two lead to each other, others nowhere."""
    loaded = libbpf.Object(_object())
    try:
        program, targets = loaded.program("redirect"), loaded.map("targets")
        for name, member in members.items():
            others = [other for at, other in members.items() if at != name]
            if len(others) == 1:
                value = TARGET.pack(others[0]["number"], others[0]["peer"], 0)
                loaded.write(targets, KEY.pack(member["number"]), value)
        for member in members.values():
            libbpf.detach(member["number"])
            member["program_id"] = loaded.attach(program, member["number"])
        _file(segment).write_text(json.dumps({"map": libbpf.map_number(targets), "members": members}))
    finally:
        loaded.close()


def _object() -> Path:
    """Return the program that this node was found to take (`ebpf_node.probe`), or build it now."""
    with contextlib.suppress(OSError):
        noted = Path(OBJECT_NOTE.read_text())
        if noted.is_file():
            return noted
    from bmwg.drivers.network import ebpf_build

    return ebpf_build.ensure_built()


def _host() -> str:
    """Name the node's end of this attachment's pair."""
    text = f"{os.environ['CNI_CONTAINERID']}/{os.environ['CNI_IFNAME']}"
    return f"bmwg{zlib.crc32(text.encode()):08x}"


def _file(segment: str) -> Path:
    return _STATE / f"{segment}.json"


def _held(segment: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_file(segment).read_text())
    except FileNotFoundError:
        return {"map": 0, "members": {}}
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """Let one call at a time change who is joined."""
    _STATE.mkdir(parents=True, exist_ok=True)
    with (_STATE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ipam(config: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Ask the IPAM plugin for addresses, or give them back. Raises ValueError with what it said."""
    kind = (config.get("ipam") or {}).get("type")
    if not kind:
        return {}
    variables = {key: value for key, value in os.environ.items() if key.startswith("CNI_")}
    program = Path(os.environ["CNI_PATH"]) / kind
    done = run_plugin(program, command, variables, json.dumps(config).encode(), deadline_s=_IPAM_S)
    if done.exit_status != 0:
        raise ValueError(f"IPAM plugin {kind}: {(done.stdout.decode(errors='replace') or done.stderr)[:300]}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


if __name__ == "__main__":
    raise SystemExit(main())
