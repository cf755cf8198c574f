"""A DSSE envelope of one canonical form with one or several Ed25519 signatures, and nothing lenient in it."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as SignatureError
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical

Signer = CryptoSigner
TrustedKey = SSlibKey
MAX_OCTETS = 1 << 20
MAX_SIGNATURES = 16  # choice: parties that sign one bundle
STATEMENT_PAYLOAD = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_SIGNATURE_OCTETS = 64  # of Ed25519, the one algorithm
_KEY_ID = re.compile(r"[0-9a-f]{64}")
_MEMBERS = {"payload", "payloadType", "signatures"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """An envelope whose form was checked and whose signatures were not. `signatures` are octets by key id."""

    where: str
    payload: bytes
    payload_type: str
    signatures: Mapping[str, bytes]

    def signed_by(self, keys: Collection[TrustedKey]) -> frozenset[str]:
        """Return the ids of those keys that signed.

        Raises ConfigError SIG-02 where a signature bears the id of one of `keys` and is not made by it.
        """
        mine = [key for key in keys if key.keyid in self.signatures]
        envelope = self._envelope()
        for key in mine:
            try:
                Envelope(
                    envelope.payload, envelope.payload_type, {key.keyid: envelope.signatures[key.keyid]}
                ).verify([key], 1)
            except SignatureError as error:
                raise ConfigError(
                    "SIG-02",
                    f"{self.where}: the signature is not one of the key that you trust",
                    expected=f"a signature by key {key.keyid[:16]}",
                    found="changed octets",
                    hint="take the signer's public key from a source that you trust, not from the bundle",
                ) from error
        return frozenset(key.keyid for key in mine)

    def also_signed(self, signer: Signer) -> bytes:
        """Return the envelope with one signature more. Raises ConfigError SIG-04."""
        key_id = signer.public_key.keyid
        if key_id in self.signatures or len(self.signatures) >= MAX_SIGNATURES:
            raise ConfigError(
                "SIG-04",
                f"{self.where}: cannot be signed once more",
                expected=f"at most {MAX_SIGNATURES} signatures, each of another key",
                found=f"one of key {key_id[:16]}"
                if key_id in self.signatures
                else f"{len(self.signatures)} signatures",
            )
        envelope = self._envelope()
        envelope.sign(signer)
        return _octets(envelope)

    def _envelope(self) -> Envelope:
        return Envelope.from_dict(
            {
                "payload": base64.b64encode(self.payload).decode("ascii"),
                "payloadType": self.payload_type,
                "signatures": [
                    {"keyid": key_id, "sig": base64.b64encode(octets).decode("ascii")}
                    for key_id, octets in self.signatures.items()
                ],
            }
        )


def seal(payload: bytes, payload_type: str, signer: Signer) -> bytes:
    """Return the octets of an envelope with one signature."""
    envelope = Envelope(payload, payload_type, {})
    envelope.sign(signer)
    return _octets(envelope)


def read_sealed(data: bytes, where: str, payload_type: str) -> Sealed:
    """Read an envelope in its one form. Raises ConfigError BND-07, SIG-01, SIG-04 (too many signatures)."""
    document = strict_json(data, where, MAX_OCTETS)
    try:
        sealed = _read(document, where)
        form = _octets(sealed._envelope())
    except (KeyError, TypeError, ValueError, AttributeError, SignatureError) as error:
        raise bad_envelope(
            where, "an envelope with Ed25519 signatures", f"{type(error).__name__}: {error}"
        ) from error
    if sealed.payload_type != payload_type:
        raise bad_envelope(where, f"a payload of type {payload_type}", repr(sealed.payload_type[:80]))
    if form != data:
        raise bad_envelope(
            where, "canonical JSON and base64, signatures in the order of their keys", "another form"
        )
    return sealed


def statement(predicate_type: str, subjects: Mapping[str, str], predicate: Mapping[str, Any]) -> bytes:
    """Return an in-toto statement about subjects, which are SHA-256 by name."""
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "predicateType": predicate_type,
            "subject": [{"name": name, "digest": {"sha256": subjects[name]}} for name in sorted(subjects)],
            "predicate": dict(predicate),
        }
    ).encode("ascii")


def bad_envelope(where: str, expected: str, found: str) -> ConfigError:
    """Return the error for an envelope that is not of our form."""
    return ConfigError("SIG-01", f"{where}: the envelope of the signature", expected=expected, found=found)


def _read(document: Any, where: str) -> Sealed:
    if not isinstance(document, dict) or set(document) != _MEMBERS:
        raise ValueError("expected payload, payloadType and signatures")
    entries = document["signatures"]
    if not isinstance(entries, list) or not entries:
        raise ValueError("expected a list of signatures")
    if len(entries) > MAX_SIGNATURES:
        raise ConfigError(
            "SIG-04",
            f"{where}: too many signatures",
            expected=f"at most {MAX_SIGNATURES}",
            found=str(len(entries)),
        )
    signatures: dict[str, bytes] = {}
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"keyid", "sig"}:
            raise ValueError("expected keyid and sig")
        key_id = entry["keyid"]
        if not isinstance(key_id, str) or _KEY_ID.fullmatch(key_id) is None:
            raise ValueError("expected a key id of 64 hexadecimal digits")
        if key_id in signatures:
            raise ValueError(f"two signatures of one key id, {key_id[:16]}")
        signatures[key_id] = base64.b64decode(_ascii(entry["sig"]), validate=True)
        if len(signatures[key_id]) != _SIGNATURE_OCTETS:
            raise ValueError(f"expected {_SIGNATURE_OCTETS} octets, as Ed25519 gives, and no other algorithm")
    return Sealed(
        where=where,
        payload=base64.b64decode(_ascii(document["payload"]), validate=True),
        payload_type=_ascii(document["payloadType"]),
        signatures=signatures,
    )


def _ascii(text: Any) -> str:
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("expected text")
    return text


def _octets(envelope: Envelope) -> bytes:
    data = envelope.to_dict()
    data["signatures"] = sorted(data["signatures"], key=lambda entry: entry["keyid"])
    return canonical(data).encode("ascii")
