"""Makes a bundle of a run: only of one whose files hold together, and the same octets each time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.redaction import redact_platform, redact_run, sealed_texts
from bmwg.reports.bundle.archive import (
    CHALLENGE_PART,
    ENVELOPE_PART,
    LIMITS,
    MANIFEST_PART,
    RENDERED_PARTS,
    write_archive,
)
from bmwg.reports.bundle.manifest import digest, manifest
from bmwg.reports.checker.deviations import SUBMISSION_FILE, yaml_document
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.store.codec import outcome_from_json

if TYPE_CHECKING:
    from bmwg.reports.submissions.envelope import Signer

_SHOWN = 5
_FROM_RUN = ("run.json", "platform.json", "trials.jsonl")
_WHERE_THERE = ("deviations.yaml", CHALLENGE_PART, *RENDERED_PARTS)


def make_bundle(
    run: Path,
    output: Path,
    *,
    evidence: Evidence,
    findings: list[Finding],
    submission_octets: bytes | None = None,
    robot_output: Path | None = None,
    signer: Signer | None = None,
    salt: bytes | None = None,
) -> Path:
    """Write the bundle of a run folder; `evidence` and `findings` are what verifying the folder gave.

    With a `salt` the platform records are redacted, and what was rendered from them is left out.
    Raises ConfigError BND-05 for a run that contradicts itself, BND-06 for a Robot output of another run,
    BND-01 when the file exists.
    """
    if findings or evidence.run is None:
        shown = "; ".join(f"{finding.rule_id} {finding.where}" for finding in findings[:_SHOWN])
        raise ConfigError(
            "BND-05",
            f"{run}: the files of the run contradict each other; no bundle was written",
            expected="a run that verifies",
            found=f"{len(findings)} findings: {shown}",
            hint=f"see all of them by `bmwg verify {run}`",
        )
    run_id: str = evidence.run["run_id"]
    parts: dict[str, bytes | Path] = {name: run / name for name in _FROM_RUN}
    parts |= {name: run / name for name in _WHERE_THERE if (run / name).is_file()}
    if salt is not None:
        evidence = redacted(evidence, salt)
        parts = {name: part for name, part in parts.items() if name not in RENDERED_PARTS}
        for name, document in (("run.json", evidence.run), ("platform.json", evidence.platform)):
            parts[name] = (json.dumps(document, indent=1, allow_nan=False) + "\n").encode("ascii")
    if submission_octets is not None:
        parts[SUBMISSION_FILE] = submission_octets
    if robot_output is not None:
        _refuse_foreign(robot_output, run_id)
        parts["output.xml"] = robot_output
    hashed = {name: _digest(part) for name, part in parts.items()}
    text = manifest(evidence, judge(evidence), hashed)
    whole: dict[str, bytes | Path] = {MANIFEST_PART: text}
    if signer is not None:
        from bmwg.reports.bundle.signing import sign  # cryptography takes long to load

        sums = {name: sha256 for name, (_, sha256) in hashed.items()}
        whole[ENVELOPE_PART] = sign({**sums, MANIFEST_PART: digest([text])}, run_id, signer)
    write_archive(output, whole | parts)
    return output


def redacted(evidence: Evidence, salt: bytes) -> Evidence:
    """Return the evidence with names, serials and addresses of the machine and testbed as commitments.

    The chain of trials stays bound to the header, whose sealed texts count by their commitments in any case.
    Raises ConfigError REC-07.
    """
    if evidence.platform is None or evidence.run is None:
        return evidence
    run = redact_run(evidence.run, evidence.platform, salt)
    return replace(
        evidence,
        platform=redact_platform(evidence.platform, salt, names=sealed_texts(evidence.run)),
        run=run,
        outcomes=tuple(outcome_from_json(entry) for entry in run["outcomes"]),
    )


def read_submission(path: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a submission block's octets and data. Raises ConfigError STORE-02, DEV-01, BND-06."""
    try:
        with path.open("rb") as file:
            octets = file.read(LIMITS[SUBMISSION_FILE] + 1)
    except OSError as error:
        raise ConfigError(
            "STORE-02", f"{path}: cannot be read", found=error.strerror or str(error)
        ) from error
    data = submission_data(octets, str(path))
    return octets, data


def submission_data(octets: bytes, where: str) -> dict[str, Any]:
    """Return a submission block, held against its schema. Raises ConfigError DEV-01, BND-06."""
    data = yaml_document(octets, "submission", where)
    version = data["product"]["version"]
    if not any(character.isdigit() for character in version):
        raise ConfigError(
            "BND-06",
            f"{where}: product.version",
            expected="a version that stays what it is, so with a digit",
            found=repr(version),
            hint="a branch's name means something else tomorrow: name the release or the commit",
        )
    return data


def folder_evidence(run: Path, submission: dict[str, Any] | None = None) -> Evidence:
    """Read a run folder for bundling."""
    return read_evidence(FolderFiles(run), submission)


def _digest(part: bytes | Path) -> tuple[int, str]:
    if isinstance(part, bytes):
        return len(part), digest([part])
    try:
        with part.open("rb") as file:
            sha256 = digest(iter(lambda: file.read(1 << 20), b""))
            return file.tell(), sha256
    except OSError as error:
        raise ConfigError(
            "STORE-02", f"{part}: cannot be read", found=error.strerror or str(error)
        ) from error


def _refuse_foreign(path: Path, run_id: str) -> None:
    try:
        held = run_id in path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(
            "STORE-02", f"{path}: cannot be read", found=error.strerror or str(error)
        ) from error
    if not held:
        raise ConfigError(
            "BND-06",
            f"{path}: the Robot output of another run",
            expected=f"the run id {run_id}",
            found="none",
        )
