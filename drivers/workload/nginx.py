"""nginx as a reverse proxy under test: its configuration as data. No log, no session resumption."""

from __future__ import annotations

from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program, bracketed
from bmwg.drivers.workload import own_counts
from bmwg.drivers.workload.proxied import BACKLOG, ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER, PLAIN_PORT = 8088, 8188
CERTIFICATE, KEY = "server.crt", "server.key"
CACHE_MEMORY_MB = 260  # as Squid's (document 001, section 4.2)
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

_CONFIG = """\
daemon off;
worker_processes auto;
worker_rlimit_nofile 65536;
error_log {folder}/error.log warn;
pid {folder}/nginx.pid;
events {{
    worker_connections 16384;
}}
http {{
    access_log off;
    server_tokens off;
    tcp_nodelay on;
    keepalive_timeout 75s;
    keepalive_requests 1000;
{temporary}{kept}
    upstream origin {{
        server {origin};
        keepalive 64;
    }}
    server {{
        listen {address}:{port} backlog={backlog}{ssl};
        listen {address}:{plain} backlog={backlog};
{tls}        location = {status} {{
            stub_status;
        }}
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
{keeps}        }}
    }}
}}
"""


_KEPT = f"""
    proxy_cache_path {{folder}}/cache keys_zone=kept:10m max_size={CACHE_MEMORY_MB}m;"""
_KEEPS = "            proxy_cache kept;\n"
_KEEPS_STALE = (
    "            proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;\n"
)


class Nginx:
    """nginx before one origin. With a cache everything else of it stays at its default."""

    name: ClassVar[str] = "nginx"
    packages: ClassVar[tuple[str, ...]] = ("nginx",)
    forward: ClassVar[bool] = False
    inspects: ClassVar[bool] = False
    caches: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    plain_port: ClassVar[int] = PLAIN_PORT
    executable: ClassVar[str] = "nginx"
    uses_stale: ClassVar[bool] = False
    status_path: ClassVar[str] = own_counts.PATH
    counts_looks: ClassVar[bool] = True
    counts_http2: ClassVar[bool] = True

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return nginx as it is started in an instance."""
        keeps = _KEEPS + (_KEEPS_STALE if self.uses_stale else "")
        files = {
            "nginx.conf": _CONFIG.format(
                folder=FOLDER,
                address=ADDRESS,
                port=PORT,
                plain=PLAIN_PORT,
                status=own_counts.PATH,
                backlog=BACKLOG,
                ssl=f" ssl{' http2' if tls.http2 else ''}" if tls else "",
                origin=f"{bracketed(origin[0])}:{origin[1]}",
                temporary="\n".join(f"    {name}_temp_path {FOLDER}/{name};" for name in _TEMPORARY),
                kept=_KEPT.format(folder=FOLDER) if cache else "",
                keeps=keeps if cache else "",
                tls=tls_lines(tls) if tls else "",
            )
        }
        if tls:
            files |= {CERTIFICATE: tls.certificate, KEY: tls.key}
        return Program(
            name=self.name,
            command=("nginx", "-c", f"{FOLDER}/nginx.conf", "-p", FOLDER, "-e", f"{FOLDER}/error.log"),
            port=PORT_NUMBER,
            files=files,
            packages=self.packages,
            secrets=frozenset({KEY}) if tls else frozenset(),
        )

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read its status: the line of numbers is accepted, handled, requests."""
        accepted, handled, requests = map(int, text.splitlines()[2].split())
        return {own_counts.REQUESTS: requests, "accepted": accepted, "handled": handled}


class StaleNginx(Nginx):
    """The same, which answers by what it has where the origin fails, its time over or not."""

    name: ClassVar[str] = "nginx-stale"
    uses_stale: ClassVar[bool] = True


def tls_lines(tls: Terminated) -> str:
    """Return the lines that end TLS in a server of nginx; its files are in the instance's folder."""
    of = tls.of
    cipher = (
        f"ssl_conf_command Ciphersuites {of.cipher}"
        if of.version == "TLSv1.3"
        else f"ssl_ciphers {of.cipher}"
    )
    lines = (
        f"ssl_certificate {FOLDER}/{CERTIFICATE}",
        f"ssl_certificate_key {FOLDER}/{KEY}",
        f"ssl_protocols {of.version}",
        cipher,
        f"ssl_ecdh_curve {of.group}",
        "ssl_prefer_server_ciphers on",
        "ssl_session_cache off",
        "ssl_session_tickets off",
        "ssl_conf_command NumTickets 0",
    )
    return "".join(f"        {line};\n" for line in lines)


_: type[ProxyFunction] = Nginx
_also: type[ProxyFunction] = StaleNginx
_counting: type[own_counts.CountsRequests] = Nginx
