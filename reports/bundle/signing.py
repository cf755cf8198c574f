"""Who signs a bundle: key files, and the statement about its parts that they sign; no network, no service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import ENVELOPE_PART, LIMITS, MANIFEST_PART
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.files import not_written, opened
from bmwg.reports.submissions.envelope import (
    STATEMENT_PAYLOAD,
    Sealed,
    Signer,
    TrustedKey,
    bad_envelope,
    read_sealed,
    seal,
    statement,
)

PREDICATE_TYPE = "urn:bmwg:submission:1.0"
_MAX_KEY_OCTETS = 16_384


SUBJECTS = (MANIFEST_PART, "run.json", "platform.json", "challenge.json", "report.html", "trials.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What an envelope says: the SHA-256 of the parts that it names, and the ids of the keys that signed."""

    subjects: Mapping[str, str]
    run_id: str
    sealed: Sealed

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Whose signatures it says it has, in their order."""
        return tuple(self.sealed.signatures)


def make_key(path: Path) -> Path:
    """Write a new private key (PKCS 8, mode 0600), and the public one beside it; return the latter's path.

    Raises ConfigError KEY-01 when one of the files exists, TestbedError STORE-08.
    """
    private = Ed25519PrivateKey.generate()
    public_path = path.with_name(path.name + ".pub")
    for file in (path, public_path):
        if file.exists():
            raise ConfigError("KEY-01", f"{file}: exists already; no key is overwritten")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file_:
            file_.write(
                private.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
        public_path.write_bytes(
            private.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
    except OSError as error:
        raise not_written(path, error) from error
    return public_path


def load_private(path: Path) -> Signer:
    """Read an Ed25519 private key. Raises ConfigError KEY-02."""
    try:
        key = serialization.load_pem_private_key(_key_octets(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "an Ed25519 private key in PEM, without passphrase", str(error)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "an Ed25519 private key in PEM", type(key).__name__)
    return Signer(key)


def load_public(path: Path) -> TrustedKey:
    """Read an Ed25519 public key. Raises ConfigError KEY-02."""
    try:
        key = serialization.load_pem_public_key(_key_octets(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "an Ed25519 public key in PEM", str(error)) from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "an Ed25519 public key in PEM", type(key).__name__)
    made: TrustedKey = TrustedKey.from_crypto(key)
    return made


def sign(parts: Mapping[str, str], run_id: str, signer: Signer) -> bytes:
    """Return the envelope's octets: a statement about those of the parts (SHA-256 by name) that are named."""
    subjects = {name: parts[name] for name in SUBJECTS if name in parts}
    return seal(statement(PREDICATE_TYPE, subjects, {"run_id": run_id}), STATEMENT_PAYLOAD, signer)


def read_envelope(data: bytes) -> Signed:
    """Return what an envelope claims, its form checked and its signatures not.

    Raises ConfigError SIG-01, SIG-04.
    """
    sealed = read_sealed(data, ENVELOPE_PART, STATEMENT_PAYLOAD)
    told = strict_json(sealed.payload, "statement", LIMITS[ENVELOPE_PART])
    try:
        signed = Signed(
            subjects={entry["name"]: entry["digest"]["sha256"] for entry in told["subject"]},
            run_id=told["predicate"]["run_id"],
            sealed=sealed,
        )
        expected = statement(PREDICATE_TYPE, signed.subjects, {"run_id": signed.run_id})
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise bad_envelope(ENVELOPE_PART, "a statement", f"{type(error).__name__}: {error}") from error
    if sealed.payload != expected or MANIFEST_PART not in signed.subjects:
        raise bad_envelope(
            ENVELOPE_PART, f"a statement of type {PREDICATE_TYPE} on {MANIFEST_PART}", "another"
        )
    return signed


def check_signature(data: bytes, key: TrustedKey) -> None:
    """Raise ConfigError SIG-02 unless `key` is one that signed the envelope."""
    signed = read_envelope(data)
    if not signed.sealed.signed_by([key]):
        raise ConfigError(
            "SIG-02",
            "the signature is not one of the key that you trust",
            expected=f"a signature by key {key.keyid[:16]}",
            found=", ".join(f"key {one[:16]}" for one in signed.key_ids),
            hint="take the signer's public key from a source that you trust, not from the bundle",
        )


def _key_octets(path: Path) -> bytes:
    try:
        with opened(path) as file:
            return file.read(_MAX_KEY_OCTETS)
    except OSError as error:
        raise _no_key(path, "a key file", error.strerror or str(error)) from error


def _no_key(path: Path, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "KEY-02",
        f"{path}: no key that can be used",
        expected=expected,
        found=found,
        hint="make a pair by `bmwg bundle --make-key FILE`; its public half is FILE.pub",
    )
