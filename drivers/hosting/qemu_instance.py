"""The two virtual machine forms: an emulated NIC (full virtualization), or virtio-net (paravirtual).

Each instance is a guest of its own with one NIC, routed by the node; only the NIC tells the forms apart. Its
root is the host's, or a disk image. Ids: IMAGE-08 the program is not in the image.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api import JsonValue, Missing, Node
from bmwg.drivers.hosting.guest_image import READ_DEADLINE_S, GuestImage
from bmwg.drivers.hosting.instance import FORM_NETWORKS, Form, Limits, Place, Program, Sample, filled
from bmwg.drivers.hosting.qemu import NicModel
from bmwg.drivers.hosting.qemu_machine import BOOT_DEADLINE_S
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.links import mac_of
from bmwg.methodology.errors import TestbedError

_MODELS = {Form.VM_FULL: NicModel.E1000, Form.VM_PARA: NicModel.VIRTIO}
_FOLDER = "/run/bmwg-program"  # in the guest, whose files are its own
_PLACE = "bmwg.drivers.hosting.qemu_place"
_IMAGE = "bmwg.drivers.hosting.guest_image"
_PROGRAMS = "bmwg.drivers.hosting.programs"
_GUEST_DEADLINE_S = 30.0


class VmInstance:
    """One guest with one program."""

    def __init__(
        self,
        node: Node,
        name: str,
        endpoint: tuple[str, int],
        limits: Limits,
        image: GuestImage | None = None,
    ) -> None:
        self.name = name
        self._image = image
        self.endpoint = endpoint
        self._node = node
        self._limits = limits
        self._process: dict[str, int] = {}

    def boot(self, **wanted: Any) -> None:
        """Start the guest on the node and wait until it has booted and answers on its network."""
        if self._image is not None:
            wanted = {"image": self._image.reference(), **wanted}
        self._node.call(f"{_PLACE}:start", deadline_s=BOOT_DEADLINE_S + 30, name=self.name, **wanted)

    def run(self, program: Program) -> None:
        """Write the program's files in the guest and start it there. Raises TestbedError IMAGE-08."""
        address, port = self.endpoint
        given: dict[str, Any] = {"folder": _FOLDER, "address": address, "port": port}
        self.call(
            f"{_PROGRAMS}:write_files",
            folder=_FOLDER,
            files={name: filled(text, **given) for name, text in program.files.items()},
        )
        try:
            self._process = self.call(
                f"{_PROGRAMS}:start",
                command=[filled(word, **given) for word in program.command],
                folder=_FOLDER,
                packages=list(program.packages),
            )
        except TestbedError as error:
            if self._image is None or error.error_id != "PROG-01":
                raise
            raise TestbedError(
                "IMAGE-08",
                f"no {program.name} in the image {self._image.file}",
                expected=f"`{program.command[0]}` in its PATH",
                found="none",
                hint=f"make the image with {' '.join(program.packages)}; the host's programs are not used",
            ) from error

    def call(
        self, function: str, /, *, deadline_s: float = _GUEST_DEADLINE_S, **arguments: JsonValue
    ) -> JsonValue:
        """Run a node function inside the guest."""
        return self._node.call(
            f"{_PLACE}:call",
            deadline_s=deadline_s + 5,
            name=self.name,
            function=function,
            arguments=arguments,
            within_s=deadline_s,
        )

    def sample(self) -> Sample:
        """What QEMU uses on the node: the guest's own work and its emulation together."""
        return Sample(**self._node.call(f"{_PLACE}:sample", name=self.name))

    def sample_inside(self) -> Sample:
        """What the program uses as the guest's kernel counts it."""
        return Sample(**self.call(f"{_PROGRAMS}:sample", pid=self._process["pid"]))

    def fault(self) -> str | None:
        """Say why the guest or the program in it no longer runs; a busy guest answers later than others."""
        found: str | None = self._node.call(f"{_PLACE}:fault", name=self.name)
        if found is None and self._process:
            found = self.call(f"{_PROGRAMS}:fault", folder=_FOLDER, **self._process)
        return found

    def stop(self) -> None:
        """End the guest; what it wrote was in its memory."""
        self._process = {}
        self._node.call(f"{_PLACE}:stop", name=self.name)

    def describe(self) -> Mapping[str, JsonValue]:
        """Where it is reached, what runs it, and its limits beside those that were asked for."""
        found = self._node.call(f"{_PLACE}:describe", name=self.name)
        return {
            "name": self.name,
            "endpoint": list(self.endpoint),
            "root": _root_word(self._image),
            "limits": {"cpus": found["cpus"], "memory_octets": found["memory_octets"]},
            "limits_wanted": {"cpus": self._limits.cpus, "memory_octets": self._limits.memory_octets},
            "machine": found,
        }


def _root_word(image: GuestImage | None) -> str:
    """Say whose root the guests have, so that figures of the two are never taken for each other."""
    return "host" if image is None else "image"


class VmHosting:
    """Guests of one NIC model on a node; nothing is shared between them."""

    def __init__(self, *, form: Form, node: Node, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._node = node
        self._place = place
        self._network = ipaddress.IPv4Network(FORM_NETWORKS[form.value])
        self._machine: JsonValue = None

    def __enter__(self) -> VmHosting:
        """Nothing is made: each guest, its tap and its channels die with the node's agent."""
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a guest, the image among it."""
        return self._lack_of(self._node.call(f"{_PLACE}:probe"))

    def _lack_of(self, lack: dict[str, str] | None) -> Missing | None:
        image = self._place.vms.image
        if lack is None and image is not None:
            reason = self._node.call(f"{_IMAGE}:unfit", deadline_s=READ_DEADLINE_S + 30, **image.reference())
            if reason is not None:
                mend = "put the image back that the run was begun with"
                return Missing(what=f"disk image {image.file}", reason=reason, mend=mend)
        return Missing(**lack) if lack else None

    def prepare(self, program: Program) -> None:
        """Nothing: the guest has the programs of its root."""

    def start(self, program: Program, number: int, limits: Limits) -> VmInstance:
        """Boot guest `number` and start the program in it."""
        host, guest = list(list(self._network.subnets(new_prefix=30))[number].hosts())
        kind = "f" if self.form is Form.VM_FULL else "p"
        name = f"vm{kind}{number}-{self._place.token}"
        instance = self._instance(name, (str(guest), program.port), limits)
        try:
            instance.boot(
                cpus=limits.cpus,
                memory_octets=limits.memory_octets,
                model=_MODELS[self.form].value,
                tap=name,
                mac=mac_of(name, "eth0"),
                guest_address=f"{guest}/30",
                host_address=f"{host}/30",
            )
            instance.run(program)
        except BaseException:
            instance.stop()
            raise
        self._machine = instance.describe()["machine"]
        return instance

    def _instance(self, name: str, endpoint: tuple[str, int], limits: Limits) -> VmInstance:
        return VmInstance(self._node, name, endpoint, limits, self._place.vms.image)

    def describe(self) -> Mapping[str, JsonValue]:
        """Evidence of the form; the machine's part is that of the guest started last."""
        image = self._place.vms.image
        return {
            "form": self.form.value,
            "root": _root_word(image),
            **({"image": image.record()} if image else {}),
            "network": str(self._network),
            "reached_by": "static routes",
            "nic_model": _MODELS[self.form].value,
            "machine": self._machine,
        }
