"""How the requests of a cell are encrypted, by name: TLS version, cipher, key and group of the server. Pure.

Sets of TLS 1.2 are those that RFC 9411 4.3.1.3 recommends, those of TLS 1.3 have the first three ciphers of
RFC 8446 that it lists.
"""

from __future__ import annotations

from dataclasses import dataclass

PLAIN = ""  # no TLS


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSet:
    """What both ends agree on. `version` is as OpenSSL names it, `key` one of `rsa-BITS` and `ec-CURVE`."""

    name: str
    version: str
    cipher: str
    key: str
    group: str

    @property
    def words(self) -> str:
        """All of it in words."""
        return f"{self.version}, {self.cipher}, key {self.key}, group {self.group}"


_P256, _P521 = "prime256v1", "secp521r1"
_TLS12, _TLS13 = "TLSv1.2", "TLSv1.3"
_SETS = (
    ("tls12-ecdsa-p256", _TLS12, "ECDHE-ECDSA-AES128-GCM-SHA256", f"ec-{_P256}", _P256),
    ("tls12-rsa-2048", _TLS12, "ECDHE-RSA-AES128-GCM-SHA256", "rsa-2048", _P256),
    ("tls12-ecdsa-p521", _TLS12, "ECDHE-ECDSA-AES256-GCM-SHA384", f"ec-{_P521}", _P521),
    ("tls12-rsa-4096", _TLS12, "ECDHE-RSA-AES256-GCM-SHA384", "rsa-4096", _P256),
    ("tls13-aes128-p256", _TLS13, "TLS_AES_128_GCM_SHA256", f"ec-{_P256}", _P256),
    ("tls13-aes128-rsa-2048", _TLS13, "TLS_AES_128_GCM_SHA256", "rsa-2048", _P256),
    ("tls13-aes256-p256", _TLS13, "TLS_AES_256_GCM_SHA384", f"ec-{_P256}", _P256),
    ("tls13-chacha20-p256", _TLS13, "TLS_CHACHA20_POLY1305_SHA256", f"ec-{_P256}", _P256),
)
SETS = {
    name: TlsSet(name=name, version=version, cipher=cipher, key=key, group=group)
    for name, version, cipher, key, group in _SETS
}


def words(name: str) -> str:
    """Say what a set is; `none` without TLS."""
    return SETS[name].words if name else "none"
