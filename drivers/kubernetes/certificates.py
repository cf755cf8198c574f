"""The certificates of one run's cluster: an authority of its own, whose keys never leave the run's folder.

Each is valid for a few days: a run is shorter, and what it leaves behind must not be of use.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_VALID = datetime.timedelta(days=7)  # choice: longer than any run
_EARLY = datetime.timedelta(hours=1)  # choice: two nodes' clocks may differ a little


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write both below `folder`; the key for its owner alone."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"{name}.crt").write_bytes(self.certificate)
        descriptor = os.open(folder / f"{name}.key", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self.key)


class Authority:
    """A certificate authority that exists for one run; it signs servers and clients, by `key` or one of
    P-256."""

    def __init__(self, name: str = "bmwg-run", key: PrivateKey | None = None) -> None:
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._subject, self._key, authority=True)
        self.pair = _pair(self._certificate, self._key)

    def server(
        self,
        common_name: str,
        names: Sequence[str],
        *,
        organization: str = "",
        valid: datetime.timedelta = _VALID,
        key: PrivateKey | None = None,
    ) -> Pair:
        """Return a certificate for a server (and client) reached by these names and addresses.

        Its key is `key`, or a new one of P-256.
        """
        return self._issue(common_name, organization, names, valid, key)

    def client(self, user: str, *, group: str = "", valid: datetime.timedelta = _VALID) -> Pair:
        """Return a certificate by which a client is `user` in `group`; `valid` may be in the past."""
        return self._issue(user, group, (), valid)

    def _issue(
        self,
        common_name: str,
        organization: str,
        names: Sequence[str],
        valid: datetime.timedelta = _VALID,
        key: PrivateKey | None = None,
    ) -> Pair:
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organization:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        key = key or ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(x509.Name(attributes), key, names=names, valid=valid)
        return _pair(certificate, key)

    def _signed(
        self,
        subject: x509.Name,
        key: PrivateKey,
        *,
        names: Sequence[str] = (),
        authority: bool = False,
        valid: datetime.timedelta = _VALID,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now - _EARLY, now + valid - _EARLY))
            .not_valid_after(now + valid)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_name(text) for text in names]), critical=False
            )
        return builder.sign(self._key, hashes.SHA256())


def signing_key() -> Pair:
    """Return a key pair that signs the tokens of service accounts; `certificate` is the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Pair(certificate=public, key=_private(key))


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pair(certificate: x509.Certificate, key: PrivateKey) -> Pair:
    return Pair(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=_private(key))


def _private(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
