"""A body's challenge: what one run has to be and when, with a number that nobody could know before.

A challenge shows that the header of a run is younger than its number. It does not show that frames were sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds import registry as kinds
from bmwg.reports.bundle.archive import CHALLENGE_PART, LIMITS
from bmwg.reports.store import loads
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.submissions.documents import (
    SignedDocument,
    moment,
    octets_of,
    read_document,
    sign_document,
)
from bmwg.reports.submissions.envelope import Signer
from bmwg.reports.submissions.keyring import Keyring, Role

KIND = "challenge"
LONGEST = timedelta(days=366)  # choice: who may take longer than a year is not challenged


class Kept(StrEnum):
    """How a run stands to its challenge."""

    WITHIN = "within"
    OUTSIDE = "outside"
    FOREIGN = "foreign"
    UNSIGNED = "unsigned"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A challenge whose form was checked and whose signature was not. `octets` are those of its file."""

    document: SignedDocument
    octets: bytes

    @property
    def told(self) -> Mapping[str, Any]:
        """What the body says."""
        return self.document.predicate

    @property
    def sha256(self) -> str:
        """What a run's header names it by."""
        return self.document.sha256

    @property
    def window(self) -> tuple[datetime, datetime]:
        """From when until when the run has to be made."""
        return moment(self.told["from"]), moment(self.told["until"])


def write_challenge(predicate: Mapping[str, Any], signer: Signer) -> bytes:
    """Return the octets of a challenge. Raises ConfigError CHAL-01, STORE-04."""
    octets = sign_document(KIND, predicate, signer)
    read_challenge(octets, "challenge")
    return octets


def read_challenge(octets: bytes, where: str) -> Challenge:
    """Read a challenge.

    Raises ConfigError CHAL-01 for an impossible window, and what `read_document` raises.
    """
    if len(octets) > LIMITS[CHALLENGE_PART]:
        raise ConfigError(
            "CHAL-01",
            f"{where}: too large",
            expected=f"at most {LIMITS[CHALLENGE_PART]} octets",
            found="more",
        )
    made = Challenge(document=read_document(octets, KIND, where), octets=octets)
    begin, end = made.window
    if not begin < end <= begin + LONGEST:
        raise ConfigError(
            "CHAL-01",
            f"{where}: the window",
            expected=f"an end after its beginning, within {LONGEST.days} days",
            found=f"{made.told['from']} to {made.told['until']}",
        )
    return made


def challenge_of(path: Path) -> Challenge:
    """Read a challenge's file."""
    return read_challenge(octets_of(path, LIMITS[CHALLENGE_PART]), str(path))


def by_the_body(challenge: Challenge, keyring: Keyring, at: datetime) -> str:
    """Return why the challenge is not one of the body; empty when it is. Raises ConfigError SIG-02."""
    bodies = {key.key_id: key for key in keyring.of_role(Role.BODY)}
    keys = [keyring.root, *(body.key for body in bodies.values())]
    signed = challenge.document.sealed.signed_by(keys)
    if not signed:
        return f"no key of {keyring.body} signed it"
    wrong = [bodies[key_id].wrong_at(at) if key_id in bodies else "" for key_id in sorted(signed)]
    return "" if "" in wrong else f"the body's key was {wrong[0]}"


def not_of(challenge: Challenge, run: Mapping[str, Any], submission: Mapping[str, Any] | None) -> str:
    """Return what the challenge asks otherwise than run and submission say; empty when nothing."""
    told = challenge.told
    product = (submission or {}).get("product") or {}
    plan = ((entry["test"], entry["metric"], entry["cell"]["cell_id"]) for entry in run["plan"])
    pairs = (
        ("organization", told["organization"], (submission or {}).get("organization")),
        ("product", told["product"]["name"], product.get("name")),
        ("version", told["product"]["version"], product.get("version")),
        ("profile", told["profile"], run["profile"]["name"]),
        ("plan", told["plan_sha256"], sha256_of(sorted(map(list, plan)))),
        ("order seed", told["order_seed"] if _in_turns(run) else None, run.get("order_seed")),
    )
    wrong = [f"{name} {wanted}, found {found}" for name, wanted, found in pairs if wanted != found]
    return f"it asks for {'; '.join(wrong)}" if wrong else ""


def _in_turns(run: Mapping[str, Any]) -> bool:
    """Whether the order of a run is drawn from a seed."""
    for name in loads.of_run(run):
        if not kinds.plans_itself(name):
            return True
        if kinds.kind(name, "run.json").turns(loads.said_of(run, name)["profile"]):
            return True
    return False


def not_within(challenge: Challenge, run: Mapping[str, Any]) -> str:
    """Return how the run lies outside of the window by the clock of its machine; empty when within."""
    begin, end = challenge.window
    if moment(run["started_at"]) < begin:
        return f"begun at {run['started_at']}, before {challenge.told['from']}"
    if run["ended_at"] is None:
        return "the run did not end"
    if moment(run["ended_at"]) > end:
        return f"ended at {run['ended_at']}, after {challenge.told['until']}"
    return ""
