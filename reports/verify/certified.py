"""Verifies a bundle before a body: what verifying finds, and how the bundle stands by the body's word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.bundle.archive import Archive
from bmwg.reports.compare.reproduce import Agreement, Stated, reproduce, stated_by
from bmwg.reports.submissions.standing import Level, Reproduction, Standing, standing
from bmwg.reports.submissions.trust import Trust
from bmwg.reports.verify.verify import TRUSTED, Verification, verify_bundle

if TYPE_CHECKING:
    from bmwg.reports.bundle.signing import TrustedKey


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
    if verified.evidence is None or verified.evidence.run is None:
        return verified
    beside = None
    if reproduction is not None and trust is not None:
        other = certified(reproduction, None, trust, at=at)
        beside = reproduced_by(verified, other)
    with Archive(path) as archive:
        made = standing(archive, verified.evidence, trust, at or datetime.now(UTC), beside)
    trusted = verified.trust
    if made.owned and not verified.findings and not made.findings:
        trusted = TRUSTED if key is None else trusted
    return replace(verified, standing=made, findings=(*verified.findings, *made.findings), trust=trusted)


def reproduced_by(verified: Verification, other: Verification) -> Reproduction:
    """Say what another party's bundle says of a first one; `why` is why it does not reproduce it."""
    theirs = other.standing
    if theirs is None or other.findings or other.evidence is None or verified.evidence is None:
        return Reproduction(by="another bundle", why="it does not verify")
    by = theirs.owner
    for why in _no_second_party(verified, theirs, other):
        return Reproduction(by=by, why=why)
    found = reproduce(stated(verified), stated(other))
    return Reproduction(by=by, why="" if found.agreement is Agreement.AGREES else f"{found.agreement.value}, {found.why}")


def _no_second_party(verified: Verification, theirs: Standing, other: Verification) -> list[str]:
    mine = (verified.evidence.submission or {}) if verified.evidence else {}
    said = (other.evidence.submission or {}) if other.evidence else {}
    if mine.get("organization") == theirs.owner:
        return ["the same organization measured it"]
    if mine.get("product", {}).get("name") != said.get("product", {}).get("name") or mine.get("product", {}).get(
        "version"
    ) != said.get("product", {}).get("version"):
        return ["it is of another product or version"]
    if theirs.level is Level.SELF_DECLARED:
        return [f"its own run is {theirs.level.value}: {theirs.why_not}"]
    return []


def stated(verified: Verification) -> dict[tuple[str, str], Stated]:
    """Return what a verified run states of devices."""
    evidence = verified.evidence
    if evidence is None:
        return {}
    by_seq = {trial.trial.seq: trial.trial.result.spec.load_fps for trial in evidence.trials}
    loads = {
        one.outcome_id: by_seq[one.trials[0]] for one in evidence.outcomes if one.trials and one.trials[0] in by_seq
    }
    return stated_by(evidence.outcomes, loads)


def readable(path: Path) -> bool:
    """Whether a file is a bundle at all."""
    try:
        with Archive(path):
            return True
    except ToolkitError:
        return False
