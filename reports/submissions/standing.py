"""How a bundle stands before a body: who signed in which role, was its challenge kept, at which level.

A bundle with none of this is self-declared. No level says more than `PROVES` tells, and each says why it is
not the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.reports.bundle.archive import CHALLENGE_PART, ENVELOPE_PART, STAMPS_PART, Archive
from bmwg.reports.bundle.signing import read_envelope
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding, of_error, shown
from bmwg.reports.submissions import challenge as challenges
from bmwg.reports.submissions.challenge import Challenge, Kept, read_challenge
from bmwg.reports.submissions.counters import judged as counters_judged
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.envelope import Sealed
from bmwg.reports.submissions.keyring import Known, Role
from bmwg.reports.submissions.sigstore import Signings
from bmwg.reports.submissions.sigstore import judged as signings_judged
from bmwg.reports.submissions.stamps import read_stamps, stamped_at
from bmwg.reports.submissions.trust import Trust

_CLOCKS_APART = timedelta(minutes=5)  # choice: of a machine that measures and an authority
_OWNERS = (Role.VENDOR, Role.LAB)


class Level(StrEnum):
    """What stands behind a bundle, the least first."""

    SELF_DECLARED = "self-declared"
    CHALLENGED = "challenged"
    WITNESSED = "witnessed"
    REPRODUCED = "reproduced"


PROVES: Mapping[Level, str] = {
    Level.SELF_DECLARED: "the answers follow from the recorded trials; that these took place, nobody but the "
    "signer says",
    Level.CHALLENGED: "its header is younger than the body's number, and it was made as the body asked; not "
    "that frames were sent",
    Level.WITNESSED: "a second party that the body knows signed that it saw the run",
    Level.REPRODUCED: "another party, with another key and a challenge of its own, measured the same within "
    "the stated widths",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One signature whose key or identity the body knows.

    `wrong` says why it does not count; empty when it does. `by` says who tells its time; empty: nobody.
    """

    known: Known
    at: datetime
    by: str
    wrong: str

    def of_owner(self, owner: str) -> bool:
        """Whether it counts as that of whose submission it is."""
        return not self.wrong and self.known.role in _OWNERS and self.known.organization == owner

    def __str__(self) -> str:
        when = f"{self.at:%Y-%m-%dT%H:%M:%SZ}" + (f" by {self.by}" if self.by else "")
        counts = f"does not count: {self.wrong}" if self.wrong else f"valid at {when}"
        whose = f"{shown(self.known.organization)} ({self.known.role.value})"
        return f"{whose}, {self.known}, {counts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a body's word adds to a bundle.

    `unchallenged`, `unwitnessed` and `unreproduced` say why it is not so; empty when it is. `findings` are
    what no honest bundle has; `notes` what could not be judged here; `questions` what to ask about, where
    `counted` says who read a switch. `otherwise` are parties that may reproduce it and measured otherwise.
    """

    kept: Kept
    kept_why: str
    body: str = ""
    owner: str = ""
    parties: tuple[Party, ...] = ()
    key_ids: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    announced: str = ""
    counted: str = ""
    questions: tuple[str, ...] = ()
    unchallenged: str = ""
    unwitnessed: str = ""
    unreproduced: str = "no run of another party stands beside it"
    otherwise: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The highest level that it reaches; each needs that it is challenged."""
        if self.unchallenged:
            return Level.SELF_DECLARED
        if not self.unreproduced:
            return Level.REPRODUCED
        return Level.CHALLENGED if self.unwitnessed else Level.WITNESSED

    @property
    def why_not(self) -> str:
        """Why the level is not a higher one; of the highest, who measured otherwise."""
        match self.level:
            case Level.SELF_DECLARED:
                return f"not challenged: {self.unchallenged}"
            case Level.CHALLENGED:
                return f"not witnessed: {self.unwitnessed}; not reproduced: {self.unreproduced}"
            case Level.WITNESSED:
                return f"not reproduced: {self.unreproduced}"
            case _:
                return "; ".join(f"measured otherwise by {one}" for one in self.otherwise)

    @property
    def owned(self) -> bool:
        """Whether a valid key of the organization that the submission names signed."""
        return any(party.of_owner(self.owner) for party in self.parties)


@dataclass(slots=True)
class _Found:
    """What looking collects."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def standing(archive: Archive, evidence: Evidence, trust: Trust | None, at: datetime) -> Standing:
    """Judge a bundle. `at` is the time of signatures without stamp: that of a registry's entry."""
    run, submission = evidence.run, evidence.submission
    if run is None:
        return Standing(kept=Kept.NONE, kept_why="", unchallenged="no run could be read")
    found = _Found()
    challenge = _challenge(archive, run, found)
    sealed = _sealed(archive)
    stamps = _stamped(archive, sealed, trust, found)
    signings = signings_judged(archive, sealed, trust)
    found.findings += signings.findings
    found.notes += signings.notes
    seen = {**stamps, **{known.name: when for known, when in signings.signed}}
    kept, why = _kept(challenge, run, submission, trust, seen, found)
    owner = (submission or {}).get("organization", "")
    counted = counters_judged(archive, evidence, trust, at, owner)
    found.findings += counted.findings
    found.notes += counted.notes
    made = Standing(
        kept=kept,
        kept_why=why,
        body=trust.keyring.body if trust else "",
        owner=owner,
        parties=(*_parties(sealed, trust, at, stamps, found), *_identified(signings)),
        key_ids=frozenset(sealed.signatures) if sealed else frozenset(),
        announced=_announced(run, owner, trust, found),
        counted=counted.said,
        questions=counted.questions,
    )
    found.findings += _early(run, seen)
    if made.parties and not made.owned and not signings.unjudged:
        found.findings.append(_of_no_owner(made))
    made = replace(made, findings=tuple(found.findings), notes=tuple(found.notes))
    return replace(
        made,
        unchallenged=next(_not_challenged(made, run, trust), ""),
        unwitnessed=_not_witnessed(made, trust),
    )


def _not_challenged(made: Standing, run: Mapping[str, Any], trust: Trust | None) -> Iterator[str]:
    if made.findings:
        yield "; ".join(f"{finding.rule_id} {finding.found}" for finding in made.findings[:3])
    if made.kept is not Kept.WITHIN:
        yield f"challenge {made.kept.value}" + (f": {made.kept_why}" if made.kept_why else "")
    if trust is None:
        yield "no body that you trust (--trust FOLDER)"
        return
    if run["simulated"]:
        yield "the run is simulated"
    if run["status"] != "complete":
        yield f"the run is {run['status']}: not all that was asked for was measured"
    owners = {party.known.name for party in made.parties if party.of_owner(made.owner)}
    if len(owners) < (needed := trust.keyring.needed(Role.VENDOR)):
        yield f"{len(owners)} of {needed} keys of {shown(made.owner) or 'an organization'} signed"
    if trust.announced is not None and not made.announced:
        yield f"{made.body} holds no announcement of the run"


def _not_witnessed(made: Standing, trust: Trust | None) -> str:
    seen = {
        party.known.organization
        for party in made.parties
        if not party.wrong
        and party.known.role in (Role.WITNESS, Role.LAB)
        and party.known.organization != made.owner
    }
    needed = trust.keyring.needed(Role.WITNESS) if trust else 1
    return (
        ""
        if len(seen) >= needed
        else f"{len(seen)} of {needed} witnesses or labs signed beside {shown(made.owner)}"
    )


def _sealed(archive: Archive) -> Sealed | None:
    try:
        return read_envelope(archive.octets(ENVELOPE_PART)).sealed if archive.has(ENVELOPE_PART) else None
    except ToolkitError:
        return None  # verifying says so


def _challenge(archive: Archive, run: Mapping[str, Any], found: _Found) -> Challenge | None:
    """Return the challenge in a bundle, where it is the one that the run's header names."""
    named = run.get("challenge_sha256")
    try:
        made = (
            read_challenge(archive.octets(CHALLENGE_PART), CHALLENGE_PART)
            if archive.has(CHALLENGE_PART)
            else None
        )
    except ToolkitError as error:
        found.findings.append(of_error(error))
        return None
    has = made.sha256 if made else None
    if named == has:
        return made
    found.findings.append(
        _finding(
            "VER-61", CHALLENGE_PART, f"the challenge {named or 'none'} of the run's header", has or "none"
        )
    )
    return None


def _stamped(
    archive: Archive, sealed: Sealed | None, trust: Trust | None, found: _Found
) -> dict[str, datetime]:
    """Return when pinned authorities saw signatures, by key id."""
    if not archive.has(STAMPS_PART):
        return {}
    times: dict[str, datetime] = {}
    try:
        for stamp in read_stamps(archive.octets(STAMPS_PART)):
            if trust is None or not trust.roots:
                found.notes.append(
                    f"the stamp of key {stamp.key_id[:16]} was not judged: no authority is pinned"
                )
            else:
                times[stamp.key_id] = stamped_at(stamp, sealed.signatures if sealed else {}, trust.roots)
    except TestbedError as error:
        found.notes.append(f"stamps were not judged: {error.what} need {error.expected}")
    except ConfigError as error:
        found.findings.append(of_error(error))
    return times


def _identified(signings: Signings) -> Iterator[Party]:
    """Give each signature by a sigstore bundle, judged at the time of its log entry."""
    for known, when in signings.signed:
        yield Party(known=known, at=when, by="a log entry", wrong=known.wrong_at(when))


def _parties(
    sealed: Sealed | None,
    trust: Trust | None,
    at: datetime,
    stamps: Mapping[str, datetime],
    found: _Found,
) -> tuple[Party, ...]:
    if sealed is None or trust is None:
        return ()
    made = []
    for key_id in sealed.signatures:
        known = trust.keyring.keys.get(key_id)
        if known is None:
            continue
        try:
            sealed.signed_by([known.key])
        except ConfigError as error:
            found.findings.append(of_error(error))
            continue
        when = stamps.get(key_id, at)
        wrong = known.wrong_at(when) or ("a body signs challenges alone" if known.role is Role.BODY else "")
        made.append(Party(known=known, at=when, by="a stamp" if key_id in stamps else "", wrong=wrong))
    return tuple(made)


def _kept(
    challenge: Challenge | None,
    run: Mapping[str, Any],
    submission: Mapping[str, Any] | None,
    trust: Trust | None,
    stamps: Mapping[str, datetime],
    found: _Found,
) -> tuple[Kept, str]:
    if challenge is None:
        return Kept.NONE, "the run took none" if run.get(
            "challenge_sha256"
        ) is None else "its own is not there"
    if trust is None:
        return (
            Kept.UNSIGNED,
            f"nobody whom you trust signed it; it says that {shown(challenge.told['body'])} did",
        )
    try:
        begin, end = challenge.window
        why = challenges.by_the_body(challenge, trust.keyring, begin)
    except ConfigError as error:
        found.findings.append(of_error(error))
        return Kept.UNSIGNED, error.what
    if why:
        return Kept.UNSIGNED, why
    if why := challenges.not_of(challenge, run, submission):
        return Kept.FOREIGN, why
    why = challenges.not_within(challenge, run)
    if not why and stamps and min(stamps.values()) > end:
        first = f"{min(stamps.values()):%Y-%m-%dT%H:%M:%SZ}"
        why = f"signed at {first} by a third party, after {challenge.told['until']}"
    if why:
        return Kept.OUTSIDE, why
    return (
        Kept.WITHIN,
        f"{challenge.told['from']} to {challenge.told['until']}, by the clock of the run's machine"
        + (", and signed before its end by a third party's time" if stamps else ""),
    )


def _announced(run: Mapping[str, Any], owner: str, trust: Trust | None, found: _Found) -> str:
    """Return what was announced of the run; another header under its id is a finding."""
    known = trust.of(owner) if trust else None
    mine = known.get(run["run_id"]) if known else None
    if mine is None:
        return ""
    for name, said, is_ in (
        ("header", mine.header_sha256, run["header_sha256"]),
        ("challenge", mine.challenge_sha256, run.get("challenge_sha256")),
    ):
        if said != is_:
            found.findings.append(
                _finding("ANN-05", f"run {run['run_id']}", f"the {name} that was announced, {said}", str(is_))
            )
            return ""
    return mine.words


def _early(run: Mapping[str, Any], stamps: Mapping[str, datetime]) -> list[Finding]:
    """VER-62: nobody signed a run before it ended; where a stamp says so, the run's clock was wrong."""
    if not stamps or run["ended_at"] is None:
        return []
    first = min(stamps.values())
    if first + _CLOCKS_APART >= moment(run["ended_at"]):
        return []
    return [
        _finding(
            "VER-62", "run.json: ended_at", f"an end before its signature's stamp, {first}", run["ended_at"]
        )
    ]


def _of_no_owner(made: Standing) -> Finding:
    said = "; ".join(str(party) for party in made.parties)
    return _finding(
        "SIG-06",
        ENVELOPE_PART,
        f"a valid signature of {shown(made.owner) or 'the organization'} as vendor or lab",
        said,
    )


def _finding(rule_id: str, where: str, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, clause="", where=where, expected=expected, found=found, exit_code=2)


def lines(made: Standing) -> list[str]:
    """Say it on the first screen: the level, what it proves, why not the next one, and who said so."""
    said = [f"level: {made.level.value}: {PROVES[made.level]}"]
    if made.why_not:
        said.append(made.why_not)
    if made.body:
        said.append(f"body: {shown(made.body)}")
    said.append(f"challenge: {made.kept.value}" + (f": {made.kept_why}" if made.kept_why else ""))
    said += [f"signed by: {party}" for party in made.parties]
    if made.announced:
        said.append(f"announced: {made.announced}")
    if made.counted:
        said.append(f"counters: {made.counted}")
    return [*said, *(f"not judged: {note}" for note in made.notes)]
