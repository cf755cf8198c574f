"""The network options that pods are measured with: the CNI options of the testbed file.

The run's header keeps them; a run that goes on takes them from there, as it takes its profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.testbed import NetworkSpec, load_testbed, network_spec
from bmwg.resources.settings import Settings

_CNI = "cni"
KEY = "networks"


def of_testbed(settings: Settings) -> dict[str, Any]:
    """Return the file's CNI options as it has them, by name. Raises ConfigError as reading the file does."""
    written: Mapping[str, Any] = load_testbed(settings.testbed).data[KEY]
    return {name: dict(entry) for name, entry in written.items() if entry["driver"] == _CNI}


def of_header(testbed: Mapping[str, Any]) -> tuple[NetworkSpec, ...]:
    """Return the options that a run's header keeps; none for a run from before there were any."""
    return tuple(network_spec(name, entry) for name, entry in testbed.get(KEY, {}).items())
