"""Squid as the proxy under test: its configuration as data, and what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.workload import probe
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER = 3128
PACKAGES = ("squid",)
CACHE_MAX_OBJECT_KIB = 1024  # document 001, section 4.2
CACHE_MEMORY_MB = 260  # document 001, section 4.2
_COUNTERS = ("client_http.requests", "client_http.hits", "client_http.errors", "server.all.requests")

_COMMON = f"""\
http_port {ADDRESS}:{PORT}
visible_hostname proxy
http_access allow all
pid_filename none
cache_log {FOLDER}/cache.log
access_log daemon:{FOLDER}/access.log
coredump_dir {FOLDER}
pinger_enable off
shutdown_lifetime 0 seconds
max_filedescriptors 16384
dns_nameservers 127.0.0.1
"""
_CACHE = {
    False: "cache deny all\n",
    True: f"cache_mem {CACHE_MEMORY_MB} MB\n"
    f"maximum_object_size_in_memory {CACHE_MAX_OBJECT_KIB} KB\n"
    f"maximum_object_size {CACHE_MAX_OBJECT_KIB} KB\n",
}


def program(*, cache: bool) -> Program:
    """Return Squid as it is started in an instance; everything not named in its file stays at its default."""
    return Program(
        name="squid",
        command=("squid", "--foreground", "-N", "-f", f"{FOLDER}/squid.conf"),
        port=PORT_NUMBER,
        files={"squid.conf": _COMMON + _CACHE[cache]},
        packages=PACKAGES,
    )


class Squid:
    """Squid as a forward proxy, which ends no TLS."""

    name: ClassVar[str] = "squid"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    forward: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    plain_port: ClassVar[int] = 0
    executable: ClassVar[str] = "squid"

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return it as it is started; which origin is asked is in each request."""
        return program(cache=cache)


def gained(
    name: str, before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]
) -> list[int] | None:
    """Return by how much a counter of each proxy rose between two looks; None when one did not tell it."""
    if not before or len(before) != len(after) or any(name not in one for one in (*before, *after)):
        return None
    return [last[name] - first[name] for first, last in zip(before, after, strict=True)]


def counters(*, address: str, port: int, within_s: float = 5.0) -> dict[str, JsonValue]:
    """Node function, on a client: Squid's own counters of requests, hits and errors since its start."""
    text = probe.direct(address=address, port=port, path="/squid-internal-mgr/counters", within_s=within_s)
    found = {}
    for name in _COUNTERS:
        match = re.search(rf"^{re.escape(name)} = (\d+)", text, re.MULTILINE)
        if match:
            found[name] = int(match[1])
    return found


_: type[ProxyFunction] = Squid
