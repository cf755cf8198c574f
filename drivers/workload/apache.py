"""Apache as the origin server: node functions that make its objects and start it on the servers' node."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from bmwg.drivers.api.instance import bracketed
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import programs
from bmwg.drivers.workload import own_counts

PORT_NUMBER = 8080
PACKAGES = ("apache2-bin",)
MODULES = "/usr/lib/apache2/modules"
HEAD = """\
ServerRoot {folder}
ServerName server
Listen {address}:{port}
PidFile {folder}/pid
Mutex file:{folder} default
ErrorLog {folder}/error.log
"""  # of each that serves without TLS
_CONFIG = (
    HEAD
    + """\
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
DocumentRoot {folder}/objects
User www-data
Group www-data
DefaultRuntimeDir {folder}
{workers}LoadModule status_module {modules}/mod_status.so
ExtendedStatus On
<Location {status}>
SetHandler server-status
</Location>
"""
)
# choice: by default it closes idle connections after 5 s, after 100 requests, above some 770 of them, and all
# of them when no thread is idle: so all threads are there from the start
WORKERS = """\
KeepAliveTimeout 75
MaxKeepAliveRequests 0
AsyncRequestWorkerFactor 64
ListenBacklog 4096
ThreadsPerChild 64
StartServers 16
ServerLimit 16
MaxRequestWorkers 1024
MaxSpareThreads 1024
"""


def answered(text: str) -> int:
    """Read of its status how many requests it answered. Raises LookupError, ValueError."""
    told = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return int(told["Total Accesses"])


def object_name(octets: int) -> str:
    """Name the object of a size."""
    return f"{octets}.bin"


def object_content(octets: int) -> bytes:
    """Make the object of a size: pseudo-random with the size as seed, the same on every node."""
    return random.Random(octets).randbytes(octets)


def start(*, folder: str, address: str, port: int, sizes_octets: list[int]) -> dict[str, JsonValue]:
    """Node function: make one object of each size and serve them; returns process and SHA-256 by size.

    The objects' octets are pseudo-random with the size as seed: the same in every run, not compressible.
    """
    programs.require_free(address=address, port=port)
    config = _CONFIG.format(
        folder=folder,
        address=bracketed(address),
        port=port,
        modules=MODULES,
        workers=WORKERS,
        status=own_counts.PATH,
    )
    programs.write_files(folder=folder, files={"apache.conf": config})
    objects = Path(folder, "objects")
    objects.mkdir()
    objects.chmod(0o755)
    hashes = {}
    for octets in sizes_octets:
        content = object_content(octets)
        file = objects / object_name(octets)
        file.write_bytes(content)
        file.chmod(0o644)
        hashes[str(octets)] = hashlib.sha256(content).hexdigest()
    command = ["apache2", "-f", f"{folder}/apache.conf", "-DFOREGROUND"]
    started = programs.start(command=command, folder=folder, packages=list(PACKAGES))
    return {"process": started, "sha256": hashes}
