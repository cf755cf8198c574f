"""The two virtual machine forms: an emulated NIC (full virtualization), or virtio-net (paravirtual).

Each instance is a machine of its own that runs one program; what makes the machine is a provider's matter.
Only the NIC tells the forms apart. Ids: IMAGE-08 the program is not in the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api import JsonValue, Missing, Node
from bmwg.drivers.api_calls import Calls
from bmwg.drivers.api_machines import Machine, MachineIntent
from bmwg.drivers.hosting import programs
from bmwg.drivers.hosting.guest_image import GuestImage
from bmwg.drivers.hosting.instance import FORM_NETWORKS, Limits, Place, Program, Sample, filled
from bmwg.drivers.hosting.qemu import NicModel
from bmwg.drivers.ledger import Ledger
from bmwg.methodology.errors import TestbedError, ToolkitError

_MODELS = {"vm_full": NicModel.E1000, "vm_para": NicModel.VIRTIO}
_FOLDER = "/run/bmwg-program"  # in the guest, whose files are its own
_GUEST_DEADLINE_S = 30.0


class VmInstance(Calls):
    """One machine with one program."""

    def __init__(
        self, machine: Machine, port: int, limits: Limits, *, root: str, image: GuestImage | None
    ) -> None:
        self.name = machine.name
        self.endpoint = (machine.endpoints[0].address, port)
        self._machine = machine
        self._limits = limits
        self._root = root
        self._image = image
        self._process: dict[str, int] = {}

    def run(self, program: Program) -> None:
        """Write the program's files in the guest and start it there. Raises TestbedError IMAGE-08."""
        address, port = self.endpoint
        given: dict[str, Any] = {"folder": _FOLDER, "address": address, "port": port}
        self.call(
            programs.write_files,
            folder=_FOLDER,
            files={name: filled(text, **given) for name, text in program.files.items()},
        )
        try:
            self._process = self.call(
                programs.start,
                command=[filled(word, **given) for word in program.command],
                folder=_FOLDER,
                packages=list(program.packages),
            )
        except TestbedError as error:
            if self._root == "host" or error.error_id != "PROG-01":
                raise
            raise TestbedError(
                "IMAGE-08",
                f"no {program.name} in the image{f' {self._image.file}' if self._image else ''}",
                expected=f"`{program.command[0]}` in its PATH",
                found="none",
                hint=f"make the image with {' '.join(program.packages)}; the host's programs are not used",
            ) from error

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a node function inside the guest."""
        return self._machine.call_named(function, arguments, deadline_s=deadline_s or _GUEST_DEADLINE_S)

    def sample(self) -> Sample:
        """What the machine uses, seen from its host: the guest's own work and its emulation together."""
        return self._machine.sample()

    def sample_inside(self) -> Sample:
        """What the program uses as the guest's kernel counts it."""
        return Sample(**self.call(programs.sample, pid=self._process["pid"]))

    def fault(self) -> str | None:
        """Say why the guest or the program in it no longer runs; a busy guest answers later than others."""
        found = self._machine.fault()
        if found is None and self._process:
            try:
                found = self.call(programs.fault, folder=_FOLDER, **self._process)
            except ToolkitError as error:
                found = self._machine.fault() or str(error)
        return found

    def stop(self) -> None:
        """End the guest; what it wrote was in its memory."""
        self._process = {}
        self._machine.stop()

    def describe(self) -> Mapping[str, JsonValue]:
        """Where it is reached, what runs it, and its limits beside those that were asked for."""
        found = self._machine.describe()
        return {
            "name": self.name,
            "endpoint": list(self.endpoint),
            "root": self._root,
            "limits": {"cpus": found["cpus"], "memory_octets": found["memory_octets"]},
            "limits_wanted": {"cpus": self._limits.cpus, "memory_octets": self._limits.memory_octets},
            "machine": dict(found),
        }


class VmHosting:
    """Machines with one NIC model, by the provider that the testbed file names."""

    def __init__(self, *, form: str, node: Node, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._place = place
        self._letter = "f" if form == "vm_full" else "p"
        token = f"{place.token}{self._letter}"
        self._provider = registry.provider(
            place.vms.driver, node=node, place=place, ledger=ledger, token=token
        )
        self._machine: JsonValue = None

    def __enter__(self) -> VmHosting:
        """Make what all machines share."""
        self._provider.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._provider.__exit__(*exc)

    @property
    def root(self) -> str:
        """Whose programs the machines have: `host` or `image`."""
        return self._provider.root

    def probe(self) -> Missing | None:
        """Tell what is missing for a machine."""
        return self._provider.probe()

    def prepare(self, program: Program) -> None:
        """Nothing: the machine has the programs of its root."""

    def start(self, program: Program, number: int, limits: Limits) -> VmInstance:
        """Have machine `number` made and start the program in it."""
        machine = self._provider.made(
            MachineIntent(
                number=number,
                name=f"vm{self._letter}{number}-{self._place.token}",
                cpus=limits.cpus,
                memory_octets=limits.memory_octets,
                nic_model=_MODELS[self.form].value,
                network=FORM_NETWORKS[self.form],
            )
        )
        root, image = self._provider.root, self._place.vms.image
        instance = VmInstance(machine, program.port, limits, root=root, image=image)
        try:
            instance.run(program)
        except BaseException:
            instance.stop()
            raise
        self._machine = instance.describe()["machine"]
        return instance

    def describe(self) -> Mapping[str, JsonValue]:
        """Evidence of the form; the machine's part is that of the one started last."""
        image = self._place.vms.image
        return {
            "form": self.form,
            "root": self._provider.root,
            **({"image": image.record()} if image else {}),
            "network": FORM_NETWORKS[self.form],
            "reached_by": "static routes",
            "nic_model": _MODELS[self.form].value,
            "machine": self._machine,
            **self._provider.describe(),
        }
