"""The origin with TLS: a second Apache on the servers' node, for functions that do not end TLS themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program
from bmwg.drivers.places.instances import AgentsProgram
from bmwg.drivers.workload.apache import MODULES, PACKAGES, WORKERS
from bmwg.drivers.workload.run_authority import Terminated

if TYPE_CHECKING:
    from bmwg.drivers.workload.row import Row

PORT_NUMBER = 8443
CERTIFICATE, KEY = "server.crt", "server.key"
_CONFIG = """\
ServerRoot {folder}
ServerName {name}
Listen {address}:{port}
PidFile {folder}/pid
Mutex file:{folder} default
ErrorLog {folder}/error.log
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule ssl_module {modules}/mod_ssl.so
LoadModule http2_module {modules}/mod_http2.so
DocumentRoot {objects}
User www-data
Group www-data
DefaultRuntimeDir {folder}
SSLSessionCache none
{workers}{tls}"""


def tls_lines(tls: Terminated) -> str:
    """Return the lines that end TLS in Apache, whose folder has certificate and key. Nothing is resumed."""
    of = tls.of
    cipher = f"TLSv1.3 {of.cipher}" if of.version == "TLSv1.3" else of.cipher
    return (
        "SSLEngine on\n"
        f"{'Protocols h2 http/1.1' if tls.http2 else ''}\n"
        f"SSLCertificateFile {FOLDER}/{CERTIFICATE}\n"
        f"SSLCertificateKeyFile {FOLDER}/{KEY}\n"
        f"SSLProtocol {of.version}\n"
        f"SSLCipherSuite {cipher}\n"
        f"SSLOpenSSLConfCmd Groups {of.group}\n"
        "SSLOpenSSLConfCmd NumTickets 0\n"
        "SSLSessionTickets off\n"
    )


def program(tls: Terminated, objects: str) -> Program:
    """Return it as it is started; it serves the objects that the origin made, from the folder `objects`."""
    config = _CONFIG.format(
        folder=FOLDER,
        name=tls.trust.name,
        address=ADDRESS,
        port=PORT,
        modules=MODULES,
        objects=objects,
        workers=WORKERS,
        tls=tls_lines(tls),
    )
    return Program(
        name="apache2",
        command=("apache2", "-f", f"{FOLDER}/apache.conf", "-DFOREGROUND"),
        port=PORT_NUMBER,
        files={"apache.conf": config, CERTIFICATE: tls.certificate, KEY: tls.key},
        packages=PACKAGES,
        secrets=frozenset({KEY}),
    )


@contextmanager
def serving(row: Row, tls: Terminated) -> Iterator[AgentsProgram]:
    """Have it run on the servers' node of a row, beside the origin without TLS; end it on leaving."""
    folder = f"/run/bmwg-origin-tls-{row.place.token}"
    made = program(tls, f"{row.origin_folder}/objects")
    running = AgentsProgram(row.server, made.at(folder, row.addresses.servers.end, made.port), folder)
    try:
        yield running
    finally:
        running.stop()


def endpoint(tls: Terminated) -> str:
    """Return its name with its port, as CONNECT and then each request have it."""
    return f"{tls.trust.name}:{PORT_NUMBER}"
