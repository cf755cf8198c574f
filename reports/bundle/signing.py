"""Ed25519 signatures in a DSSE envelope over an in-toto statement; key files, no network, no service."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as SignatureError
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import ENVELOPE_PART, LIMITS, MANIFEST_PART
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.files import not_written, opened

Signer = CryptoSigner
TrustedKey = SSlibKey
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:bmwg:submission:1.0"
_MAX_KEY_OCTETS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What an envelope says: the digest of the manifest it signs, and the id of the key that signed."""

    manifest_sha256: str
    run_id: str
    key_id: str


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


def sign(manifest_sha256: str, run_id: str, signer: Signer) -> bytes:
    """Return the envelope's octets: a statement whose one subject is the manifest."""
    envelope = Envelope(_statement(manifest_sha256, run_id), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return canonical(envelope.to_dict()).encode("ascii")


def read_envelope(data: bytes) -> Signed:
    """Return what an envelope claims, its form checked and its signature not. Raises ConfigError SIG-01."""
    document = strict_json(data, ENVELOPE_PART, LIMITS[ENVELOPE_PART])
    try:
        envelope = _envelope(document)
        statement = strict_json(envelope.payload, "statement", LIMITS[ENVELOPE_PART])
        signed = Signed(
            manifest_sha256=statement["subject"][0]["digest"]["sha256"],
            run_id=statement["predicate"]["run_id"],
            key_id=next(iter(envelope.signatures)),
        )
        expected = _statement(signed.manifest_sha256, signed.run_id)
        form = canonical(envelope.to_dict()).encode("ascii")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, SignatureError) as error:
        raise _bad_envelope("one statement and one signature", f"{type(error).__name__}: {error}") from error
    if envelope.payload_type != PAYLOAD_TYPE or envelope.payload != expected:
        raise _bad_envelope(f"a statement of type {PREDICATE_TYPE} on {MANIFEST_PART}", "another")
    if form != data:
        raise _bad_envelope("canonical JSON and base64", "another form")
    return signed


def check_signature(data: bytes, key: TrustedKey) -> None:
    """Raise ConfigError SIG-02 unless `key` signed the envelope."""
    envelope = _envelope(strict_json(data, ENVELOPE_PART, LIMITS[ENVELOPE_PART]))
    try:
        envelope.verify([key], 1)
    except SignatureError as error:
        raise ConfigError(
            "SIG-02",
            "the signature is not one of the key that you trust",
            expected=f"a signature by key {key.keyid[:16]}",
            found=f"key {next(iter(envelope.signatures))[:16]!r}, or changed octets",
            hint="take the signer's public key from a source that you trust, not from the bundle",
        ) from error


def _envelope(document: Any) -> Envelope:
    if not isinstance(document, dict) or set(document) != {"payload", "payloadType", "signatures"}:
        raise ValueError("expected payload, payloadType and signatures")
    signatures = document["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise ValueError("expected exactly one signature")
    if not isinstance(signatures[0], dict) or set(signatures[0]) != {"keyid", "sig"}:
        raise ValueError("expected keyid and sig")
    texts = (document["payload"], document["payloadType"], signatures[0]["keyid"], signatures[0]["sig"])
    if not all(isinstance(text, str) and text.isascii() for text in texts):
        raise ValueError("expected text")
    base64.b64decode(document["payload"], validate=True)
    base64.b64decode(signatures[0]["sig"], validate=True)
    return Envelope.from_dict(document | {"signatures": [dict(signatures[0])]})


def _statement(manifest_sha256: str, run_id: str) -> bytes:
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "predicateType": PREDICATE_TYPE,
            "subject": [{"name": MANIFEST_PART, "digest": {"sha256": manifest_sha256}}],
            "predicate": {"run_id": run_id},
        }
    ).encode("ascii")


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


def _bad_envelope(expected: str, found: str) -> ConfigError:
    return ConfigError("SIG-01", "the envelope of the signature", expected=expected, found=found)
