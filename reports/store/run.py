"""Writes the files of a run while it goes on: nothing is used before it is on the disk."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.kinds.kind import Body
from bmwg.methodology.record.redaction import sealed_texts
from bmwg.methodology.record.seals import seal
from bmwg.methodology.records import Outcome, TrialResult, Validity
from bmwg.methodology.search.offer import Spec
from bmwg.methodology.suites import Case
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.store import loads
from bmwg.reports.store.checks import check_own
from bmwg.reports.store.codec import (
    Json,
    PlannedCell,
    outcome_to_json,
    planned_to_json,
)
from bmwg.reports.store.files import (
    Written,
    as_json,
    free_name,
    pretty,
    utc_text,
    write_atomically,
)
from bmwg.reports.store.folder import new_folder
from bmwg.reports.store.frame_codec import frames_body
from bmwg.reports.store.interruptions import UnderWay, describe
from bmwg.reports.store.journal import JournalWriter, genesis, move_torn_aside, read_journal
from bmwg.reports.store.platform_file import PlatformFile
from bmwg.reports.store.read import (
    JOURNAL_FILE,
    RUN_FILE,
    header_hash,
    load_document,
    read_run,
    trials_named,
)

_SEAL_OCTETS = 16  # choice: beyond guessing


CABLES = "cables between hosts"  # a medium whose rate only a person knows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What is known of a run before its first trial; it never changes afterwards (drivers may be added).

    `testbed` and `profile` are the files as data (`profile` holds `name`, `deviations`, and `indicative`).
    `line_rate_bps` is the medium's rate in bit/s, or None where the medium has none (veth).
    `drivers` are their `describe()`; one that is known only later comes by `RunStore.add_driver`.
    `procedures` are versions by name (`methodology.procedures`); `qualification_max_fps` is the highest load
    of the tester's qualification, frames/s per port and direction. `cases` are the test cases of suites
    that do not come with the toolkit: a reader may not have them. `loads` are testbed, profile and medium of
    further kinds of load, by name (`reports.store.loads`). `plan` is in the order of measuring, which
    was drawn from `order_seed` (None: in blocks, one option after the other). `challenge_sha256` is that of
    the file of a body's challenge. `fleet` says which shard of which fleet the run is.
    """

    toolkit_version: str
    toolkit_commit: str | None
    toolkit_dirty: bool | None
    simulated: bool
    testbed: Mapping[str, Any]
    testbed_source: str | None
    profile: Mapping[str, Any]
    medium_kind: str
    line_rate_bps: int | None
    plan: tuple[PlannedCell, ...] = ()
    drivers: tuple[Mapping[str, Any], ...] = ()
    procedures: Mapping[str, int] = field(default_factory=dict)
    qualification_max_fps: int | None = None
    cases: tuple[Case, ...] = ()
    order_seed: int | None = None
    loads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    challenge_sha256: str | None = None
    fleet: Mapping[str, Any] | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class RunStore:
    """The run folder, open for writing. Make it by `create` or `resume`; `close` says how the run ended.

    As a context manager it closes; a run that leaves by an exception is closed as interrupted.
    """

    def __init__(
        self,
        folder: Path,
        run: Json,
        platform: PlatformFile,
        journal: JournalWriter,
        clock: Callable[[], datetime],
        repairs: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.repairs = repairs
        self._run = run
        self.platform = platform
        self._journal = journal
        self._under_way = UnderWay(folder)
        self._written: Written = {}
        self._clock = clock
        self._platform_link: str | None = None  # of a run that has ended
        self.fence: Callable[[], None] = lambda: None  # raises where this program may record nothing more
        self.platform.hide(sealed_texts(run))

    @classmethod
    def create(
        cls,
        results_dir: Path,
        run_id: str | None,
        header: RunHeader,
        *,
        clock: Callable[[], datetime] = _now,
    ) -> RunStore:
        """Make a new run folder with an empty journal. Without `run_id` it is the UTC time and a random part.

        Raises ConfigError STORE-09 (a run id that no folder can have, or that exists), TestbedError STORE-08.
        """
        started = clock()
        folder = new_folder(results_dir, run_id, started)
        run: Json = {
            "schema": "run/1.0",
            "run_id": folder.name,
            "toolkit": {
                "version": header.toolkit_version,
                "commit": header.toolkit_commit,
                "dirty": header.toolkit_dirty,
            },
            "simulated": header.simulated,
            "testbed": dict(header.testbed),
            "testbed_source": header.testbed_source,
            "profile": dict(header.profile),
            "medium": {"kind": header.medium_kind, "line_rate_bps": header.line_rate_bps},
            "plan": [planned_to_json(planned) for planned in header.plan],
            "started_at": utc_text(started),
            "procedures": dict(header.procedures),
        }
        if header.order_seed is not None:
            run["order_seed"] = header.order_seed
        if header.challenge_sha256 is not None:
            run["challenge_sha256"] = header.challenge_sha256
        if header.fleet is not None:
            run["fleet"] = dict(header.fleet)
        if header.qualification_max_fps is not None:
            run["qualification_max_fps"] = header.qualification_max_fps
        if header.cases:
            run["cases"] = [case.as_builtins() for case in header.cases]
        if header.loads:
            run[loads.KEY] = {kind: dict(said) for kind, said in header.loads.items()}
        run = as_json(run)
        described = {"drivers": [as_json(driver) for driver in header.drivers]}
        run["seals"] = seal(run | described, lambda: secrets.token_hex(_SEAL_OCTETS))
        digest = header_hash(run)
        first_prev = genesis(folder.name, digest)
        run |= {
            "header_sha256": digest,
            **described,
            "outcomes": [],
            "status": "running",
            "ended_at": None,
            "interruption": None,
            "journal": {"trials": 0, "hash": first_prev},
        }
        check_own(run, "run")
        write_atomically(folder / JOURNAL_FILE, b"")
        platform = PlatformFile.create(folder, clock)
        store = cls(folder, run, platform, JournalWriter(folder / JOURNAL_FILE, first_prev, 0), clock)
        store._write_run()
        return store

    @classmethod
    def resume(cls, folder: Path, *, clock: Callable[[], datetime] = _now) -> RunStore:
        """Open a run that was cut off. A torn last append is moved aside; `repairs` says so.

        Raises ConfigError as `read_run` does, and STORE-06 when another process writes the run.
        """
        load_document(folder / RUN_FILE, "run")
        path = folder / JOURNAL_FILE
        journal = JournalWriter(path, "", 0)  # the lock comes before what is read
        try:
            read_run(folder)
            run = load_document(folder / RUN_FILE, "run")
            platform = PlatformFile.read(folder, clock)
            first_prev = genesis(run["run_id"], run["header_sha256"])
            content = read_journal(path, first_prev)
            aside = move_torn_aside(path, content, lambda: free_name(path))
        except BaseException:
            journal.close()
            raise
        journal.trials = len(content.trials)
        journal.last_hash = content.hashes[-1] if content.hashes else first_prev
        repairs = (
            (f"{len(content.torn)} octets of a cut-off append were moved to {aside.name}",) if aside else ()
        )
        if run["status"] != "complete":
            entry = describe(
                folder,
                run,
                trials=journal.trials,
                last_sign_at=content.trials[-1].at if content.trials else run["started_at"],
                noticed_at=utc_text(clock()),
                repairs=list(repairs),
            )
            run["interruptions"] = [*run.get("interruptions", []), entry]
        run |= {"status": "running", "ended_at": None, "interruption": None}
        store = cls(folder, run, platform, journal, clock, repairs)
        check_own(run, "run")
        store._write_run()
        return store

    @property
    def run_id(self) -> str:
        """The name of the run and of its folder."""
        return self.folder.name

    @property
    def header_sha256(self) -> str:
        """The hash of the run's header."""
        return str(self._run["header_sha256"])

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._run["status"] != "running":
            self._release()
        elif kind is None:
            self.close(None, "complete")
        else:
            self.close(None, "interrupted", reason=f"{kind.__name__}: {error}")

    def begin_trial(self, *, cell_id: str, phase: str, spec: Spec) -> None:
        """Note which trial is about to run, so that a run that is killed can name it.

        Raises TestbedError STORE-08 (disk).
        """
        self._under_way.note(
            after_trial=self._journal.trials,
            cell_id=cell_id,
            phase=phase,
            spec=spec,
            at=utc_text(self._clock()),
        )

    def append_trial(
        self,
        *,
        cell_id: str,
        deployment_id: str,
        metric: str,
        test_id: str,
        phase: str,
        result: TrialResult,
        validity: Validity,
        reason: str = "",
        times: TrialTimes | None = None,
    ) -> int:
        """Record one trial of frames, and when its steps happened, as `append` does."""
        return self.append(
            cell_id=cell_id,
            deployment_id=deployment_id,
            metric=metric,
            test_id=test_id,
            phase=phase,
            body=frames_body(result),
            validity=validity,
            reason=reason,
            times=times,
        )

    def append(
        self,
        *,
        cell_id: str,
        deployment_id: str,
        metric: str,
        test_id: str,
        phase: str,
        body: Body,
        validity: Validity,
        reason: str = "",
        times: TrialTimes | None = None,
    ) -> int:
        """Record one trial of any kind of load; return its sequence number once it is on the disk.

        Raises TestbedError STORE-08 (disk), ToolkitBug STORE-05 (a record that breaks our own schema), and
        what the fence raises.
        """
        self.fence()
        return self._journal.append(
            cell_id=cell_id,
            deployment_id=deployment_id,
            metric=metric,
            test_id=test_id,
            phase=phase,
            body=body,
            validity=validity,
            reason=reason,
            at=utc_text(self._clock()),
            platform=self.platform.bound(deployment_id),
            times=times,
        )

    def add_outcome(self, outcome: Outcome, *, mend: str = "") -> None:
        """Record an answer; `mend` is the line that supplies what a not assessed cell lacked.

        Raises ToolkitBug STORE-05 for an id that is taken or a trial that the journal does not hold, and what
        the fence raises.
        """
        self.fence()
        if any(entry["id"] == outcome.outcome_id for entry in self._run["outcomes"]):
            raise ToolkitBug("STORE-05", f"outcome {outcome.outcome_id}: is in the run already")
        unknown = sorted(seq for seq in trials_named(outcome) if not 1 <= seq <= self._journal.trials)
        if unknown:
            raise ToolkitBug(
                "STORE-05",
                f"outcome {outcome.outcome_id}: rests on a trial that was never recorded",
                expected=f"trials 1..{self._journal.trials}",
                found=f"trial {unknown[0]}",
            )
        self._change_run(outcomes=[*self._run["outcomes"], outcome_to_json(outcome, mend)])

    def unanswered(self) -> tuple[int, int]:
        """Return how many cells of the plan have no answer yet, and how many there are."""
        answered = {(entry["metric"], entry["cell"]["cell_id"]) for entry in self._run["outcomes"]}
        planned = [(entry["metric"], entry["cell"]["cell_id"]) for entry in self._run["plan"]]
        return sum(key not in answered for key in planned), len(planned)

    def add_driver(self, description: Mapping[str, Any]) -> None:
        """Record a driver's `describe()` that was not known when the run began; one that stands is kept."""
        plain = as_json(description)
        if plain not in self._run["drivers"]:
            drivers = [*self._run["drivers"], plain]
            openings = seal({"drivers": drivers}, lambda: secrets.token_hex(_SEAL_OCTETS))
            self._change_run(drivers=drivers, seals={**openings, **self._run.get("seals", {})})
            self.platform.hide(sealed_texts(self._run))

    def set_platform(
        self, *, before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None
    ) -> None:
        """Record the platform before or after the run. Raises ToolkitBug STORE-05 when it stands already."""
        self.platform.set_base(before=before, after=after)

    def add_deployment(self, deployment_id: str, evidence: Mapping[str, Any]) -> None:
        """Record what a deployment was. Raises ToolkitBug STORE-05 when its id is taken."""
        self.platform.add_deployment(deployment_id, evidence)

    def close(self, ended: datetime | None, status: str, *, reason: str | None = None) -> None:
        """Say how the run ended: `complete`, or `interrupted` with a reason. Safe to call twice."""
        if self._run["status"] == "running":
            try:
                self._platform_link = self.platform.end(self._run, self._journal.last_hash)
                self._change_run(
                    status=status, ended_at=utc_text(ended or self._clock()), interruption=reason
                )
                if status == "complete":
                    self._under_way.forget()
            finally:
                self._release()
        self._release()

    def _release(self) -> None:
        self._under_way.close()
        self._journal.close()

    def _change_run(self, **changes: Any) -> None:
        changed = self._run | changes
        check_own(changed, "run")
        self._run = changed
        self._write_run()

    def _write_run(self) -> None:
        self._run["journal"] = {"trials": self._journal.trials, "hash": self._journal.last_hash}
        if self._platform_link is not None:
            self._run["journal"]["platform"] = self._platform_link
        write_atomically(self.folder / RUN_FILE, pretty(self._run, self._written))
