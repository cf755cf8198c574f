"""A run of HTTP experiments: answers follow from repetitions, and these from the plan of its profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.http import judge
from bmwg.methodology.http.profile import HttpProfile, Planned
from bmwg.methodology.http.records import HttpOutcome, Repetition
from bmwg.methodology.record.bound import sealed_form
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.evidence import MAX_DOCUMENT_OCTETS, Evidence, Load
from bmwg.reports.checker.findings import Finding, Rule, Shortfall, of_error, rule
from bmwg.reports.checker.source import HTTP_FILES, MAX_LINE_OCTETS
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.http.answers import answers_of
from bmwg.reports.http.journal import checked_lines
from bmwg.reports.store.checks import check_version
from bmwg.reports.store.read import header_hash
from bmwg.reports.verify.physics_http import beyond_rate, executions
from bmwg.reports.verify.platform import not_of_the_file
from bmwg.reports.verify.timing import (
    Execution,
    clock_question,
    contradictions,
    outside,
    too_close,
    too_short,
)
from bmwg.schemas.validation import problems

ANSWERS, JOURNAL = HTTP_FILES
Numbered = tuple[int, Repetition]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEvidence:
    """What the files of an HTTP run hold. `plan` is that of the profile, `stated` that of the run; `stamps`
    are the times of the repetitions' lines.
    """

    evidence: Evidence
    plan: dict[str, Planned]
    stated: Sequence[dict[str, Any]]
    ended: dict[str, dict[str, Any]]
    repetitions: tuple[Numbered, ...]
    answers: tuple[HttpOutcome, ...]
    stamps: tuple[str, ...] = ()

    @property
    def executions(self) -> list[Execution]:
        """The repetitions as the rules of any kind of load read them."""
        run = self.evidence.run
        return executions(JOURNAL, run["started_at"], self.lines, self.plan) if run else []

    @property
    def lines(self) -> list[tuple[int, str, Repetition]]:
        """Number, stamp and content of each line."""
        return [(seq, at, one) for (seq, one), at in zip(self.repetitions, self.stamps, strict=True)]

    def of(self, cell_id: str) -> list[Repetition]:
        """Return the measured repetitions of a cell, in order."""
        return [one for _, one in self.repetitions if one.cell_id == cell_id and one.phase == judge.MEASURED]


def http_findings(evidence: Evidence) -> tuple[list[Finding], HttpEvidence | None]:
    """Verify the HTTP side of a run: nothing where the run has none, and None where it cannot be read."""
    run = evidence.run
    if run is None:
        return [], None
    wanted = evidence.load is Load.REQUESTS
    wrong = [name for name in HTTP_FILES if evidence.files.has(name) is not wanted]
    if wrong or not wanted:
        expected = "the files of HTTP experiments" if wanted else "none: the profile has no HTTP experiments"
        return [
            _finding("VER-15", name, expected, "missing" if wanted else "such a file") for name in wrong
        ], None
    try:
        found = _read(evidence, run)
    except ToolkitError as error:
        return [of_error(error)], None
    except Exception as error:  # an edited journal can ask a search for anything
        text = f"{type(error).__name__}: {error}"
        return [_finding("VER-16", JOURNAL, "repetitions that the search can be run over", text)], None
    return [finding for one in RULES for finding in one.apply(found)], found


def _finding(rule_id: str, where: str, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, clause="", where=where, expected=expected, found=found, exit_code=2)


def _read(evidence: Evidence, run: Any) -> HttpEvidence:
    if wrong := problems(run["profile"], "http_profile"):
        raise ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=str(wrong[0]))
    data = strict_json(evidence.files.octets(ANSWERS), ANSWERS, MAX_DOCUMENT_OCTETS)
    check_version(data, "http", ANSWERS)
    if wrong := problems(data, "http"):
        raise ConfigError("STORE-04", ANSWERS, expected="a file of its schema", found=str(wrong[0]))
    lines = [line for _, line, whole in evidence.files.lines(JOURNAL) if whole]
    repetitions = checked_lines(lines, JOURNAL, run["run_id"], header_hash(run))
    profile = HttpProfile(name=run["profile"]["name"], data=run["profile"])
    return HttpEvidence(
        evidence=evidence,
        plan={planned.cell.cell_id: planned for planned in profile.plan()},
        stated=data["plan"] if data["run_id"] == run["run_id"] else [],
        ended={entry["cell"]: entry for entry in data["outcomes"]},
        repetitions=repetitions,
        stamps=tuple(strict_json(line, JOURNAL, MAX_LINE_OCTETS)["at"] for line in lines),
        answers=answers_of(data, repetitions, Path(ANSWERS), evidence.platform or {}),
    )


@rule("VER-17", "", "an HTTP run planned whole tests of its profile, with the profile's numbers")
def plan_of_profile(found: HttpEvidence) -> Iterator[Shortfall]:
    """Each planned cell is the profile's, once; a test that was chosen has all its cells."""
    if not found.stated:
        yield ANSWERS, "the plan of this run", "none"
    seen: Counter[str] = Counter()
    for entry in found.stated:
        matching = [
            cell_id
            for cell_id, planned in found.plan.items()
            if asdict(planned.cell) == entry["cell"] and planned.test_id == entry["test"]
        ]
        if not matching:
            yield f"{ANSWERS}: plan", "a cell of the profile, under its test", str(entry["cell"])
            continue
        planned = found.plan[matching[0]]
        seen[matching[0]] += 1
        stated = (entry["repetitions"], entry.get("least_repetitions", entry["repetitions"]), entry["rate"])
        if stated != (planned.repetitions, planned.least, planned.rate):
            yield matching[0], f"{planned.repetitions} repetitions, as the profile says", "other numbers"
    tests = {found.plan[cell_id].test_id for cell_id in seen}
    for cell_id, planned in found.plan.items():
        if planned.test_id in tests and seen[cell_id] != 1:
            yield cell_id, f"once in the plan, like all of {planned.test_id}", f"{seen[cell_id]} times"


@rule("VER-18", "", "an HTTP run hides no repetition, asks for what is planned and answers its plan")
def repetitions_of_plan(found: HttpEvidence) -> Iterator[Shortfall]:
    """Each repetition is of a planned cell with its number of requests, and no answer passes over one."""
    answered = {answer.cell.cell_id for answer in found.answers}
    complete = found.evidence.run is not None and found.evidence.run["status"] == "complete"
    deployments = (found.evidence.platform or {"deployments": {}})["deployments"]
    for seq, one in found.repetitions:
        where = f"{JOURNAL}: line {seq}"
        planned = found.plan.get(one.cell_id)
        if planned is None or (complete and one.cell_id not in answered):
            yield where, "a planned cell that is answered", one.cell_id
            continue
        if planned.rate is None:
            asked = planned.requests if one.phase == judge.MEASURED else planned.warm_up_requests
            if one.asked_requests != asked:
                yield where, f"{asked} requests, as planned", str(one.asked_requests)
        if one.deployment not in deployments:
            yield where, "a deployment that platform.json describes", one.deployment
    for cell_id, ended in found.ended.items():
        if ended["type"] == OutcomeType.NOT_ASSESSED and found.of(cell_id):
            yield cell_id, "no repetition of a cell that was not tried", str(len(found.of(cell_id)))
    for entry in found.stated if complete else ():
        if not any(asdict(answer.cell) == entry["cell"] for answer in found.answers):
            yield f"{ANSWERS}: outcomes", "an answer for each planned cell", str(entry["cell"])


@rule("VER-16", "", "what an HTTP answer says of its quality follows from its repetitions")
def quality_follows(found: HttpEvidence) -> Iterator[Shortfall]:
    """The remarks that the file holds are those that the repetitions give."""
    for answer in found.answers:
        if not answer.repetitions:
            continue
        planned = found.plan.get(answer.cell.cell_id)
        if planned is None or planned.rate is not None:
            continue
        computed = judge.outcome(
            answer.cell, found.repetitions, wanted=planned.least, planned=planned.repetitions
        )
        changes = named_drift(found.evidence.platform or {}, answer.cell.cell_id)
        computed = judge.drifted(computed, changes)
        if computed.quality != answer.quality:
            yield answer.cell.cell_id, "; ".join(computed.quality) or "no remark", "; ".join(answer.quality)


@rule("VER-14", "", "repetitions are bound to the platform file", exit_code=2)
def repetitions_bound(found: HttpEvidence) -> Iterator[Shortfall]:
    """platform.json is the one that each repetition knows; in a run that nobody watched, none does."""
    platform = found.evidence.platform or {}
    watched = "drift" in platform
    bonds = [
        (f"{JOURNAL}: line {seq}", one.deployment, _bond(one))
        for seq, one in found.repetitions
        if watched or one.platform is not None
    ]
    try:
        yield from not_of_the_file(sealed_form(platform), bonds) if bonds else ()
    except LookupError:
        return  # the rule of the run's end names what is missing


def _bond(one: Repetition) -> tuple[int, int, str] | None:
    bound = one.platform
    return (bound["doctor"], bound["drift"], bound["sha256"]) if bound else None


@rule("VER-30", "", "a repetition fits into the time between its line and the one before", exit_code=2)
def lines_apart(found: HttpEvidence) -> Iterator[Shortfall]:
    """Between two lines lies at least the repetition's wall time."""
    yield from too_close(found.executions)


@rule("VER-31", "", "a repetition takes at least the time that its requests took", exit_code=2)
def repetitions_last(found: HttpEvidence) -> Iterator[Shortfall]:
    """The wall time of a repetition is not below its client's life, nor below what its requests took."""
    yield from too_short(found.executions)


@rule("VER-32", "", "no more octets than the medium can carry", exit_code=2)
def within_line_rate(found: HttpEvidence) -> Iterator[Shortfall]:
    """No repetition moves more octets than fit on the medium at its declared rate."""
    if run := found.evidence.run:
        yield from beyond_rate(found.lines, JOURNAL, run["medium"]["line_rate_bps"])


@rule("VER-34", "", "what client and proxies counted goes together", exit_code=2)
def counts_agree(found: HttpEvidence) -> Iterator[Shortfall]:
    """Requests, octets, hits and times of a repetition contain each other as they must."""
    yield from contradictions(found.executions)


@rule("VER-35", "", "every time lies between the run's beginning and its end, and is plausible", exit_code=2)
def times_within(found: HttpEvidence) -> Iterator[Shortfall]:
    """No repetition was written before the run began or after it ended."""
    if run := found.evidence.run:
        yield from outside(found.executions, run["started_at"], run["ended_at"])


def http_questions(found: HttpEvidence | None) -> tuple[str, ...]:
    """Return what a reader should ask of the repetitions' times."""
    return tuple(clock_question(found.executions)) if found else ()


RULES: tuple[Rule[HttpEvidence], ...] = (
    plan_of_profile,
    repetitions_of_plan,
    quality_follows,
    repetitions_bound,
    lines_apart,
    repetitions_last,
    within_line_rate,
    counts_agree,
    times_within,
)
