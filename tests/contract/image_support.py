"""Disk images for guests, made on the spot: Debian with Squid from its packages, and one of a few files.

The first takes minutes and the distribution's packages; it is kept below /var/cache/bmwg and made once.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bmwg.drivers.api.instance import Program

CACHE = Path("/var/cache/bmwg/test-images")
RECIPE = ("mmdebstrap", "--variant=minbase", "--include=squid", "bookworm")
DISK_OCTETS = 600 << 20
MARK = "/etc/bmwg-test-image"  # in every image: what a guest reads there it has from the image
FILES = Program(
    name="files",
    command=("busybox", "httpd", "-f", "-p", "{address}:{port}", "-h", "{folder}"),
    port=8000,
    files={"hello": "from the image"},
)
_MAKE_DEADLINE_S = 900.0
_SECTOR = 512
_FIRST = 2048  # sector of the first partition
_LINUX = 0x83

needs_images = [
    pytest.mark.skipif(shutil.which("mke2fs") is None, reason="needs mke2fs: e2fsprogs"),
    pytest.mark.skipif(shutil.which("qemu-img") is None, reason="needs qemu-img: qemu-utils"),
]
needs_mmdebstrap = pytest.mark.skipif(
    shutil.which("mmdebstrap") is None, reason="needs mmdebstrap: apt-get install mmdebstrap"
)


def _run(*words: str | Path) -> str:
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=_MAKE_DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@functools.cache
def squid_image() -> Path:
    """A raw disk with one file system: Debian with Squid. Skips by name where no package can be had."""
    target = CACHE / f"{hashlib.sha256(repr((RECIPE, DISK_OCTETS)).encode()).hexdigest()[:16]}.raw"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        tree, made = CACHE / "tree", CACHE / "made.raw"
        shutil.rmtree(tree, ignore_errors=True)
        try:
            done = subprocess.run(
                [*RECIPE, str(tree)], capture_output=True, text=True, timeout=_MAKE_DEADLINE_S, check=False
            )
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:]
                pytest.skip(f"needs Debian's packages for a disk image; mmdebstrap: {last}")
            Path(f"{tree}{MARK}").write_text("squid's image")
            file_system(made, tree, DISK_OCTETS)
            made.rename(target)
        finally:
            shutil.rmtree(tree, ignore_errors=True)
    return target


def file_system(target: Path, tree: Path, octets: int) -> Path:
    """Make a raw disk that is one ext4 file system with what lies in a folder."""
    target.unlink(missing_ok=True)
    _run("mke2fs", "-q", "-t", "ext4", "-d", tree, target, f"{octets >> 10}k")
    return target


def small_image(folder: Path, name: str = "small.raw") -> Path:
    """A raw disk with a root of one static program: no package manager, no Python, no library."""
    tree = folder / "tree"
    for part in ("usr/bin", "etc"):
        (tree / part).mkdir(parents=True, exist_ok=True)
    program = tree / "usr/bin/busybox"
    shutil.copy(str(shutil.which("busybox")), program)
    for link in ("cat", "sh", "touch"):
        if not os.path.lexists(program.parent / link):
            (program.parent / link).symlink_to("busybox")
    Path(f"{tree}{MARK}").write_text("the small image")
    return file_system(folder / name, tree, 16 << 20)


def partitioned(target: Path, parts: Sequence[Path]) -> Path:
    """Lay raw file systems behind a partition table, one partition each, and pack the disk as qcow2."""
    raw = target.with_suffix(".parts")
    table, at = b"", _FIRST
    with raw.open("wb") as disk:
        for part in parts:
            sectors = part.stat().st_size // _SECTOR
            table += struct.pack("<B3sB3sII", 0, b"\xff" * 3, _LINUX, b"\xff" * 3, at, sectors)
            disk.truncate((at + sectors) * _SECTOR)
            at += sectors
        disk.seek(446)
        disk.write(table.ljust(64, b"\0") + b"\x55\xaa")
    at = _FIRST
    for part in parts:
        _run(
            "dd",
            f"if={part}",
            f"of={raw}",
            "bs=1M",
            f"seek={at // 2048}",
            "conv=notrunc,sparse",
            "status=none",
        )
        at += part.stat().st_size // _SECTOR
    _run("qemu-img", "convert", "-O", "qcow2", raw, target)
    raw.unlink()
    return target
