"""Virtual functions of a NIC (SR-IOV), by the kernel's own files: made, found, taken back.

`of` and `capable` are asked where the NIC is. A function's interface is born in the machine's own network
namespace, wherever its NIC is; so `create` and `interface_of` run there. Ids: VF-01 the NIC has none, or too
few, VF-02 the kernel made none, VF-03 a function has no interface.
"""

from __future__ import annotations

import time
from pathlib import Path

from bmwg.drivers.api import JsonValue
from bmwg.methodology.errors import TestbedError

_NET, _PCI = Path("/sys/class/net"), Path("/sys/bus/pci/devices")
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
    device = _PCI / address
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
    """Node function: take all functions of a NIC back. Idempotent; a NIC that is gone has none."""
    file = _PCI / address / "sriov_numvfs"
    if _number(file):
        file.write_text("0")


def interface_of(*, address: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: the interface that a function's driver has made here; TestbedError VF-03 without."""
    device = _PCI / address
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
    group = device / "iommu_group"
    return {
        "address": address,
        "interface": names[0],
        "driver": (device / "driver").resolve().name,
        "iommu_group": int(group.resolve().name) if group.exists() else None,
    }
