"""The description of a guest as libvirt takes it, and what the description of a running one tells.

A pure translation of `qemu.MachineSpec`, made and read by the standard library's XML. Does not speak to
libvirt.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, SubElement

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import qemu
from bmwg.drivers.machines.guest_initramfs import CHANNEL, MODULES_TAG, ROOT_TAG
from bmwg.drivers.machines.qemu import Accelerator, Disk, MachineSpec, Nic, NicModel
from bmwg.drivers.nodes import process

_QEMU_NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
_TYPES = {Accelerator.KVM: "kvm", Accelerator.TCG: "qemu"}  # libvirt's words
_MODELS = {NicModel.E1000: "e1000", NicModel.VIRTIO: "virtio"}
ET.register_namespace("qemu", _QEMU_NAMESPACE)


def write(
    spec: MachineSpec,
    *,
    uuid: str,
    owner: str,
    kernel: Path,
    modules: Path,
    initramfs: Path,
    emulator: str,
    channel: Path,
    console: Path,
    confinements: Collection[str] = (),
) -> str:
    """Return the domain's XML.

    QEMU connects to the socket `channel` for the agent and writes the guest's console to the file `console`.
    `confinements` are the security models that the host's libvirt names: QEMU runs as root under none of
    them, since it shows the guest this host's root, and none may change the owner of a file. `owner` labels
    QEMU's process.
    """
    domain = Element("domain", {"type": _TYPES[spec.accelerator]})
    _text(domain, "name", spec.name)
    _text(domain, "uuid", uuid)
    _text(domain, "memory", str(spec.memory_octets), unit="b")
    _text(domain, "vcpu", str(spec.cpus), placement="static")
    _boot(domain, spec, kernel, initramfs)
    SubElement(SubElement(domain, "features"), "acpi")
    _cpu(domain, spec)
    for event in ("on_poweroff", "on_reboot", "on_crash"):
        _text(domain, event, "destroy")
    devices = SubElement(domain, "devices")
    _text(devices, "emulator", emulator)
    SubElement(devices, "controller", {"type": "usb", "model": "none"})
    _share(devices, Path("/"), ROOT_TAG, writable=False)
    _share(devices, modules, MODULES_TAG, writable=False)
    for folder, tag in sorted(spec.shares.items()):
        _share(devices, Path(folder), tag, writable=True)
    if spec.disk is not None:
        _disk(devices, spec.disk)
    for nic in spec.nics:
        _nic(devices, nic)
    serial = SubElement(devices, "serial", {"type": "file"})
    SubElement(serial, "source", {"path": str(console)})
    port = SubElement(devices, "channel", {"type": "unix"})
    SubElement(port, "source", {"mode": "connect", "path": str(channel)})
    SubElement(port, "target", {"type": "virtio", "name": CHANNEL})
    SubElement(devices, "memballoon", {"model": "none"})
    for model in sorted(confinements):
        _unconfined(domain, model)
    if owner:
        command_line = SubElement(domain, f"{{{_QEMU_NAMESPACE}}}commandline")
        label = {"name": process.OWNER_VARIABLE, "value": owner}
        SubElement(command_line, f"{{{_QEMU_NAMESPACE}}}env", label)
    return ET.tostring(domain, encoding="unicode")


def _text(parent: Element, tag: str, text: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = text


def _boot(domain: Element, spec: MachineSpec, kernel: Path, initramfs: Path) -> None:
    system = SubElement(domain, "os")
    _text(system, "type", "hvm", arch=spec.architecture.kernel, machine=spec.architecture.machine)
    _text(system, "kernel", str(kernel))
    _text(system, "initrd", str(initramfs))
    _text(system, "cmdline", qemu.kernel_line(spec))


def _cpu(domain: Element, spec: MachineSpec) -> None:
    if spec.accelerator is Accelerator.KVM:
        SubElement(domain, "cpu", {"mode": "host-passthrough"})
        return
    cpu = SubElement(domain, "cpu", {"mode": "custom", "match": "exact", "check": "none"})
    _text(cpu, "model", spec.architecture.model, fallback="forbid")
    for feature in spec.architecture.features:
        SubElement(cpu, "feature", {"policy": "require", "name": feature})


def _share(devices: Element, folder: Path, tag: str, *, writable: bool) -> None:
    share = SubElement(
        devices, "filesystem", {"type": "mount", "accessmode": "squash", "multidevs": "remap"}
    )  # squash is QEMU's security_model=none
    SubElement(share, "source", {"dir": str(folder)})
    SubElement(share, "target", {"dir": tag})
    if not writable:
        SubElement(share, "readonly")


def _disk(devices: Element, disk: Disk) -> None:
    element = SubElement(devices, "disk", {"type": "file", "device": "disk"})
    SubElement(element, "driver", {"name": "qemu", "type": disk.format.value})
    SubElement(element, "source", {"file": disk.path})
    SubElement(element, "backingStore")  # empty: nothing is below it, and nobody looks
    SubElement(element, "target", {"dev": "vda", "bus": "virtio"})
    SubElement(element, "readonly")


def _nic(devices: Element, nic: Nic) -> None:
    interface = SubElement(devices, "interface", {"type": "ethernet"})
    SubElement(interface, "mac", {"address": nic.mac})
    SubElement(interface, "target", {"dev": nic.tap, "managed": "no"})
    SubElement(interface, "model", {"type": _MODELS[nic.model]})
    if nic.model is NicModel.VIRTIO:
        SubElement(interface, "driver", {"name": "vhost" if nic.vhost else "qemu"})
    SubElement(interface, "rom", {"enabled": "no"})


def _unconfined(domain: Element, model: str) -> None:
    if model == "dac":
        label = SubElement(domain, "seclabel", {"type": "static", "model": model, "relabel": "no"})
        _text(label, "label", "+0:+0")
    else:
        SubElement(domain, "seclabel", {"type": "none", "model": model})


def confinements(capabilities: str) -> list[str]:
    """Return the security models that a host's capabilities (XML) name."""
    return [
        model.text
        for model in ET.fromstring(capabilities).findall("./host/secmodel/model")
        if model.text and model.text != "none"
    ]


def nics(described: str) -> list[dict[str, JsonValue]]:
    """Return the NICs of a running domain from its XML: alias, tap, and the model in libvirt's word."""
    found = []
    for interface in ET.fromstring(described).findall("./devices/interface"):
        parts = {part.tag: part.attrib for part in interface}
        found.append(
            {
                "alias": parts.get("alias", {}).get("name", ""),
                "attached_by": interface.get("type", ""),
                "tap": parts.get("target", {}).get("dev", ""),
                "model": parts.get("model", {}).get("type", ""),
            }
        )
    return found


def domain_type(described: str) -> str:
    """Return the type of a running domain from its XML: `kvm` or `qemu`."""
    return ET.fromstring(described).get("type", "")
