"""Takes up a run that was cut off: what is answered stays.

Nothing is changed before all of it is checked. Ids: RES-01 the run has ended, RES-02 another toolkit,
RES-03 other tests than the run's, RES-04 the machine is not what it was, RES-05 what the run left cannot be
cleared away, RES-07 another tester, RES-08 suites without the run's open tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.platform_record.source import SPENT
from bmwg.drivers.undo.ledger import FILE_NAME, Ledger
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.record.drift import drift
from bmwg.reports.store import Run, read_run
from bmwg.resources.run.provenance import toolkit_state

_SHOWN = 8


def find_run(name: str, results: Path) -> Path:
    """Return the folder of a run: a path, or a name below the results folder."""
    given = Path(name)
    return given if given.is_dir() else results / name


def begun(folder: Path, selected: Collection[str] | None = None) -> Run:
    """Read a run of any kind of load that was cut off, and check that it can go on here with these tests.

    Raises ConfigError RES-01, RES-02, RES-03, and what `read_run` raises. Changes nothing.
    """
    run = read_run(folder)
    require_unfinished(run)
    require_planned(run.run_id, {entry.test_id for entry in run.plan}, selected)
    return run


def standing_text(run: Run) -> str:
    """Say in a line what of a run stands already."""
    answered = len(run.outcomes)
    left = max(0, len(run.plan) - answered)
    return f"continued after trial {run.lines}: {answered} answers stand, {left} are left"


def require_unfinished(run: Run) -> None:
    """ConfigError RES-01 for a run that is complete, RES-02 for one of another toolkit."""
    if run.status == "complete":
        raise ConfigError(
            "RES-01",
            f"run {run.run_id} is complete; nothing was started",
            expected="a run that was cut off",
            found=f"one that ended at {run.ended_at}",
        )
    version, commit, _ = toolkit_state()
    if (run.toolkit_version, run.toolkit_commit) != (version, commit):
        raise ConfigError(
            "RES-02",
            f"run {run.run_id} was begun by another toolkit; nothing was started",
            expected=f"version {run.toolkit_version}, commit {run.toolkit_commit}",
            found=f"version {version}, commit {commit}",
            hint="check out that commit, or begin a new run",
        )


def require_planned(run_id: str, planned: Collection[str], selected: Collection[str] | None) -> None:
    """ConfigError RES-03 when tests are selected that a run did not plan."""
    if selected is not None and not set(selected) <= set(planned):
        raise ConfigError(
            "RES-03",
            f"run {run_id} does not hold all of these tests; nothing was started",
            expected=f"tests of {', '.join(sorted(planned))}",
            found=", ".join(sorted(set(selected) - set(planned))),
            hint="a run's plan stands from its beginning: begin a new run for other tests",
        )


def require_whole(run: Run, selected: Collection[str]) -> None:
    """ConfigError RES-08 when tests of cells without an answer are not selected: they would stay open."""
    answered = {(outcome.outcome_id.partition(":")[0], outcome.cell.cell_id) for outcome in run.outcomes}
    left = {entry.test_id for entry in run.plan if (entry.test_id, entry.cell.cell_id) not in answered}
    if lacking := sorted(left - set(selected)):
        raise ConfigError(
            "RES-08",
            f"run {run.run_id} holds tests that no suite named here has; nothing was started",
            expected="suites with all of its open tests",
            found=f"none with {', '.join(lacking)}",
            hint="name the suites that the run was begun with: bmwg resume RUN SUITE ...",
        )


def check_platform(run: Run, now: Mapping[str, Any]) -> None:
    """TestbedError RES-04 unless the machine is what it was when the run began (volatile facts aside)."""
    if run.platform_before is None:
        return
    changes = drift(run.platform_before, now)
    if changes:
        busy = any(SPENT in change.after for change in changes)
        more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        raise TestbedError(
            "RES-04",
            f"run {run.run_id}: the machine is not what it was; nothing was started",
            expected="the platform of the run's beginning",
            found="; ".join(str(change) for change in changes[:_SHOWN]) + more,
            hint="this machine was too busy to be asked: resume again when it is less so"
            if busy
            else "put it back, or begin a new run: trials of two platforms make no answer",
        )


def clear_away(folder: Path) -> None:
    """Undo what the interrupted run left on the machine; TestbedError RES-05 when something stays."""
    if not (folder / FILE_NAME).exists():
        return
    ledger = Ledger(folder / FILE_NAME)
    ledger.require_ended()
    if failures := ledger.undo_all():
        raise TestbedError(
            "RES-05",
            f"{folder}: what the interrupted run left could not be cleared away",
            expected="an empty ledger",
            found="; ".join(failures[:_SHOWN]),
            hint=f"bmwg cleanup {folder} says what is left",
        )
