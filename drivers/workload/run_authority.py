"""The certificates of a run's reverse proxies: an authority of its own, as long as the run's process lives.

Keys are in memory and in the folders of the instances that use them, which go with these; nothing that is
published or recorded holds one.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec, rsa

from bmwg.drivers.kubernetes.certificates import Authority, PrivateKey
from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.kinds.requests.tls import SETS, TlsSet

NAME = "proxy.bmwg.invalid"  # cannot be resolved: clients are told the address
INSPECTOR = "bmwg-run-inspector"
_CURVES: dict[str, ec.EllipticCurve] = {"prime256v1": ec.SECP256R1(), "secp521r1": ec.SECP521R1()}
_PUBLIC_EXPONENT = 65537
_VALID = datetime.timedelta(days=7)  # choice: longer than any run


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """How a proxy or the origin ends TLS: certificate and key (PEM), whom clients trust, whether it has
    HTTP/2.

    `inspector` is an authority of its own (PEM, with its key): a proxy that looks into what is encrypted
    signs by it, and clients that trust it alone see that it did.
    """

    of: TlsSet
    certificate: str
    trust: Trust
    inspector: str
    key: str = field(repr=False)
    inspector_key: str = field(repr=False)
    http2: bool = False


class RunAuthority:
    """Certificates of one run, one for each TLS set and kept: all deployments of a run have the same."""

    def __init__(self, name: str = "bmwg-run-of-requests") -> None:
        self._authority = Authority(name)
        self._made: dict[str, Terminated] = {}

    def terminated(self, name: str) -> Terminated:
        """Return certificate and key for a TLS set by its name."""
        if name not in self._made:
            self._made[name] = self.issued(SETS[name])
        return self._made[name]

    def issued(self, of: TlsSet, *, server: str = NAME, valid: datetime.timedelta = _VALID) -> Terminated:
        """Return a new one, for another name or time where a test asks for it."""
        pair = self._authority.server(server, [server], valid=valid, key=_key(of.key))
        inspector = Authority(INSPECTOR, _key(of.key)).pair
        return Terminated(
            of=of,
            inspector=inspector.certificate.decode(),
            inspector_key=inspector.key.decode(),
            certificate=pair.certificate.decode(),
            key=pair.key.decode(),
            trust=Trust(
                authority=self._authority.pair.certificate.decode(),
                name=NAME,
                version=of.version,
                cipher=of.cipher,
                group=of.group,
            ),
        )


def _key(words: str) -> PrivateKey:
    kind, _, of = words.partition("-")
    if kind == "rsa":
        return rsa.generate_private_key(public_exponent=_PUBLIC_EXPONENT, key_size=int(of))
    return ec.generate_private_key(_CURVES[of])
