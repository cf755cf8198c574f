"""What runs of today are protected by and a run of an earlier toolkit is not: told before anything else.

A row says how a run shows that it has a protection, by what stands in its files; nothing is concluded from
the toolkit's version or commit. Procedures add a row for each change since the version that measured
(`methodology.procedures.CHANGES`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology import procedures
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.state import of_http

_Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One row: `name` for talking of it, `what` it protects from or shows, the first commit that had it."""

    name: str
    what: str
    commit: str
    present: Callable[[_Run, _Run], bool]  # run.json, platform.json
    wanted: Callable[[_Run], bool] = lambda run: True  # of which runs it can be expected


def _frames(run: _Run) -> bool:
    return not of_http(run)


def _real(run: _Run) -> bool:
    return not run["simulated"]


PROTECTIONS: tuple[Protection, ...] = (  # oldest first
    Protection(
        name="procedure-versions",
        what="the header names the version of each procedure, under its hash",
        commit="eea75c97190b",
        present=lambda run, platform: "procedures" in run,
        wanted=_frames,
    ),
    Protection(
        name="qualification-limit",
        what="the header holds the highest load of the tester's qualification, under its hash",
        commit="eea75c97190b",
        present=lambda run, platform: "qualification_max_fps" in run,
        wanted=_frames,
    ),
    Protection(
        name="platform-bound",
        what="platform.json is bound to the trials and to the run's end",
        commit="643aa2bf617b",
        present=lambda run, platform: "platform_bound" in run,
    ),
    Protection(
        name="http-watched",
        what="repetitions of HTTP run under the platform's guard, which looks for drift",
        commit="30e7ee3a3bb4",
        present=lambda run, platform: "drift" in platform,
        wanted=of_http,
    ),
    Protection(
        name="kept-awake",
        what="the header says what keeps CPUs from halting, and the platform's record what was held",
        commit="52192a10d57c",
        present=lambda run, platform: "keep_awake" in run["profile"],
        wanted=_real,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """A protection that a run lacks, with the first commit that had it."""

    name: str
    what: str
    commit: str


def lacking(evidence: Evidence) -> tuple[Lacking, ...]:
    """Return the protections of today that a run lacks, oldest first; none where run.json is unreadable."""
    run = evidence.run
    if run is None:
        return ()
    platform = evidence.platform or {}
    found = [
        Lacking(name=row.name, what=row.what, commit=row.commit)
        for row in PROTECTIONS
        if row.wanted(run) and not row.present(run, platform)
    ]
    return (*found, *_procedures(evidence, run))


def _procedures(evidence: Evidence, run: _Run) -> Iterator[Lacking]:
    recorded = run.get("procedures", {})
    for name in dict.fromkeys(recorded_as(outcome.metric) for outcome in evidence.outcomes):
        theirs = recorded.get(name, procedures.FIRST)
        for change in procedures.changes_after(name, theirs):
            yield Lacking(
                name=f"{name} {change.versions[name]}",
                what=f"{change.what} (this run: version {theirs})",
                commit=change.commit,
            )
