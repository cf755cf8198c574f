"""Sigstore of our own: a certificate authority, two logs, and bundles that they vouch for; no network.

Made after the formats alone: RFC 6962 (certificate timestamps, trees), the signed note of checkpoints, and
the JSON of sigstore's bundle 0.3 and trusted root 0.1.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_ISSUER, _TIMESTAMPS = (ObjectIdentifier(f"1.3.6.1.4.1.{end}") for end in ("57264.1.1", "11129.2.4.2"))
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def needed() -> pytest.MarkDecorator:
    """Return the mark that skips a test, by name, where bundles cannot be judged."""
    return pytest.mark.skipif(find_spec("sigstore") is None, reason="needs the Python module sigstore")


def b64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")


@dataclass(frozen=True)
class Log:
    """A log with a key of its own."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @property
    def log_id(self) -> bytes:
        return hashlib.sha256(self.public).digest()

    def sign(self, octets: bytes) -> bytes:
        return self.key.sign(octets, ec.ECDSA(hashes.SHA256()))

    def told(self, name: str) -> dict[str, Any]:
        """Return it as a trusted root lists it."""
        public = {"rawBytes": b64(self.public), "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
        return {
            "baseUrl": f"https://{name}.example.net",
            "hashAlgorithm": "SHA2_256",
            "publicKey": public | {"validFor": {"start": f"{_FIRST:%Y-%m-%dT%H:%M:%SZ}"}},
            "logId": {"keyId": b64(self.log_id)},
        }


class Authority:
    """A root whose certificates say who somebody is, a log of them, and a log of signatures."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificates, self.signatures = Log(), Log()
        name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example Identities")])
        usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
        identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        self.root = (
            _begun(name, name, self.key, _FIRST, _FIRST + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(identifier, critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def trusted_root(self, path: Path) -> Path:
        """Write what a reader pins."""
        authority = {
            "subject": {"organization": "Example Identities", "commonName": "root"},
            "uri": "https://ca.example.net",
            "certChain": {"certificates": [{"rawBytes": b64(self.root.public_bytes(Encoding.DER))}]},
            "validFor": {"start": f"{_FIRST:%Y-%m-%dT%H:%M:%SZ}"},
        }
        told = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.signatures.told("signatures")],
            "certificateAuthorities": [authority],
            "ctlogs": [self.certificates.told("certificates")],
            "timestampAuthorities": [],
        }
        path.write_text(json.dumps(told), encoding="ascii")
        return path

    def bundle(
        self, payload: bytes, identity: str, issuer: str, at: datetime, payload_type: str = PAYLOAD_TYPE
    ) -> dict[str, Any]:
        """Return the bundle of a signature that entered the log at a time, as data."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, identity, issuer, at)
        pae = f"DSSEv1 {len(payload_type)} {payload_type} {len(payload)} ".encode("ascii") + payload
        signature = key.sign(pae, ec.ECDSA(hashes.SHA256()))
        envelope = {
            "payload": b64(payload),
            "payloadType": payload_type,
            "signatures": [{"sig": b64(signature)}],
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(certificate.public_bytes(Encoding.DER))},
                "tlogEntries": [self._entry(certificate, payload, signature, envelope, at)],
            },
            "dsseEnvelope": envelope,
        }

    def _certificate(
        self, key: ec.EllipticCurvePrivateKey, identity: str, issuer: str, at: datetime
    ) -> x509.Certificate:
        begin = at.replace(microsecond=0) - timedelta(minutes=1)
        usage = dict.fromkeys(_USAGES, False) | {"digital_signature": True}
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        built = (
            _begun(x509.Name([]), self.root.subject, key, begin, begin + timedelta(minutes=10))
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(identity)]), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(above, critical=False)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode("ascii")), critical=False)
        )
        before = built.sign(self.key, hashes.SHA256()).tbs_certificate_bytes
        stamp = self._certificate_timestamp(before, begin)
        return built.add_extension(x509.UnrecognizedExtension(_TIMESTAMPS, stamp), critical=False).sign(
            self.key, hashes.SHA256()
        )

    def _certificate_timestamp(self, before: bytes, at: datetime) -> bytes:
        """Return the list of one timestamp of a certificate without it (RFC 6962 sections 3.2, 3.3)."""
        public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        issuer, when = hashlib.sha256(public).digest(), int(at.timestamp() * 1000)
        entry = issuer + len(before).to_bytes(3, "big") + before
        signature = self.certificates.sign(struct.pack("!BBQH", 0, 0, when, 1) + entry + bytes(2))
        one = b"\0" + self.certificates.log_id + struct.pack("!QHBB", when, 0, 4, 3)
        one += len(signature).to_bytes(2, "big") + signature
        listed = len(one).to_bytes(2, "big") + one
        listed = len(listed).to_bytes(2, "big") + listed
        return b"\x04" + _der_length(len(listed)) + listed

    def _entry(
        self,
        certificate: x509.Certificate,
        payload: bytes,
        signature: bytes,
        envelope: dict[str, Any],
        at: datetime,
    ) -> dict[str, Any]:
        """Return the log's only entry: a promise with its time, and the proof that it is in the tree."""
        verifier = b64(certificate.public_bytes(Encoding.PEM))
        body = _plain(
            {
                "apiVersion": "0.0.1",
                "kind": "dsse",
                "spec": {
                    "envelopeHash": _sha256(_plain(envelope)),
                    "payloadHash": _sha256(payload),
                    "signatures": [{"signature": b64(signature), "verifier": verifier}],
                },
            }
        )
        log = self.signatures
        promised = {
            "body": b64(body),
            "integratedTime": int(at.timestamp()),
            "logID": log.log_id.hex(),
            "logIndex": 0,
        }
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"signatures.example.net - 1\n1\n{b64(root)}\n"
        signed = b64(log.log_id[:4] + log.sign(note.encode("ascii")))
        return {
            "logIndex": "0",
            "logId": {"keyId": b64(log.log_id)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(promised["integratedTime"]),
            "inclusionPromise": {"signedEntryTimestamp": b64(log.sign(_plain(promised)))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} signatures.example.net {signed}\n"},
            },
            "canonicalizedBody": b64(body),
        }


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return made.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)


def _sha256(octets: bytes) -> dict[str, str]:
    return {"algorithm": "sha256", "value": hashlib.sha256(octets).hexdigest()}


def _plain(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii")


def _der_length(octets: int) -> bytes:
    return bytes([octets]) if octets < 128 else bytes([0x81, octets])
