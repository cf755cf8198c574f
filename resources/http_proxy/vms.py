"""Which driver starts the virtual machines of a run: named in the testbed file, kept in the run's header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.hosting.instance import VmDriver
from bmwg.drivers.testbed import load_testbed
from bmwg.resources.settings import Settings

KEY = "vms"  # in the testbed file and in the header


def vms_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return what the testbed file says of virtual machines; raises ConfigError as `load_testbed`."""
    return dict(load_testbed(settings.testbed).data.get(KEY, {}))


def vms_of_header(testbed: Mapping[str, Any]) -> VmDriver:
    """Return the driver that a run was begun with; it goes on with no other."""
    return VmDriver(**testbed.get(KEY, {}))
