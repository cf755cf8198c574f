"""A signed document of a body, a vendor or a witness: one in-toto statement whose predicate has a schema."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.checks import check_document
from bmwg.reports.store.files import not_written
from bmwg.reports.submissions.envelope import (
    MAX_OCTETS,
    STATEMENT_PAYLOAD,
    Sealed,
    Signer,
    bad_envelope,
    read_sealed,
    seal,
    statement,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedDocument:
    """A document whose form was checked and whose signatures were not. `sha256` is that of its octets."""

    predicate: Mapping[str, Any]
    sealed: Sealed
    sha256: str


def sign_document(kind: str, predicate: Mapping[str, Any], signer: Signer) -> bytes:
    """Return the octets of a document of schema `kind`. Raises ConfigError STORE-04."""
    check_document(dict(predicate), kind, kind)
    return seal(_statement(kind, predicate), STATEMENT_PAYLOAD, signer)


def read_document(data: bytes, kind: str, where: str) -> SignedDocument:
    """Read a document of schema `kind`. Raises ConfigError BND-07, SIG-01, SIG-04, STORE-04."""
    sealed = read_sealed(data, where, STATEMENT_PAYLOAD)
    told = strict_json(sealed.payload, where, MAX_OCTETS)
    predicate = told.get("predicate") if isinstance(told, dict) else None
    if not isinstance(predicate, dict):
        raise bad_envelope(where, f"a statement of a {kind}", "another")
    check_document(predicate, kind, where)
    if sealed.payload != _statement(kind, predicate):
        raise bad_envelope(where, f"a statement of a {kind}, in canonical JSON", "another")
    return SignedDocument(predicate=predicate, sealed=sealed, sha256=hashlib.sha256(data).hexdigest())


def octets_of(path: Path, limit: int = MAX_OCTETS) -> bytes:
    """Return a file's octets, of which a longer one is cut off. Raises ConfigError STORE-02."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise ConfigError(
            "STORE-02", f"{path}: cannot be read", found=error.strerror or str(error)
        ) from error


def write_new(path: Path, octets: bytes) -> Path:
    """Write a file that was not there. Raises ConfigError CHAL-04, TestbedError STORE-08."""
    try:
        with path.open("xb") as file:
            file.write(octets)
    except FileExistsError as error:
        raise ConfigError("CHAL-04", f"{path}: exists already; nothing is overwritten") from error
    except OSError as error:
        raise not_written(path, error) from error
    return path


def moment(text: str) -> datetime:
    """Return a time of a document, which its schema has checked."""
    return datetime.fromisoformat(text)


def moment_given(text: str, what: str) -> datetime:
    """Return a time that a person gave. Raises ConfigError CHAL-02 for one without zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ConfigError(
            "CHAL-02",
            what,
            expected="a time with its zone, such as 2026-01-31T08:00:00Z",
            found=repr(text[:60]),
        )
    return found.astimezone(UTC)


def _statement(kind: str, predicate: Mapping[str, Any]) -> bytes:
    return statement(f"urn:bmwg:{kind}:1.0", {kind: sha256_of(predicate)}, predicate)
