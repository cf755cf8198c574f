"""What tests need of this machine, skipped by its name where that is missing; root is its mark's affair."""

from __future__ import annotations

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
