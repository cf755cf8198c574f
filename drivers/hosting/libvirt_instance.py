"""The two virtual machine forms with libvirt between us and QEMU: the host's, or one of the run's own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api import JsonValue, Missing, Node
from bmwg.drivers.hosting.guest_image import GuestImage
from bmwg.drivers.hosting.instance import Form, Limits, Place
from bmwg.drivers.hosting.libvirt_exec import IMAGE_NAME
from bmwg.drivers.hosting.qemu_instance import VmHosting, VmInstance
from bmwg.drivers.ledger import Ledger

_DAEMON = "bmwg.drivers.hosting.libvirt_daemon"


class LibvirtInstance(VmInstance):
    """One guest with one program; its domain stands in the ledger while it is there."""

    def __init__(
        self,
        node: Node,
        name: str,
        endpoint: tuple[str, int],
        limits: Limits,
        *,
        ledger: Ledger,
        libvirt: dict[str, JsonValue],
        image: GuestImage | None = None,
    ) -> None:
        super().__init__(node, name, endpoint, limits, image)
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


class LibvirtHosting(VmHosting):
    """Guests of one NIC model on a node by libvirt. `place.vms.uri` names the host's, else one is started."""

    def __init__(self, *, form: Form, node: Node, place: Place, ledger: Ledger) -> None:
        super().__init__(form=form, node=node, place=place, ledger=ledger)
        self._ledger = ledger
        self._uri = place.vms.uri
        self._token = f"{place.token}{'f' if form is Form.VM_FULL else 'p'}"
        self._undo = 0
        self._version: JsonValue = None

    def __enter__(self) -> LibvirtHosting:
        """Start the run's own libvirtd, unless the testbed names the host's."""
        if self._uri is None:
            self._undo = self._ledger.before("libvirt", self._node.place, token=self._token)  # type: ignore[attr-defined]
            image = self._place.vms.image
            try:
                started = self._node.call(
                    f"{_DAEMON}:start", deadline_s=60.0, token=self._token, image=image.path if image else ""
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
        self._ledger.undo(self._undo, {self._node.name: self._node})

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a guest by libvirt."""
        return self._lack_of(self._node.call(f"{_DAEMON}:probe", uri=self._uri))

    def _instance(self, name: str, endpoint: tuple[str, int], limits: Limits) -> VmInstance:
        own, number = f"/run/bmwg-libvirt-{self._token}", str(uuid.uuid4())
        libvirt: dict[str, JsonValue] = {
            "uri": self._uri or f"qemu:///system?socket={own}/libvirt-sock",
            "own": self._uri is None,
            "uuid": number,
            # where both this node and the daemon see it; a socket's address is short
            "folder": f"{own}/{name}" if self._uri is None else f"/tmp/bmwg-{name}-{number}",
            "owner": self._place.owner,
        }
        return LibvirtInstance(
            self._node,
            name,
            endpoint,
            limits,
            ledger=self._ledger,
            libvirt=libvirt,
            image=self._place.vms.image,
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """Evidence of the form, with the libvirt that it used."""
        daemon = "of the run's own" if self._uri is None else "the host's"
        evidence = {"daemon": daemon, "uri": self._uri, "version_at_start": self._version}
        return {**super().describe(), "libvirt": evidence}
