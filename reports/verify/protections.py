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
from bmwg.methodology.records import UNNAMED
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.store.binding import WITH_DRIVERS

_Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One row: `name` for talking of it, `what` a run has by it, `after` the last commit without it."""

    name: str
    what: str
    after: str
    present: Callable[[_Run, _Run], bool]  # run.json, platform.json
    wanted: Callable[[Evidence], bool] = lambda evidence: True  # of which runs it can be expected


def _of_requests(evidence: Evidence) -> bool:
    return evidence.load != UNNAMED


def _of_unnamed(evidence: Evidence) -> bool:
    return not _of_requests(evidence)


def _real(evidence: Evidence) -> bool:
    return evidence.run is not None and not evidence.run["simulated"]


PROTECTIONS: tuple[Protection, ...] = (  # oldest first
    Protection(
        name="procedure-versions",
        what="the header names the version of each procedure, under its hash",
        after="509b4d28ab4c",
        present=lambda run, platform: "procedures" in run,
        wanted=_of_unnamed,
    ),
    Protection(
        name="qualification-limit",
        what="the header holds the highest load of the tester's qualification, under its hash",
        after="509b4d28ab4c",
        present=lambda run, platform: "qualification_max_fps" in run,
        wanted=_of_unnamed,
    ),
    Protection(
        name="platform-bound",
        what="platform.json is bound to the trials and to the run's end",
        after="8b35f48225de",
        present=lambda run, platform: "platform_bound" in run,
    ),
    Protection(
        name="http-watched",
        what="repetitions of HTTP run under the platform's guard, which looks for drift",
        after="7b823b367d45",
        present=lambda run, platform: "drift" in platform,
        wanted=_of_requests,
    ),
    Protection(
        name="kept-awake",
        what="the header says what keeps CPUs from halting, and the platform's record what was held",
        after="3790993f32b6",
        present=lambda run, platform: "keep_awake" in run["profile"],
        wanted=_real,
    ),
    Protection(
        name="drivers-bound",
        what="what drivers told of themselves is bound to the run's end, and may be hidden field by field",
        after="4327fa19fd95",
        present=lambda run, platform: run.get("platform_bound", 0) >= WITH_DRIVERS,
    ),
    Protection(
        name="one-journal",
        what="repetitions of HTTP stand in the run's one journal, each with its validity, redacted, its end "
        "bound; plan and procedures stand under the header's hash, CPUs were reserved and leaks watched for",
        after="77e44c9b3248",
        present=lambda run, platform: run["schema"] != "run/1.0",
        wanted=_of_requests,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """A protection that a run lacks; `after` is the last commit without it."""

    name: str
    what: str
    after: str


def lacking(evidence: Evidence) -> tuple[Lacking, ...]:
    """Return the protections of today that a run lacks, oldest first; none where run.json is unreadable."""
    run = evidence.run
    if run is None:
        return ()
    platform = evidence.platform or {}
    found = [
        Lacking(name=row.name, what=row.what, after=row.after)
        for row in PROTECTIONS
        if row.wanted(evidence) and not row.present(run, platform)
    ]
    return (*found, *_procedures(evidence, run))


def _procedures(evidence: Evidence, run: _Run) -> Iterator[Lacking]:
    recorded = run.get("procedures", {})
    metrics = (recorded_as(outcome.metric) for outcome in evidence.outcomes)
    for name in dict.fromkeys((*procedures.OF_EVERY_RUN, *metrics)):
        theirs = recorded.get(name, procedures.FIRST)
        for change in procedures.changes_after(name, theirs):
            yield Lacking(
                name=f"{name} {change.versions[name]}",
                what=f"{change.what} (this run: version {theirs})",
                after=change.after,
            )
