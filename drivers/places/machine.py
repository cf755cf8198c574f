"""The two virtual machine forms: an emulated NIC (full virtualization), or virtio-net (paravirtual).

Each instance is a machine of its own that runs one program; what makes the machine is a provider's matter.
Only the NIC tells the forms apart. Ids: IMAGE-08 the program is not in the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.instance import FORM_NETWORKS, Hosting, Limits, Place, Program, Sample
from bmwg.drivers.api.machines import Machine, MachineIntent
from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.machines.guest_image import GuestImage
from bmwg.drivers.machines.qemu import NicModel
from bmwg.drivers.places.inside import InMachine
from bmwg.drivers.places.instances import AgentsProgram, PlacedInstance
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import TestbedError, ToolkitError

_MODELS = {"vm_full": NicModel.E1000, "vm_para": NicModel.VIRTIO}
_FOLDER = "/run/bmwg-program"  # in the guest, whose files are its own


class VmInstance(PlacedInstance, InMachine):
    """One machine with one program. What it uses is seen from its host: guest and emulation together."""

    deadline_s = 30.0

    def __init__(
        self, machine: Machine, program: Program, limits: Limits, *, root: str, image: GuestImage | None
    ) -> None:
        """Write the program's files in the guest and start it there. Raises TestbedError IMAGE-08."""
        InMachine.__init__(self, machine)
        self._limits = limits
        self._root = root
        address = machine.endpoints[0].address
        undo = ExitStack()
        undo.callback(machine.stop)  # what the guest wrote was in its memory
        try:
            self._program = AgentsProgram(self, program.at(_FOLDER, address, program.port), _FOLDER)
        except TestbedError as error:
            if root == "host" or error.error_id != "PROG-01":
                raise
            raise TestbedError(
                "IMAGE-08",
                f"no {program.name} in the image{f' {image.file}' if image else ''}",
                expected=f"`{program.command[0]}` in its PATH",
                found="none",
                hint=f"make the image with {' '.join(program.packages)}; the host's programs are not used",
            ) from error
        PlacedInstance.__init__(
            self,
            machine.name,
            (address, program.port),
            {},
            sampled=machine.sample,
            told=self._found,
            undo=undo,
        )

    def sample_inside(self) -> Sample:
        """What the program uses as the guest's kernel counts it."""
        return self._program.sample()

    def fault(self) -> str | None:
        """Say why the guest or the program in it no longer runs; a busy guest answers later than others."""
        try:
            return self._machine.fault() or self._program.fault()
        except ToolkitError as error:
            return self._machine.fault() or str(error)

    def _found(self) -> Mapping[str, JsonValue]:
        """Return what runs it, and its limits beside those that were asked for."""
        found = self._machine.describe()
        return {
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
        try:
            instance = VmInstance(machine, program, limits, root=root, image=image)
        except BaseException:
            machine.stop()
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


_: type[Hosting] = VmHosting
