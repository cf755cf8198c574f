"""Squid as the proxy under test: its configuration as data, and what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.workload import own_counts, probe
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.run_authority import Terminated

PORT_NUMBER = 3128
PACKAGES = ("squid-openssl",)
CACHE_MAX_OBJECT_KIB = 1024  # document 001, section 4.2
CACHE_MEMORY_MB = 260  # document 001, section 4.2
_FILE, _HOSTS = "squid.conf", "hosts"
CONNECTIONS, SEEN = "connections", "seen_requests"
_STATUS_PATH = "/squid-internal-mgr/counters"
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
        files={_FILE: _COMMON + _CACHE[cache]},
        packages=PACKAGES,
    )


def knowing(squid: Program, name: str, address: str) -> Program:
    """Return a Squid that knows the address of a name; else it knows none."""
    config = f"{squid.files[_FILE]}hosts_file {FOLDER}/{_HOSTS}\n"
    return replace(squid, files={**squid.files, _FILE: config, _HOSTS: f"{address} {name}\n"})


class Squid:
    """Squid as a forward proxy, which ends no TLS: what is encrypted passes in tunnels."""

    name: ClassVar[str] = "squid"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    forward: ClassVar[bool] = True
    inspects: ClassVar[bool] = False
    caches: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    plain_port: ClassVar[int] = PORT_NUMBER
    executable: ClassVar[str] = "squid"
    status_path: ClassVar[str] = _STATUS_PATH
    counts_looks: ClassVar[bool] = False
    counts_http2: ClassVar[bool] = True

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return it as it is started; which origin is asked is in each request, with TLS by its name."""
        return (
            program(cache=cache) if tls is None else knowing(program(cache=cache), tls.trust.name, origin[0])
        )

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read its tunnels to the origin, which are connections of clients, and the requests that it saw."""
        found = asked_of_servers(text)
        requests, made = found["server.http.requests"], found["server.other.requests"]
        return {CONNECTIONS: made, SEEN: requests} if tunnels else {own_counts.REQUESTS: requests}


def gained(
    name: str, before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]
) -> list[int] | None:
    """Return by how much a counter of each proxy rose between two looks; None when one did not tell it."""
    if not before or len(before) != len(after) or any(name not in one for one in (*before, *after)):
        return None
    return [last[name] - first[name] for first, last in zip(before, after, strict=True)]


def counters(*, address: str, port: int, within_s: float = 5.0) -> dict[str, JsonValue]:
    """Node function, on a client: Squid's own counters of requests, hits and errors since its start."""
    text = probe.direct(address=address, port=port, path=_STATUS_PATH, within_s=within_s)
    return _told(text, _COUNTERS)


def asked_of_servers(text: str) -> dict[str, int]:
    """Read how many requests and tunnels Squid asked servers for. Raises LookupError where it tells none."""
    names = ("server.http.requests", "server.other.requests")
    found = _told(text, names)
    if len(found) != len(names):
        raise LookupError(f"no counters {names}")
    return found


def _told(text: str, names: Sequence[str]) -> dict[str, int]:
    matches = {name: re.search(rf"^{re.escape(name)} = (\d+)", text, re.MULTILINE) for name in names}
    return {name: int(match[1]) for name, match in matches.items() if match}


_: type[ProxyFunction] = Squid
_counting: type[own_counts.CountsRequests] = Squid
