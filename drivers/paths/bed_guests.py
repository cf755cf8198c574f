"""Guests that a testbed has for the time of one deployment, as nodes that pods stand on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api.protocols import HostNode


class Guests:
    """Those that stand, by name. Each has a kernel of its own, and one NIC."""

    def __init__(self) -> None:
        self._nodes: dict[str, HostNode] = {}
        self._nics: dict[str, str] = {}
        self._hosts: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order in which they booted."""
        return tuple(self._nodes)

    def node(self, name: str) -> HostNode | None:
        """Return the guest of that name, or None."""
        return self._nodes.get(name)

    def nic(self, name: str) -> str | None:
        """Return the NIC of the guest of that name, or None."""
        return self._nics.get(name)

    def host(self, name: str) -> str | None:
        """Return the name of the node whose root the guest of that name has, or None."""
        return self._hosts.get(name)

    @contextmanager
    def known(self, guest: HostNode, *, nic: str, host: str) -> Iterator[None]:
        """Have a guest on a host be a node of the bed while it stands."""
        name = guest.name
        self._nodes[name], self._nics[name], self._hosts[name] = guest, nic, host
        try:
            yield
        finally:
            del self._nodes[name], self._nics[name], self._hosts[name]
