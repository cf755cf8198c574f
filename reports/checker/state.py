"""What a run is, in sentences: each one alone keeps it from being graded as conformant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.record.drift import run_drift
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.store import loads

_MAX_NAMED = 5
_NOT_WHOLE = (  # what a registry does not publish, and by which no run of another party is reproduced
    "simulated",
    "dirty",
    "unknown toolkit",
    "unreleased toolkit",  # as `bmwg.reports.releases.strangers` says
    "incomplete",
    "empty",
    "broken",
    "unreadable",
    "clock",
)


def not_whole(said: Iterable[str]) -> tuple[str, ...]:
    """Return those sentences on a run which say that it is no whole measurement by a known toolkit."""
    return tuple(text for text in said if text.split(":", 1)[0] in _NOT_WHOLE)


def state(evidence: Evidence) -> tuple[str, ...]:
    """Return why a run cannot be graded; empty when nothing stands against it."""
    run = evidence.run
    if run is None:
        return ("unreadable: run.json could not be read",)
    said: list[str] = []
    if run["simulated"]:
        said.append("simulated: no frame was sent")
    if run["toolkit"]["dirty"]:
        said.append("dirty: the toolkit's files differed from its commit")
    if run["toolkit"]["commit"] is None or run["toolkit"]["dirty"] is None:
        said.append("unknown toolkit: no commit says which one measured")
    for load in evidence.loads:
        profile = loads.said_of(run, load)["profile"]
        if profile.get("indicative", True):
            of_kind = f" of {load}" if len(evidence.loads) > 1 else ""
            said.append(f"indicative: the profile {profile['name']}{of_kind} shortens the procedures")
    if run["status"] != "complete":
        said.append(f"incomplete: the run is {run['status']}")
    if not evidence.outcomes:
        said.append("empty: the run holds no outcome")
    if not evidence.whole_journal:
        said.append("broken: the journal could not be read to its end")
    said.extend(_platform(evidence.platform))
    times = [run["started_at"], *(line.at for line in evidence.lines)]
    if times != sorted(times):
        said.append("clock: the machine's time went backwards during the run")
    return tuple(said)


def _platform(platform: Mapping[str, Any] | None) -> list[str]:
    if platform is None:
        return ["unreadable: platform.json could not be read"]
    before, after = platform["base"]["before"], platform["base"]["after"]
    if before is None or after is None:
        return ["unrecorded: the platform was not recorded before and after the run"]
    try:
        changes = run_drift(platform)
    except (ToolkitError, KeyError, TypeError, AttributeError) as error:
        return [f"unreadable: the platform records cannot be compared ({type(error).__name__})"]
    if not changes:
        return []
    named = ", ".join(change.path for change in changes[:_MAX_NAMED])
    return [f"drifted: {len(changes)} facts of the platform changed during the run ({named})"]
