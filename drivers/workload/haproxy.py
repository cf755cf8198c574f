"""HAProxy as a reverse proxy under test: configuration as data; no log, no cache, no session resumption."""

from __future__ import annotations

import csv
from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program, bracketed
from bmwg.drivers.workload import own_counts
from bmwg.drivers.workload.proxied import BACKLOG, ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER, PLAIN_PORT = 8089, 8189
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
    bind {address}:{plain} backlog {backlog}
    stats enable
    stats uri {status}
    default_backend origin
backend origin
    server origin {origin}
"""


class Haproxy:
    """HAProxy before one origin."""

    name: ClassVar[str] = "haproxy"
    packages: ClassVar[tuple[str, ...]] = ("haproxy",)
    forward: ClassVar[bool] = False
    inspects: ClassVar[bool] = False
    caches: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    plain_port: ClassVar[int] = PLAIN_PORT
    executable: ClassVar[str] = "haproxy"
    status_path: ClassVar[str] = f"{own_counts.PATH};csv"
    counts_looks: ClassVar[bool] = True
    counts_http2: ClassVar[bool] = True

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return HAProxy as it is started in an instance; it keeps nothing, whatever `cache` says."""
        config = _CONFIG.format(
            address=ADDRESS,
            port=PORT,
            plain=PLAIN_PORT,
            status=own_counts.PATH,
            backlog=BACKLOG,
            ssl=_tls(tls) if tls else "",
            origin=f"{bracketed(origin[0])}:{origin[1]}",
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

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read its table of statistics: the line of the frontend."""
        rows = csv.DictReader(text.removeprefix("# ").splitlines())
        mine = next((row for row in rows if row["svname"] == "FRONTEND"), None)
        if mine is None:
            raise LookupError("no line of a frontend")
        return {own_counts.REQUESTS: int(mine["req_tot"]), "accepted": int(mine["conn_tot"])}


def _tls(tls: Terminated) -> str:
    of = tls.of
    ciphers = "ciphersuites" if of.version == "TLSv1.3" else "ciphers"
    return (
        f" ssl crt {FOLDER}/{PEM} ssl-min-ver {of.version} ssl-max-ver {of.version}"
        f" {ciphers} {of.cipher} curves {of.group} no-tls-tickets{' alpn h2,http/1.1' if tls.http2 else ''}"
    )


_: type[ProxyFunction] = Haproxy
_counting: type[own_counts.CountsRequests] = Haproxy
