"""Machines by QEMU alone: each a process of the node's agent, its NIC a tap that the node routes to."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from bmwg.drivers.api.instance import Place, Sample
from bmwg.drivers.api.machines import (
    Machine,
    MachineEndpoint,
    MachineIntent,
    MachineProvider,
    Redirected,
    SocketMachine,
    SocketMachineProvider,
    SocketNic,
)
from bmwg.drivers.api.protocols import Calls, JsonValue, Missing, Node
from bmwg.drivers.machines import guest_image, qemu_place, qemu_sockets
from bmwg.drivers.machines.guest_image import READ_DEADLINE_S, GuestImage
from bmwg.drivers.machines.qemu_machine import BOOT_DEADLINE_S, OTHER_BOOT_DEADLINE_S, start_deadline_s
from bmwg.drivers.nodes.links import mac_of
from bmwg.drivers.undo.ledger import Ledger

_GUEST_DEADLINE_S = 30.0


class QemuMachine(Calls):
    """A guest of a node."""

    def __init__(self, node: Node, name: str, endpoint: MachineEndpoint, image: GuestImage | None) -> None:
        self.name = name
        self.endpoints: tuple[MachineEndpoint, ...] = (endpoint,)
        self._node = node
        self._image = image

    def boot(self, **wanted: Any) -> None:
        """Start it on the node and wait until it has booted and answers on its network."""
        if self._image is not None:
            wanted = {"image": self._image.reference(), **wanted}
        within_s = OTHER_BOOT_DEADLINE_S if wanted.get("architecture") else BOOT_DEADLINE_S
        self._node.call_within(
            start_deadline_s(within_s), qemu_place.start, name=self.name, boot_deadline_s=within_s, **wanted
        )

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a node function inside."""
        deadline_s = _GUEST_DEADLINE_S if deadline_s is None else deadline_s
        return self._node.call_within(
            deadline_s + 5,
            qemu_place.call,
            name=self.name,
            function=function,
            arguments=dict(arguments),
            within_s=deadline_s,
        )

    def sample(self) -> Sample:
        """What QEMU uses on the node: the guest's own work and its emulation together."""
        return Sample(**self._node.call(qemu_place.sample, name=self.name))

    def fault(self) -> str | None:
        """Say why the guest no longer runs."""
        return self._node.call(qemu_place.fault, name=self.name)

    def stop(self) -> None:
        """End the guest; what it wrote was in its memory."""
        self._node.call(qemu_place.stop, name=self.name)

    def describe(self) -> Mapping[str, JsonValue]:
        """What runs, as QEMU tells it."""
        return self._node.call(qemu_place.describe, name=self.name)


class QemuSocketMachine(QemuMachine):
    """A guest of a node with NICs at sockets of a switch there."""

    def __init__(self, node: Node, name: str, nics: tuple[SocketNic, ...]) -> None:
        each = [MachineEndpoint(address="", interface="", mac=nic.mac) for nic in nics]
        super().__init__(node, name, each[0], None)
        self.endpoints = tuple(each)
        self._nics = nics

    def boot(self, **wanted: Any) -> None:
        """Start it on the node, wait until it has booted, and hear of QEMU what its NICs are."""
        self._node.call_within(
            start_deadline_s(BOOT_DEADLINE_S),
            qemu_sockets.start,
            name=self.name,
            nics=[asdict(nic) for nic in self._nics],
            boot_deadline_s=BOOT_DEADLINE_S,
            **wanted,
        )

    @property
    def process(self) -> Mapping[str, int]:
        """QEMU's process on the node."""
        return self._node.call(qemu_sockets.process_of, name=self.name)

    def vnics(self) -> list[JsonValue]:
        """What QEMU says of its NICs now."""
        return self._node.call(qemu_sockets.vnics, name=self.name)


class QemuProvider:
    """Makes guests on a node; nothing is shared between them, and each dies with the node's agent."""

    forwards: ClassVar[bool] = False  # a guest has one interface

    def __init__(self, *, node: Node, place: Place, ledger: Ledger, token: str) -> None:
        self.node = node
        self.place = place
        self.ledger = ledger
        self.token = token

    def __enter__(self) -> QemuProvider:
        """Nothing is made: each guest, its tap and its channels die with the node's agent."""
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    @property
    def root(self) -> str:
        """Say whose root the guests have, so that figures of the two are never taken for each other."""
        return "host" if self.place.vms.image is None else "image"

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a guest, the image among it."""
        return self.probe_of("")

    def probe_of(self, architecture: str) -> Missing | None:
        """Tell what the node lacks for a guest of an architecture (empty: its own)."""
        return self._lack_of(self.node.call(qemu_place.probe, architecture=architecture))

    def _lack_of(self, lack: dict[str, str] | None) -> Missing | None:
        image = self.place.vms.image
        if lack is None and image is not None:
            reason = self.node.call_within(READ_DEADLINE_S + 30, guest_image.unfit, **image.reference())
            if reason is not None:
                mend = "put the image back that the run was begun with"
                return Missing(what=f"disk image {image.file}", reason=reason, mend=mend)
        return Missing.told(lack)

    def made(self, intent: MachineIntent) -> Machine:
        """Boot a guest, which is routed to by the node, on a network of four addresses of its own."""
        network = ipaddress.IPv4Network(intent.network)
        host, guest = list(list(network.subnets(new_prefix=30))[intent.number].hosts())
        own = {"guest_address": f"{guest}/30", "host_address": f"{host}/30"}
        return self._booted(intent, str(guest), **own)

    def unjoined(
        self,
        intent: MachineIntent,
        *,
        vhost: bool,
        own_disk: str = "",
        redirected: Redirected | None = None,
        architecture: str = "",
    ) -> Machine:
        """Boot a guest whose tap, named as the machine, is left to whoever asked, or without one."""
        return self._booted(
            intent,
            "",
            vhost=vhost,
            own_disk=own_disk,
            redirected=asdict(redirected) if redirected else None,
            architecture=architecture,
        )

    def no_sockets(self, *, hugepage_octets: int, pages: int) -> Missing | None:
        """Tell what the node lacks for a guest with NICs at sockets and so many hugepages of a size."""
        told = self.node.call(qemu_sockets.lacking, hugepage_octets=hugepage_octets, count=pages)
        return Missing.told(told)

    def at_sockets(
        self, intent: MachineIntent, nics: tuple[SocketNic, ...], *, cpus: str, hugepage_octets: int
    ) -> SocketMachine:
        """Boot a guest with a NIC at each socket; its root is the host's."""
        machine = QemuSocketMachine(self.node, intent.name, nics)
        try:
            machine.boot(
                cpus=intent.cpus,
                memory_octets=intent.memory_octets,
                process_cpus=cpus,
                hugepage_octets=hugepage_octets,
            )
        except BaseException:
            machine.stop()
            raise
        return machine

    def _booted(self, intent: MachineIntent, address: str, **further: Any) -> Machine:
        mac = mac_of(intent.name, "eth0")
        machine = self._machine(intent.name, MachineEndpoint(address=address, interface="eth0", mac=mac))
        try:
            machine.boot(
                cpus=intent.cpus,
                memory_octets=intent.memory_octets,
                model=intent.nic_model,
                tap=intent.name,
                mac=mac,
                **further,
            )
        except BaseException:
            machine.stop()
            raise
        return machine

    def _machine(self, name: str, endpoint: MachineEndpoint) -> QemuMachine:
        return QemuMachine(self.node, name, endpoint, self.place.vms.image)

    def describe(self) -> Mapping[str, JsonValue]:
        """Nothing beside what the machines say."""
        return {}


_: type[MachineProvider] = QemuProvider
_sockets: type[SocketMachineProvider] = QemuProvider
