"""What is compared: a side is one run, or several runs of the same thing, its repeats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store import Run, read_run
from bmwg.reports.store.read import RUN_FILE

MAX_RUNS = 500  # choice: of one side; more is a mistaken folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: its letter, and its runs by the time of their beginning.

    `option` is the network option where the sides are those of the same runs, which then is their name too.
    """

    name: str
    runs: tuple[Run, ...]
    option: str = ""


def read_side(name: str, place: str) -> Side:
    """Read a side: a run's folder, a folder of run folders, or several of either joined by commas.

    Raises ConfigError CMP-02 when one of these holds no run, or one stands twice; and as `read_run` does.
    """
    folders: list[Path] = []
    for part in place.split(","):
        path = Path(part)
        found = [path] if (path / RUN_FILE).is_file() else []
        if not found and path.is_dir():
            found = sorted(entry for entry in path.iterdir() if (entry / RUN_FILE).is_file())
        if not found:  # a slip in one of several would leave its runs out of the comparison
            raise _refused(name, part, "none" if path.exists() else "nothing of that name")
        folders += found
    if len(folders) > MAX_RUNS:
        raise _refused(name, place, f"{len(folders)} runs")
    runs = sorted(map(read_run, folders), key=lambda run: (run.started_at, run.run_id))
    check_once(runs)
    return Side(name=name, runs=tuple(runs))


def _refused(name: str, place: str, found: str) -> ConfigError:
    return ConfigError(
        "CMP-02",
        f"side {name}: {place}",
        expected=f"a run's folder or id, a folder of 1..{MAX_RUNS} run folders, or several joined by commas",
        found=found,
    )


def check_once(runs: list[Run]) -> None:
    """Raise ConfigError CMP-02 when a run stands twice: it would count as a repeat of itself."""
    seen: set[str] = set()
    for run in runs:
        if run.journal_hash in seen:
            raise ConfigError(
                "CMP-02",
                f"run {run.run_id}: named twice",
                expected="each run once",
                found="the same journal",
                hint="a run cannot be a repeat of itself",
            )
        seen.add(run.journal_hash)
