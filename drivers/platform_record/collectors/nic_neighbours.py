"""What an interface is cabled to, as its neighbours say by LLDP to an lldpd that runs beside it.

A switch between tester and device shows here. Nothing is sent, and no lldpd is started.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bmwg.drivers.platform_record.values import Group, NotApplicable, Unread

_SOCKET = "/run/lldpd.socket"  # where lldpd listens and lldpcli asks unless told otherwise
_SOCKETS_HERE = "/proc/self/net/unix"  # those of this network namespace alone
_ASKED = ["lldpcli", "-f", "json0", "show", "neighbors"]


def take(group: Group, name: str) -> None:
    """Take the neighbours of an interface."""
    group.take("neighbours", "command", " ".join(_ASKED), lambda: _told(group, name))


def _told(group: Group, name: str) -> list[dict[str, str]]:
    """Ask the lldpd of this network namespace: that of another one knows other interfaces of these names."""
    try:
        listening = group.source.read_file(_SOCKETS_HERE)
    except OSError as error:
        raise Unread(f"{_SOCKETS_HERE}: {error.strerror}") from error
    if not any(row.endswith(f" {_SOCKET}") for row in listening.splitlines()):
        raise NotApplicable("no lldpd runs in this network namespace")
    return neighbours(group.source.run(_ASKED), name)


def neighbours(text: str, name: str) -> list[dict[str, str]]:
    """Read the neighbours of one interface from the words of `lldpcli -f json0`, in an order of their own.

    Raises NotApplicable when there are none, Unread when the answer is of another form.
    """
    try:
        found = [_neighbour(entry) for entry in _entries(json.loads(text)) if entry["name"] == name]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unread(f"lldpcli answered in another form: {type(error).__name__} {error}"[:200]) from error
    if not found:
        raise NotApplicable("no neighbour has told of itself on this interface")
    return sorted(found, key=lambda one: (one["chassis"], one["port"]))


def _entries(answer: Any) -> Iterator[dict[str, Any]]:
    for part in answer["lldp"]:
        yield from part.get("interface", ())


def _neighbour(entry: dict[str, Any]) -> dict[str, str]:
    """Chassis and port, which every neighbour names (IEEE 802.1AB 8.5.2, 8.5.3), and what more it says."""
    (chassis,), (port,) = entry["chassis"], entry["port"]
    told = {"protocol": entry["via"], "chassis": _identity(chassis), "port": _identity(port)}
    for key, part, word in (("system", chassis, "name"), ("description", port, "descr")):
        if said := part.get(word):
            told[key] = str(said[0]["value"])
    return told


def _identity(part: dict[str, Any]) -> str:
    return f"{part['id'][0]['type']} {part['id'][0]['value']}"
