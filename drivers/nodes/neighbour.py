"""A neighbour's program on a node: begun in a cgroup, ended so that it tells its work. Node functions.

stress-ng tells its work when it is interrupted. Ids: NEIGH-01 another version, NEIGH-02 it told no work,
NEIGH-03 it ended by itself.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import yaml

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import bounded, cgroups, process, programs
from bmwg.methodology.errors import DriverError, TestbedError

JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done; shift; exec "$@"'
_VERSION = re.compile(r"stress-ng, version (0\.1[5-9]\.\d+)\b")  # those that were tried print the same
_REPORT = "work.yaml"
_STARTED_S, _ENDED_S, _POLL_S = 5.0, 10.0, 0.02


def probe() -> dict[str, str] | None:
    """Node function: what the node lacks for neighbours (fields of `Missing`), or None."""
    if shutil.which("stress-ng") is None:
        reason = "no `stress-ng` in PATH"
        return {"what": "stress-ng", "reason": reason, "mend": "sh setup/install.sh workloads"}
    return None


def version() -> str:
    """Node function: stress-ng's version. Raises TestbedError NEIGH-01 for one that was never tried."""
    said = bounded.run(["stress-ng", "--version"], deadline_s=5.0).stdout
    found = _VERSION.match(said)
    if found is None:
        raise TestbedError(
            "NEIGH-01", "stress-ng --version", expected="0.15.x to 0.19.x", found=repr(said[:80])
        )
    return found[1]


def begin(*, stressor: str, instances: int, words: list[str], cgroup: str, folder: str) -> dict[str, int]:
    """Node function: start the program in its cgroup and wait until it works; pid and start time (ticks).

    Raises DriverError NEIGH-03, PROG-02.
    """
    programs.write_files(folder=folder, files={})
    Path(folder, _REPORT).unlink(missing_ok=True)
    command = ["stress-ng", f"--{stressor}", str(instances), *words, "--timeout", "0", "--metrics"]
    command += ["--yaml", f"{folder}/{_REPORT}", "--temp-path", folder]
    places = [str(place) for place in cgroups.folders(cgroup)]
    started = programs.start(
        command=["sh", "-c", JOIN, "sh", *places, "--", *command], folder=folder, packages=[]
    )
    end_s = time.monotonic() + _STARTED_S
    while not cgroups.members(cgroup) - {started["pid"]}:  # workers, whose sessions may be their own
        if not process.same(**_same(started)) or time.monotonic() > end_s:
            said = programs.said(folder)
            programs.stop(folder=folder, **started)
            raise DriverError(
                "NEIGH-03", f"neighbour {stressor}", expected="a program that works", found=said
            )
        time.sleep(_POLL_S)
    return started


def _same(started: dict[str, int]) -> dict[str, int]:
    return {"pid": started["pid"], "ticks": started["start_ticks"]}


def end(*, pid: int, start_ticks: int, folder: str, stressor: str) -> dict[str, JsonValue]:
    """Node function: interrupt the program; returns its `operations` and the `elapsed_ns` of these.

    Raises DriverError NEIGH-02, NEIGH-03. The program is gone then, too.
    """
    if not process.interrupt(pid=pid, start_ticks=start_ticks):
        said = programs.said(folder)
        programs.stop(folder=folder, pid=pid, start_ticks=start_ticks)
        raise DriverError("NEIGH-03", f"neighbour {stressor}", expected="work until it is ended", found=said)
    end_s = time.monotonic() + _ENDED_S
    while process.same(pid, start_ticks) and time.monotonic() < end_s:
        time.sleep(_POLL_S)
    try:
        text = Path(folder, _REPORT).read_text(errors="replace")
    except OSError:
        text = ""
    said = programs.said(folder)
    programs.stop(folder=folder, pid=pid, start_ticks=start_ticks)
    return read(text, stressor, said)


def read(text: str, stressor: str, said: str = "") -> dict[str, JsonValue]:
    """Return operations and time of a stressor from stress-ng's YAML. Raises DriverError NEIGH-02."""
    try:
        metrics = (yaml.safe_load(text) or {})["metrics"]
        (mine,) = [metric for metric in metrics if metric["stressor"] == stressor]
        operations, elapsed_ns = int(mine["bogo-ops"]), round(float(mine["wall-clock-time"]) * 1e9)
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DriverError(
            "NEIGH-02",
            f"neighbour {stressor}: what it tells of its work",
            expected="bogo-ops and wall-clock-time of one stressor",
            found=f"{type(error).__name__}; {said or text[-200:]!r}",
        ) from error
    if operations < 0 or elapsed_ns <= 0:
        raise DriverError(
            "NEIGH-02", f"neighbour {stressor}", expected="counts", found=f"{operations}, {elapsed_ns} ns"
        )
    return {"operations": operations, "elapsed_ns": elapsed_ns}
