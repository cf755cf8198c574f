"""Verifies a bundle before a body: what verifying finds, and how the bundle stands by the body's word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bmwg.reports.bundle.archive import Archive
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.submissions.reproduction import beside, candidate
from bmwg.reports.submissions.standing import Standing, standing
from bmwg.reports.submissions.trust import Trust
from bmwg.reports.verify.trust import Signature
from bmwg.reports.verify.verify import TRUSTED, Verification, verify_bundle

if TYPE_CHECKING:
    from bmwg.reports.submissions.envelope import TrustedKey


def certified(
    path: Path,
    key: TrustedKey | None = None,
    trust: Trust | None = None,
    *,
    at: datetime | None = None,
    reproduction: Path | None = None,
    own_commit: str | None = None,
    render: Callable[[Path], object] | None = None,
) -> Verification:
    """Verify a bundle as `verify_bundle` does, and say how it stands at a time (default: now).

    `reproduction` is a bundle of another party. What no honest bundle has before a body is a finding as well.
    """
    verified = verify_bundle(path, key, own_commit=own_commit, render=render)
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return verified
    with Archive(path) as archive:
        made = standing(archive, evidence, trust, at or datetime.now(UTC))
    findings = (*verified.findings, *made.findings)
    if made.owned and key is None and not findings:
        mine = next(party for party in made.parties if party.of_owner(made.owner))
        verified = replace(verified, trust=TRUSTED, signature=Signature(key_id=mine.known.name, trusted=True))
    if reproduction is not None and not findings:
        other = certified(reproduction, None, trust, at=at)
        made = _beside(evidence, made, other)
    asked = (*verified.questions, *made.questions)
    return replace(verified, standing=made, findings=findings, questions=asked)


def _beside(evidence: Evidence, made: Standing, other: Verification) -> Standing:
    """Return how a bundle stands with another beside it."""
    if other.findings or other.evidence is None or other.standing is None:
        return replace(made, unreproduced="the bundle beside it does not verify")
    first = candidate(evidence, made.key_ids, made)
    return beside(first, candidate(other.evidence, other.standing.key_ids, other.standing)) or made
