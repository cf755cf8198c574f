"""What tests need of this machine, skipped by its name where that is missing; root is its mark's affair."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.network import ovs_parts

needs_cni = pytest.mark.skipif(
    not Path("/usr/lib/cni/bridge").exists(), reason="needs apt-get install containernetworking-plugins"
)
needs_crun = pytest.mark.skipif(shutil.which("crun") is None, reason="needs apt-get install crun")
needs_vswitch = pytest.mark.skipif(
    isinstance(ovs_parts.find(), Missing), reason="needs Open vSwitch: sh setup/vswitch.sh"
)


def real_time_allowed() -> bool:
    """Whether this control group has a share of the kernel's time for real-time threads."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


needs_real_time = pytest.mark.skipif(  # most containers have none
    not real_time_allowed(), reason="needs a control group with a share of real-time time (cpu.rt_runtime_us)"
)


class _Probed(Protocol):
    def probe(self) -> Missing | None: ...


DriverT = TypeVar("DriverT", bound=_Probed)


def skip_for(missing: Missing | None) -> None:
    """Skip the test for what is missing, if anything is."""
    if missing is not None:
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")


def able(driver: DriverT) -> DriverT:
    """Return a driver that lacks nothing here; else skip the test for what it lacks."""
    skip_for(driver.probe())
    return driver
