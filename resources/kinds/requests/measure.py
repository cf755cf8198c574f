"""Runs one repetition on a deployment: probes, counters of the proxies, and what the clients tell.

Ids: SQUID-01 a proxy does not tell what it counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from bmwg.drivers.ports import ip_packets
from bmwg.drivers.workload import own_counts, probe, squid
from bmwg.drivers.workload.of_requests import RequestsWorkload, Served
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import ip
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.tls import SETS
from bmwg.resources.kinds.requests.standing import Standing

CLIENTS, ORIGIN = "clients", "origin"  # whose node
_LOOKS, _LOOK_AGAIN_S = 10, 0.2  # choice: a busy machine's programs count within that
_SETTLES_S = 0.05  # choice: what it waits before each repetition of transactions


def served(deployment: Standing) -> list[Served]:
    """Return what clients ask of a deployment as endpoints of requests."""
    return deployment.served


def measured(deployment: Standing, clients: RequestsWorkload, spec: RequestsSpec) -> RequestsResult:
    """Run one repetition by clients that ask the deployment."""
    before = _probes(deployment, spec.sizes_octets)
    first = deployment.counters() if deployment.grouped else []
    counted = deployment.counters()
    passes_all = spec.workload is Workload.TRANSACTIONS and not spec.cache
    own = _settled(deployment.counted, looks=deployment.counts_looks) if passes_all else {}
    origin = _settled(deployment.answered_by_origin, looks=True) if passes_all else {}
    packets = _packets(deployment, spec)
    used_before = deployment.usage()
    found = clients.run(spec)
    used_after = deployment.usage()
    after_it = _packets(deployment, spec)
    packets = {name: after_it[name] - count for name, count in packets.items()}
    if passes_all:
        own = _gained(deployment.counted, own, found.whole, looks=deployment.counts_looks)
        origin = _gained(deployment.answered_by_origin, origin, found.whole, looks=True)
    counted_after = deployment.counters()
    after = _probes(deployment, spec.sizes_octets)
    hits = squid.gained("client_http.hits", counted, counted_after)
    used = None
    if used_before is not None and used_after is not None:
        used = max(0, used_after[0] - used_before[0]) / max(1, found.elapsed_ns)
    faults = found.faults + _other_tls(spec, found) + _other_ip(spec, packets)
    return replace(
        found,
        faults=faults,
        probes=(before, after),
        cpu_share=used if clients.begins_soon else None,
        memory_octets=used_after[1] if used_after is not None else 0,
        function_counts=own,
        ip_packets=packets,
        origin_requests=origin.get(own_counts.REQUESTS),
        hits=sum(hits) if hits is not None else None,
        shares=_shares(first, counted, counted_after) if deployment.grouped else None,
        proxied=found.requests + found.warm_up_requests if hits is not None else None,
    )


def _settled(read: Callable[[], dict[str, int]], *, looks: bool) -> dict[str, int]:
    """Return what is counted before a load, once two looks differ by the look itself, where `looks` count.

    A program may count a request of before some time after its last octet: it would be one of the load.
    """
    found = read()
    for _ in range(_LOOKS if found else 0):
        time.sleep(_SETTLES_S)
        before, found = found, read()
        if found == {name: count + looks for name, count in before.items()}:
            break
    return found


def _gained(
    read: Callable[[], dict[str, int]], before: Mapping[str, int], clients: Mapping[str, int], *, looks: bool
) -> dict[str, int]:
    """Return what was counted since `before`, less what asking for it added where `looks` count.

    A program may count a request some time after its last octet: where the clients counted more it is asked
    again for a while.
    """
    found: dict[str, int] = {}
    for look in range(1, _LOOKS + 1):
        own = look if looks else 0
        found = {name: max(0, count - before.get(name, 0) - own) for name, count in read().items()}
        if all(found.get(name, count) >= count for name, count in clients.items()):
            break
        time.sleep(_LOOK_AGAIN_S)
    return found


def _other_tls(spec: RequestsSpec, found: RequestsResult) -> tuple[str, ...]:
    """Say that connections of a repetition agreed on other TLS than the cell says, or resumed a session."""
    if not spec.tls or found.sustain is None:
        return ()
    wanted = SETS[spec.tls]
    name = f"{wanted.version} {wanted.cipher} {wanted.group}"
    other = sum(count for agreed, count in found.sustain.negotiated.items() if agreed != name)
    told = (f"{other} connections agreed on other TLS than {name}",) if other else ()
    resumed = found.sustain.resumed
    return (*told, f"{resumed} connections resumed a TLS session") if resumed else told


def _packets(deployment: Standing, spec: RequestsSpec) -> dict[str, int]:
    """Return what the kernels of clients and origin counted by version of IP; nothing where none is named."""
    if spec.ip == ip.V4:
        return {}
    row = deployment.row
    return {
        f"{side}_{version}": count
        for side, node in ((CLIENTS, row.client), (ORIGIN, row.server))
        for version, count in node.call(ip_packets.counts).items()
    }


def _other_ip(spec: RequestsSpec, packets: Mapping[str, int]) -> tuple[str, ...]:
    """Say that packets of a version of IP passed that a side is not to speak, or none of the other one."""
    if not packets:
        return ()
    named = {4: (ip_packets.IPV4, ip_packets.IPV6), 6: (ip_packets.IPV6, ip_packets.IPV4)}
    found = []
    for side, version in zip((CLIENTS, ORIGIN), ip.versions(spec.ip), strict=True):
        spoken, other = (packets[f"{side}_{name}"] for name in named[version])
        if other or not spoken:
            found.append(f"{side}: {spoken} packets of IPv{version}, {other} of the other version of IP")
    return tuple(found)


def _probes(deployment: Standing, sizes_octets: Sequence[int]) -> tuple[int, bool]:
    """Ask each instance and the address before them for each object; the first wrong one speaks for all."""
    row = deployment.row
    for served, octets in product(deployment.looked_at, sizes_octets):
        found = row.client.call(
            probe.fetch,
            address=served.address,
            port=served.port,
            url=served.target(row, octets),
            trust=served.trust.as_builtins() if served.trust else None,
        )
        right = found["sha256"] == row.sha256[octets] and not found["fault"]
        if found["status"] != 200 or not right:
            return found["status"], False
    return 200, True


def _shares(
    first: Sequence[dict[str, int]], before: Sequence[dict[str, int]], after: Sequence[dict[str, int]]
) -> tuple[int, ...]:
    """Return the requests of clients that each proxy counted.

    A look at the counters is a request too: what two looks count with nothing between them is taken away.
    Raises DriverError SQUID-01 where a proxy does not tell: requests that nobody counted prove nothing.
    """
    looks = squid.gained("client_http.requests", first, before)
    found = squid.gained("client_http.requests", before, after)
    if looks is None or found is None:
        raise DriverError(
            "SQUID-01",
            "requests of each proxy behind one address",
            expected="the counters of every proxy, before and after",
            found="one did not tell",
        )
    return tuple(count - look for count, look in zip(found, looks, strict=True))
