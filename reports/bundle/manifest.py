"""The manifest: each part by size and hash, what the checker said, whose product, what was declared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import BESIDE_MANIFEST, LIMITS, MANIFEST_PART, Archive
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.checks import check_document, check_own, check_version

_CUT = 2000  # characters of a sentence, as the schema has it


def judged(judgement: Judgement) -> dict[str, Any]:
    """Return what the checker said, as the manifest holds it."""
    return {
        "rules_version": judgement.rules_version,
        "state": [text[:_CUT] for text in judgement.state],
        "verdicts": [
            {
                "requirement": verdict.requirement,
                "benchmark": verdict.benchmark,
                "verdict": verdict.verdict.value,
                "original": verdict.original.value,
                "declared": verdict.declared,
                "basis": verdict.basis.value if verdict.basis else None,
                "expected": verdict.expected[:_CUT],
                "found": verdict.found[:_CUT],
            }
            for verdict in judgement.verdicts
        ],
        "grades": [
            {
                "document": grade.document,
                "benchmark": grade.benchmark,
                "grade": grade.grade.value,
                "reasons": [text[:_CUT] for text in grade.reasons],
                "counts": dict(grade.counts),
                "bases": dict(grade.bases),
            }
            for grade in judgement.grades
        ],
    }


def declarations(evidence: Evidence) -> list[dict[str, str]]:
    """Return the declared deviations, as the manifest holds them."""
    return [
        {
            "requirement": entry.requirement,
            "what": entry.what[:_CUT],
            "why": entry.why[:_CUT],
            "by": entry.by[:_CUT],
        }
        for entry in evidence.deviations
    ]


def manifest(evidence: Evidence, judgement: Judgement, parts: Mapping[str, tuple[int, str]]) -> bytes:
    """Return the manifest's octets; `parts` gives octets and SHA-256 of each part by name."""
    if evidence.run is None:
        raise ValueError("a manifest needs a run that can be read")
    data = {
        "schema": "bundle/1.0",
        "run_id": evidence.run["run_id"],
        "toolkit": evidence.run["toolkit"],
        "parts": [
            {"name": name, "octets": parts[name][0], "sha256": parts[name][1]}
            for name in LIMITS
            if name in parts
        ],
        "submission": evidence.submission,
        "deviations": declarations(evidence),
        **judged(judgement),
    }
    check_own(data, "bundle")
    return canonical(data).encode("ascii")


def read_manifest(data: bytes) -> dict[str, Any]:
    """Return a manifest. Raises ConfigError BND-07, STORE-03, STORE-04, BND-08 when it is not canonical."""
    document: dict[str, Any] = strict_json(data, MANIFEST_PART, LIMITS[MANIFEST_PART])
    check_version(document, "bundle", MANIFEST_PART)
    check_document(document, "bundle", MANIFEST_PART)
    if canonical(document).encode("ascii") != data:
        raise ConfigError("BND-08", MANIFEST_PART, expected="canonical JSON", found="another form")
    return document


def digest(chunks: Iterable[bytes]) -> str:
    """Return the SHA-256 of octets given piece by piece."""
    made = hashlib.sha256()
    for chunk in chunks:
        made.update(chunk)
    return made.hexdigest()


def wrong_parts(archive: Archive, document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return where the parts are not those of the manifest: part, expected, found."""
    found: list[tuple[str, str, str]] = []
    stated = {entry["name"]: entry for entry in document["parts"]}
    if len(stated) != len(document["parts"]):
        found.append((MANIFEST_PART, "each part once", "one twice"))
    present = set(archive.parts) - set(BESIDE_MANIFEST)
    found += [(name, "the part", "none in the archive") for name in sorted(set(stated) - present)]
    found += [(name, "a part that the manifest names", "another") for name in sorted(present - set(stated))]
    for name in sorted(present & set(stated)):
        octets, entry = archive.parts[name].octets, stated[name]
        if octets != entry["octets"]:
            found.append((name, f"{entry['octets']} octets", f"{octets} octets"))
            continue
        sha256 = digest(archive.chunks(name))
        if sha256 != entry["sha256"]:
            found.append((name, f"SHA-256 {entry['sha256']}", sha256))
    return found
