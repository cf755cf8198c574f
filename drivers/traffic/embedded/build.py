"""Build the embedded tester from its C sources, once for each state of the sources.

The binary lies in a cache folder named by the SHA-256 of the sources, the build file and the versions of
DPDK and the compiler: it is rebuilt exactly when one of them changed.
`python -m bmwg.drivers.traffic.embedded.build` prints its path.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bmwg.methodology.errors import TestbedError

SOURCE_FOLDER = Path(__file__).resolve().parent / "src"
SYSTEM_CACHE = Path("/var/cache/bmwg/tester")
BINARY_NAME = "bmwg-tester"
CLANG_NAMES = ("clang", "clang-14", "clang-15", "clang-16", "clang-19")  # those of src/meson.build
BUILD_DEADLINE_S = 300.0
APT_LINE = "apt-get install -y libdpdk-dev libjansson-dev libbpf-dev clang meson ninja-build gcc pkg-config"


def run(*argv: str, cwd: Path | None = None) -> str:
    """Run one tool of the build; TST-01 when it is not there, TST-02 when it fails or hangs."""
    try:
        done = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=BUILD_DEADLINE_S, check=False
        )
    except FileNotFoundError as error:
        raise TestbedError(
            "TST-01",
            "the embedded tester cannot be built; nothing was started",
            expected=f"the program {argv[0]}",
            found="no such program",
            hint=APT_LINE,
        ) from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError(
            "TST-02",
            "building the embedded tester",
            expected=f"an end within {BUILD_DEADLINE_S:.0f} s",
            found=f"{' '.join(argv)} still running",
        ) from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise TestbedError(
            "TST-02",
            f"building the embedded tester: {' '.join(argv)}",
            expected="exit status 0",
            found=f"{done.returncode}\n{tail}",
            hint=APT_LINE,
        )
    return done.stdout


def dpdk_version() -> str:
    """Version of the DPDK development files; TST-01 when there are none."""
    try:
        run("pkg-config", "--exists", "libdpdk", "jansson", "libbpf")
    except TestbedError as error:
        if error.error_id == "TST-01":
            raise
        raise TestbedError(
            "TST-01",
            "the embedded tester cannot be built; nothing was started",
            expected="the development files of DPDK 22.11 or later, libbpf and jansson",
            found="pkg-config knows none",
            hint=APT_LINE,
        ) from error
    return run("pkg-config", "--modversion", "libdpdk").strip()


def clang_version() -> str:
    """First line of clang's own version, which builds the programs inside the kernel; TST-01 without one."""
    for name in CLANG_NAMES:
        if shutil.which(name):
            return run(name, "--version").partition("\n")[0]
    raise TestbedError(
        "TST-01",
        "the embedded tester cannot be built; nothing was started",
        expected=f"one of the programs {', '.join(CLANG_NAMES)}",
        found="none",
        hint=APT_LINE,
    )


def source_digest(source: Path = SOURCE_FOLDER) -> str:
    """SHA-256 (hex) over names and contents of the sources and the versions that they are built with."""
    digest = hashlib.sha256()
    compiler = run("cc", "-dumpfullversion", "-dumpversion").strip()
    for word in ("bmwg-tester", platform.machine(), dpdk_version(), compiler, clang_version()):
        digest.update(word.encode() + b"\0")
    for path in sorted(source.iterdir()):
        if path.suffix in {".c", ".h", ".build"}:
            content = path.read_bytes()
            digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def cache_folder() -> Path:
    """The system's cache where it can be written, else the user's."""
    try:
        SYSTEM_CACHE.mkdir(parents=True, exist_ok=True)
    except OSError:
        pass
    else:
        if os.access(SYSTEM_CACHE, os.W_OK):
            return SYSTEM_CACHE
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "bmwg" / "tester"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def once(name: str, digest: str, make: Callable[[Path], None]) -> Path:
    """Return a file of the cache by the digest of what it is made of; `make` writes it where it never was."""
    built = cache_folder() / digest[:32] / name
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        draft = built.with_name(f".{name}.{os.getpid()}")
        make(draft)
        draft.replace(built)
    return built


def complaint(argv: Sequence[str], deadline_s: float) -> str:
    """Run a compiler; return what it complains of, empty where it made its program."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=deadline_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip()[-2000:] or f"exit status {done.returncode}") if done.returncode else ""


@contextmanager
def _one_builder(folder: Path) -> Iterator[None]:
    """Let one process build at a time; the others then find its binary."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def binary_path(source: Path = SOURCE_FOLDER, cache: Path | None = None) -> Path:
    """Where the binary of this state of the sources is, or will be; TST-01 without DPDK or a build tool."""
    return (cache or cache_folder()) / source_digest(source)[:32] / BINARY_NAME


def ensure_built(source: Path = SOURCE_FOLDER, cache: Path | None = None) -> Path:
    """Path of the tester's binary, built now if this state of the sources never was.

    TestbedError TST-01 without DPDK or a build tool, TST-02 when the build fails.
    """
    binary = binary_path(source, cache)
    folder = binary.parent
    if binary.exists():
        return binary
    folder.mkdir(parents=True, exist_ok=True)
    with _one_builder(folder):
        if binary.exists():
            return binary
        with tempfile.TemporaryDirectory(prefix="bmwg-build-") as scratch:
            build = Path(scratch) / "build"
            run("meson", "setup", str(build), str(source))
            run("ninja", "-C", str(build))
            partial = folder / f".{BINARY_NAME}.{os.getpid()}"
            shutil.copy2(build / BINARY_NAME, partial)
            partial.replace(binary)
    return binary


if __name__ == "__main__":
    print(ensure_built())
