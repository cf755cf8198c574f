"""Guests that a node hosts: node functions that start them there, reach into them and end them.

The machines belong to the agent of the node and die with it. Ids: VM-06 the guest has no network, VM-08 there
is no such guest.
"""

from __future__ import annotations

import os

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines import architecture as architectures
from bmwg.drivers.machines import guest_image, guest_initramfs, guest_kernel, guest_views, qemu
from bmwg.drivers.machines.qemu import Accelerator, Disk, MachineSpec, Nic, NicModel
from bmwg.drivers.machines.qemu_machine import BOOT_DEADLINE_S, Machine
from bmwg.drivers.nodes import bounded, file_sizes, half_open
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_HELP_S = 10.0
_machines: dict[str, Machine] = {}


def probe(*, architecture: str = "") -> dict[str, str] | None:
    """Node function: what this node lacks to host a guest, as the fields of `Missing`; None when nothing.

    `architecture` is Debian's word, empty: the node's own.
    """
    wanted = architectures.named(architecture)
    lack = qemu.probe_program(wanted)
    if lack is None and isinstance(kernel := guest_kernel.of(wanted), Missing):
        lack = kernel
    if lack is None:
        lack = guest_initramfs.probe_shell(wanted)
    return {"what": lack.what, "reason": lack.reason, "mend": lack.mend} if lack else None


def translated(*, architecture: str = "") -> str:
    """Node function: why a guest's instructions would be translated here; empty where KVM runs them."""
    accelerator, why = qemu.probe_accelerator(architectures.named(architecture))
    return "" if accelerator is Accelerator.KVM else why


def no_vhost() -> str:
    """Node function: why this kernel cannot carry a guest's frames itself (vhost-net); empty where it can."""
    usable, why = qemu.probe_vhost()
    return translated() if usable else why


def no_user_network() -> str:
    """Node function: why QEMU has no user-mode network here; empty where it has one."""
    done = bounded.run([str(qemu.program()), "-netdev", "help"], deadline_s=_HELP_S)
    return "" if "user" in done.stdout.split() else "this QEMU was built without one"


def start(
    *,
    name: str,
    cpus: int,
    memory_octets: int,
    model: str,
    tap: str,
    mac: str,
    guest_address: str = "",
    host_address: str = "",
    vhost: bool | None = None,
    boot_deadline_s: float = BOOT_DEADLINE_S,
    libvirt: dict[str, JsonValue] | None = None,
    image: dict[str, str] | None = None,
    own_disk: str = "",
    redirected: dict[str, JsonValue] | None = None,
    architecture: str = "",
) -> JsonValue:
    """Node function: boot a guest with one NIC whose tap is an interface of this node; returns evidence.

    Both addresses are in prefix notation and of one network; without them the tap is left to whoever asked,
    and nothing is known of the guest's network. `vhost` says who carries a virtio NIC's frames; None: the
    kernel, where it can. The guest gets no more CPUs and memory than
    this machine has. `libvirt` (uri, own, uuid, folder, owner) has libvirt start it, and not us. `image` (its
    path and sha256, and where QEMU sees it, if elsewhere) is the guest's root in place of the host's; it is
    held against its hash before anything else. `own_disk` is a file that it has as a further disk.
    `redirected` (address, ports) is a user-mode network in place of the tap. One of another `architecture`
    than this machine's has a root of that one. Raises TestbedError VM-01..VM-06, VM-10..VM-13, IMAGE-06,
    IMAGE-07, and what `guest_image.examine` raises; nothing stays behind then.
    """
    disk = _disk(**image) if image is not None else None
    of = architectures.named(architecture)
    accelerator, _ = qemu.probe_accelerator(of)
    if vhost is None:
        vhost = model == NicModel.VIRTIO and qemu.probe_vhost()[0] and accelerator is Accelerator.KVM
    nic = Nic(
        tap=tap,
        mac=mac,
        model=NicModel(model),
        vhost=vhost,
        address=guest_address or None,
        gateway=host_address.partition("/")[0] or None,
        redirected=Redirected.from_builtins(redirected),
    )
    spec = MachineSpec(
        name=name,
        cpus=min(cpus, os.cpu_count() or 1),
        memory_octets=min(memory_octets, _half_of_memory()),
        accelerator=accelerator,
        nics=(nic,),
        disk=disk,
        own_disk=own_disk,
        views=guest_views.hidden() if of.native else guest_views.toolkit(),
        architecture=of,
    )
    machine = _made(spec, boot_deadline_s, libvirt)
    machine.__enter__()
    try:
        if redirected is None:
            _raise(tap, host_address)
        if guest_address:
            require_answer(name=name, address=guest_address.partition("/")[0])
    except BaseException:
        machine.stop()
        raise
    return kept(machine)


def kept(machine: Machine) -> JsonValue:
    """Have a machine that runs be known by its name until it is stopped; return evidence."""
    _machines[machine.spec.name] = machine
    return dict(machine.describe())


def _raise(tap: str, address: str) -> None:
    sysctl.quiet_ipv6(interface=tap)
    sysctl.write(key=f"net/ipv6/conf/{tap}/disable_ipv6", value="1")
    if address:
        interfaces.add_address(interface=tap, address=address)
    interfaces.up(interface=tap)


def _disk(*, path: str, sha256: str, shown: str = "") -> Disk:
    image = guest_image.require(path=path, sha256=sha256)
    octets = file_sizes.of_file(path)
    return Disk(file=image.file, path=shown or path, format=image.format, octets=octets)


def _made(spec: MachineSpec, boot_deadline_s: float, libvirt: dict[str, JsonValue] | None) -> Machine:
    if libvirt is None:
        return Machine(spec, boot_deadline_s=boot_deadline_s)
    from bmwg.drivers.machines.libvirt_machine import LibvirtMachine  # needs what few hosts have

    return LibvirtMachine(spec, boot_deadline_s=boot_deadline_s, **libvirt)


def require_answer(*, name: str, address: str, within_s: float = 10.0) -> None:
    """Raise TestbedError VM-06 unless the guest's kernel answers at its address, by refusing a connection."""
    if why := half_open.refuses(address=address, within_s=within_s):
        raise TestbedError(
            "VM-06",
            f"guest {name} has no network",
            expected=f"an answer from {address} within {within_s:g} s",
            found=why,
        )


def call(*, name: str, function: str, arguments: dict[str, JsonValue], within_s: float) -> JsonValue:
    """Node function: run a node function inside a guest."""
    return named(name).node.call_named(function, arguments, deadline_s=within_s)


def sample(*, name: str) -> JsonValue:
    """Node function: what the guest's QEMU uses on this node; fields of `instance.Sample`."""
    return named(name).sample()


def fault(*, name: str) -> str | None:
    """Node function: why the guest no longer serves; None while it runs."""
    try:
        return named(name).fault()
    except ToolkitError as error:
        return str(error)


def describe(*, name: str) -> JsonValue:
    """Node function: what runs, as QEMU tells it."""
    return dict(named(name).describe())


def stop(*, name: str) -> None:
    """Node function: end a guest. Idempotent."""
    machine = _machines.pop(name, None)
    if machine is not None:
        machine.stop()


def named(name: str) -> Machine:
    """Return a guest of this node. Raises DriverError VM-08."""
    if name not in _machines:
        raise DriverError(
            "VM-08", f"guest {name}", expected="a guest of this node", found=str(list(_machines))
        )
    return _machines[name]


def _half_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
