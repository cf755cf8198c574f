"""A PCI device under VFIO, for a program in user space: what that needs, how it is bound, who has it open.

Such a program reaches memory by the IOMMU alone, and the kernel gives it whole IOMMU groups. Without an IOMMU
it could write anywhere in the machine's memory, so that is refused. Ids: VF-05 a program keeps a device.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from bmwg.drivers.nodes import process
from bmwg.methodology.errors import TestbedError

VFIO_DRIVER = "vfio-pci"
VFIO_FOLDER = Path("/dev/vfio")
PCI = Path("/sys/bus/pci/devices")
_DRIVERS, _IOMMUS, _PROC = Path("/sys/bus/pci/drivers"), Path("/sys/class/iommu"), Path("/proc")
_PROBE = Path("/sys/bus/pci/drivers_probe")
_LOOK_S = 0.05
_RELEASE_S = 10.0


def no_vfio() -> dict[str, str] | None:
    """Node function: what is missing for a device under a program in user space; None: nothing."""
    if not (_DRIVERS / VFIO_DRIVER).is_dir():
        return {"what": "driver vfio-pci", "reason": "it is not loaded", "mend": "modprobe vfio-pci"}
    if not any(_IOMMUS.glob("*")):
        return {
            "what": "an IOMMU",
            "reason": f"{_IOMMUS} is empty",
            "mend": "switch it on in firmware and kernel (intel_iommu=on); a guest has it with its cables",
        }
    return None


def driver_of(address: str) -> str:
    """Return the driver that a device is bound to; empty without one."""
    driver = PCI / address / "driver"
    return driver.resolve().name if driver.exists() else ""


def group_of(address: str) -> int | None:
    """Return the number of a device's IOMMU group; None where there is no IOMMU."""
    group = PCI / address / "iommu_group"
    return int(group.resolve().name) if group.exists() else None


def bind(address: str) -> bool:
    """Take a device from its driver and give it to vfio-pci; False when it is not there after that."""
    device = PCI / address
    (device / "driver_override").write_text(VFIO_DRIVER)
    unbind(address)
    probe(address)
    group = group_of(address)
    return driver_of(address) == VFIO_DRIVER and group is not None and (VFIO_FOLDER / str(group)).exists()


def unbind(address: str) -> None:
    """Take a device from the driver that it is bound to, if any."""
    driver = PCI / address / "driver"
    if driver.exists():
        (driver / "unbind").write_text(address)


def probe(address: str) -> None:
    """Have the kernel look for a driver of a device; whether one took it is asked afterwards."""
    with contextlib.suppress(OSError):
        _PROBE.write_text(address)


def release(groups: Sequence[int]) -> None:
    """End whoever has one of these groups open. Raises TestbedError VF-05 for one who does not end.

    Call it for devices of the run alone; to take one away that is open, the kernel waits without a deadline.
    """
    end_s = time.monotonic() + _RELEASE_S
    while pids := sorted({pid for group in groups for pid in holders(group=group)}):
        if time.monotonic() > end_s:
            raise TestbedError(
                "VF-05",
                f"PCI devices of IOMMU groups {', '.join(map(str, groups))}",
                expected=f"nobody who has them open within {_RELEASE_S:g} s",
                found=f"processes {', '.join(map(str, pids))}",
            )
        process.kill(*pids)
        time.sleep(_LOOK_S)


def holders(*, group: int) -> list[int]:
    """Node function: the processes that have an IOMMU group open by VFIO."""
    file = str(VFIO_FOLDER / str(group))
    found = set()
    for link in _PROC.glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.readlink(link) == file:
                found.add(int(link.parts[-3]))
    return sorted(found)
