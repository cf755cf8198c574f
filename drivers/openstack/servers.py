"""What a run makes in a cloud (image, flavor, networks, key, ports, servers), with its tag, and its removal.

Ids: CLOUD-16 the flavor is too small, CLOUD-17 a server is in ERROR, CLOUD-18 the cloud did not do something
in time, CLOUD-22 a network gives a port no address.
"""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.openstack.client import Client
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

PREFIX = "bmwg-"
ACTIVE_DEADLINE_S = 600.0  # choice: the first server of a cloud waits for its image; 46 s where load was 15
DELETE_DEADLINE_S = 120.0  # choice: a guest that ignores its power button takes 60 s
_POLL_S = 0.5
_TASKS = {
    "spawning": "server_spawning"
}  # of Nova's tasks, those that take longer than the time between two asks
_HINTS = {
    "No valid host": "no compute host has room for the flavor, or the zone has none; see the hypervisors",
    "Binding failed": "no Neutron agent on the compute host serves that network; see the cloud's agents",
    "binding:vif_type": "no Neutron agent on the compute host serves that network; see the cloud's agents",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPort:
    """One port of a server: its network's name, address and MAC as Neutron gave them."""

    port_id: str
    network: str
    address: str
    mac: str
    guarded: bool = False  # whether port security is on


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that is ACTIVE. `phases_s` are seconds from the request, as this client saw them.

    `host` is the compute host as Nova tells it to those who may know, else empty. `steps_ns` are when the
    request was accepted and when Nova was first seen at each task, on the monotonic clock.
    """

    server_id: str
    name: str
    ports: tuple[ServerPort, ...]
    phases_s: Mapping[str, float]
    host: str = ""
    steps_ns: Mapping[str, int] = field(default_factory=dict)


class Workshop:
    """What one run makes in one project, by its tag; `sweeping.sweep` removes all of it."""

    def __init__(self, client: Client, tag: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self.tag = tag
        self._clock = clock

    def name(self, what: str) -> str:
        """Return the name of a thing of this run."""
        return f"{PREFIX}{self.tag}-{what}"

    # ------------------------------------------------------------ what servers are made of

    def image(self, what: str, path: Path, disk_format: str, **properties: str) -> Any:
        """Upload an image; the SHA-512 that Glance computed is in what is returned."""

        def upload(sdk: Any) -> Any:
            made = sdk.image.create_image(
                self.name(what),
                filename=str(path),
                disk_format=disk_format,
                container_format=disk_format if disk_format in ("aki", "ari") else "bare",
                visibility="private",
                tags=[self.tag],
                wait=True,
                timeout=300,
                validate_checksum=False,
                **properties,
            )
            return sdk.image.get_image(made.id)

        return self.client.call(f"upload of image {what}", upload)

    def flavor(self, what: str, *, cpus: int, memory_octets: int, disk_octets: int) -> Any:
        """Make a flavor; needs the right to."""
        return self.client.call(
            "a flavor of our own",
            lambda sdk: sdk.compute.create_flavor(
                name=self.name(what),
                ram=memory_octets >> 20,
                vcpus=cpus,
                disk=max(1, -(-disk_octets // (1 << 30))),
                is_public=False,
            ),
        )

    def network(self, what: str, cidr: str, *, gateway: str | None, first: str, physical: str | None) -> Any:
        """Make a network with one subnet, its addresses from `first` on; flat on `physical`, or tenant."""
        more = {"provider_network_type": "flat", "provider_physical_network": physical} if physical else {}

        def make(sdk: Any) -> Any:
            made = sdk.network.create_network(name=self.name(what), **more)
            sdk.network.set_tags(made, [self.tag])
            last = str(list(ipaddress.IPv4Network(cidr).hosts())[-1])
            subnet = sdk.network.create_subnet(
                network_id=made.id,
                name=self.name(what),
                ip_version=4,
                cidr=cidr,
                gateway_ip=gateway,
                enable_dhcp=False,
                allocation_pools=[{"start": first, "end": last}],
            )
            sdk.network.set_tags(subnet, [self.tag])
            return made

        return self.client.call(f"network {what}", make)

    def key(self, public: str) -> Any:
        """Give the cloud the public half of a key."""
        return self.client.call(
            "key pair", lambda sdk: sdk.compute.create_keypair(name=self.name("key"), public_key=public)
        )

    def doorway(self) -> Any:
        """Make the security group of guarded ports: SSH may come in, and nothing else."""

        def make(sdk: Any) -> Any:
            made = sdk.network.create_security_group(name=self.name("ssh"))
            sdk.network.create_security_group_rule(
                security_group_id=made.id,
                direction="ingress",
                ether_type="IPv4",
                protocol="tcp",
                port_range_min=22,
                port_range_max=22,
            )
            return made

        return self.client.call("security group", make)

    def port(
        self, what: str, network: Any, *, guard: Any | None = None, vnic_type: str = "normal"
    ) -> ServerPort:
        """Make a port behind the security group `guard`.

        Without one its port security is off, for a test port carries addresses that are not its own.
        """
        more = {"security_group_ids": [guard.id]} if guard is not None else {}

        def make(sdk: Any) -> Any:
            made = sdk.network.create_port(
                name=self.name(what),
                network_id=network.id,
                is_port_security_enabled=guard is not None,
                binding_vnic_type=vnic_type,
                **more,
            )
            sdk.network.set_tags(made, [self.tag])
            return made

        made = self.client.call(f"port {what}", make)
        if not made.fixed_ips:
            self.client.call(f"delete of port {what}", lambda sdk: sdk.network.delete_port(made))
            raise TestbedError(
                "CLOUD-22",
                f"cloud {self.client.name}: network {network.name} gives port {what} no address",
                expected="a subnet with free addresses, whether it has DHCP or not",
                found="none" if not network.subnet_ids else "no address",
                hint="addresses reach the server by the config drive, and DHCP is not asked for",
            )
        return ServerPort(
            port_id=made.id,
            network=str(network.name),
            address=made.fixed_ips[0]["ip_address"],
            mac=made.mac_address,
            guarded=guard is not None,
        )

    # ------------------------------------------------------------ servers

    def server(
        self,
        what: str,
        *,
        image: Any,
        flavor: Any,
        ports: Iterable[ServerPort],
        zone: str | None = None,
        user_data: str | None = None,
        config_drive: bool = True,
        within_s: float = ACTIVE_DEADLINE_S,
    ) -> Server:
        """Make a server, wait until it is ACTIVE. Raises CLOUD-14, CLOUD-17, CLOUD-18; none is left then.

        A zone that the cloud does not offer is CLOUD-15, and nothing was asked for then. `zone:host` asks for
        one host of it, which needs the right to.
        """
        ports = tuple(ports)
        if zone:
            named = zone.partition(":")[0]
            self.client.named("availability zone", named, lambda sdk: sdk.compute.availability_zones())
        began = self._clock()
        more = {"availability_zone": zone} if zone else {}
        if user_data:
            more["user_data"] = user_data
        made = self.client.call(
            f"server {what}",
            lambda sdk: sdk.compute.create_server(
                name=self.name(what),
                image_id=image.id,
                flavor_id=flavor.id,
                networks=[{"port": port.port_id} for port in ports],
                key_name=self.name("key"),
                config_drive=config_drive,
                metadata={"bmwg": self.tag},
                **more,
            ),
        )
        phases = {"accepted": self._clock() - began}
        steps = {"server_accepted": time.monotonic_ns()}
        try:
            host = self._until_active(made.id, what, began + within_s, steps)
        except BaseException:
            self.delete_server(made.id)
            raise
        phases["active"] = self._clock() - began
        return Server(
            server_id=made.id, name=self.name(what), ports=ports, phases_s=phases, host=host, steps_ns=steps
        )

    def _until_active(self, server_id: str, what: str, end_s: float, steps: dict[str, int]) -> str:
        while True:
            server = self.client.call(f"server {what}", lambda sdk: sdk.compute.get_server(server_id))
            step = "server_active" if server.status == "ACTIVE" else _TASKS.get(str(server.task_state), "")
            if step:
                steps.setdefault(step, time.monotonic_ns())
            if server.status == "ACTIVE":
                return str(server.compute_host or "")
            if server.status == "ERROR":
                said = str((server.fault or {}).get("message", "no reason was given"))
                hint = next((text for word, text in _HINTS.items() if word in said), "")
                raise DriverError(
                    "CLOUD-17",
                    f"cloud {self.client.name}: server {what} is in ERROR",
                    expected="ACTIVE",
                    found=said[:600],
                    hint=hint,
                )
            if self._clock() > end_s:
                raise DriverError(
                    "CLOUD-18",
                    f"cloud {self.client.name}: server {what}",
                    expected="ACTIVE in time",
                    found=f"{server.status}, task {server.task_state or 'none'}",
                )
            time.sleep(_POLL_S)

    def fault(self, server_id: str) -> str | None:
        """Say in what state a server is that is not ACTIVE."""
        status = self.client.call("server", lambda sdk: sdk.compute.get_server(server_id)).status
        return None if status == "ACTIVE" else f"the server is {status}"

    def events(self, server_id: str) -> list[dict[str, JsonValue]]:
        """Return Nova's own account of the server's making: events with their times, as far as it tells."""

        def ask(sdk: Any) -> list[dict[str, JsonValue]]:
            found = []
            for action in sdk.compute.server_actions(server_id):
                whole = sdk.compute.get_server_action(action.request_id, server_id)
                for event in whole.events or ():
                    fields = event if isinstance(event, Mapping) else event.to_dict()
                    found.append(
                        {
                            "action": whole.action,
                            "event": fields.get("event"),
                            "start": fields.get("start_time"),
                            "finish": fields.get("finish_time"),
                            "result": fields.get("result"),
                        }
                    )
            return found

        return self.client.call("events of a server", ask)

    def delete_server(self, server_id: str, within_s: float = DELETE_DEADLINE_S) -> float:
        """Delete a server, whatever its state, and wait until it is gone; returns the seconds that took.

        Asked again with force (where that is allowed) at half of the time. Raises CLOUD-18.
        """
        began = self._clock()
        forced = False
        self.client.call(
            "delete of a server", lambda sdk: sdk.compute.delete_server(server_id, ignore_missing=True)
        )
        while self._there(server_id):
            waited_s = self._clock() - began
            if waited_s > within_s / 2 and not forced:  # once at least, however long an answer takes
                forced = True
                with contextlib.suppress(ToolkitError):  # a tenant may not; the plain one goes on
                    self.client.call(
                        "forced delete",
                        lambda sdk: sdk.compute.delete_server(server_id, ignore_missing=True, force=True),
                    )
            elif waited_s > within_s:
                raise DriverError(
                    "CLOUD-18",
                    f"cloud {self.client.name}: server {server_id}",
                    expected=f"deleted within {within_s:g} s",
                    found="still there",
                    hint="`bmwg cleanup` tries again; an operator can reset its state",
                )
            time.sleep(_POLL_S)
        return self._clock() - began

    def delete_ports(self, ports: Iterable[ServerPort]) -> None:
        """Delete these ports."""
        for port in ports:
            self.client.call(
                "delete of a port",
                lambda sdk, port=port: sdk.network.delete_port(port.port_id),  # type: ignore[misc]
            )

    def _there(self, server_id: str) -> bool:
        return self.client.call("server", lambda sdk: sdk.compute.find_server(server_id)) is not None


def require_fit(flavor: Any, *, memory_octets: int, disk_octets: int) -> None:
    """Raise TestbedError CLOUD-16 unless a server of this flavor can boot from such an image."""
    short = []
    if flavor.ram << 20 < memory_octets:
        short.append(f"{flavor.ram} MiB of memory")
    if flavor.disk and flavor.disk << 30 < disk_octets:
        short.append(f"{flavor.disk} GiB of disk")
    if short:
        raise TestbedError(
            "CLOUD-16",
            f"flavor {flavor.name} is too small",
            expected=f"{memory_octets >> 20} MiB and {-(-disk_octets // (1 << 30))} GiB",
            found=", ".join(short),
        )
