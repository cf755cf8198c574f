"""Runs as another implementation, or an older one, could have recorded them: real runs that say otherwise.

A change is made to what the files hold, and all hashes are made anew. The real reader reads what comes out
without a finding: validity and reasons are those that the toolkit itself gives to such counts.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "verify"))

import replayable
import runs

from bmwg.methodology.profiles.reading import profile_of
from bmwg.methodology.trial.judging import assess
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.store.frame_codec import result_from_json
from bmwg.reports.store.upgrade import of_today

Run = dict[str, Any]
Change = Callable[[Run, list[Run], Run], None]  # of run.json, of the journal's lines, of platform.json


def said(make: Callable[[], Evidence], *changes: Change) -> Callable[[], Evidence]:
    """Return what makes the run that says otherwise, once."""

    @cache
    def made() -> Evidence:
        source = Path(make().files.where)
        folder = runs.ROOT[0] / f"said-{len(list(runs.ROOT[0].iterdir()))}"
        shutil.copytree(source, folder)
        run = json.loads((folder / "run.json").read_text("utf-8"))
        platform = json.loads((folder / "platform.json").read_text("utf-8"))
        trials = replayable.bodies(folder)
        for change in changes:
            change(run, trials, platform)
        policy = profile_of(run["profile"], source="run.json").policy
        for body in trials:
            found = assess(result_from_json(of_today(body)), policy)
            body["assessment"] = {"validity": found.validity.value, "reason": found.reason}
        (folder / "platform.json").write_text(json.dumps(platform), encoding="ascii")
        replayable.forge(folder, run, trials)
        evidence = read_evidence(FolderFiles(folder))
        assert evidence.findings == ()
        return evidence

    return made


def outcomes(metric: str, change: Callable[[Run], None]) -> Change:
    """Change each outcome whose metric begins so."""

    def changed(run: Run, trials: list[Run], platform: Run) -> None:
        for one in run["outcomes"]:
            if one["metric"].startswith(metric):
                change(one)

    return changed


def without(metric: str, number: int | None = None) -> Change:
    """Take the outcomes away whose metric begins so: all, or one by its place among them."""

    def changed(run: Run, trials: list[Run], platform: Run) -> None:
        mine = [one for one in run["outcomes"] if one["metric"].startswith(metric)]
        gone = mine if number is None else [mine[number]]
        run["outcomes"] = [one for one in run["outcomes"] if one not in gone]

    return changed


def trials(metric: str, change: Callable[[Run], None]) -> Change:
    """Change each trial of a metric."""

    def changed(run: Run, journal: list[Run], platform: Run) -> None:
        for one in journal:
            if one["metric"] == metric:
                change(one)

    return changed


def header(change: Callable[[Run], None]) -> Change:
    """Change what stands in run.json beside outcomes and journal."""
    return lambda run, trials, platform: change(run)


def undescribed(run: Run, trials: list[Run], platform: Run) -> None:
    """Take the deployments out of platform.json."""
    platform["deployments"] = {}


def put(**values: Any) -> Callable[[Run], None]:
    """Return a change that puts these values."""
    return lambda one: one.update(values)


def value(beginning: str, /, **values: Any) -> Callable[[Run], None]:
    """Return a change of the values of an outcome whose metric begins so."""

    def change(one: Run) -> None:
        for number in one["values"]:
            if number["metric"].startswith(beginning):
                number.update(values)

    return change


def bound(name: str, **values: Any) -> Callable[[Run], None]:
    """Return a change of a bound of an outcome; None takes the bound away."""

    def change(one: Run) -> None:
        if values:
            one["bounds"][name] = {**(one["bounds"][name] or {}), **values}
        else:
            one["bounds"][name] = None

    return change


def spec(**values: Any) -> Callable[[Run], None]:
    """Return a change of what a trial was to be."""
    return lambda one: one["spec"].update(values)


def all_of(*changes: Callable[[Run], None]) -> Callable[[Run], None]:
    """Return a change that is several."""

    def change(one: Run) -> None:
        for each in changes:
            each(one)

    return change
