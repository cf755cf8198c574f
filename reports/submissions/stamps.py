"""Time stamps of signatures (RFC 3161): a third party's word that a signature was there at a time.

A stamp is of one signature's octets, so that of another bundle is none of this one. What judges stamps
(rfc3161-client) is an optional extra and reaches out nowhere: the reader pins the roots as files.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.reports.bundle.archive import LIMITS, STAMPS_PART
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.checks import check_document

MAX_REPLY_OCTETS = 1 << 16
MAX_ROOTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The reply of an authority on the signature of a key."""

    key_id: str
    reply: bytes


def request(signature: bytes) -> bytes:
    """Return the request for a stamp, to be sent by somebody. Raises TestbedError STAMP-04."""
    return bytes(_client().TimestampRequestBuilder().data(signature).build().as_bytes())


def with_stamp(octets: bytes | None, stamp: Stamp) -> bytes:
    """Return the part of a bundle with a stamp more. Raises ConfigError STAMP-01, STAMP-03."""
    before = read_stamps(octets) if octets is not None else ()
    if len(stamp.reply) > MAX_REPLY_OCTETS or any(one.key_id == stamp.key_id for one in before):
        raise ConfigError(
            "STAMP-03",
            f"stamp of key {stamp.key_id[:16]}",
            expected=f"one for each signature, of at most {MAX_REPLY_OCTETS} octets",
            found=f"{len(stamp.reply)} octets, {len(before)} stamps before",
        )
    each = sorted((*before, stamp), key=lambda one: one.key_id)
    entries = [{"key_id": one.key_id, "reply": base64.b64encode(one.reply).decode("ascii")} for one in each]
    return canonical({"schema": "stamps/1.0", "stamps": entries}).encode("ascii")


def read_stamps(octets: bytes) -> tuple[Stamp, ...]:
    """Read the part of a bundle. Raises ConfigError BND-07, STORE-04, STAMP-01."""
    data = strict_json(octets, STAMPS_PART, LIMITS[STAMPS_PART])
    check_document(data, "stamps", STAMPS_PART)
    try:
        found = tuple(
            Stamp(key_id=entry["key_id"], reply=base64.b64decode(entry["reply"], validate=True))
            for entry in data["stamps"]
        )
    except ValueError as error:
        raise _wrong("base64", str(error)) from error
    if len({stamp.key_id for stamp in found}) != len(found) or canonical(data).encode("ascii") != octets:
        raise _wrong("canonical JSON with one stamp for each signature", "another form")
    return found


def roots_of(folder: Path) -> tuple[Any, ...]:
    """Return the certificates of the authorities that a reader pins. Raises ConfigError STAMP-01."""
    from cryptography.x509 import load_pem_x509_certificates

    roots: list[Any] = []
    for path in sorted(folder.glob("*.pem"))[:MAX_ROOTS]:
        try:
            roots += load_pem_x509_certificates(path.read_bytes()[:MAX_REPLY_OCTETS])
        except (ValueError, OSError) as error:
            raise ConfigError(
                "STAMP-01", f"{path}", expected="certificates of an authority in PEM", found=str(error)
            ) from error
    return tuple(roots)


def stamped_at(stamp: Stamp, signatures: Mapping[str, bytes], roots: Sequence[Any]) -> datetime:
    """Return when an authority that the reader pins saw a signature of the bundle.

    Raises ConfigError STAMP-01 (no reply), STAMP-02 (of another signature, by another authority, for another
    purpose), TestbedError STAMP-04 (what judges stamps is not installed).
    """
    client = _client()
    signature = signatures.get(stamp.key_id)
    if signature is None:
        raise _foreign("a signature of this bundle", f"one of key {stamp.key_id[:16]}")
    if not roots:
        raise _foreign("an authority whose root the reader pins", "no root at all")
    try:
        reply = client.decode_timestamp_response(stamp.reply)
        when = reply.tst_info.gen_time
    except Exception as error:  # the client raises what its parser raises
        raise _wrong(
            "a reply of a time-stamping authority in DER", f"{type(error).__name__}: {error}"
        ) from error
    _require_purpose(reply.signed_data.certificates)
    builder = client.VerifierBuilder()
    for root in filter(_may_stamp, roots):
        builder = builder.add_root_certificate(root)
    try:
        builder.build().verify_message(reply, signature)
    except Exception as error:
        raise _foreign(
            "a stamp of this signature by a pinned authority", str(error) or type(error).__name__
        ) from error
    return when.astimezone(UTC) if isinstance(when, datetime) else datetime.fromtimestamp(0, UTC)


def _require_purpose(certificates: Iterable[bytes]) -> None:
    """Raise ConfigError STAMP-02 where a certificate of a reply is for other purposes than stamps.

    The client asks that of the certificate that signed alone, not of those above it.
    """
    from cryptography.x509 import load_der_x509_certificate

    for octets in certificates:
        try:
            certificate = load_der_x509_certificate(octets)
        except ValueError as error:
            raise _wrong("certificates in DER", str(error)) from error
        if not _may_stamp(certificate):
            raise _foreign("a chain of certificates for stamps", "a certificate for another purpose")


def _may_stamp(certificate: Any) -> bool:
    """Whether a certificate names no purposes, or stamps among them (RFC 5280 section 4.2.1.12)."""
    from cryptography.x509 import DuplicateExtension, ExtendedKeyUsage, ExtensionNotFound
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        purposes = certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value
    except ExtensionNotFound:
        return True
    except (ValueError, DuplicateExtension):
        return False
    return bool(
        {ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(purposes)
    )


def _client() -> Any:
    try:
        return import_module("rfc3161_client")
    except ModuleNotFoundError as error:
        raise TestbedError(
            "STAMP-04",
            "time stamps",
            expected="the Python module rfc3161_client",
            found="none",
            hint="pip install 'bmwg-toolkit[stamps]'",
        ) from error


def _wrong(expected: str, found: str) -> ConfigError:
    return ConfigError("STAMP-01", f"{STAMPS_PART}: cannot be read", expected=expected, found=found)


def _foreign(expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STAMP-02", f"{STAMPS_PART}: a stamp that is none of this bundle", expected=expected, found=found
    )
