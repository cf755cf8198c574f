"""What HTTP experiments keep of a testbed file: networks of pods, their runtime, and a row of hosts.

A run that goes on takes them from its header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.instance import CRUN
from bmwg.drivers.api.protocols import ClusterRuntime
from bmwg.drivers.testbed.file import NetworkSpec, load_testbed, network_spec
from bmwg.drivers.testbed.row import row_part
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan.planning import Networks
from bmwg.resources.run.early import require_drivers
from bmwg.resources.run.settings import Settings

KEY, PODS = "networks", "pods"  # in the header, as in the file
_RUNTIME = "runtime"


def networks_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return the file's network options as it has them, by name, but those that `all` leaves out (planning).

    Raises ConfigError as reading the file does, INST-05 on a runtime whose pods a cluster attaches, and what
    `require_drivers` raises.
    """
    testbed = load_testbed(settings.testbed)
    require_drivers(testbed)
    if _of_a_cluster(testbed.pods.runtime):
        others = [name for name in registry.names(registry.RUNTIME) if not _of_a_cluster(name)]
        raise ConfigError(
            "INST-05",
            f"{testbed.file}: pods.runtime; nothing was started",
            expected=f"{' or '.join(others)}: the run itself attaches a proxy's pod to clients and servers",
            found=testbed.pods.runtime,
            hint="forms kubernetes and kubernetes_service make a cluster of their own: name no testbed file",
        )
    left_out = Networks.of(testbed.data[KEY]).named_only
    return {name: dict(entry) for name, entry in testbed.data[KEY].items() if name not in left_out}


def _of_a_cluster(runtime: str) -> bool:
    return issubclass(registry.load(registry.RUNTIME, runtime), ClusterRuntime)


def pods_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return what a run keeps of the file's `pods`: another runtime than the default one, or nothing."""
    runtime = load_testbed(settings.testbed).pods.runtime
    return {} if runtime == CRUN else {_RUNTIME: runtime}


def runtime_of_header(testbed: Mapping[str, Any]) -> str:
    """Return what makes the pods of a run, by its header."""
    return str(testbed.get(PODS, {}).get(_RUNTIME, CRUN))


def networks_of_header(testbed: Mapping[str, Any]) -> tuple[NetworkSpec, ...]:
    """Return the options that a run's header keeps."""
    return tuple(network_spec(name, entry) for name, entry in testbed.get(KEY, {}).items())


def row_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return what a run keeps of a file with a row of hosts: name, hosts, cables and roles; or nothing."""
    data = load_testbed(settings.testbed).data
    part = row_part(data)
    return {"name": data["name"], **part} if part else {}
