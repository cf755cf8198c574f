"""The agent of a guest whose root is a disk image: it starts from the toolkit's share and goes over to it.

The image needs neither Python nor this toolkit. Once inside, the agent loads no module any more: what it is
asked for afterwards must stand in `_LOADED`.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue

NOTE = "/run/bmwg-root"  # the first root's script names there the partition that it took
_FIRST_PROCESS = "/proc/1/root"
_LOADED = ("bmwg.drivers.nodes.programs", "bmwg.drivers.nodes.process", "bmwg.drivers.nodes.probe")


def enter() -> dict[str, JsonValue]:
    """Node function: make the image's root this process' own; tells partition, file system and system."""
    for name in _LOADED:
        importlib.import_module(name)
    os.chroot(_FIRST_PROCESS)
    os.chdir("/")
    partition, file_system = Path(NOTE).read_text().split()
    return {"partition": partition, "file_system": file_system, "system": _system()}


def _system() -> str:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            lines = Path(path).read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition("=")
            if key == "PRETTY_NAME":
                return value.strip("\"'")[:200]
    return "unknown: no PRETTY_NAME in os-release"
