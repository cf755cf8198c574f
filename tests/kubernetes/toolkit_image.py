"""An image of the toolkit for pods: this checkout as a wheel, what it needs, and this machine's Python.

It stands for one that a registry has. No registry can be reached here, and that of docs/container.md takes
minutes to build; what a pod starts in both is the installed toolkit with the commit noted in it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from bmwg.drivers.kubernetes import image
from bmwg.drivers.nodes import program_files
from bmwg.resources.run.provenance import toolkit_state

ROOT = Path(__file__).resolve().parents[2]
NAME = "bmwg.invalid/toolkit:run"  # the name cannot be resolved: it is imported, never fetched
EXTRAS = frozenset({"run", "kubernetes"})
_PROGRAMS = ("sh", "env", "uname")
_LEFT_OUT = {"__pycache__", "test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter"}
_PACKAGES = "opt/bmwg"
_BUILD = "from setuptools import build_meta as b; print(b.build_wheel('dist'))"


def build(archive: Path, folder: Path) -> None:
    """Write the archive of the image; `folder` takes what is built on the way."""
    site = _site(folder)
    wheels = [file for one in _needed() for file in _files_of(one)]
    python = os.path.realpath(sys.executable)
    programs = [python, *(path for name in _PROGRAMS if (path := shutil.which(name)))]
    stdlib = [str(one) for one in _below(Path(sysconfig.get_path("stdlib")))]
    libraries = [str(one) for one in (*map(Path, stdlib), *(file for file, _ in wheels)) if ".so" in one.name]
    linked = {path for path in _linked([*programs, *libraries]) if not path.startswith(sys.prefix)}
    output = io.BytesIO(program_files.layer(sorted({*programs, *stdlib, *linked, *program_files.ACCOUNTS})))
    with tarfile.open(fileobj=output, mode="a", format=tarfile.PAX_FORMAT) as tar:
        for file, name in (*wheels, *((one, str(one.relative_to(site))) for one in _below(site))):
            program_files.add(tar, f"{_PACKAGES}/{name}", file.read_bytes(), file.stat().st_mode & 0o755)
        start = f'#!/bin/sh\nPYTHONPATH=/{_PACKAGES} exec {python} -m bmwg "$@"\n'
        program_files.add(tar, "usr/bin/bmwg", start.encode("ascii"), 0o755)
    image.write(archive, NAME, output.getvalue(), ("bmwg", "--help"), user="0:0")


def _site(folder: Path) -> Path:
    """Install the wheel of this checkout, its commit noted, below a folder."""
    source, site = folder / "source", folder / "site"
    listed = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    told = subprocess.run(listed, check=True, capture_output=True, text=True, timeout=60)
    for name in told.stdout.splitlines():
        if os.path.lexists(ROOT / name):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    _, commit, dirty = toolkit_state()
    (source / "src" / "bmwg" / "commit.json").write_text(json.dumps({"commit": commit, "dirty": dirty}))
    done = subprocess.run(
        [sys.executable, "-c", _BUILD], cwd=source, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with zipfile.ZipFile(next((source / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return site


def _needed() -> list[metadata.Distribution]:
    """Return what is installed of the toolkit's dependencies with these extras, and of theirs."""
    found: dict[str, metadata.Distribution] = {}
    open_ = [("bmwg-toolkit", extra) for extra in ("", *EXTRAS)]
    seen = set(open_)
    while open_:
        name, extra = open_.pop()
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # of another system, or an extra that is not installed
        found[name] = one
        for text in one.requires or ():
            wanted = Requirement(text)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            for asked in {(wanted.name, ""), *((wanted.name, more) for more in wanted.extras)} - seen:
                seen.add(asked)
                open_.append(asked)
    return [one for name, one in found.items() if name != "bmwg-toolkit"]


def _files_of(one: metadata.Distribution) -> Iterator[tuple[Path, str]]:
    for file in one.files or ():
        place = Path(str(one.locate_file(file)))
        if ".." not in file.parts and not _LEFT_OUT & set(file.parts) and place.is_file():
            yield place, str(file)


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _LEFT_OUT)
        yield from (Path(root, name) for name in sorted(names))


def _linked(files: Iterable[str]) -> set[str]:
    """Return the libraries that the loader would map for these, and itself."""
    done = subprocess.run(["ldd", *files], check=False, capture_output=True, text=True, timeout=60)
    return {
        word
        for line in done.stdout.splitlines()
        for word in line.replace("=>", " ").split()
        if word.startswith("/") and not word.endswith(":")
    }
