"""Reads a run for judging: in one pass over the journal, everything wrong collected, memory bounded.

Unlike `store.read_run` it does not stop at the first contradiction, and of a trial it keeps only what a
replay needs; a histogram is read again from its line when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.answers.former import replayable
from bmwg.methodology.answers.procedures import FIRST, TRIAL
from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.reading import profile_of
from bmwg.methodology.records import UNNAMED, Outcome
from bmwg.methodology.trial.judging import TrialPolicy
from bmwg.reports.checker.deviations import declared
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Finding, of_error
from bmwg.reports.checker.source import RunFiles
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.checker.trials import TakenLines, no_trial
from bmwg.reports.store import loads
from bmwg.reports.store.checks import check_document, check_kind_of_load, check_version
from bmwg.reports.store.codec import (
    PlannedCell,
    outcome_from_json,
    planned_from_json,
)
from bmwg.reports.store.journal import checked_line, genesis
from bmwg.reports.store.read import JOURNAL_FILE, PLATFORM_FILE, RUN_FILE, header_hash
from bmwg.reports.store.upgrade import of_today

MAX_DOCUMENT_OCTETS = 16 << 20


def read_evidence(
    files: RunFiles, submission: Mapping[str, Any] | None = None, *, taken: TakenLines | None = None
) -> Evidence:
    """Read all files of a run; never raises for what they hold.

    `taken` is what was taken of the journal while `store.read_run` read it: it is not read a second time.
    """
    findings: list[Finding] = []
    run = _document(files, RUN_FILE, "run", findings)
    platform = _document(files, PLATFORM_FILE, "platform", findings)
    profile = _profile(run, findings) if run else None
    plan, outcomes = _answers(run, files, findings) if run else ((), ())
    lines = taken
    if lines is None:
        lines = TakenLines(f"{files.where}: {JOURNAL_FILE}", _policy(run, profile), delays=True)
        if run is not None:
            _follow(files, _first(run), lines)
    whole = run is not None and _journal(files, run, lines, findings)
    trials, executions = lines.trials, list(lines.executions)
    try:
        deviations = declared(files, run)
    except ToolkitError as error:
        findings.append(of_error(error))
        deviations = ()
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.cell_id, trial.metric), []).append(trial)
    return Evidence(
        files=files,
        findings=tuple(findings),
        run=run,
        platform=platform,
        profile=profile,
        plan=plan,
        outcomes=outcomes,
        trials=tuple(trials),
        executions=tuple(executions),
        whole_journal=whole,
        deviations=deviations,
        submission=submission,
        by_group={key: tuple(group) for key, group in groups.items()},
        by_cell={(outcome.cell.cell_id, outcome.metric): outcome for outcome in reversed(outcomes)},
    )


def _document(files: RunFiles, name: str, kind: str, findings: list[Finding]) -> dict[str, Any] | None:
    where = f"{files.where}: {name}"
    try:
        data: dict[str, Any] = strict_json(files.octets(name), where, MAX_DOCUMENT_OCTETS)
        check_version(data, kind, where)
        check_document(data, kind, where)
        if kind == "run":
            check_kind_of_load(data, where)
    except ToolkitError as error:
        findings.append(of_error(error))
        return None
    return data


def _profile(run: Mapping[str, Any], findings: list[Finding]) -> Profile | None:
    """Return the profile of frames; one of another kind is planned by its kind, which says what is wrong."""
    for name in loads.of_run(run):
        if name == UNNAMED:
            continue
        if wrong := kinds.kind(name, "run.json").wrong_profile(loads.said_of(run, name)["profile"]):
            said = ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=wrong)
            findings.append(of_error(said))
    if kinds.of_profile(run["profile"]) != UNNAMED:
        return None
    try:
        return profile_of(run["profile"], source="run.json: profile")
    except ToolkitError as error:
        findings.append(of_error(error))
        return None


def _answers(
    run: Mapping[str, Any], files: RunFiles, findings: list[Finding]
) -> tuple[tuple[PlannedCell, ...], tuple[Outcome, ...]]:
    try:
        return (
            tuple(planned_from_json(entry) for entry in run["plan"]),
            tuple(outcome_from_json(entry) for entry in run["outcomes"]),
        )
    except ToolkitError as error:
        findings.append(of_error(error))
        return (), ()
    except (ValueError, KeyError, TypeError) as error:
        findings.append(_finding("VER-01", files, "cells whose id is made of their fields", str(error)))
        return (), ()


def _policy(run: Mapping[str, Any] | None, profile: Profile | None) -> TrialPolicy | None:
    """Return by what trials are judged anew; None where the recorded validity stands."""
    if run is None or profile is None:
        return None
    known = run.get("procedures", {}).get(TRIAL, FIRST) in replayable(TRIAL)  # else VER-13 says so
    return profile.policy if known else None


def _first(run: Mapping[str, Any]) -> str:
    return genesis(run["run_id"], header_hash(run))


def _follow(files: RunFiles, prev: str, lines: TakenLines) -> None:
    """Follow the chain and take its lines, up to the first that is broken."""
    form: str | None = None  # of the first line
    where = f"{files.where}: {JOURNAL_FILE}: line 1"
    try:
        for number, (start, line, ended) in enumerate(files.lines(JOURNAL_FILE), start=1):
            if not ended:
                lines.findings.append(
                    _finding("VER-02", files, "a newline after the last trial", f"{len(line)} octets more")
                )
                break
            where = f"{files.where}: {JOURNAL_FILE}: line {number}"
            data = checked_line(line, number, prev, where, form)
            form, prev = data["schema"], data["hash"]
            lines.take(of_today(data), start, len(line))
            if lines.failed is not None:
                break
    except ToolkitError as error:
        lines.failed = of_error(error)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        lines.failed = no_trial(where, error)


def _journal(files: RunFiles, run: Mapping[str, Any], lines: TakenLines, findings: list[Finding]) -> bool:
    """Hold what was taken of the journal against the header; return whether the chain is whole."""
    header = header_hash(run)
    if header != run["header_sha256"]:
        findings.append(_finding("VER-01", files, f"a header of hash {header}", run["header_sha256"]))
    findings += lines.findings
    if lines.failed is not None:
        findings.append(lines.failed)
        return False
    hashes = [_first(run), *lines.hashes]
    stated, read = run["journal"]["trials"], len(lines.hashes)
    if stated != read or hashes[stated] != run["journal"]["hash"]:
        findings.append(
            _finding(
                "VER-02",
                files,
                f"{stated} trials, the last of hash {run['journal']['hash'][:16]}",
                f"{read} trials, the last of hash {hashes[-1][:16]}",
            )
        )
    return True


def _finding(rule_id: str, files: RunFiles, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, clause="", where=files.where, expected=expected, found=found, exit_code=2)
