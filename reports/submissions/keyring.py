"""The keys and identities that a body knows, signed by it: whose each is, for what, and how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.findings import shown
from bmwg.reports.submissions.documents import moment, octets_of, read_document, sign_document
from bmwg.reports.submissions.envelope import Signer, TrustedKey

KIND = "keys"


class Role(StrEnum):
    """What a key may sign: a vendor or lab its runs, a witness what it saw, a body challenges."""

    VENDOR = "vendor"
    LAB = "lab"
    WITNESS = "witness"
    BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Whose something is that can sign, in which role, and how long."""

    organization: str
    role: Role
    valid_from: datetime
    valid_until: datetime
    revoked_at: datetime | None = None
    revoked_why: str = ""

    @property
    def name(self) -> str:
        """What tells it from every other one of the list."""
        raise NotImplementedError

    def wrong_at(self, at: datetime) -> str:
        """Return why it was not valid at a time; empty when it was."""
        if self.revoked_at is not None and at >= self.revoked_at:
            return f"revoked at {self.revoked_at:%Y-%m-%dT%H:%M:%SZ}: {self.revoked_why}"
        if at < self.valid_from:
            return f"not valid before {self.valid_from:%Y-%m-%dT%H:%M:%SZ}"
        if at > self.valid_until:
            return f"expired at {self.valid_until:%Y-%m-%dT%H:%M:%SZ}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey(Known):
    """One key of the list."""

    key: TrustedKey

    @property
    def key_id(self) -> str:
        """The id that signatures bear."""
        return str(self.key.keyid)

    @property
    def name(self) -> str:
        """The key's id."""
        return self.key_id

    def __str__(self) -> str:
        return f"key {self.key_id[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIdentity(Known):
    """One identity of the list, which signs by sigstore bundles: the issuer vouches for who it is."""

    identity: str
    issuer: str

    @property
    def name(self) -> str:
        """Identity and issuer."""
        return f"{self.identity} by {self.issuer}"

    def __str__(self) -> str:
        return f"identity {shown(self.name)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """A body's list, whose signature by the body's own key was checked."""

    body: str
    root: TrustedKey
    keys: Mapping[str, KnownKey]
    thresholds: Mapping[str, int]
    identities: tuple[KnownIdentity, ...] = ()

    def of_role(self, *roles: Role) -> tuple[KnownKey, ...]:
        """Return the keys of some roles."""
        return tuple(key for key in self.keys.values() if key.role in roles)

    def of(self, organization: str) -> tuple[KnownKey, ...]:
        """Return the keys of an organization."""
        return tuple(key for key in self.keys.values() if key.organization == organization)

    def needed(self, role: Role) -> int:
        """Return how many keys of a role must sign."""
        return self.thresholds.get(role.value, 1)


def write_keys(predicate: Mapping[str, Any], signer: Signer) -> bytes:
    """Return the octets of a list of keys. Raises ConfigError STORE-04, KEY-03, KEY-05."""
    octets = sign_document(KIND, predicate, signer)
    _known(predicate, "keys")
    list(_identities(predicate, "keys"))
    return octets


def read_keys(path: Path, root: TrustedKey) -> Keyring:
    """Read a list and check that the body signed it.

    Raises ConfigError KEY-03 (a time that ends before it begins), KEY-04 (not signed by the body), KEY-05 (a
    key twice, or none), and what `read_document` raises.
    """
    return keys_in(octets_of(path), root, str(path))


def keys_in(octets: bytes, root: TrustedKey, where: str) -> Keyring:
    """Return the list that these octets are. Raises what `read_keys` raises."""
    document = read_document(octets, KIND, where)
    if not document.sealed.signed_by([root]):
        raise ConfigError(
            "KEY-04",
            f"{where}: not signed by the body's key",
            expected=f"a signature by key {root.keyid[:16]}",
            found=", ".join(f"key {signature[:16]}" for signature in document.sealed.signatures),
            hint="take the list and the body's key from one source",
        )
    return Keyring(
        body=document.predicate["body"],
        root=root,
        keys=_known(document.predicate, where),
        thresholds=document.predicate.get("thresholds", {}),
        identities=tuple(_identities(document.predicate, where)),
    )


def key_entry(
    key: TrustedKey, organization: str, role: Role, valid_from: str, valid_until: str
) -> dict[str, Any]:
    """Return the entry of a key, as a list holds it."""
    return {
        "ed25519": raw_of(key),
        "organization": organization,
        "role": role.value,
        "from": valid_from,
        "until": valid_until,
    }


def identity_entry(
    identity: str, issuer: str, organization: str, role: Role, valid_from: str, valid_until: str
) -> dict[str, Any]:
    """Return the entry of an identity, as a list holds it."""
    return {
        "identity": identity,
        "issuer": issuer,
        "organization": organization,
        "role": role.value,
        "from": valid_from,
        "until": valid_until,
    }


def raw_of(key: TrustedKey) -> str:
    """Return a public key's 32 octets in hexadecimal."""
    return str(key.keyval["public"])


def pem_of(key: TrustedKey) -> bytes:
    """Return a public key as a file holds it."""
    raw = Ed25519PublicKey.from_public_bytes(bytes.fromhex(raw_of(key)))
    return raw.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _known(predicate: Mapping[str, Any], where: str) -> dict[str, KnownKey]:
    found: dict[str, KnownKey] = {}
    for entry in _entries(predicate, where):
        if entry.key_id in found:
            raise ConfigError(
                "KEY-05",
                f"{where}: key {entry.key_id[:16]}",
                expected="each key once, of one organization in one role",
                found=f"{found[entry.key_id].organization} and {entry.organization}",
            )
        found[entry.key_id] = entry
    return found


def _entries(predicate: Mapping[str, Any], where: str) -> Iterator[KnownKey]:
    for number, entry in enumerate(predicate["keys"]):
        raw = Ed25519PublicKey.from_public_bytes(bytes.fromhex(entry["ed25519"]))
        yield KnownKey(key=TrustedKey.from_crypto(raw), **_held(entry, f"{where}: keys[{number}]"))


def _identities(predicate: Mapping[str, Any], where: str) -> Iterator[KnownIdentity]:
    seen: dict[str, KnownIdentity] = {}
    for number, entry in enumerate(predicate.get("identities", ())):
        here = f"{where}: identities[{number}]"
        made = KnownIdentity(identity=entry["identity"], issuer=entry["issuer"], **_held(entry, here))
        if made.name in seen:
            raise ConfigError(
                "KEY-05",
                f"{here}: {made}",
                expected="each identity once, of one organization in one role",
                found=f"{seen[made.name].organization} and {made.organization}",
            )
        seen[made.name] = made
        yield made


def _held(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what every entry says: whose it is, in which role, and when."""
    begin, end = moment(entry["from"]), moment(entry["until"])
    revoked = entry.get("revoked")
    if end <= begin:
        raise ConfigError(
            "KEY-03",
            where,
            expected="a time that ends after it begins",
            found=f"{entry['from']} to {entry['until']}",
        )
    return {
        "organization": entry["organization"],
        "role": Role(entry["role"]),
        "valid_from": begin,
        "valid_until": end,
        "revoked_at": moment(revoked["at"]) if revoked else None,
        "revoked_why": revoked["why"] if revoked else "",
    }
