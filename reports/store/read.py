"""Reads a run back: every file held against its schema, the chain verified, cross references resolved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.record.seals import sealed
from bmwg.methodology.records import Bound, Outcome
from bmwg.reports.store import loads
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.checks import check_document, check_kind_of_load, check_version, read_bytes
from bmwg.reports.store.codec import PlannedCell, outcome_from_json, planned_from_json
from bmwg.reports.store.frame_trials import JournalTrial
from bmwg.reports.store.journal import Beside, genesis, read_journal

RUN_FILE = "run.json"
JOURNAL_FILE = "trials.jsonl"
PLATFORM_FILE = "platform.json"
HEADER_KEYS = (
    "run_id",
    "toolkit",
    "simulated",
    "testbed",
    "testbed_source",
    "profile",
    "medium",
    "plan",
    "started_at",
    "procedures",
)
OPTIONAL_HEADER_KEYS = (  # of runs that have them
    "qualification_max_fps",
    "cases",
    "order_seed",
    "loads",
    "challenge_sha256",
    "fleet",
)


def header_hash(document: Mapping[str, Any]) -> str:
    """Return the hash of a run's header, as its first journal line is bound to it.

    A text that the run has sealed counts by its commitment, so that redacting it leaves the hash as it was.
    """
    optional = [key for key in OPTIONAL_HEADER_KEYS if key in document]
    header = {key: document[key] for key in (*HEADER_KEYS, *optional)}
    return sha256_of(sealed(header, document.get("seals", {})))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as its files tell it, verified. `trials` are those of frames, `executions` those of other kinds.

    `status` is `complete`, `interrupted`, or `running`: it never came to its end. `notes` are sentences about
    what reading had to repair. `interruptions` say when and why the run was cut off and went on.
    `mends` maps an outcome id to the line that supplies what its cell lacked. `testbed`, `profile` and medium
    are those of the first kind of load; `loads` holds those of further kinds, by name (`of_load`).
    """

    folder: Path
    run_id: str
    header_sha256: str
    toolkit_version: str
    toolkit_commit: str | None
    toolkit_dirty: bool | None
    simulated: bool
    testbed: Mapping[str, Any]
    testbed_source: str | None
    profile: Mapping[str, Any]
    medium_kind: str
    line_rate_bps: int | None
    plan: tuple[PlannedCell, ...]
    drivers: tuple[Mapping[str, Any], ...]
    started_at: str
    ended_at: str | None
    status: str
    interruption: str | None
    outcomes: tuple[Outcome, ...]
    mends: Mapping[str, str]
    trials: tuple[JournalTrial, ...]
    platform_before: Mapping[str, Any] | None
    platform_after: Mapping[str, Any] | None
    deployments: Mapping[str, Mapping[str, Any]]
    journal_hash: str
    notes: tuple[str, ...]
    interruptions: tuple[Mapping[str, Any], ...] = ()
    platform: Mapping[str, Any] = field(default_factory=dict)  # all of platform.json
    executions: tuple[Execution, ...] = ()
    loads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    order_seed: int | None = None  # from which the order of the plan was drawn; None: option after option
    fleet: Mapping[str, Any] | None = None  # which shard of which fleet it is

    def trial(self, seq: int) -> JournalTrial:
        """Return the trial of frames of a sequence number. Raises LookupError when the journal has none."""
        if not self.executions and 1 <= seq <= len(self.trials):
            return self.trials[seq - 1]
        found = next((trial for trial in self.trials if trial.seq == seq), None)
        if found is None:
            raise LookupError(f"trial {seq}: expected a trial of frames among 1..{self.lines}")
        return found

    @property
    def lines(self) -> int:
        """How many trials of all kinds of load the run has."""
        return len(self.trials) + len(self.executions)

    @property
    def last_deployment(self) -> int:
        """The highest number in the id of a deployment; one that failed to come up has used one as well."""
        numbers = (name.rpartition("-")[2] for name in self.deployments)
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of its kinds of load, the first of the header first."""
        return (kinds.of_profile(self.profile), *self.loads)

    def of_load(self, kind: str) -> Run:
        """Return the run with the testbed, profile and medium that its header says for one kind of load."""
        if kind not in self.loads:
            return self
        said = self.loads[kind]
        return replace(
            self,
            testbed=said["testbed"],
            profile=said["profile"],
            medium_kind=said["medium"]["kind"],
            line_rate_bps=said["medium"]["line_rate_bps"],
        )

    def of_kind(self, kind: str) -> tuple[Outcome, ...]:
        """Return the answers for cells of one kind of load."""
        return tuple(outcome for outcome in self.outcomes if outcome.cell.kind == kind)


def read_run(path: Path, beside: Beside | None = None) -> Run:
    """Read the run in a folder and check all of it. Changes nothing on the disk.

    `beside` takes each line of the journal as well (see `read_journal`).
    Raises ConfigError: STORE-01 broken chain, STORE-02 unreadable, STORE-03 unknown version, STORE-04 schema,
    STORE-07 files that contradict each other.
    """
    document = load_document(path / RUN_FILE, "run")
    platform = load_document(path / PLATFORM_FILE, "platform")
    header_sha256 = header_hash(document)
    _agree(path, "the hash of the header", document["header_sha256"], header_sha256)
    _agree(path, "platform.json's run id", document["run_id"], platform["run_id"])
    first_prev = genesis(document["run_id"], header_sha256)
    content = read_journal(path / JOURNAL_FILE, first_prev, beside)
    known = document["journal"]["trials"]
    if known > len(content.trials):
        raise _contradiction(path, f"at least {known} trials in the journal", str(len(content.trials)))
    _agree(
        path,
        f"the hash of journal line {known}",
        document["journal"]["hash"],
        content.hashes[known - 1] if known else first_prev,
    )
    trials = tuple(trial for trial in content.trials if not isinstance(trial, Execution))
    executions = tuple(one for one in content.trials if isinstance(one, Execution))
    notes = []
    if content.torn:
        notes.append(
            f"The journal ends in {len(content.torn)} octets of an append that was cut off; "
            "they were never acknowledged and are no trial."
        )
    try:
        outcomes = tuple(outcome_from_json(entry) for entry in document["outcomes"])
        plan = tuple(planned_from_json(entry) for entry in document["plan"])
    except ValueError as error:
        raise _contradiction(path, "cells whose id is made of their fields", str(error)) from error
    mends = {entry["id"]: entry["mend"] for entry in document["outcomes"] if entry["mend"]}
    _check_outcomes(path, outcomes, len(trials) + len(executions))
    return Run(
        folder=path,
        run_id=document["run_id"],
        header_sha256=header_sha256,
        toolkit_version=document["toolkit"]["version"],
        toolkit_commit=document["toolkit"]["commit"],
        toolkit_dirty=document["toolkit"]["dirty"],
        simulated=document["simulated"],
        testbed=document["testbed"],
        testbed_source=document["testbed_source"],
        profile=document["profile"],
        medium_kind=document["medium"]["kind"],
        line_rate_bps=document["medium"]["line_rate_bps"],
        plan=plan,
        drivers=tuple(document["drivers"]),
        started_at=document["started_at"],
        ended_at=document["ended_at"],
        status=document["status"],
        interruption=document["interruption"],
        outcomes=outcomes,
        mends=mends,
        trials=trials,
        platform_before=platform["base"]["before"],
        platform_after=platform["base"]["after"],
        deployments=platform["deployments"],
        journal_hash=content.hashes[-1] if content.hashes else first_prev,
        notes=tuple(notes),
        interruptions=tuple(document.get("interruptions", ())),
        platform=platform,
        executions=executions,
        loads=document.get(loads.KEY, {}),
        order_seed=document.get("order_seed"),
        fleet=document.get("fleet"),
    )


def load_document(path: Path, kind: str) -> dict[str, Any]:
    """Read one JSON file and hold it against schema `kind`. Raises ConfigError STORE-02, -03, -04."""
    return document_of(read_bytes(path), kind, str(path))


def document_of(octets: bytes, kind: str, where: str) -> dict[str, Any]:
    """Hold the octets of a JSON file against schema `kind`. Raises ConfigError STORE-02, -03, -04."""
    data = _json(octets, where)
    check_version(data, kind, where)
    check_document(data, kind, where)
    if kind == "run":
        check_kind_of_load(data, where)
    document: dict[str, Any] = data
    return document


def _json(octets: bytes, where: str) -> Any:
    try:
        return json.loads(octets, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            "STORE-02", f"{where}: cannot be read", expected="JSON", found=str(error)
        ) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def trials_named(outcome: Outcome) -> set[int]:
    """Return every sequence number that an outcome rests on."""
    bounds: list[Bound] = [bound for bound in (outcome.lower, outcome.upper) if bound is not None]
    return set(outcome.trials).union(*(bound.trials for bound in bounds))


def _check_outcomes(path: Path, outcomes: tuple[Outcome, ...], trials: int) -> None:
    seen: set[str] = set()
    for outcome in outcomes:
        if outcome.outcome_id in seen:
            raise _contradiction(path, "each outcome id once", f"{outcome.outcome_id} twice")
        seen.add(outcome.outcome_id)
        missing = sorted(seq for seq in trials_named(outcome) if not 1 <= seq <= trials)
        if missing:
            raise _contradiction(
                path, f"trials 1..{trials} in outcome {outcome.outcome_id}", f"trial {missing[0]}"
            )


def _agree(path: Path, what: str, expected: str, found: str) -> None:
    if expected != found:
        raise _contradiction(path, f"{what} to be {expected}", found)


def _contradiction(path: Path, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-07",
        f"{path}: the files of the run contradict each other",
        expected=expected,
        found=found,
        hint="a file was changed or cut after the run: take the originals",
    )
