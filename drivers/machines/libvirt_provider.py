"""Machines by libvirt, between us and QEMU: the host's, or one of the run's own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.instance import Place
from bmwg.drivers.api.machines import MachineEndpoint, MachineProvider
from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.machines import libvirt_daemon
from bmwg.drivers.machines.guest_image import GuestImage
from bmwg.drivers.machines.libvirt_exec import IMAGE_NAME
from bmwg.drivers.machines.qemu_provider import QemuMachine, QemuProvider
from bmwg.drivers.undo.ledger import Ledger


class LibvirtDomain(QemuMachine):
    """A guest whose domain stands in the ledger while it is there."""

    def __init__(
        self,
        node: Node,
        name: str,
        endpoint: MachineEndpoint,
        image: GuestImage | None,
        *,
        ledger: Ledger,
        libvirt: dict[str, JsonValue],
    ) -> None:
        super().__init__(node, name, endpoint, image)
        self._ledger = ledger
        self._libvirt = libvirt
        self._undo = 0

    def boot(self, **wanted: Any) -> None:
        """Write down how the domain is undone, then start it."""
        self._undo = self._ledger.before(
            "domain",
            self._node.place,  # type: ignore[attr-defined]
            name=self.name,
            uri=self._libvirt["uri"],
            own=self._libvirt["own"],
            uuid=self._libvirt["uuid"],
            folder=self._libvirt["folder"],
            taps=[wanted["tap"]],
        )
        if self._image is not None and self._libvirt["own"]:
            shown = os.path.join(os.path.dirname(self._libvirt["folder"]), IMAGE_NAME)
            wanted["image"] = {**self._image.reference(), "shown": shown}
        super().boot(libvirt=self._libvirt, **wanted)

    def stop(self) -> None:
        """End the guest; idempotent."""
        super().stop()
        self._ledger.undo(self._undo, {self._node.name: self._node})


class LibvirtProvider(QemuProvider):
    """Makes guests on a node by libvirt. `place.vms.uri` names the host's, else one is started."""

    def __init__(self, *, node: Node, place: Place, ledger: Ledger, token: str) -> None:
        super().__init__(node=node, place=place, ledger=ledger, token=token)
        self._uri = place.vms.uri
        self._undo = 0
        self._version: JsonValue = None

    def __enter__(self) -> LibvirtProvider:
        """Start the run's own libvirtd, unless the testbed names the host's."""
        if self._uri is None:
            self._undo = self.ledger.before("libvirt", self.node.place, token=self.token)  # type: ignore[attr-defined]
            image = self.place.vms.image
            try:
                started = self.node.call_within(
                    60.0, libvirt_daemon.start, token=self.token, image=image.path if image else ""
                )
            except BaseException:
                self._close()
                raise
            self._version = started["version"]
        return self

    def __exit__(self, *exc: object) -> None:
        """End the run's own libvirtd with what it still runs."""
        self._close()

    def _close(self) -> None:
        self.ledger.undo(self._undo, {self.node.name: self.node})

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a guest by libvirt."""
        return self._lack_of(self.node.call(libvirt_daemon.probe, uri=self._uri))

    def probe_of(self, architecture: str) -> Missing | None:
        """Tell the same of a guest of an architecture that is named: this provider asks libvirt for none."""
        if not architecture:
            return self.probe()
        return Missing(
            what=f"guests of {architecture} by libvirt",
            reason="its domains are of their host's architecture",
            mend="vms: {driver: qemu} in the testbed file",
        )

    def no_sockets(self, *, hugepage_octets: int, pages: int) -> Missing | None:
        """Tell that this provider's domains have taps alone."""
        return Missing(
            what="a guest's NIC at a vhost-user socket by libvirt",
            reason="its domains are described with taps, and their memory is not shared",
            mend="vms: {driver: qemu} in the testbed file",
        )

    def _machine(self, name: str, endpoint: MachineEndpoint) -> QemuMachine:
        own, number = f"/run/bmwg-libvirt-{self.token}", str(uuid.uuid4())
        libvirt: dict[str, JsonValue] = {
            "uri": self._uri or f"qemu:///system?socket={own}/libvirt-sock",
            "own": self._uri is None,
            "uuid": number,
            # where both this node and the daemon see it; a socket's address is short
            "folder": f"{own}/{name}" if self._uri is None else f"/tmp/bmwg-{name}-{number}",
            "owner": self.place.owner,
        }
        image = self.place.vms.image
        return LibvirtDomain(self.node, name, endpoint, image, ledger=self.ledger, libvirt=libvirt)

    def describe(self) -> Mapping[str, JsonValue]:
        """The libvirt that was used."""
        daemon = "of the run's own" if self._uri is None else "the host's"
        return {"libvirt": {"daemon": daemon, "uri": self._uri, "version_at_start": self._version}}


_: type[MachineProvider] = LibvirtProvider
