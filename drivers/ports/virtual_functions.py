"""Virtual functions of a NIC (SR-IOV), by the kernel's own files: made, found, taken back.

`of`, `capable` and `set_mac` are asked where the NIC is. A function's interface is born in the machine's own
network namespace, wherever its NIC is; so `create` and `interface_of` run there. Ids: VF-01 the NIC has none,
or too few, VF-02 the kernel made none, VF-03 a function has no interface, VF-04 a function does not go to
VFIO.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import vfio
from bmwg.drivers.ports.interfaces import index, rtnetlink
from bmwg.methodology.errors import TestbedError

_NET = Path("/sys/class/net")
_INTERRUPTS = Path("/proc/irq")
_LOOK_S = 0.05


def of(*, interface: str) -> dict[str, JsonValue]:
    """Node function: PCI address, driver and numbers of functions of a NIC; TestbedError VF-01 without."""
    device = _NET / interface / "device"
    total = _number(device / "sriov_totalvfs")
    if not total:
        raise TestbedError(
            "VF-01",
            f"interface {interface}",
            expected="a NIC with virtual functions (SR-IOV)",
            found="a NIC without" if device.exists() else "an interface without a device",
            hint="`bmwg run --in-guest --testbed testbeds/guest-sriov.yaml` has such NICs",
        )
    return {
        "interface": interface,
        "address": device.resolve().name,
        "driver": (device / "driver").resolve().name,
        "total": total,
        "configured": _number(device / "sriov_numvfs"),
    }


def capable() -> dict[str, int]:
    """Node function: the NICs here that can have virtual functions, with how many."""
    totals = {path.name: _number(path / "device" / "sriov_totalvfs") for path in sorted(_NET.iterdir())}
    return {name: total for name, total in totals.items() if total}


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def create(*, address: str, count: int) -> list[str]:
    """Node function: have the NIC make `count` functions; returns their PCI addresses in order.

    Raises TestbedError VF-01 where it has functions of somebody else's already, VF-02 when the kernel
    refuses.
    """
    device = vfio.PCI / address
    if found := _number(device / "sriov_numvfs"):
        raise TestbedError(
            "VF-01",
            f"NIC {address}",
            expected="a NIC that nobody uses virtual functions of",
            found=f"{found} of {_number(device / 'sriov_totalvfs')} made already",
            hint="echo 0 into its sriov_numvfs if they are nobody's",
        )
    try:
        (device / "sriov_numvfs").write_text(str(count))
    except OSError as error:
        raise TestbedError(
            "VF-02", f"NIC {address}", expected=f"{count} virtual functions", found=str(error)
        ) from error
    return [(device / f"virtfn{number}").resolve().name for number in range(count)]


def remove(*, address: str) -> None:
    """Node function: take all functions of a NIC back. Idempotent; a NIC that is gone has none.

    A program that has one of them open by VFIO is ended first: the kernel would wait for it without a
    deadline. Raises TestbedError VF-05 when it does not end.
    """
    device = vfio.PCI / address
    if not _number(device / "sriov_numvfs"):
        return
    groups = [vfio.group_of(function.resolve().name) for function in sorted(device.glob("virtfn*"))]
    vfio.release([group for group in groups if group is not None])
    (device / "sriov_numvfs").write_text("0")


def place_interrupts(*, address: str, cpus: list[int]) -> list[dict[str, JsonValue]]:
    """Node function: have these CPUs serve a function's interrupts; returns what the kernel then says.

    Forwarding by the kernel is done in them, so elsewhere it would take the tester's CPU. An interrupt that
    the kernel does not move stays where it is, as the answer says.
    """
    found: list[dict[str, JsonValue]] = []
    for file in sorted((vfio.PCI / address / "msi_irqs").glob("*"), key=lambda path: int(path.name)):
        affinity = _INTERRUPTS / file.name / "smp_affinity_list"
        with contextlib.suppress(OSError):
            affinity.write_text(",".join(map(str, cpus)))
        with contextlib.suppress(OSError):
            found.append({"interrupt": int(file.name), "cpus": affinity.read_text().strip()})
    return found


def set_mac(*, interface: str, number: int, mac: str) -> None:
    """Node function: give function `number` of a NIC its MAC, before a driver asks for it."""
    with rtnetlink(f"set MAC of function {number} of {interface}") as kernel:
        kernel.link("set", index=index(kernel, interface), vf={"vf": number, "mac": mac})


def to_vfio(*, address: str) -> dict[str, JsonValue]:
    """Node function: take a function from its driver and give it to vfio-pci; it goes with the function.

    Raises TestbedError VF-04 when it is not there after that.
    """
    bound, group = vfio.bind(address), vfio.group_of(address)
    if not bound:
        raise TestbedError(
            "VF-04",
            f"virtual function {address}",
            expected=f"driver {vfio.VFIO_DRIVER} and its group below {vfio.VFIO_FOLDER}",
            found=f"driver {vfio.driver_of(address) or 'none'}, group {'none' if group is None else group}",
            hint="does the machine have an IOMMU that is on, and a group of its own for each function?",
        )
    return {"address": address, "driver": vfio.VFIO_DRIVER, "iommu_group": group}


def interface_of(*, address: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: the interface that a function's driver has made here; TestbedError VF-03 without."""
    device = vfio.PCI / address
    end_s = time.monotonic() + within_s
    while not (names := [path.name for path in (device / "net").glob("*")]):
        if time.monotonic() > end_s:
            driver = (device / "driver").resolve().name if (device / "driver").exists() else "none"
            raise TestbedError(
                "VF-03",
                f"virtual function {address}",
                expected=f"an interface within {within_s:g} s",
                found=f"driver {driver}",
                hint="is the driver of the functions loaded (igbvf, iavf, mlx5_core)?",
            )
        time.sleep(_LOOK_S)
    return {
        "address": address,
        "interface": names[0],
        "driver": (device / "driver").resolve().name,
        "iommu_group": vfio.group_of(address),
    }
