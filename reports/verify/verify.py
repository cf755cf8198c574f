"""Verifies a bundle or a run folder: form, hashes, signature, chain, replay, verdicts; all collected."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmwg.methodology.errors import ToolkitError
from bmwg.reports import rooms
from bmwg.reports.bundle.archive import ENVELOPE_PART, MANIFEST_PART, RENDERED_PARTS, Archive
from bmwg.reports.bundle.make import submission_data
from bmwg.reports.bundle.manifest import declarations, digest, judged, read_manifest, wrong_parts
from bmwg.reports.checker.deviations import SUBMISSION_FILE
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding, of_error
from bmwg.reports.checker.judge import Judgement, judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.releases import strangers
from bmwg.reports.verify import (
    frames_told,
    functions,
    one_machine,
    options,
    pci_ports,
    places,
    repetitions,
)
from bmwg.reports.verify.choices import choices
from bmwg.reports.verify.earlier import by_earlier_rules
from bmwg.reports.verify.physics import questions
from bmwg.reports.verify.rules import RULES
from bmwg.reports.verify.trust import Signature

if TYPE_CHECKING:
    from bmwg.reports.submissions.envelope import TrustedKey
    from bmwg.reports.submissions.standing import Standing

MAX_RENDERED_TRIALS = 10_000  # choice: a report of more takes longer than verifying it
_REPLAYED = ("VER-03", "VER-08")  # what another version of a procedure can bring about
_JUDGED = ("verdicts", "state", "grades", "rules_version")
_BESIDE = (*RENDERED_PARTS, "output.xml")  # parts from which no figure is taken

INTEGRITY_ONLY = "integrity only, signer unknown"
TRUSTED = "signed by a key that you trust"
UNSIGNED = "no signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What verifying found. Without findings every figure follows from the recorded trials.

    `trust` says what the signature shows; `notes` what was not checked, and why. `judgement` is the
    checker's, computed here; None when the run could not be read. `questions` are what an honest run can have
    and a reader should ask about.
    `rendered` are the parts that came out here octet for octet as they stand in the bundle, `unchecked` those
    whose content nobody compared: they may say and do anything.
    `strangers` say that the toolkit is no release, or which profile nobody here knows. `signature` is None
    where there is none that can be read. `standing` is what a body's word adds, where somebody asked for it.
    """

    findings: tuple[Finding, ...]
    trust: str
    notes: tuple[str, ...]
    evidence: Evidence | None = None
    judgement: Judgement | None = None
    questions: tuple[str, ...] = ()
    rendered: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    signature: Signature | None = None
    standing: Standing | None = None

    @property
    def exit_code(self) -> int:
        """0, or the worst of the findings'."""
        return max((finding.exit_code for finding in self.findings), default=0)


def verify_folder(folder: Path) -> Verification:
    """Verify a run folder: there are no hashes of parts and no signature to check."""
    evidence = read_evidence(FolderFiles(folder))
    findings = [*evidence.findings, *_ruled(evidence)]
    judgement = _judged(evidence, findings)
    return Verification(
        findings=tuple(findings),
        trust=UNSIGNED,
        notes=("a run folder has no manifest: hashes of parts and a signature were not checked",),
        evidence=evidence,
        judgement=judgement,
        strangers=strangers(evidence.run),
        questions=_asked(evidence),
    )


def verify_bundle(
    path: Path,
    key: TrustedKey | None = None,
    *,
    own_commit: str | None = None,
    render: Callable[[Path], object] | None = None,
) -> Verification:
    """Verify a bundle. Nothing is unpacked, except, for `render`, three files in a folder of our own.

    `own_commit` is the commit of this toolkit when it is unchanged: at the run's own commit, verdicts and
    the report must come out octet for octet. `render` writes a report into a run folder.
    """
    try:
        archive = Archive(path)
    except ToolkitError as error:
        return Verification(findings=(of_error(error),), trust=UNSIGNED, notes=())
    with archive:
        return _verify(archive, key, own_commit, render)


def _verify(
    archive: Archive,
    key: TrustedKey | None,
    own_commit: str | None,
    render: Callable[[Path], object] | None,
) -> Verification:
    findings: list[Finding] = []
    notes: list[str] = []
    rendered: tuple[str, ...] = ()
    text = archive.octets(MANIFEST_PART)
    document = _attempt(lambda: read_manifest(text), findings)
    trust = _trust(archive, key, digest([text]), document, findings)
    if document is not None:
        for name, expected, found in wrong_parts(archive, document):
            findings.append(_finding("VER-21", name, expected, found))
    submission = None
    if archive.has(SUBMISSION_FILE):
        octets = archive.octets(SUBMISSION_FILE)
        submission = _attempt(lambda: submission_data(octets, SUBMISSION_FILE), findings)
    evidence = read_evidence(archive, submission)
    findings += [*evidence.findings, *_ruled(evidence)]
    judgement = _judged(evidence, findings)
    if document is not None and judgement is not None:
        findings += _manifest_agrees(document, evidence)
        same = own_commit is not None and own_commit == document["toolkit"]["commit"]
        same = same and document["toolkit"]["dirty"] is False
        if earlier := by_earlier_rules(document, judgement):
            notes += earlier
        elif any(document.get(name) != judged(judgement)[name] for name in _JUDGED):
            if same or not _weaker(document, judgement):
                findings.append(_finding("VER-23", MANIFEST_PART, "the verdicts as computed here", "others"))
            else:
                notes.append("another version of the toolkit judged this run: the verdicts here are new")
        if not same and any(finding.rule_id in _REPLAYED for finding in findings):
            notes.append(
                f"the run was measured by version {document['toolkit']['version']}, commit "
                f"{document['toolkit']['commit']}: where a procedure changed since, verify with that one"
            )
        if same and render and not findings:
            rendered = _rendered(archive, evidence, render, findings, notes)
        else:
            notes.append(
                "the report was not rendered anew: that compares only at one unchanged commit of the toolkit"
            )
    return Verification(
        findings=tuple(findings),
        trust=trust,
        notes=tuple(notes),
        evidence=evidence,
        judgement=judgement,
        strangers=strangers(evidence.run),
        signature=_signature(archive, trust, key),
        questions=_asked(evidence),
        rendered=rendered,
        unchecked=tuple(name for name in _BESIDE if archive.has(name) and name not in rendered),
    )


def _attempt(act: Callable[[], dict[str, Any]], findings: list[Finding]) -> dict[str, Any] | None:
    try:
        return act()
    except ToolkitError as error:
        findings.append(of_error(error))
        return None


def _trust(
    archive: Archive,
    key: TrustedKey | None,
    manifest_sha256: str,
    document: dict[str, Any] | None,
    findings: list[Finding],
) -> str:
    if not archive.has(ENVELOPE_PART):
        if key is not None:
            findings.append(_finding("SIG-03", ENVELOPE_PART, f"a signature by {key.keyid[:16]}", "none"))
        return UNSIGNED
    # imported here: most runs are folders without a signature, and cryptography takes long to import
    from bmwg.reports.bundle.signing import check_signature, read_envelope

    try:
        octets = archive.octets(ENVELOPE_PART)
        signed = read_envelope(octets)
        stated = {entry["name"]: entry["sha256"] for entry in document["parts"]} if document else {}
        for name, sha256 in signed.subjects.items():
            there = manifest_sha256 if name == MANIFEST_PART else stated.get(name, "no such part")
            if there != sha256 and (document is not None or name == MANIFEST_PART):
                findings.append(_finding("VER-20", name, f"SHA-256 {sha256}", there))
        if document is not None and signed.run_id != document["run_id"]:
            findings.append(_finding("VER-20", "run id of the statement", document["run_id"], signed.run_id))
        if key is None:
            return INTEGRITY_ONLY
        check_signature(octets, key)
    except ToolkitError as error:
        findings.append(of_error(error))
        return INTEGRITY_ONLY
    return TRUSTED


def _signature(archive: Archive, trust: str, key: TrustedKey | None) -> Signature | None:
    if not archive.has(ENVELOPE_PART):
        return None
    from bmwg.reports.bundle.signing import read_envelope

    try:
        key_ids = read_envelope(archive.octets(ENVELOPE_PART)).key_ids
    except ToolkitError:
        return None  # a finding says so already
    mine = key.keyid if key is not None and key.keyid in key_ids else key_ids[0]
    return Signature(key_id=mine, trusted=trust == TRUSTED)


def _judged(evidence: Evidence, findings: list[Finding]) -> Judgement | None:
    """Judge what may be anything: where a rule meets data that it cannot read, that is a finding."""
    try:
        return judge(evidence)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        findings.append(_finding("VER-25", evidence.files.where, "a run that can be judged", text))
        return None


def _asked(evidence: Evidence) -> tuple[str, ...]:
    return (
        *questions(evidence),
        *pci_ports.questions(evidence),
        *functions.questions(evidence),
        *rooms.questions(evidence),
        *places.questions(evidence),
        *frames_told.questions(evidence),
        *one_machine.questions(evidence),
        *options.questions(evidence),
        *choices(evidence),
        *repetitions.questions(evidence),
    )


def _ruled(evidence: Evidence) -> list[Finding]:
    return [*(finding for rule in RULES for finding in rule.apply(evidence)), *rooms.findings(evidence)]


def _manifest_agrees(document: dict[str, Any], evidence: Evidence) -> list[Finding]:
    found: list[Finding] = []
    if evidence.run is not None:
        for name in ("run_id", "toolkit"):
            if document[name] != evidence.run[name]:
                found.append(
                    _finding("VER-22", f"manifest: {name}", str(evidence.run[name]), str(document[name]))
                )
    if document["submission"] != evidence.submission:
        found.append(_finding("VER-22", "manifest: submission", f"that of {SUBMISSION_FILE}", "another"))
    if document["deviations"] != declarations(evidence):
        found.append(_finding("VER-22", "manifest: deviations", "those that the run declares", "others"))
    return found


def _weaker(document: dict[str, Any], judgement: Judgement) -> bool:
    """Whether the bundle claims no better grade than is computed here; another version may see more."""
    good = ("unconditionally compliant", "conditionally compliant")
    claimed = {
        (entry["document"], entry["benchmark"], entry["grade"])
        for entry in document["grades"]
        if entry["grade"] in good
    }
    computed = {(grade.document, grade.benchmark, grade.grade.value) for grade in judgement.grades}
    return claimed <= computed


def _rendered(
    archive: Archive,
    evidence: Evidence,
    render: Callable[[Path], object],
    findings: list[Finding],
    notes: list[str],
) -> tuple[str, ...]:
    """Render the report anew; return the parts that came out the same."""
    wanted = [name for name in RENDERED_PARTS if archive.has(name)]
    if not wanted:
        notes.append("the bundle holds no report")
        return ()
    if len(evidence.lines) > MAX_RENDERED_TRIALS:
        notes.append(f"the report was not rendered anew: more than {MAX_RENDERED_TRIALS} trials")
        return ()
    same = []
    with tempfile.TemporaryDirectory(prefix="bmwg-verify-") as temporary:
        folder = Path(temporary) / "run"
        folder.mkdir()
        for name in ("run.json", "platform.json", "trials.jsonl", "deviations.yaml"):
            if archive.has(name):
                (folder / name).write_bytes(archive.octets(name))
        try:
            render(folder)
        except ToolkitError as error:
            findings.append(of_error(error))
            return ()
        for name in wanted:
            made = folder / name
            if not made.is_file() or made.read_bytes() != archive.octets(name):
                findings.append(_finding("VER-24", name, "the report as rendered from the run", "another"))
            else:
                same.append(name)
    return tuple(same)


def _finding(rule_id: str, where: str, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, clause="", where=where, expected=expected, found=found, exit_code=2)
