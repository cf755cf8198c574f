"""Signatures by sigstore bundles: an identity instead of a key, and a log's word on the time.

A bundle signs the same statement as the envelope does, lies beside it and is judged without a network: the
body pins who vouches for identities (`trusted_root.json`) and which identities it knows (`keys.json`). What
judges bundles (sigstore) is an optional extra; without it they are named as not judged and count for nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.reports.bundle.archive import LIMITS, SIGSTORE_PART, Archive
from bmwg.reports.checker.findings import Finding, of_error
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.checks import check_document
from bmwg.reports.submissions.envelope import STATEMENT_PAYLOAD, Sealed
from bmwg.reports.submissions.keyring import KnownIdentity
from bmwg.reports.submissions.trust import Trust

MAX_BUNDLE_OCTETS = 1 << 16  # one is below 10,000
_MAX_ROOT_OCTETS = 1 << 20
_SCHEMA = "sigstore/1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signings:
    """What the bundles of a part show. `signed` are known identities with the time of their log entry.

    `unjudged` is whether one could not be judged here; `notes` say why.
    """

    signed: tuple[tuple[KnownIdentity, datetime], ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unjudged: bool = False


def with_bundle(octets: bytes | None, bundle: bytes) -> bytes:
    """Return the part with a bundle more. Raises ConfigError SIG-07, SIG-04 (too many), BND-07, STORE-04."""
    strict_json(bundle, "sigstore bundle", MAX_BUNDLE_OCTETS)
    before = read_bundles(octets) if octets is not None else ()
    entries = sorted(base64.b64encode(one).decode("ascii") for one in {*before, bundle})
    made = canonical({"schema": _SCHEMA, "bundles": entries}).encode("ascii")
    read_bundles(made)
    return made


def read_bundles(octets: bytes) -> tuple[bytes, ...]:
    """Read the part. Raises ConfigError BND-07, STORE-04, SIG-07."""
    data = strict_json(octets, SIGSTORE_PART, LIMITS[SIGSTORE_PART])
    check_document(data, "sigstore", SIGSTORE_PART)
    try:
        found = tuple(base64.b64decode(entry, validate=True) for entry in data["bundles"])
    except ValueError as error:
        raise _wrong("base64", str(error)) from error
    if data["bundles"] != sorted(set(data["bundles"])) or canonical(data).encode("ascii") != octets:
        raise _wrong("canonical JSON with each bundle once, in order", "another form")
    return found


def judged(archive: Archive, sealed: Sealed | None, trust: Trust | None) -> Signings:
    """Judge the bundles beside an envelope; those of identities that the body does not know say nothing."""
    if not archive.has(SIGSTORE_PART):
        return Signings()
    try:
        bundles = read_bundles(archive.octets(SIGSTORE_PART))
        if sealed is None:
            raise _foreign("an envelope with the statement that they sign", "none")
        if trust is None or trust.trusted_root is None:
            return _unjudged("no trusted_root.json is pinned")
        client = _Client(trust.trusted_root)
        signed = [*_signed(client, bundles, sealed, trust.keyring.identities)]
    except TestbedError as error:
        return _unjudged(f"it needs {error.expected}")
    except ConfigError as error:
        return Signings(findings=(of_error(error),))
    timeless = sum(when is None for _, when in signed)
    notes = (f"{timeless} sigstore bundles: their log entry tells no time",) if timeless else ()
    return Signings(
        signed=tuple((known, when) for known, when in signed if when is not None),
        notes=notes,
        unjudged=bool(timeless),
    )


def _signed(
    client: _Client, bundles: Sequence[bytes], sealed: Sealed, known: Sequence[KnownIdentity]
) -> Iterator[tuple[KnownIdentity, datetime | None]]:
    """Give each known identity that signed, and when; None: its log entry tells no time.

    Raises ConfigError SIG-07, SIG-08.
    """
    for octets in bundles:
        told = strict_json(octets, SIGSTORE_PART, MAX_BUNDLE_OCTETS)
        bundle = client.bundle(octets)
        mine = next((identity for identity in known if client.names(bundle, identity)), None)
        if mine is None:
            continue
        client.require_signed(bundle, mine, sealed)
        yield mine, _time(told)


def _time(told: Any) -> datetime | None:
    """Return when the log took the entry, which its promise binds, and which was checked with it."""
    entry = told["verificationMaterial"]["tlogEntries"][0]
    seconds = int(entry.get("integratedTime", 0))
    return datetime.fromtimestamp(seconds, UTC) if seconds and entry.get("inclusionPromise") else None


class _Client:
    """The sigstore package over one trusted root. It opens no connection."""

    def __init__(self, root: Path) -> None:
        """Raise TestbedError SIG-09 where it is not installed, ConfigError SIG-07 for no trusted root."""
        try:
            self._models: Any = import_module("sigstore.models")
            self._policy: Any = import_module("sigstore.verify.policy")
            verify: Any = import_module("sigstore.verify")
        except ModuleNotFoundError as error:
            raise TestbedError(
                "SIG-09",
                "sigstore bundles",
                expected="the Python module sigstore",
                found="none",
                hint="pip install 'bmwg-toolkit[sigstore]'",
            ) from error
        try:
            if root.stat().st_size > _MAX_ROOT_OCTETS:
                raise ValueError(f"more than {_MAX_ROOT_OCTETS} octets")
            self._verifier = verify.Verifier(trusted_root=self._models.TrustedRoot.from_file(str(root)))
        except Exception as error:  # the client raises what its parsers raise
            raise ConfigError(
                "SIG-07", f"{root}", expected="a trusted root of sigstore", found=_said(error)
            ) from error

    def bundle(self, octets: bytes) -> Any:
        """Read a bundle. Raises ConfigError SIG-07."""
        try:
            return self._models.Bundle.from_json(octets)
        except Exception as error:
            raise _wrong("a sigstore bundle", _said(error)) from error

    def names(self, bundle: Any, known: KnownIdentity) -> bool:
        """Whether a bundle's certificate names an identity; whether it is true is not checked."""
        try:
            self._identity(known).verify(bundle.signing_certificate)
        except Exception:
            return False
        return True

    def require_signed(self, bundle: Any, known: KnownIdentity, sealed: Sealed) -> None:
        """Raise ConfigError SIG-08 unless the identity signed the statement of the envelope."""
        try:
            payload_type, payload = self._verifier.verify_dsse(bundle, self._identity(known))
        except Exception as error:
            raise _foreign(f"a signature of {known}", _said(error)) from error
        same = payload_type == STATEMENT_PAYLOAD and strict_json(
            payload, SIGSTORE_PART, MAX_BUNDLE_OCTETS
        ) == strict_json(sealed.payload, SIGSTORE_PART, MAX_BUNDLE_OCTETS)
        if not same:
            raise _foreign("the statement of the envelope", "another")

    def _identity(self, known: KnownIdentity) -> Any:
        return self._policy.Identity(identity=known.identity, issuer=known.issuer)


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _unjudged(why: str) -> Signings:
    return Signings(notes=(f"sigstore bundles: {why}",), unjudged=True)


def _wrong(expected: str, found: str) -> ConfigError:
    return ConfigError("SIG-07", f"{SIGSTORE_PART}: cannot be read", expected=expected, found=found)


def _foreign(expected: str, found: str) -> ConfigError:
    return ConfigError(
        "SIG-08", f"{SIGSTORE_PART}: a signature that is none of this bundle", expected=expected, found=found
    )
