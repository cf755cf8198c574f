"""Squid as a forward proxy that looks into what is encrypted: it ends TLS both ways, and signs by itself.

Clients ask it for a tunnel to the origin and trust its authority alone. In the tunnel it shows them a
certificate of its own making for the names of the origin's, which it has verified before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program
from bmwg.drivers.workload import own_counts, squid
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

SIGNER = "/usr/lib/squid/security_file_certgen"  # of Debian's squid-openssl; a Squid with GnuTLS has none
PEM, ORIGIN_PEM, OPENSSL = "inspector.pem", "origin.pem", "openssl.cnf"
_KEPT_MB = 4  # choice: of certificates that it has made; there is one
# Squid has no words of its own for the ciphers of TLS 1.3 and for tickets: OpenSSL reads them by itself
_OPENSSL = """\
openssl_conf = all
[all]
ssl_conf = libraries
[libraries]
system_default = both_ends
[both_ends]
MinProtocol = {version}
MaxProtocol = {version}
{cipher}
Groups = {group}
Options = -SessionTicket,ServerPreference
NumTickets = 0
"""
_CONFIG = f"""\
http_port {ADDRESS}:{PORT} ssl-bump tls-cert={FOLDER}/{PEM} generate-host-certificates=on \
dynamic_cert_mem_cache_size={_KEPT_MB}MB
sslcrtd_program {SIGNER} -s {FOLDER}/certificates -M {_KEPT_MB}MB
sslcrtd_children 2
tls_outgoing_options cafile={FOLDER}/{ORIGIN_PEM} default-ca=off
acl client_hello at_step SslBump1
ssl_bump peek client_hello
ssl_bump bump all
"""
_START = (
    f"{SIGNER} -c -s {FOLDER}/certificates -M {_KEPT_MB}MB && chmod -R a+rwX {FOLDER}/certificates"
    f" && OPENSSL_CONF={FOLDER}/{OPENSSL} exec squid --foreground -N -f {FOLDER}/squid.conf"
)


class InspectingSquid(squid.Squid):
    """Squid that ends TLS in the tunnels of its clients."""

    name: ClassVar[str] = "squid-inspecting"
    inspects: ClassVar[bool] = True
    executable: ClassVar[str] = SIGNER
    counts_http2: ClassVar[bool] = False

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return it as it is started; without TLS it is Squid as it is."""
        plain = super().program(cache=cache, origin=origin, tls=tls)
        if tls is None:
            return plain
        of = tls.of
        ciphers = "Ciphersuites" if of.version == "TLSv1.3" else "CipherString"
        listens = f"http_port {ADDRESS}:{PORT}\n"
        config = plain.files["squid.conf"]
        assert config.startswith(listens)
        return replace(
            plain,
            command=("sh", "-c", _START),
            files={
                **plain.files,
                "squid.conf": _CONFIG + config.removeprefix(listens),
                OPENSSL: _OPENSSL.format(
                    version=of.version, cipher=f"{ciphers} = {of.cipher}", group=of.group
                ),
                ORIGIN_PEM: tls.trust.authority,
                PEM: tls.inspector + tls.inspector_key,
            },
            secrets=frozenset({PEM}),
        )

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read the requests that it saw and asked the origin for, and tunnels that it left closed."""
        found = squid.asked_of_servers(text)
        return {own_counts.REQUESTS: found["server.http.requests"], TUNNELS: found["server.other.requests"]}


TUNNELS = "closed_tunnels"
_: type[ProxyFunction] = InspectingSquid
_counting: type[own_counts.CountsRequests] = InspectingSquid
