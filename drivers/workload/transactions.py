"""Transactions in phases as a workload: the client of `transacting`, started for each load on its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.workload import transacting
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload
from bmwg.drivers.workload.transaction_load import INTERVAL_NS, LATE_NS
from bmwg.drivers.workload.transactions_build import BUILD_DEADLINE_S
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.kinds.requests.sustained import Sustained

_CALL_MARGIN_S = 30.0
_PERCENTILES = ("p50", "p90", "p99", "max")


class TransactionClients(OfRequests):
    """One client that opens connections when they are due, whatever became of the former ones."""

    def probe(self) -> Missing | None:
        """A compiler, OpenSSL's and nghttp2's development files, unless it was built before."""
        return Missing.told(self._row.client.call_within(BUILD_DEADLINE_S + _CALL_MARGIN_S, transacting.lack))

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Offer the endpoint a rate or held connections, in phases."""
        (served,) = self.attached
        trust = served.trust
        load: dict[str, Any] = {
            "address": served.address,
            "port": served.port,
            "objects": [(octets, served.target(self._row, octets)) for octets in spec.sizes_octets],
            "turns": [(turn.first, turn.count, int(turn.encrypted)) for turn in spec.turns],
            "plain_port": served.plain_port,
            "host": (trust.tunnel or trust.name) if trust else self._row.origin_host,
            "ramp_s": spec.ramp_s,
            "sustain_s": spec.duration_s,
            "timeout_s": spec.late_ms / 1000,
            "rate": spec.rate_rps,
            "per_connection": spec.requests_per_connection,
            "held": spec.held_connections,
            "threads": spec.clients,
            "http2": bool(spec.http),
        }
        ran = self._row.client.call_within(
            spec.ramp_s + spec.duration_s + 2 * load["timeout_s"] + _CALL_MARGIN_S,
            transacting.run,
            load=load,
            trust=trust.as_builtins() if trust else None,
        )
        return told(ran)

    def describe(self) -> Mapping[str, JsonValue]:
        """The clients' place, and what is fixed of each load."""
        return {
            **super().describe(),
            "client": "the toolkit's own, a thread for each client of a cell; one source address",
            "http": "1.1, or 2 with one request at a time on a connection",
            **self._row.client.call(transacting.described),
            "interval_ns": INTERVAL_NS,
            "late_ns": LATE_NS,
            "closes": "the client, by FIN, after its last answer",
            "tls_sessions": "never reused",
        }


def told(ran: Mapping[str, Any]) -> RequestsResult:
    """Return a repetition of what the client told."""
    sustain = Sustained.from_builtins(ran["sustain"])
    unsent = ran["unsent"] * sustain.requests_per_connection
    return RequestsResult(
        asked_requests=sustain.tried + unsent,
        requests=sustain.tried,
        failed=sustain.failed,
        non_2xx=sum(count for name, count in sustain.failures.items() if name.startswith("status ")),
        body_octets=sustain.body_octets,
        elapsed_ns=sustain.interval_ns * len(sustain.completed),
        mean_request_ns=sustain.last_octet_ns.get("mean", 0),
        process_ns=ran["took_ns"],
        request_ns=_percentiles(sustain.last_octet_ns),
        ttfb_ns=_percentiles(sustain.first_octet_ns),
        unsent_requests=unsent,
        generator=dict(ran["why_unsent"]),
        sustain=sustain,
        whole=dict(ran["whole"]),
    )


def _percentiles(spread: Mapping[str, int]) -> dict[str, int]:
    return {name: spread[name] for name in _PERCENTILES if name in spread}


_: type[RequestsWorkload] = TransactionClients
