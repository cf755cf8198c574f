"""What a run does about its platform: doctor before each suite, records of each deployment, the drift guard.

Between two cells the machine and the deployment are looked at again; a cell in whose stretch anything changed
is invalid, with the change named. Samples of what disturbs a host stand beside the counts of each trial.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.platform_record.collect import collect
from bmwg.drivers.platform_record.doctor import examine
from bmwg.drivers.testbed.file import SIMULATED, Testbed
from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.record.drift import Change, drift, named_drift, reason
from bmwg.methodology.record.findings import Weight
from bmwg.methodology.record.overlay import apply_overlay, declared_facts, read_overlay
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store.platform_file import PlatformFile
from bmwg.resources.run.deployment_identity import (
    DeploymentIdentity,
    Normal,
    Records,
    at_place,
    between_deployments,
    between_looks,
    normal_form,
    of_cluster,
)

MACHINE = "machine"
LATENCY_LIMIT = "host.cpu_latency_limit_us"  # on the time to leave an idle state, in force during a trial
Doctor = Callable[[Mapping[str, JsonValue] | None], Sequence[Mapping[str, Any]]]  # findings as data


class PlatformGuard:
    """Watches the platform of one run. A run with the simulated tester has none: nothing of it is watched."""

    def __init__(
        self,
        testbed: Testbed | None,
        platform: PlatformFile,
        note: Callable[[str], None],
        record: Mapping[str, JsonValue] | None = None,
        earlier: Mapping[str, Any] | None = None,
        *,
        staying: Collection[str] = (),
        look: Callable[[str], Mapping[str, JsonValue]] | None = None,
        doctor: Doctor | None = None,
        beside: Callable[[], Records] | None = None,
    ) -> None:
        """Take what is watched, where it is kept, how the operator is told, and a record just taken.

        `earlier` is the platform file of the run that is continued; new deployments are held against its own.
        Without a testbed the doctor looks at the machine alone. `staying` are interfaces of nodes that stand
        for the whole run: what changes on those nodes between two deployments is told, too. `look` records
        the machine in a scope and `doctor` says what is wrong with it, where that is not this machine.
        `beside` records the other machines that take part, with each deployment.
        """
        self._look: Callable[[str], Mapping[str, JsonValue]] = look or collect
        self._doctor: Doctor = doctor or self._examine
        self._beside = beside
        self._record = record  # for the first look of the doctor
        self.before = record
        self._testbed = testbed
        self._platform = platform
        self._note = note
        self._simulated = testbed is not None and testbed.tester.driver == SIMULATED
        self._examined: set[str] = set()
        self._told: set[str] = set()  # by the doctor, each once a run
        self._machine: Mapping[str, JsonValue] | None = None  # when last looked at
        self._identity = DeploymentIdentity()
        self._shown: dict[str, list[tuple[str, Mapping[str, JsonValue]]]] = {}  # stored whole, by place
        self._deployed: _Deployed | None = None
        self._unjudged: tuple[Change, ...] = ()  # of a deployment that broke before the last look at it
        self._staying = frozenset(staying)
        self._last: Normal = {}  # of nodes that stay, at the last look
        self._by_cluster = False  # whether the last deployment had a pod that the user's cluster made
        self._told_of_cluster = False
        for deployment_id, places in (earlier or {}).get("records", {}).items():
            self._remember(deployment_id, places, earlier or {})

    def _remember(self, deployment_id: str, places: Records, earlier: Mapping[str, Any]) -> None:
        """Take up a deployment of the part of a run that is continued."""
        normal: Normal = {}
        for place, record in places.items():
            whose = str(record.get("equal_to", deployment_id))
            whole = earlier["records"][whose][place]
            normal |= normal_form({place: whole}, earlier["deployments"].get(whose, {}))
            if whose == deployment_id:
                self._shown.setdefault(place, []).append((deployment_id, normal[place]))
        self._identity.unlike(deployment_id, earlier["deployments"].get(deployment_id, {}), normal)

    @property
    def simulated(self) -> bool:
        """Whether the tester is the simulated one, so that nothing is watched."""
        return self._simulated

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once a suite; it tells what it has not told yet."""
        if suite in self._examined:
            return
        self._examined.add(suite)
        findings = self._doctor(self._record)
        self._record = None
        self._platform.note_doctor(suite, findings)
        serious = [_short(finding) for finding in findings if finding["weight"] != Weight.NOTE]
        if new := [said for said in serious if said not in self._told]:
            self._told.update(new)
            self._note(f"doctor before {suite}: {'; '.join(new)}")

    def _examine(self, record: Mapping[str, JsonValue] | None) -> list[Mapping[str, Any]]:
        return [finding.as_json() for finding in examine(self._testbed, record)]

    @contextmanager
    def watched(
        self,
        deployment_id: str,
        evidence: Mapping[str, Any],
        take: Callable[[], Records],
        *,
        goes_on: bool = False,
    ) -> Iterator[None]:
        """Watch what `take` records of a deployment that stands, and the machine, until leaving.

        With `goes_on` a cell is continued that was begun before on another deployment: what changed on the
        machine since is in its stretch, and so is what that deployment was.
        """
        beside = self._beside

        def whole() -> Records:
            return {**take(), **(beside() if beside else {})}

        deployed = self._begin(deployment_id, evidence, whole, goes_on=goes_on)
        self._unjudged = ()
        try:
            yield
        except Exception:
            self._unjudged = (
                *deployed.unlike_the_first,
                *deployed.before_it,
                *self._at_break(deployed, evidence),
            )
            raise
        finally:
            self._deployed = None
            self._last = normal_form(deployed.records, evidence)

    def _at_break(self, deployed: _Deployed, evidence: Mapping[str, Any]) -> tuple[Change, ...]:
        """What changed on nodes that stay until their deployment broke: they may be gone at the next look."""
        if not self._staying:
            return ()
        try:
            now = normal_form(deployed.take(), evidence)
        except ToolkitError:
            return (Change(path="nodes: record", before="there", after="(lost)"),)
        return between_deployments(normal_form(deployed.records, evidence), now, self._staying)

    def forget_nodes(self) -> None:
        """Nodes that stayed until now are gone, and others were made: hold these against nothing."""
        self._last = {}

    def _begin(
        self, deployment_id: str, evidence: Mapping[str, Any], take: Callable[[], Records], *, goes_on: bool
    ) -> _Deployed:
        machine, records = self._look("watch"), take()
        normal = normal_form(records, evidence)
        since = self._beside_clusters((*self._since(machine), *self._since_on_nodes(normal)), evidence)
        if goes_on:
            since += self._unjudged
        elif since:
            self._platform.note_drift(None, (), [_as_json(change) for change in since])
            self._note(f"between two deployments: {'; '.join(map(str, since[:4]))}")
        self._machine = machine
        first_id, changes = self._identity.unlike(deployment_id, evidence, normal)
        self._platform.note_records(
            deployment_id,
            {place: self._once(deployment_id, place, record, normal) for place, record in records.items()},
        )
        if changes:
            self._note(f"{deployment_id} is not what {first_id} was: {'; '.join(map(str, changes[:4]))}")
        self._deployed = _Deployed(deployment_id, take, records, changes, since if goes_on else ())
        return self._deployed

    def _beside_clusters(self, since: tuple[Change, ...], evidence: Mapping[str, Any]) -> tuple[Change, ...]:
        """Return what changed beside what comes and goes with the pods of the user's cluster.

        That is recorded each time, told once a run, and touches no answer: the pod is the deployment's.
        """
        before, self._by_cluster = self._by_cluster, record_of.on_users_cluster(evidence)
        theirs, others = of_cluster(since) if before or self._by_cluster else ((), since)
        if theirs:
            self._platform.note_drift(None, (), [_as_json(change) for change in theirs])
        if theirs and not self._told_of_cluster:
            self._told_of_cluster = True
            paths = [one.path.split("/") for one in theirs if ": nic/" in one.path]
            names = ", ".join(sorted({path[1] for path in paths if len(path) > 2}))
            self._note(
                "between two deployments interfaces of the machine come and go with pods of your cluster "
                f"({names}): told once, each change is in platform.json"
            )
        return others

    def _since(self, machine: Mapping[str, JsonValue]) -> tuple[Change, ...]:
        """What changed on the machine since the last look."""
        return () if self._machine is None else at_place(MACHINE, drift(self._machine, machine))

    def _since_on_nodes(self, normal: Normal) -> tuple[Change, ...]:
        """What changed on nodes that stay since the last look; what is deployed on them changes with it."""
        return between_deployments(self._last, normal, self._staying) if self._staying else ()

    def _once(
        self, deployment_id: str, place: str, record: Mapping[str, JsonValue], normal: Normal
    ) -> Mapping[str, JsonValue]:
        """Return the record, or which deployment's record of that place it equals: most never change."""
        shown = self._shown.setdefault(place, [])
        for earlier, known in shown:
            if not drift(known, normal[place]):
                return {"equal_to": earlier}
        shown.append((deployment_id, normal[place]))
        return record

    def judged(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Look again; return a stretch's outcomes as they are, or invalid when the platform changed in it."""
        self.changed([outcome.outcome_id for outcome in outcomes])
        return [self._as_recorded(outcome) for outcome in outcomes]

    def judged_after_break(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The same for outcomes that end with a deployment that broke."""
        self.changed_after_break([outcome.outcome_id for outcome in outcomes])
        return [self._as_recorded(outcome) for outcome in outcomes]

    def _as_recorded(self, outcome: Outcome) -> Outcome:
        """A killed runner may have recorded a change without an answer: readers take it for the answer's."""
        changes = named_drift(self._platform.drift, outcome.outcome_id)
        return invalid(outcome, changes) if changes else outcome

    def changed(self, outcomes: Sequence[str]) -> tuple[Change, ...]:
        """Look again; return what changed in the stretch that the named outcomes were measured in."""
        deployed = self._deployed
        if deployed is None or self._machine is None:
            return ()
        machine, records = self._look("watch"), deployed.take()
        changes = (
            *deployed.unlike_the_first,
            *deployed.before_it,
            *self._since(machine),
            *between_looks(deployed.records, records),
        )
        self._machine, deployed.records, deployed.before_it = machine, records, ()
        if changes:
            named = [_as_json(change) for change in changes]
            self._platform.note_drift(deployed.deployment_id, outcomes, named)
        return changes

    def changed_after_break(self, outcomes: Sequence[str]) -> tuple[Change, ...]:
        """Return what changed, for outcomes that end with a deployment that broke."""
        machine = self._look("watch")
        changes = (*self._unjudged, *self._since(machine))
        self._machine, self._unjudged = machine, ()
        if changes:
            self._platform.note_drift(None, outcomes, [_as_json(change) for change in changes])
        return changes


def machine_record(
    overlay: Path | None,
    before: Mapping[str, Any] | None = None,
    look: Callable[[], dict[str, JsonValue]] | None = None,
) -> dict[str, JsonValue]:
    """The machine's record, with the facts that a person declares where nothing was measured.

    `look` takes it where that is not this machine. The overlay is a file, or what the record `before` of the
    same run was completed with. Raises ConfigError REC-05, REC-06, REC-08 for the file; a later record that
    contradicts it stays as measured: that is drift.
    """
    record = (look or collect)()
    if overlay is not None:
        return apply_overlay(record, overlay_facts(overlay), str(overlay))
    if before is None:
        return record
    told = declared_facts(before)
    try:
        return apply_overlay(record, told, told["file"])
    except ConfigError:
        return record


def overlay_facts(overlay: Path) -> dict[str, Any]:
    """The facts that a person declares in a file. Raises ConfigError REC-05, REC-08."""
    try:
        text = overlay.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("REC-08", f"{overlay} cannot be read", found=str(error)) from error
    return read_overlay(text, str(overlay))


class _Deployed:
    """The deployment that stands, and what it was when last looked at."""

    def __init__(
        self,
        deployment_id: str,
        take: Callable[[], Records],
        records: Records,
        unlike_the_first: tuple[Change, ...],
        before_it: tuple[Change, ...],
    ) -> None:
        self.deployment_id = deployment_id
        self.take = take
        self.records = records
        self.unlike_the_first = unlike_the_first
        self.before_it = before_it  # since the cell began that is continued on it


def invalid(outcome: Outcome, changes: tuple[Change, ...]) -> Outcome:
    """The outcome of a stretch in which the platform changed: its trials, no claim, and why."""
    return Outcome(
        outcome_id=outcome.outcome_id,
        metric=outcome.metric,
        cell=outcome.cell,
        type=OutcomeType.INVALID,
        reason=reason(changes),
        trials=outcome.trials,
    )


def _as_json(change: Change) -> dict[str, str]:
    return {"path": change.path, "before": change.before, "after": change.after}


def _short(finding: Mapping[str, Any]) -> str:
    return f"{finding['finding_id']} {finding['what']}"


def host_counts(difference: Mapping[str, Any]) -> list[tuple[str, int]]:
    """What happened on the host during one trial, as auxiliary counts; what could not be read is left out."""
    softnet = difference["softnet"].values()
    counts = {
        "host.softirq_ns": sum(difference["softirq_ns"].values()),
        "host.steal_ns": sum(difference["steal_ns"].values()),
        "host.backlog_dropped": sum(cpu["dropped"] for cpu in softnet),
        "host.polls_squeezed": sum(cpu["squeezed"] for cpu in softnet),
        "host.foreign_frames": sum(difference["foreign_frames"].values()),
    }
    if clocks := difference.get("frequency_khz"):
        counts["host.frequency_lowest_khz"] = clocks["lowest"]
        counts["host.frequency_highest_khz"] = clocks["highest"]
    if "latency_limit_us" in difference:
        counts[LATENCY_LIMIT] = difference["latency_limit_us"]
    return list(counts.items())
