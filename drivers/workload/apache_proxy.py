"""Apache as a reverse proxy under test: configuration as data; no log, no cache, no session resumption."""

from __future__ import annotations

from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program, bracketed
from bmwg.drivers.workload import own_counts
from bmwg.drivers.workload.apache import MODULES, PACKAGES, WORKERS, answered
from bmwg.drivers.workload.encrypted_origin import CERTIFICATE, KEY, tls_lines
from bmwg.drivers.workload.proxied import BACKLOG, ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER, PLAIN_PORT = 8090, 8190
_MODULES = ("mpm_event", "authz_core", "authz_host", "proxy", "proxy_http", "status")
_CONFIG = """\
ServerRoot {folder}
ServerName proxy
{listens}PidFile {folder}/pid
Mutex file:{folder} default
ErrorLog {folder}/error.log
{modules}User www-data
Group www-data
DefaultRuntimeDir {folder}
ExtendedStatus On
{workers}<Location {status}>
SetHandler server-status
</Location>
ProxyRequests Off
ProxyPreserveHost On
ProxyPass {status} !
ProxyPass / http://{origin}/ keepalive=On connectiontimeout=5 timeout=60
"""
_TLS = """\
SSLSessionCache none
<VirtualHost {address}:{port}>
{lines}ProxyPass / http://{origin}/ keepalive=On connectiontimeout=5 timeout=60
</VirtualHost>
"""


class ApacheProxy:
    """Apache before one origin; its listeners wait as the other functions' do."""

    name: ClassVar[str] = "apache"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    forward: ClassVar[bool] = False
    inspects: ClassVar[bool] = False
    caches: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    plain_port: ClassVar[int] = PLAIN_PORT
    status_path: ClassVar[str] = f"{own_counts.PATH}?auto"
    counts_looks: ClassVar[bool] = True
    counts_http2: ClassVar[bool] = False  # choice: 2.4.71 left a part of them out
    executable: ClassVar[str] = "apache2"

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return Apache as it is started in an instance; it keeps nothing, whatever `cache` says."""
        where = f"{bracketed(origin[0])}:{origin[1]}"
        modules = [*_MODULES, *(["ssl", "http2"] if tls else [])]
        config = _CONFIG.format(
            folder=FOLDER,
            listens="".join(f"Listen {ADDRESS}:{port}\n" for port in (PORT, PLAIN_PORT)),
            modules="".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in modules),
            workers=WORKERS.replace("ListenBacklog 4096", f"ListenBacklog {BACKLOG}"),
            status=own_counts.PATH,
            origin=where,
        )
        files = {"apache.conf": config}
        if tls:
            files["apache.conf"] += _TLS.format(
                address=ADDRESS, port=PORT, lines=tls_lines(tls), origin=where
            )
            files |= {CERTIFICATE: tls.certificate, KEY: tls.key}
        return Program(
            name=self.name,
            command=(self.executable, "-f", f"{FOLDER}/apache.conf", "-DFOREGROUND"),
            port=PORT_NUMBER,
            files=files,
            packages=self.packages,
            secrets=frozenset({KEY}) if tls else frozenset(),
        )

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read its status page."""
        return {own_counts.REQUESTS: answered(text)}


_: type[ProxyFunction] = ApacheProxy
_counting: type[own_counts.CountsRequests] = ApacheProxy
