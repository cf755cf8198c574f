"""The files of a program of this machine's packages: what an image of it holds, of any form that has one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from bmwg.methodology.errors import TestbedError

ACCOUNTS = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")
_LIBRARY = re.compile(r"(?:=>\s+)?(/\S+)\s+\(0x")
_TREES = {  # what a program needs beside itself and its libraries
    "squid": ("/usr/lib/squid", "/usr/share/squid", "/etc/squid"),
}


def require(program: str, packages: list[str]) -> str:
    """Return where a program is. Raises TestbedError PROG-01."""
    path = shutil.which(program)
    if path is None:
        raise TestbedError(
            "PROG-01",
            f"no `{program}` in PATH",
            hint=f"apt-get install --no-install-recommends {' '.join(packages)}",
        )
    return path


def closure(program: str, path: str) -> list[str]:
    """Files of a program at a path: itself, its trees, the libraries of every executable, the accounts."""
    found = {os.path.realpath(path), path, *ACCOUNTS}
    for tree in _TREES.get(program, ()):
        found |= {str(file) for file in Path(tree).rglob("*") if file.is_file()}
    for file in [name for name in found if os.access(name, os.X_OK)]:
        done = subprocess.run(["ldd", file], capture_output=True, text=True, timeout=10, check=False)
        found |= set(_LIBRARY.findall(done.stdout))
    found |= {str(file) for file in Path("/lib").glob("*/libnss_files.so.2")}
    return sorted(found)


def versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of packages; none where nothing tells them."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return {}
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())
