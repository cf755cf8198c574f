"""A client's end of TLS: whom it trusts, what it offers, and one look at a server that names what is wrong.

Ids: TLS-01 a certificate out of its time, TLS-02 a certificate of another name, TLS-03 a certificate of
another authority, TLS-04 no handshake (a cipher or version that an end refuses), TLS-05 another version or
cipher than asked for.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
import time
from dataclasses import asdict, dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import DriverError

_PAUSE_S = 0.02
# no errno: no tunnel; EHOSTUNREACH: an address of IPv6 that a pod has had for less than a second or so
_NOT_YET = (None, errno.ECONNREFUSED, errno.EHOSTUNREACH)
_HEAD_OCTETS = 65536  # choice: a longer head is no answer
_OUT_OF_TIME = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_OTHER_NAME = (62, 63, 64)  # X509_V_ERR_HOSTNAME_MISMATCH and its kin
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What is asked of a server: a certificate by `authority` (PEM) for `name`, version, cipher and group.

    It is reached through a `tunnel` where a proxy is asked for one: a name with its port, as in CONNECT.
    """

    authority: str
    name: str
    version: str
    cipher: str
    group: str
    tunnel: str = ""

    def context(self) -> ssl.SSLContext:
        """Return a context that offers this version, and of TLS 1.2 this cipher alone.

        Of TLS 1.3 the server has the only cipher; what was agreed on is looked at afterwards. It does not say
        which group.
        """
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.load_verify_locations(cadata=self.authority)
        made.minimum_version = made.maximum_version = _VERSIONS[self.version]
        if self.version == "TLSv1.2":
            made.set_ciphers(self.cipher)
        return made

    def as_builtins(self) -> dict[str, JsonValue]:
        """Return what crosses to a node; it holds no key."""
        return asdict(self)

    def connected(self, address: str, port: int, within_s: float) -> socket.socket:
        """Return a connection over which TLS may begin: to the server, or the tunnel of a proxy.

        Raises OSError; ConnectionAbortedError where a proxy makes no tunnel.
        """
        made = socket.create_connection((address, port), timeout=within_s)
        if not self.tunnel:
            return made
        try:
            made.sendall(f"CONNECT {self.tunnel} HTTP/1.1\r\nHost: {self.tunnel}\r\n\r\n".encode())
            told = b""
            while b"\r\n\r\n" not in told and len(told) < _HEAD_OCTETS:
                if not (block := made.recv(1024)):
                    raise ConnectionAbortedError("the proxy closed before its tunnel stood")
                told += block
            if re.match(rb"HTTP/1\.[01] 200 ", told) is None:
                raise ConnectionAbortedError(
                    f"no tunnel: {told.splitlines()[0][:80].decode(errors='replace')}"
                )
        except BaseException:
            made.close()
            raise
        return made


def look(*, address: str, port: int, trust: dict[str, JsonValue], within_s: float) -> dict[str, JsonValue]:
    """Node function: wait until something listens, shake hands once, and tell what was agreed on.

    Returns `version`, `cipher`, `key`, `signature_hash`, `names`, `issuer`, `not_after`, `sha256` of the
    certificate, and `session_reused`. Raises DriverError TLS-01 to TLS-05.
    """
    wanted = Trust(**trust)
    end_s = time.monotonic() + within_s
    while True:
        try:
            plain = wanted.connected(address, port, max(0.2, end_s - time.monotonic()))
            break
        except OSError as error:
            if not isinstance(error, TimeoutError) and error.errno not in _NOT_YET:
                raise _no_handshake(str(error), f"{address}:{port}", wanted) from error
            if time.monotonic() > end_s:
                why = str(error) if isinstance(error, ConnectionAbortedError) else f"nothing listens: {error}"
                raise _no_handshake(why, f"{address}:{port}", wanted) from error
            time.sleep(_PAUSE_S)
    with plain:
        try:
            with wanted.context().wrap_socket(plain, server_hostname=wanted.name) as tls:
                certificate = tls.getpeercert(binary_form=True)
                cipher = tls.cipher()
                told: dict[str, JsonValue] = {
                    "version": tls.version(),
                    "cipher": cipher[0] if cipher else None,
                    "session_reused": bool(tls.session_reused),
                }
        except ssl.SSLError as error:
            raise _named(error, f"{address}:{port}", wanted) from error
        except (ConnectionResetError, TimeoutError) as error:
            raise _no_handshake(str(error), f"{address}:{port}", wanted) from error
    if (told["version"], told["cipher"]) != (wanted.version, wanted.cipher):
        raise DriverError(
            "TLS-05",
            f"{address}:{port}: what both ends agreed on",
            expected=f"{wanted.version} {wanted.cipher}",
            found=f"{told['version']} {told['cipher']}",
        )
    return {**told, **described(certificate or b"")}


def described(certificate: bytes) -> dict[str, JsonValue]:
    """Say what a certificate (DER) is of: key, names, issuer, end of its time, hash."""
    read = x509.load_der_x509_certificate(certificate)
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    hashed = read.signature_hash_algorithm
    return {
        "key": _key_words(read),
        "signature_hash": hashed.name if hashed else None,
        "names": [str(name) for name in names.get_values_for_type(x509.DNSName)],
        "issuer": read.issuer.rfc4514_string(),
        "not_after": read.not_valid_after_utc.isoformat(),
        "sha256": read.fingerprint(hashes.SHA256()).hex(),
    }


def _key_words(read: x509.Certificate) -> str:
    key = read.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        return f"rsa-{key.key_size}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"ec-{_CURVES.get(key.curve.name, key.curve.name)}"
    return type(key).__name__


_CURVES = {"secp256r1": "prime256v1"}  # the same one, as OpenSSL names it


def _named(error: ssl.SSLError, server: str, wanted: Trust) -> DriverError:
    if not isinstance(error, ssl.SSLCertVerificationError):
        return _no_handshake((error.reason or str(error)).replace("_", " ").lower(), server, wanted)
    error_id, expected = "TLS-03", "one of the run's own authority"
    if error.verify_code in _OUT_OF_TIME:
        error_id, expected = "TLS-01", "one that is valid now"
    elif error.verify_code in _OTHER_NAME:
        error_id, expected = "TLS-02", f"one for {wanted.name}"
    return DriverError(
        error_id, f"{server}: the server's certificate", expected=expected, found=error.verify_message
    )


def _no_handshake(why: str, server: str, wanted: Trust) -> DriverError:
    return DriverError(
        "TLS-04",
        f"{server}: no TLS handshake",
        expected=f"{wanted.version} with {wanted.cipher}",
        found=why,
        hint="an end refuses the cipher or the version: see the function's own output",
    )
