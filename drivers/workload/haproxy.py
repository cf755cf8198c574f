"""HAProxy as a reverse proxy under test: configuration as data; no log, no cache, no session resumption."""

from __future__ import annotations

from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program
from bmwg.drivers.workload.proxied import BACKLOG, ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER = 8089
PEM = "server.pem"

_CONFIG = """\
global
    maxconn 8000
    tune.ssl.cachesize 0
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option http-keep-alive
    option abortonclose
    http-reuse safe
    retries 3
    retry-on conn-failure empty-response
frontend clients
    bind {address}:{port} backlog {backlog}{ssl}
    default_backend origin
backend origin
    server origin {origin}
"""


class Haproxy:
    """HAProxy before one origin."""

    name: ClassVar[str] = "haproxy"
    packages: ClassVar[tuple[str, ...]] = ("haproxy",)
    forward: ClassVar[bool] = False
    counts: ClassVar[bool] = False

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return HAProxy as it is started in an instance; it keeps nothing, whatever `cache` says."""
        config = _CONFIG.format(
            address=ADDRESS,
            port=PORT,
            backlog=BACKLOG,
            ssl=_tls(tls) if tls else "",
            origin=f"{origin[0]}:{origin[1]}",
        )
        files = {"haproxy.cfg": config} | ({PEM: tls.certificate + tls.key} if tls else {})
        return Program(
            name=self.name,
            command=("haproxy", "-db", "-f", f"{FOLDER}/haproxy.cfg"),
            port=PORT_NUMBER,
            files=files,
            packages=self.packages,
            secrets=frozenset({PEM}) if tls else frozenset(),
        )


def _tls(tls: Terminated) -> str:
    of = tls.of
    ciphers = "ciphersuites" if of.version == "TLSv1.3" else "ciphers"
    return (
        f" ssl crt {FOLDER}/{PEM} ssl-min-ver {of.version} ssl-max-ver {of.version}"
        f" {ciphers} {of.cipher} curves {of.group} no-tls-tickets"
    )


_: type[ProxyFunction] = Haproxy
