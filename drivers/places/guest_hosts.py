"""Guests of a node that pods can stand on: our agent inside each, its vNIC's other end a tap of the node.

What is made in a guest goes with it. Its first CPU is its kernel's and our agent's, the others are the pods'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, cast

from bmwg.drivers import registry
from bmwg.drivers.api.calls import name_of
from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.api.machines import Machine, MachineIntent, Redirected, UnjoinedMachineProvider
from bmwg.drivers.api.protocols import HostNode, JsonValue, Missing, NestedNode, PlacedNode
from bmwg.drivers.containers import oci, pod_programs
from bmwg.drivers.machines import qemu_place
from bmwg.drivers.machines.qemu import USER_NETWORK, NicModel
from bmwg.drivers.nodes import inside, process
from bmwg.drivers.places.inside import InMachine
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.methodology.cells.vnics import E1000, IGB_VF, VHOST_NET, VIRTIO

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.undo.ledger import Ledger

PROVIDER = "qemu"  # where the testbed file names none
MEMORY_OCTETS = 768 << 20  # choice: of the guest's kernel, our agent and what a pod's limits leave
DEADLINE_S = 90.0  # choice: of a call into a guest whose instructions may be translated
_OTHER_DEADLINE_S = 300.0  # choice: of one into a guest of another architecture, beside a load average of 35
_PATIENCE_S = 60.0  # choice: of what has a shorter deadline of its own on a node
_PATIENT = {
    name_of(act)
    for act in (inside.run, oci.create, oci.start, oci.describe, oci.delete, pod_programs.version)
}
_MODELS = {VIRTIO: NicModel.VIRTIO, E1000: NicModel.E1000, VHOST_NET: NicModel.VIRTIO}


class GuestHost(InMachine):
    """A machine as the node of its pods. Undos name the machine's host: what is inside ends with it.

    `tap` is empty of one behind a user-mode network.
    """

    def __init__(
        self,
        machine: Machine,
        host: HostNode,
        *,
        pod_cpus: str,
        tapped: bool = True,
        call_deadline_s: float = DEADLINE_S,
    ) -> None:
        super().__init__(machine)
        self._call_deadline_s = call_deadline_s
        self.host = host
        self.interface = machine.endpoints[0].interface
        self.tap = machine.name if tapped else ""
        self.pod_cpus = pod_cpus
        agent = self.call(process.this)
        self.pid: int = agent["pid"]
        self.start_ticks: int = agent["start_ticks"]

    @property
    def place(self) -> Mapping[str, JsonValue]:
        """Where what made it is undone: on its host."""
        return self.host.place

    @property
    def machine(self) -> PlacedNode:
        """The machine whose file system the guest sees."""
        return self.host.machine

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a node function inside; what is done in a moment on a node has more time here."""
        arguments = dict(arguments)
        if function in _PATIENT:
            arguments["within_s"] = max(_PATIENCE_S, arguments.get("within_s", 0.0))
        return super().call_named(
            function, arguments, deadline_s=max(self._call_deadline_s, deadline_s or 0.0)
        )


_: type[NestedNode] = GuestHost


def lacking(bed: Bed, node: HostNode, vnic: str, *, architecture: str = "") -> Missing | None:
    """Return what the node lacks for guests with such a NIC, or why no guest here can have one.

    `architecture` (Debian's word) is that of the guests, empty: the node's own.
    """
    if vnic not in _MODELS:
        return Missing(
            what=f"vNIC {vnic} for a guest of pods",
            reason="its guest has no NIC with virtual functions" if vnic == IGB_VF else "it is not known",
            mend=f"vnics: {', '.join(_MODELS)}",
        )
    provider = provider_of(bed, node)
    if not isinstance(provider, UnjoinedMachineProvider):
        return Missing(
            what=f"machines of {bed.machines_driver} whose vNIC is a port of the node's bridge",
            reason="this provider joins each machine to a network by itself",
            mend=f"vms: {{driver: {PROVIDER}}} in the testbed file",
        )
    return provider.probe_of(architecture) or _no_vhost(node, vnic)


def no_redirection(node: HostNode) -> Missing | None:
    """Return why a guest, for which nothing else lacks, has no user-mode network on this node."""
    if not (why := node.call(qemu_place.no_user_network)):
        return None
    return Missing(
        what=f"QEMU's {USER_NETWORK}", reason=why, mend="the distribution's QEMU has it (libslirp)"
    )


def _no_vhost(node: HostNode, vnic: str) -> Missing | None:
    if vnic != VHOST_NET or not (why := node.call(qemu_place.no_vhost)):
        return None
    return Missing(
        what="vNIC vhost-net",
        reason=why,
        mend="modprobe vhost_net on a machine with /dev/kvm; vnics: virtio elsewhere",
    )


def provider_of(bed: Bed, node: HostNode) -> object:
    """Return what makes machines on a node: what the testbed file names, or QEMU itself."""
    driver = bed.machines_driver or PROVIDER
    place = Place(
        token=bed.token,
        owner=bed.owner,
        run_dir=str(bed.state_dir),
        vms=VmDriver(driver=driver),
    )
    ledger = cast("Ledger", bed.undo)  # a run's undo log is its ledger
    return registry.provider(driver, node=node, place=place, ledger=ledger, token=bed.token)


@contextmanager
def guest_host(
    bed: Bed,
    node: HostNode,
    *,
    number: int,
    vnic: str,
    pods: int = 1,
    own_disk: str = "",
    redirected: Redirected | None = None,
    architecture: str = "",
) -> Iterator[GuestHost]:
    """Boot a guest on a node; end it on leaving. It has memory for the limits of so many `pods`.

    With pods the bed knows it as a node of its own meanwhile; without, one program has as much.

    `own_disk` is a file of the node that it has as a further disk (`guest_disk.mounted` has it in a folder).
    `redirected` gives it a user-mode network in place of a tap; who asked gives it its addresses there.
    Of another `architecture` than the node's it has programs of that one, and no runtime for pods.

    Raises TestbedError VM-01 to VM-05, and what entering the provider raises.
    """
    provider = provider_of(bed, node)
    assert isinstance(provider, UnjoinedMachineProvider)
    with provider:
        machine = provider.unjoined(
            MachineIntent(
                number=number,
                name=f"vm{number}",  # not drawn anew: nodes have namespaces of their own for taps
                cpus=len(bed.testbed.pods.cpus) + 1,
                memory_octets=MEMORY_OCTETS + max(pods, 1) * bed.testbed.pods.memory_octets,
                nic_model=_MODELS[vnic].value,
                network="",
            ),
            vhost=vnic == VHOST_NET,
            own_disk=own_disk,
            redirected=redirected,
            architecture=architecture,
        )
        try:
            cpus = int(machine.describe()["cpus"])
            deadline_s = _OTHER_DEADLINE_S if architecture else DEADLINE_S
            guest = GuestHost(
                machine,
                node,
                pod_cpus=_pod_cpus(cpus),
                tapped=redirected is None,
                call_deadline_s=deadline_s,
            )
            guest.call(sysctl.quiet_defaults)
            guest.call(interfaces.up, interface=guest.interface)
            known = bed.guests.known(guest, nic=guest.interface, host=node.name)
            with known if pods else nullcontext():
                yield guest
        finally:
            machine.stop()


def _pod_cpus(cpus: int) -> str:
    """Return the CPUs of a guest that its pods have: all but the first, where there is more than one."""
    if cpus <= 1:
        return "0"
    return "1" if cpus == 2 else f"1-{cpus - 1}"


def described(bed: Bed, guest: GuestHost, vnic: str) -> dict[str, JsonValue]:
    """Return the layers of a nested scenario: hypervisor, the guest's CPUs and memory, its vNIC.

    The third layer, the pod, is the endpoint's own record. Offloads of vNIC and tap stand in the records of
    the guest and of its host.
    """
    told = guest.describe()
    other = f" for {told['architecture']}" if told.get("architecture") else ""
    return {
        "hypervisor": f"QEMU {told['qemu']}, {str(told['accelerator']).upper()}{other}",
        **told,
        "host": guest.host.name,
        "pod_cpus": guest.pod_cpus,
        "numa": "one node; the CPUs of QEMU's threads are any of the host's",
        "vnic": {
            "kind": vnic,
            "interface": guest.interface,
            "driver": guest.call(interfaces.driver, interface=guest.interface),
            "other_end": f"{guest.host.name}/{guest.tap}" if guest.tap else USER_NETWORK,
        },
    }
