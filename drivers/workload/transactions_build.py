"""Builds the client of transactions from its C sources, once for each state of them.

`python -m bmwg.drivers.workload.transactions_build` does it at set-up. Ids: TRANS-02 it cannot be built.
"""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from bmwg.drivers.traffic.embedded import build
from bmwg.methodology.errors import TestbedError

SOURCE_FOLDER = Path(__file__).resolve().parent / "src" / "transactions"
NAME = "bmwg-transactions"
PACKAGES = "gcc libc6-dev libssl-dev libnghttp2-dev"
BUILD_DEADLINE_S = 120.0
_FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")
_LIBRARIES = ("-lssl", "-lcrypto", "-lnghttp2", "-lm")


def ensure_built() -> Path:
    """Return the program of the present sources, built now if it never was. Raises TestbedError TRANS-02."""
    digest = hashlib.sha256(" ".join((platform.machine(), *_FLAGS)).encode())
    for path in sorted(SOURCE_FOLDER.iterdir()):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return build.once(NAME, digest.hexdigest(), _make)


def _make(draft: Path) -> None:
    sources = [str(path) for path in sorted(SOURCE_FOLDER.glob("*.c"))]
    argv = ["cc", *_FLAGS, "-o", str(draft), *sources, *_LIBRARIES]
    if found := build.complaint(argv, BUILD_DEADLINE_S):
        raise TestbedError(
            "TRANS-02",
            "the client of transactions cannot be built; nothing was sent",
            expected="a C compiler and the development files of OpenSSL 3 and nghttp2",
            found=found,
            hint=f"apt-get install -y {PACKAGES}",
        )


if __name__ == "__main__":
    print(ensure_built())
