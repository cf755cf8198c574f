"""The files of a program of this machine's packages: what an image of it holds, of any form that has one."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from bmwg.methodology.errors import TestbedError

ACCOUNTS = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")
_FOLDERS = ("tmp", "run", "proc", "sys", "dev", "etc")
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


def layer(files: list[str]) -> bytes:
    """Return an uncompressed layer of an image: folders, links of a merged /usr, files by their names."""
    folders: set[str] = set(_FOLDERS)
    links: dict[str, str] = {}
    contents: dict[str, Path] = {}
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink(f"/{name}"):
            links[name] = os.readlink(f"/{name}")
    for path in files:
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        while os.path.islink(place):
            target = os.readlink(place)
            links[place.lstrip("/")] = target
            place = os.path.normpath(os.path.join(os.path.dirname(place), target))
            place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        contents[place.lstrip("/")] = Path(place)
    for name in (*links, *contents):
        folders |= {str(parent) for parent in Path(name).parents if str(parent) != "."}
    for target in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
        folders |= {target, "usr"}
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted(folders - set(links)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder in ("tmp", "run") else 0o755
            tar.addfile(entry)
        for name, target in sorted(links.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for name, file in sorted(contents.items()):
            add(tar, name, file.read_bytes(), mode=file.stat().st_mode & 0o755)
    return output.getvalue()


def add(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a file, without a time."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))
