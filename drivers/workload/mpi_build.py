"""Builds the program that measures MPI_Alltoall, once for each state of its source and each MPI library.

`python -m bmwg.drivers.workload.mpi_build` does it at set-up. Ids are those of the tester's build: TST-01 no
compiler, TST-02 it failed.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import bounded
from bmwg.drivers.traffic.embedded import build
from bmwg.methodology.errors import TestbedError

SOURCE = Path(__file__).resolve().parent / "src" / "alltoall.c"
NAME = "alltoall"
MEND = "sh setup/install.sh workloads"
_COMPILER = "mpicc"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
_LAUNCHERS = ("mpirun", "orted")


def ensure_built() -> Path:
    """Return the program of the present source, built now if it never was. Raises TestbedError."""
    if shutil.which(_COMPILER) is None:
        raise TestbedError("TST-01", "no MPI program can be built", found=f"no `{_COMPILER}`", hint=MEND)
    compiler = build.run(_COMPILER, "--showme:version") + build.run(_COMPILER, "--version").partition("\n")[0]
    digest = hashlib.sha256(compiler.encode() + SOURCE.read_bytes() + " ".join(_FLAGS).encode())

    def make(draft: Path) -> None:
        build.run(_COMPILER, *_FLAGS, str(SOURCE), "-o", str(draft))

    return build.once(NAME, digest.hexdigest(), make)


def lack() -> dict[str, str] | None:
    """Node function: return what is missing (fields of `Missing`): Open MPI's programs, or the compiler."""
    for program in _LAUNCHERS:
        if shutil.which(program) is None:
            return {"what": "Open MPI", "reason": f"no `{program}`", "mend": MEND}
    try:
        ensure_built()
    except TestbedError as error:
        reason = f"{error.what}: {error.found}"
        return {
            "what": "the program that measures MPI_Alltoall",
            "reason": reason,
            "mend": error.hint or MEND,
        }
    return None


def described() -> dict[str, JsonValue]:
    """Node function: return the program with its digest, and the version that Open MPI tells."""
    program = ensure_built()
    told = bounded.run(["mpirun", "--version"], deadline_s=10.0).stdout
    return {
        "program": str(program),
        "sha256": hashlib.sha256(program.read_bytes()).hexdigest(),
        "open_mpi": told.partition("\n")[0].strip(),
    }


if __name__ == "__main__":
    print(ensure_built())
