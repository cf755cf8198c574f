"""A Nova server as a machine: it runs our functions, says why it no longer serves, and is deleted. Ids:
CLOUD-20 a server is not reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.machines import MachineEndpoint, MachineSize, ResizableMachine
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.openstack.server_sizes import ServerSizes
from bmwg.drivers.openstack.servers import Server, ServerPort, Workshop
from bmwg.methodology.errors import DriverError, ToolkitError


class Servers(Protocol):
    """What a machine asks of the provider that made it."""

    @property
    def services(self) -> Mapping[str, str]:
        """Versions of the cloud's APIs by service."""
        ...

    @property
    def workshop(self) -> Workshop:
        """What makes and deletes servers in this cloud."""
        ...

    def sample(self, server_id: str) -> Sample:
        """What the server's emulator has used."""
        ...

    def accelerator(self, server_id: str) -> str:
        """Whether the server is translated or run by the CPU."""
        ...

    def console(self, server_id: str) -> list[str]:
        """What the server has written since it booted."""
        ...

    def flavor(self, size: MachineSize) -> Any:
        """The flavor of that size."""
        ...

    def remove(self, server_id: str, ports: tuple[ServerPort, ...], nics: tuple[str, ...] = ()) -> None:
        """Delete the server, its ports and the networks on these NICs."""
        ...


class NovaMachine(Calls):
    """A server that has booted and answers."""

    def __init__(
        self,
        provider: Servers,
        server: Server,
        endpoints: tuple[MachineEndpoint, ...],
        flavor: Any,
        node: SshNode | None,
        links: tuple[str, ...],
    ) -> None:
        self.name = server.name
        self._links = links
        self.endpoints = endpoints
        self.phases_s: dict[str, float] = dict(server.phases_s)
        self._provider = provider
        self._server = server
        self._flavor = flavor
        self._node = node
        self._gone = False
        self._events: list[dict[str, JsonValue]] | None = None
        self._accelerator = ""

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a node function inside."""
        if self._node is None:
            found = "it was removed" if self._gone else "it was made to be timed, without an agent"
            raise DriverError("CLOUD-20", f"server {self.name}", expected="a server", found=found)
        return self._node.call_named(function, arguments, deadline_s=deadline_s)

    @property
    def start_steps_ns(self) -> Mapping[str, int]:
        """When it came to each step of its start, as Nova was asked every half second."""
        return self._server.steps_ns

    @property
    def _sizes(self) -> ServerSizes:
        return ServerSizes(self._provider.workshop, self._server.server_id, self.name)

    @property
    def host_interfaces(self) -> tuple[str, ...]:
        """The other ends of its test interfaces on its compute host, as Nova and Neutron name them."""
        return tuple(f"tap{port.port_id[:11]}" for port in self._server.ports[1:])

    def ask_size(self, size: MachineSize, *, within_s: float) -> Mapping[str, int]:
        """Have Nova stop it and start it with this size, or take such a change back.

        Raises CLOUD-14, CLOUD-17 to CLOUD-19, CLOUD-23.
        """
        if self._sizes.size() == size:
            return {}
        flavor, steps = self._provider.flavor(size), {}
        if self._sizes.unconfirmed:
            self._sizes.give_back(within_s)
        else:
            steps["server_accepted"] = self._sizes.ask(flavor, within_s)
        self._flavor = flavor
        return steps

    def size(self) -> MachineSize | None:
        """The size that Nova has of it; None amid a change."""
        return self._sizes.size()

    def keep_size(self, *, within_s: float) -> None:
        """Confirm its change of size. Raises CLOUD-17, CLOUD-18."""
        self._sizes.keep(within_s)

    def console(self) -> list[str]:
        """What it has written since it booted."""
        return self._provider.console(self._server.server_id)

    def sample(self) -> Sample:
        """What QEMU uses on the compute host: the guest's own work and its emulation together."""
        return self._provider.sample(self._server.server_id)

    def fault(self) -> str | None:
        """Say why it no longer serves: the channel, the server, the cloud."""
        if self._gone:
            return "the server was removed"
        if self._node is not None and self._node.broken is not None:
            return f"its channel is gone: {self._node.broken}"
        try:
            return self._provider.workshop.fault(self._server.server_id)
        except ToolkitError as error:
            return str(error)

    def stop(self) -> None:
        """Delete the server and its ports. Idempotent."""
        node, self._node = self._node, None
        gone, self._gone = self._gone, True
        if node is not None:
            node.__exit__(None, None, None)
        if not gone:
            self._provider.remove(self._server.server_id, self._server.ports, self._links)

    def describe(self) -> Mapping[str, JsonValue]:
        """What was given, how long each phase took, and Nova's own account of it."""
        if self._events is None:
            self._events = self._provider.workshop.events(self._server.server_id)
            self._accelerator = self._provider.accelerator(self._server.server_id)
        return {
            "kind": "openstack",
            "accelerator": self._accelerator,
            "compute_host": self._server.host or "not told",
            "compute_api": self._provider.services.get("compute", "not recorded"),
            "name": self.name,
            "cpus": self._flavor.vcpus,
            "memory_octets": self._flavor.ram << 20,
            "boot_s": self.phases_s.get("channel"),
            "boot_phases_s": dict(self.phases_s),
            "boot_events": list(self._events),
            "ports": [
                {"network": port.network, "port_security": port.guarded} for port in self._server.ports
            ],
        }


_: type[ResizableMachine] = NovaMachine
