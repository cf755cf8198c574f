"""The kernel that a guest boots: the full one of Debian or Ubuntu, unpacked and never installed on the host.

`python -m bmwg.drivers.machines.guest_kernel` downloads and unpacks it once (root, apt); with a folder of
modules it unpacks these alone. A kernel that the host has installed itself serves as well, where its modules
are not packed. Ids: VM-01 no kernel, VM-02 it was not fetched.
"""

from __future__ import annotations

import fcntl
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines.architecture import Architecture, own
from bmwg.drivers.nodes import process
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record import booted

CACHE = Path("/var/cache/bmwg/guest")
PACKAGES = (
    f"linux-image-{own().name}",
    "linux-image-generic",
)  # Debian's, Ubuntu's: cloud kernels have no 9p and e1000
_PARTS = ("linux-image-", "linux-modules-")  # of the packages that such a one depends on
FETCH_LINE = "sh setup/guest.sh"
_FETCH_DEADLINE_S = 600.0
_DEPENDS = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestKernel:
    """A bootable kernel and the folder of its modules (`.../lib/modules/<release>`)."""

    release: str
    image: Path
    modules: Path

    def unpacked_image(self, cache: Path = CACHE) -> Path:
        """Return the kernel without its compression, which a translated guest would spend seconds on.

        That is the image itself where it is none of x86, or not packed by xz; the result is kept below
        `cache`.
        """
        status = self.image.stat()
        target = cache / "unpacked" / f"{self.release}-{status.st_size}-{status.st_mtime_ns}"
        if target.exists():
            return target
        packed = self.image.read_bytes()
        if packed[0x202:0x206] != b"HdrS":
            return self.image
        # offsets of the x86 boot protocol: setup sectors, payload place and length
        begin = (packed[0x1F1] + 1) * 512 + struct.unpack_from("<I", packed, 0x248)[0]
        end = begin + struct.unpack_from("<I", packed, 0x24C)[0]
        try:
            program = lzma.LZMADecompressor().decompress(packed[begin:end])
        except lzma.LZMAError:
            return self.image
        if not program.startswith(b"\x7fELF"):
            return self.image
        write_once(target, program)
        return target

    def booted(self, cache: Path = CACHE) -> tuple[str, Path]:
        """Return what the file that QEMU loads is called where its size is told, and the file."""
        unpacked = self.unpacked_image(cache)
        return booted.KERNEL if unpacked == self.image else booted.UNPACKED_KERNEL, unpacked

    def modules_for(self, wanted: tuple[str, ...]) -> tuple[Path, ...]:
        """Return the module files that `wanted` need, each after what it depends on; built-ins are left out.

        Raises TestbedError VM-01 when the kernel has neither the module nor the built-in.
        """
        files = {_plain(path.stem): path for path in (self.modules / "kernel").rglob("*.ko")}
        built_in = {_plain(Path(line).stem) for line in _lines(self.modules / "modules.builtin")}
        ordered: dict[str, Path] = {}

        def add(name: str) -> None:
            if name in ordered or name in built_in:
                return
            if name not in files:
                raise TestbedError(
                    "VM-01",
                    f"guest kernel {self.release}",
                    expected=f"the module {name}",
                    found="neither a module nor built in",
                    hint=FETCH_LINE,
                )
            found = _DEPENDS.search(files[name].read_bytes())
            for needed in found.group(1).decode().split(",") if found and found.group(1) else ():
                add(_plain(needed))
            ordered[name] = files[name]

        for name in wanted:
            add(_plain(name))
        return tuple(ordered.values())


def write_once(target: Path, octets: bytes) -> None:
    """Write a file of the cache, its folder too; nobody sees it half written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        file.write(octets)
    Path(file.name).rename(target)


def of(architecture: Architecture) -> GuestKernel | Missing:
    """Return the kernel of guests of an architecture, or that it or their root is missing."""
    if architecture.native:
        return find()
    root, mend = architecture.root, architecture.root_line
    if not root.is_dir():
        return Missing(what=f"root of {architecture.name} for guests", reason=f"no folder {root}", mend=mend)
    return find((root,), mend=mend)


def find(
    folders: tuple[Path, ...] = (CACHE / "kernel", Path("/")), *, mend: str = FETCH_LINE
) -> GuestKernel | Missing:
    """Return the newest kernel with modules below one of `folders`, or what is missing."""
    for folder in folders:
        kernels = [kernel for root in _roots(folder) for kernel in _kernels(root)]
        if kernels:
            return max(kernels, key=lambda kernel: _version(kernel.release))
    return Missing(
        what="guest kernel",
        reason=f"no kernel image with its modules below {' or '.join(map(str, folders))}",
        mend=mend,
    )


def _roots(folder: Path) -> list[Path]:
    return (
        [folder]
        if (folder / "boot").is_dir()
        else [path for path in folder.glob("*/") if not path.name.startswith(".")]
    )


def _kernels(root: Path) -> list[GuestKernel]:
    found = []
    for image in sorted((root / "boot").glob("vmlinuz-*")):
        release = image.name.removeprefix("vmlinuz-")
        for library in ("lib", "usr/lib"):
            modules = root / library / "modules" / release
            shares = modules / "kernel" / "fs" / "9p"
            packed = any(shares.glob("*.ko.*"))  # no first root loads such
            if shares.is_dir() and not packed and os.access(image, os.R_OK):
                found.append(GuestKernel(release=release, image=image, modules=modules))
                break
    return found


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release))


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def fetch(cache: Path = CACHE) -> GuestKernel:
    """Download the distribution's kernel package and unpack it below `cache`; does nothing when one is there.

    Raises TestbedError VM-02 with the failing command. Nothing half-unpacked stays.
    """
    target = cache / "kernel"
    target.mkdir(parents=True, exist_ok=True)
    with open(target / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = find((target,))
        if isinstance(found, GuestKernel):
            return found
        with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as folder:
            names = _packages()
            _run("apt-get", "download", *names, cwd=folder)
            for package in Path(folder).glob("*.deb"):
                _run("dpkg-deb", "-x", str(package), "tree", cwd=folder)
            unpacked = Path(folder) / "tree"
            if not (unpacked / "lib").exists():  # a package may have all of it below /usr
                (unpacked / "lib").symlink_to("usr/lib")
            release = next((unpacked / "lib" / "modules").iterdir()).name
            unpack_modules(unpacked / "lib" / "modules")
            _run("depmod", "-b", str(unpacked), release, cwd=folder)
            shutil.rmtree(target / release, ignore_errors=True)
            unpacked.rename(target / release)
    found = find((target,))
    if isinstance(found, Missing):
        raise TestbedError(
            "VM-02", f"packages {', '.join(names)}", expected="a kernel with modules", found=found.reason
        )
    return found


def unpack_modules(folder: Path) -> None:
    """Have modules as a guest's first root loads them, without the compression of their package.

    Debian has packed them by xz since 13, Ubuntu by zstd. Raises TestbedError VM-02.
    """
    for packed in folder.rglob("*.ko.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    if by_zstd := [str(module) for module in folder.rglob("*.ko.zst")]:
        _run("zstd", "--decompress", "--rm", "--quiet", *by_zstd)


def _packages() -> tuple[str, ...]:
    """Name the packages that the distribution's kernel package stands for: an image, its modules."""
    for name in PACKAGES:
        if images := _parts_of(name):
            modules = [part for image in images for part in _parts_of(image)]
            return tuple(dict.fromkeys((*images, *modules)))
    raise TestbedError("VM-02", " or ".join(PACKAGES), expected="a kernel package", hint="apt-get update")


def _parts_of(package: str) -> list[str]:
    lines = _run("apt-cache", "depends", "--important", package).splitlines()
    named = (line.strip().partition(": ") for line in lines)
    return [name for kind, _, name in named if kind == "Depends" and name.startswith(_PARTS)]


def _run(*argv: str, cwd: str | None = None) -> str:
    try:
        done = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=_FETCH_DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TestbedError("VM-02", " ".join(argv), found=str(error)) from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise TestbedError(
            "VM-02", " ".join(argv), expected="exit status 0", found=f"{done.returncode}\n{tail}"
        )
    return done.stdout


if __name__ == "__main__":
    process.end_in_order()
    if sys.argv[1:]:
        unpack_modules(Path(sys.argv[1]))
    else:
        print(fetch().image)
