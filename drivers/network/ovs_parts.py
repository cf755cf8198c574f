"""The programs of Open vSwitch with DPDK: unpacked by set-up or installed, never started as a service.

`sh setup/vswitch.sh` unpacks Debian's packages below /var/cache/bmwg/vswitch; an installed Open vSwitch with
DPDK serves as well. Ids: VSW-01 a program is not there.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.methodology.errors import TestbedError

CACHE = Path("/var/cache/bmwg/vswitch/root")
FETCH_LINE = "sh setup/vswitch.sh"
_PROGRAMS = {
    "switch": ("usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "usr/sbin/ovs-vswitchd-dpdk"),
    "database": ("usr/sbin/ovsdb-server",),
    "database_tool": ("usr/bin/ovsdb-tool",),
    "configure": ("usr/bin/ovs-vsctl",),
    "flows": ("usr/bin/ovs-ofctl",),
    "ask": ("usr/bin/ovs-appctl",),
    "schema": ("usr/share/openvswitch/vswitch.ovsschema",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OvsParts:
    """Paths of the programs and of the database's schema, all below one folder."""

    switch: str
    database: str
    database_tool: str
    configure: str
    flows: str
    ask: str
    schema: str


def find(folders: tuple[Path, ...] = (CACHE, Path("/"))) -> OvsParts | Missing:
    """Return the programs below the first of `folders` that has them all, or what is missing."""
    for folder in folders:
        found = {name: _first(folder, paths) for name, paths in _PROGRAMS.items()}
        if all(found.values()):
            return OvsParts(**{name: str(path) for name, path in found.items()})
    return Missing(
        what="Open vSwitch with DPDK",
        reason=f"no ovs-vswitchd-dpdk with its tools below {' or '.join(map(str, folders))}",
        mend=FETCH_LINE,
    )


def _first(folder: Path, paths: tuple[str, ...]) -> Path | None:
    return next((folder / path for path in paths if (folder / path).is_file()), None)


def require() -> OvsParts:
    """Return the programs; TestbedError VSW-01 without them."""
    found = find()
    if isinstance(found, Missing):
        raise TestbedError("VSW-01", f"no {found.what}", found=found.reason, hint=found.mend)
    return found


def probe() -> dict[str, str] | None:
    """Node function: return what is missing (fields of `drivers.api.Missing`): the programs, a library."""
    found = find()
    if isinstance(found, Missing):
        return {"what": found.what, "reason": found.reason, "mend": found.mend}
    said = _said([found.switch, "--version"])
    if "Open vSwitch" not in said:
        return {"what": "a library of Open vSwitch with DPDK", "reason": said, "mend": FETCH_LINE}
    return None


def describe() -> dict[str, JsonValue]:
    """Node function: return the versions that the switch tells, and what its program is."""
    parts = require()
    lines = _said([parts.switch, "--version"]).splitlines()
    program = Path(parts.switch)
    return {
        "program": str(program),
        "sha256": hashlib.sha256(program.read_bytes()).hexdigest(),
        "supported_versions": [line.strip() for line in lines if line.strip()],
    }


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return (done.stdout + done.stderr).strip()
