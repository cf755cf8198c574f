"""What HTTP experiments keep of a testbed file: the network options of pods, and a row of hosts.

A run that goes on takes them from its header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.hosting.instance import CRUN
from bmwg.drivers.testbed import NetworkSpec, load_testbed, network_spec
from bmwg.drivers.testbed_row import row_part
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan.planning import Networks
from bmwg.resources.early import require_drivers
from bmwg.resources.settings import Settings

KEY = "networks"  # in the header, as in the file


def networks_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return the file's network options as it has them, by name, but those that `all` leaves out (planning).

    Raises ConfigError as reading the file does, INST-05 on a runtime that a run's header could not tell, and
    what `require_drivers` raises.
    """
    testbed = load_testbed(settings.testbed)
    if testbed.pods.runtime != CRUN:
        raise ConfigError(
            "INST-05",
            f"{testbed.file}: pods.runtime; nothing was started",
            expected=f"{CRUN}, the only one that proxies in pods of a network option are measured with",
            found=testbed.pods.runtime,
            hint="forms kubernetes and kubernetes_service make a cluster of their own: name no testbed file",
        )
    require_drivers(testbed)
    left_out = Networks.of(testbed.data[KEY]).named_only
    return {name: dict(entry) for name, entry in testbed.data[KEY].items() if name not in left_out}


def networks_of_header(testbed: Mapping[str, Any]) -> tuple[NetworkSpec, ...]:
    """Return the options that a run's header keeps; none for a run from before there were any."""
    return tuple(network_spec(name, entry) for name, entry in testbed.get(KEY, {}).items())


def row_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return what a run keeps of a file with a row of hosts: name, hosts, cables and roles; or nothing."""
    data = load_testbed(settings.testbed).data
    part = row_part(data)
    return {"name": data["name"], **part} if part else {}
