"""What verifying showed, sorted: proven from the files alone, only stated by who made them, not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.record.facts import facts
from bmwg.reports.checker.findings import shown as printable
from bmwg.reports.verify.verify import INTEGRITY_ONLY, TRUSTED, Verification

_BY_A_PERSON = "declared"  # kind of a fact's `how` that an overlay or an answer gives


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Three lists of sentences. `proven` is empty when a finding stands against the files."""

    proven: tuple[str, ...]
    stated: tuple[str, ...]
    unchecked: tuple[str, ...]


def shown(verified: Verification) -> Shown:
    """Sort what a verification found. Pure."""
    return Shown(
        proven=() if verified.findings else tuple(_proven(verified)),
        stated=tuple(_stated(verified)),
        unchecked=verified.notes,
    )


def _proven(verified: Verification) -> Iterator[str]:
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return
    yield f"{len(evidence.outcomes)} outcomes follow from {len(evidence.lines)} trials, replayed here"
    yield "the journal hangs together: each line holds the hash of the one before it"
    if verified.trust == TRUSTED:
        yield "the files are those that the holder of the key you named has signed"
    elif verified.trust == INTEGRITY_ONLY:
        yield "the files are those that were signed; who signed is not known"
    judgement = verified.judgement
    if judgement is not None:
        tally = Counter(verdict.verdict.value for verdict in judgement.verdicts)
        met = tally["met"] + tally["not_met"]
        yield f"{met} verdicts on clauses were computed here from these trials and records"


def _stated(verified: Verification) -> Iterator[str]:
    yield "that these trials took place: no file can show it, and a signature shows who, not that"
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return
    toolkit = evidence.run["toolkit"]
    commit = printable(str(toolkit["commit"])[:12]) if toolkit["commit"] else "unknown"
    yield f"that the toolkit measured: version {printable(str(toolkit['version']))}, commit {commit}"
    read, told = _platform_facts(evidence.platform)
    if read:
        yield f"{read} facts of the platform, as the run read them on its machine"
    if told:
        yield f"{told} facts of the platform, as a person declared them"
    if count := len(evidence.deviations):
        yield f"{count} deviation{'s' if count != 1 else ''}, as declared"
    if evidence.submission is not None:
        yield "product and contact, as the submission names them"


def _platform_facts(platform: Mapping[str, Any] | None) -> tuple[int, int]:
    """Count the known facts before the run: those read, and those that a person declared."""
    try:
        fields = (platform or {})["base"]["before"]["fields"]
        known = [fact["how"]["kind"] for _, fact in facts(fields) if "value" in fact]
    except (KeyError, TypeError, AttributeError):
        return 0, 0
    told = sum(kind == _BY_A_PERSON for kind in known)
    return len(known) - told, told
