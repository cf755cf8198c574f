"""PCI ports: NICs that a run takes from their kernel driver for a program in user space, and gives back.

Node functions. What a NIC is gets read first, since its kernel driver takes the answers with it. One that
anything uses, that shares its IOMMU group, or whose NUMA node lacks hugepages is refused as it stands. A NIC
with a bifurcated driver stays with the kernel: a program asks that driver for its frames.

Ids: PCI-01 no such NIC, PCI-02 no IOMMU or no vfio-pci, PCI-03 its IOMMU group holds more, PCI-04 no NIC of
a kernel driver with one interface, PCI-05 it did not go to vfio-pci, PCI-06 it did not come back, PCI-07 too
few hugepages on its NUMA node.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import pages
from bmwg.drivers.ports import interfaces, lab_port, vfio
from bmwg.methodology.errors import TestbedError

ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
BIFURCATED = ("mlx4_core", "mlx5_core", "mana")  # DPDK's drivers of these work beside the kernel's
_NET = Path("/sys/class/net")
_NETWORK_CLASS, _BRIDGE_CLASS = "0x02", "0x0604"
_LOOK_S = 0.05
_COMMAND_DEADLINE_S = 5.0
_OVERRIDE_NONE = "(null)"


def address_of(*, port: str) -> str:
    """Node function: the PCI address of a port, which names an interface or is that address.

    Raises TestbedError PCI-01, LINK-01.
    """
    address = port.lower()
    if ADDRESS.fullmatch(address):
        nics = _nics()
        if address in nics:
            return address
        there = (vfio.PCI / address).exists()
        raise TestbedError(
            "PCI-01",
            f"port {port}; nothing was bound",
            expected=f"a NIC of this host ({', '.join(nics) or 'it has none on a PCI bus'})",
            found="a device that is no NIC" if there else "no device of this address",
            hint=_near(address, nics),
        )
    if not (_NET / port).exists():
        with interfaces.rtnetlink(f"look for {port}") as kernel:
            interfaces.index(kernel, port)  # raises, with the near names
    if (found := _address_behind(port)) is None:
        raise TestbedError(
            "PCI-01",
            f"port {port}; nothing was bound",
            expected="an interface of a NIC on a PCI bus",
            found="an interface without such a device",
            hint="a virtual interface is a port of kind xdp, af_xdp or af_packet",
        )
    return found


def _nics() -> list[str]:
    found = []
    for device in sorted(vfio.PCI.glob("*")):
        with contextlib.suppress(OSError):
            if (device / "class").read_text().startswith(_NETWORK_CLASS):
                found.append(device.name)
    return found


def _near(address: str, nics: list[str]) -> str:
    near = difflib.get_close_matches(address, nics, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _address_behind(interface: str) -> str | None:
    """Return the PCI address of an interface's device; that of virtio lies one bus below."""
    device = (_NET / interface / "device").resolve()
    return next((one.name for one in (device, device.parent) if ADDRESS.fullmatch(one.name)), None)


def interfaces_of(address: str) -> list[str]:
    """Return the interfaces that the kernel driver of a NIC has made here."""
    device = vfio.PCI / address
    return sorted(path.name for pattern in ("net/*", "virtio*/net/*") for path in device.glob(pattern))


def names_of(*, port: str) -> tuple[str, ...]:
    """Node function: all names of a port, its own first: PCI address and interface, where it has them."""
    address = port.lower() if ADDRESS.fullmatch(port.lower()) else _address_behind(port)
    others = [address, *interfaces_of(address)] if address else []
    return tuple(dict.fromkeys([port, *others]))


def names_of_all(ports: Iterable[str]) -> tuple[str, ...]:
    """Return all names of several ports, each once."""
    return tuple(dict.fromkeys(name for port in ports for name in names_of(port=port)))


def require_free(*, port: str, memory_mib: int = 0) -> dict[str, JsonValue]:
    """Node function: what the NIC is; refused as it stands where a run cannot take it. Changes nothing.

    `memory_mib` is what the program needs in hugepages on the NIC's NUMA node. Raises TestbedError PCI-01 to
    PCI-04, PCI-07, and PORT-01 for a NIC that anything else uses.
    """
    address = address_of(port=port)
    where = f"port {port} ({address})" if port != address else f"port {port}"
    driver, names = vfio.driver_of(address), interfaces_of(address)
    if len(names) != 1:
        raise TestbedError(
            "PCI-04",
            f"{where}; nothing was bound",
            expected="a NIC of its kernel driver, with one interface",
            found=f"driver {driver or 'none'}, interfaces: {', '.join(names) or 'none'}",
            hint="the run takes it itself: `bmwg cleanup --all` gives back what a killed run left,"
            " `dpdk-devbind.py -b <kernel driver>` what a person bound",
        )
    found = {**lab_port.require_bare(interface=names[0]), **_identity(address, names[0])}
    if driver not in BIFURCATED:
        _require_iommu(address, where)
    _require_pages(found["numa_node"], memory_mib, where)
    return {**found, "bifurcated": driver in BIFURCATED}


def _identity(address: str, interface: str) -> dict[str, JsonValue]:
    device = vfio.PCI / address
    return {
        "address": address,
        "driver": vfio.driver_of(address),
        "firmware": _firmware(interface),
        "vendor": _line(device / "vendor"),
        "device": _line(device / "device"),
        "pcie_speed": _line(device / "current_link_speed"),
        "pcie_width": _line(device / "current_link_width"),
        "numa_node": _numa_node(device),
        "iommu_group": vfio.group_of(address),
        "override": _override(device),
    }


def _line(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _numa_node(device: Path) -> int | None:
    said = _line(device / "numa_node")
    return int(said) if said and said != "-1" else None


def _override(device: Path) -> str:
    said = _line(device / "driver_override") or ""
    return "" if said == _OVERRIDE_NONE else said


def _firmware(interface: str) -> str | None:
    """Return what the driver tells of the NIC's firmware; None where it tells nothing."""
    try:
        said = subprocess.run(
            ["ethtool", "-i", interface],
            capture_output=True,
            text=True,
            timeout=_COMMAND_DEADLINE_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    pairs = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    told = pairs.get("firmware-version", "").strip()
    return told if told not in ("", "N/A") else None


def _require_iommu(address: str, where: str) -> None:
    if lack := vfio.no_vfio():
        raise TestbedError(
            "PCI-02",
            f"{where}; nothing was bound",
            expected="vfio-pci and an IOMMU that is on",
            found=f"{lack['what']}: {lack['reason']}",
            hint=lack["mend"],
        )
    group = vfio.PCI / address / "iommu_group"
    others = sorted(
        path.name
        for path in (group / "devices").glob("*")
        if path.name != address and not (_line(path / "class") or "").startswith(_BRIDGE_CLASS)
    )
    if not group.exists() or others:
        raise TestbedError(
            "PCI-03",
            f"{where}; nothing was bound",
            expected="an IOMMU group that holds this NIC alone (bridges on its way apart)",
            found=f"group {vfio.group_of(address)} with {', '.join(others)}" if others else "no group",
            hint="another slot, or ACS in the firmware: the kernel gives a program a whole group",
        )


def _require_pages(numa_node: int | None, memory_mib: int, where: str) -> None:
    free_mib = 2 * pages.free(2048, numa_node) + 1024 * pages.free(1048576, numa_node)
    if free_mib >= memory_mib:
        return
    folder = pages.pool(2048, numa_node)
    raise TestbedError(
        "PCI-07",
        f"{where}; nothing was bound",
        expected=f"{memory_mib} MiB of free hugepages on NUMA node {0 if numa_node is None else numa_node}",
        found=f"{free_mib} MiB",
        hint=f"echo {-(-memory_mib // 2)} > {folder}/nr_hugepages",
    )


def take(*, address: str) -> None:
    """Node function: bind the NIC to vfio-pci. Raises TestbedError PCI-05 when it is not there after that."""
    if not vfio.bind(address):
        raise TestbedError(
            "PCI-05",
            f"NIC {address}; nothing was sent",
            expected=f"driver {vfio.VFIO_DRIVER} and its group below {vfio.VFIO_FOLDER}",
            found=f"driver {vfio.driver_of(address) or 'none'}, group {vfio.group_of(address)}",
            hint="the kernel's log says why",
        )


def give_back(
    *,
    address: str,
    driver: str,
    interface: str,
    mac: str,
    mtu_octets: int,
    up: bool,
    override: str = "",
    within_s: float = 20.0,
) -> None:
    """Node function: the NIC is its kernel driver's again, by its old name and as it was. Idempotent.

    A program that still has it open is ended first. Rings, queues and offloads are those that the driver
    begins with. Raises TestbedError PCI-06, VF-05.
    """
    device = vfio.PCI / address
    if not device.exists():
        raise _lost(address, interface, f"driver {driver}", "no device of this address")
    if vfio.driver_of(address) == vfio.VFIO_DRIVER:
        group = vfio.group_of(address)
        vfio.release([] if group is None else [group])
    (device / "driver_override").write_text(override or "\n")
    if vfio.driver_of(address) != driver:
        vfio.unbind(address)
        vfio.probe(address)
    _named(address, interface, driver, within_s)
    now = {str(one["name"]): one for one in interfaces.listing()}[interface]
    if now["mac"] != mac:
        interfaces.set_mac(interface=interface, mac=mac)
    if now["mtu_octets"] != mtu_octets:
        interfaces.set_mtu(interface=interface, mtu_octets=mtu_octets)
    if up:
        interfaces.up(interface=interface)
    else:
        interfaces.down(interface=interface)


def _named(address: str, interface: str, driver: str, within_s: float) -> None:
    """Wait for the NIC's interface and give it its name: the kernel, or udev, may have given another one."""
    end_s = time.monotonic() + within_s
    while (names := interfaces_of(address)) != [interface]:
        if time.monotonic() > end_s:
            found = f"driver {vfio.driver_of(address) or 'none'}, interfaces: {', '.join(names) or 'none'}"
            raise _lost(address, interface, f"interface {interface} of driver {driver}", found)
        if len(names) == 1:
            with contextlib.suppress(TestbedError):  # udev was faster, or the name is not free yet
                interfaces.down(interface=names[0])
                interfaces.rename(interface=names[0], name=interface)
        time.sleep(_LOOK_S)


def _lost(address: str, interface: str, expected: str, found: str) -> TestbedError:
    return TestbedError(
        "PCI-06",
        f"port {interface} ({address}) did not come back",
        expected=expected,
        found=found,
        hint=f"echo {address} > /sys/bus/pci/drivers_probe, and look at the kernel's log",
    )
