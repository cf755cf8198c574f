"""Board, firmware, storage and PCI devices."""

from __future__ import annotations

import re
from typing import Any

from bmwg.drivers.platform_record.collectors.hosting import is_guest
from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Unread,
    entries,
    integer,
    line,
    text_or_none,
)

_DMI = "/sys/class/dmi/id"
_NO_DMI = "the hypervisor shows this guest no SMBIOS"
_DATE = re.compile(r"(\d{2})/(\d{2})/(\d{4})")
_PCI = "/sys/bus/pci/devices"
_VIRTUAL_DISK = re.compile(r"QEMU |VBOX |VMware |Virtual disk\b", re.IGNORECASE)  # SCSI and ATA models


def host(group: Group) -> None:
    """Who made the machine, and its names."""
    absent = _NO_DMI if is_guest(group) else ""
    for field, name in (
        ("vendor", "sys_vendor"),
        ("product", "product_name"),
        ("serial", "product_serial"),
        ("board_vendor", "board_vendor"),
        ("board_name", "board_name"),
    ):
        group.file(field, f"{_DMI}/{name}", absent=absent)
    group.file("hostname", "/proc/sys/kernel/hostname")
    group.file("architecture", "/proc/sys/kernel/arch", absent="the kernel is older than 6.1")
    group.take("machines", "computed", "one record is of one machine", lambda: 1)


def bios(group: Group) -> None:
    """Firmware identity. Which settings were changed only a person knows (overlay)."""

    def date(text: str) -> str:
        if not (match := _DATE.fullmatch(line(text))):
            raise ValueError(f"no date MM/DD/YYYY: {text.strip()[:40]!r}")
        return f"{match[3]}-{match[1]}-{match[2]}"

    absent = _NO_DMI if is_guest(group) else ""
    group.file("vendor", f"{_DMI}/bios_vendor", absent=absent)
    group.file("version", f"{_DMI}/bios_version", absent=absent)
    group.file("date", f"{_DMI}/bios_date", date, absent=absent)

    def changes() -> Any:
        if text_or_none(group.source, f"{_DMI}/bios_version") is None and is_guest(group):
            raise NotApplicable("a guest without firmware has no settings that could have been changed")
        raise Unread("no interface tells which settings differ from the default: declare them")

    group.take("changes", "declared", "overlay", changes)


def storage(group: Group) -> None:
    """Block devices that hold something; loop, RAM and empty compressed devices are none."""

    def devices() -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in group.source.list_dir("/sys/block"):
            sectors = integer(text_or_none(group.source, f"/sys/block/{name}/size") or "0")
            if name.startswith(("loop", "ram")) or sectors == 0:
                continue
            media = text_or_none(group.source, f"/sys/block/{name}/queue/rotational")
            model = text_or_none(group.source, f"/sys/block/{name}/device/model")
            scheduler = text_or_none(group.source, f"/sys/block/{name}/queue/scheduler") or ""
            active = re.search(r"\[(\S+)\]", scheduler)
            found[name] = {
                "size_octets": sectors * 512,
                "model": model,
                "media": _media(name, model or "", media),
                "scheduler": active[1] if active else None,
            }
        if not found:
            raise NotApplicable("no block device")
        return found

    group.take("devices", "file", "/sys/block", devices)

    def root() -> dict[str, str]:
        for entry in group.source.read_file("/proc/self/mounts").splitlines():
            device, where, kind, *_ = entry.split(" ")
            if where == "/":
                return {"device": device, "file_system": kind}
        raise Unread("no file system is mounted on /")

    group.take("root_file_system", "file", "/proc/self/mounts", root)


def _media(name: str, model: str, rotational: str | None) -> str:
    """What the device stores on. That a virtual disk rotates is the hypervisor's default, not a fact."""
    if name.startswith(("vd", "xvd", "zram", "dm-", "md", "nbd", "rbd")) or _VIRTUAL_DISK.match(model):
        return "virtual"
    return {"0": "solid state", "1": "rotating"}.get(rotational or "", "not told")


def pci(group: Group) -> None:
    """Each PCI function: identity, driver, NUMA node, link, and the parameters of its PCI Express
    capability.
    """
    names = entries(group.source, _PCI)
    if not names:
        group.not_applicable("devices", "no PCI bus is visible here", _PCI)
        return
    for name in names:
        _function(group.sub(name), f"{_PCI}/{name}")


def _function(group: Group, path: str) -> None:
    def identity() -> dict[str, Any]:
        return {key: line(group.source.read_file(f"{path}/{key}")) for key in ("vendor", "device", "class")}

    def driver() -> str:
        try:
            return group.source.read_link(f"{path}/driver").rsplit("/", 1)[-1]
        except OSError:
            raise NotApplicable("no driver is bound") from None

    def node(text: str) -> int:
        number = integer(text)
        if number < 0:
            raise NotApplicable("the firmware assigns the device to no NUMA node")
        return number

    group.take("identity", "file", path, identity)
    group.take("driver", "file", f"{path}/driver", driver)
    group.file("numa_node", f"{path}/numa_node", node, absent="the kernel has no NUMA support")
    no_link = "the function has no PCI Express link"
    group.file("link_speed", f"{path}/current_link_speed", _link, absent=no_link)
    group.file("link_width", f"{path}/current_link_width", _width, absent=no_link)
    group.take(
        "express", "file", f"{path}/config", lambda: express(group.source.read_bytes(f"{path}/config"))
    )


def _link(text: str) -> str:
    if "Unknown" in text:
        raise NotApplicable("the function tells no link speed")
    return line(text)


def _width(text: str) -> int:
    if (lanes := integer(text)) in (0, 255):
        raise NotApplicable("the function tells no link width")
    return lanes


def express(config: bytes) -> dict[str, Any]:
    """Payload and read request sizes (octets) and ordering bits from the device control register.

    Offsets after the PCI Express base specification, capability 0x10.
    """
    if len(config) < 256:
        raise Unread(f"the kernel showed {len(config)} octets of configuration space, 256 are needed (root)")
    if not config[0x06] & 0x10:
        raise NotApplicable("the function has no capability list")
    pointer, seen = config[0x34] & 0xFC, set[int]()
    while 0x40 <= pointer <= 0xF4 and pointer not in seen:
        seen.add(pointer)
        if config[pointer] == 0x10:
            control = int.from_bytes(config[pointer + 8 : pointer + 10], "little")
            return {
                "max_payload_octets": 128 << (control >> 5 & 7),
                "max_read_request_octets": 128 << (control >> 12 & 7),
                "relaxed_ordering": bool(control & 0x10),
                "extended_tag": bool(control & 0x100),
                "no_snoop": bool(control & 0x800),
            }
        pointer = config[pointer + 1] & 0xFC
    raise NotApplicable("the function has no PCI Express capability")
