"""Builds the programs of the eBPF networks with clang, once for each state of their source.

`python -m bmwg.drivers.network.ebpf_build` does it at set-up. Ids are those of the tester's build: TST-01 no
clang or headers, TST-02 it failed.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.traffic.embedded import build
from bmwg.methodology.errors import TestbedError

SOURCE = Path(__file__).resolve().parent / "src" / "redirect.bpf.c"
OBJECT_NAME = "redirect.bpf.o"
_FLAGS = ("-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror")


def ensure_built() -> Path:
    """Return the object file of the present source, built now if it never was."""
    compiler = next((name for name in build.CLANG_NAMES if shutil.which(name)), "clang")
    digest = hashlib.sha256(build.clang_version().encode() + SOURCE.read_bytes() + " ".join(_FLAGS).encode())

    def make(draft: Path) -> None:
        include = f"-I/usr/include/{build.run('cc', '-print-multiarch').strip()}"
        build.run(compiler, *_FLAGS, include, "-c", str(SOURCE), "-o", str(draft))

    return build.once(OBJECT_NAME, digest.hexdigest(), make)


def missing() -> Missing | None:
    """Return why there is no object file, or None."""
    try:
        ensure_built()
    except TestbedError as error:
        reason = f"{error.what}: {error.found}"
        return Missing(what="programs for the tc hook", reason=reason, mend=error.hint or build.APT_LINE)
    return None


if __name__ == "__main__":
    print(ensure_built())
