"""TRex (ASTF) as the clients of the row: it asks the proxies that stand, before the server that stands.

It takes the clients' interface beside the kernel, which keeps the probes: its clients have addresses of
their own, which the proxies' machine routes to that interface. What TRex cannot see by itself, status and
bodies, is seen by the probes before and after, by the octets of all answers together, and by their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bmwg.drivers.api.protocols import JsonValue, Missing, TesterPort
from bmwg.drivers.ports import device_queue, routing
from bmwg.drivers.traffic.trex.astf import AstfTester
from bmwg.drivers.traffic.trex.astf_load import HttpExchange, HttpLoad
from bmwg.drivers.traffic.trex.astf_sent import HttpSent
from bmwg.drivers.traffic.trex.config import DIR_VARIABLE, TrexConfig, TrexOptions, find_folder
from bmwg.drivers.workload import probe as workload_probe
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload, Served
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec

CLIENTS = ("198.18.64.1", "198.18.64.254")
_CLIENT_NETWORK = "198.18.64.0/24"
_INTERFACE = "nic0"  # the clients', and the proxies' machine's towards them
_CPU = 0
_MOST_ASKED = 5


def lacking() -> Missing | None:
    """Return what there is not of TRex, with the line that mends it."""
    try:
        find_folder(TrexOptions())
    except (ConfigError, TestbedError) as error:
        return Missing(what="TRex", reason=error.found or error.what, mend=f"export {DIR_VARIABLE}=FOLDER")
    return None


def request_of(url: str, *, last: bool) -> bytes:
    """A client's request, in the form that proxies take; with the last one the proxy closes.

    A client that closed first would wait for a proxy that looks for that once a second (Squid does).
    """
    words = ["Host: " + urlsplit(url).netloc, "Accept: */*", *(["Connection: close"] if last else [])]
    return "\r\n".join([f"GET {url} HTTP/1.1", *words, "", ""]).encode("ascii")


def counted_of(sent: HttpSent, object_octets: int) -> RequestsResult:
    """What one load came to. Late answers are among the failed ones.

    `body_octets` are those received less the heads that right answers have; what is not an answer counts in.
    """
    load = sent.load
    if sent.reading is None:
        return RequestsResult(asked_requests=load.requests, faults=(sent.fault,))
    clients = sent.reading.clients
    heads = (load.response_octets - load.requests_per_connection * object_octets) * clients.established
    generator = {
        "connections_begun": clients.begun,
        "connections_established": clients.established,
        "connections_closed": clients.closed,
        "answers": clients.complete,
        "late_answers": clients.late,
        "octets_sent": clients.sent_octets,
        "octets_received": clients.received_octets,
        "answer_ticks_of_10_ms": clients.answer_ticks,
        "first_octet_ticks_of_10_ms": clients.first_octet_ticks,
        "frames_lost_by_trex": sent.own_loss,
        **clients.errors,
    }
    return RequestsResult(
        asked_requests=load.requests,
        requests=sent.begun,
        unsent_requests=sent.unsent,
        failed=sent.failed + clients.late,
        body_octets=max(0, clients.received_octets - heads),
        elapsed_ns=sent.beginning_ns[1],
        process_ns=sent.waited_ns,
        generator=generator,
        faults=(sent.fault,) if sent.fault else (),
    )


class AstfClients(OfRequests):
    """TRex on the clients' node of a row, started when it is first attached and kept until it is left."""

    def __init__(self, row: Row, run_dir: Path) -> None:
        super().__init__(row, run_dir)
        self._tester: AstfTester | None = None

    def probe(self) -> Missing | None:
        """Tell whether there is a TRex, and whether the row is of this machine."""
        if self._row.hosts:
            return Missing(what="TRex", reason="this version starts none on the hosts of a row", mend="")
        return lacking()

    def __exit__(self, *exc: object) -> None:
        self.detach()
        self.close()

    def attach(self, endpoints: Sequence[Served], /) -> None:
        """Ask these from now on; TRex is started unless it stands."""
        super().attach(endpoints)
        self._started()

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Offer so many requests per second to the endpoint."""
        (proxy,) = self.attached
        tester = self._started()  # it may have been lost with the load before
        url = self._row.url(spec.object_octets)
        per, rate_rps = spec.requests_per_connection, spec.rate_rps
        requests = {request_of(url, last=True): 1}
        if per > 1:
            requests = {request_of(url, last=False): per - 1, **requests}
        before = [self._settled(proxy.address, proxy.port, request) for request in requests]
        load = HttpLoad(
            exchanges=tuple(
                HttpExchange(request=request, response_octets=found, times=times)
                for (request, times), found in zip(requests.items(), before, strict=True)
            ),
            port=proxy.port,
            connections=max(1, round(rate_rps * spec.duration_s / per)),
            connections_per_s=rate_rps / per,
            late_s=spec.late_ms / 1000,
            clients=CLIENTS,
            servers=(proxy.address, proxy.address),
        )
        with self._frames_as_on_a_wire():
            sent = tester.offer(load)
        counted = counted_of(sent, spec.object_octets)
        if sent.reading is None:
            self.close()  # the next load begins with a server of its own
        after = [self._exchanged(proxy.address, proxy.port, request) for request in requests]
        if after != before:
            fault = f"answers had {before} octets before and {after} after"
            counted = replace(counted, faults=(*counted.faults, fault))
        return counted

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, versions and settings of the TRex that stands; empty before it does."""
        described = self._tester.describe() if self._tester is not None else {}
        return {
            **described,
            "addresses": list(CLIENTS),
            "offloads_of_the_proxies_machine": "off while it asks",
        }

    def close(self) -> None:
        """End TRex."""
        tester, self._tester = self._tester, None
        if tester is not None:
            tester.detach()

    def _started(self) -> AstfTester:
        if self._tester is None:
            options = TrexOptions()
            config = TrexConfig(
                folder=find_folder(options),
                options=options,
                cpus=(_CPU,),
                watch_cpus=(),
                run_dir=self._run_dir / "trex",
            )
            self._row.proxy.call(routing.add_route, destination=_CLIENT_NETWORK, via=self._row.client_address)
            tester = AstfTester(config)
            tester.attach([self._port()])
            self._tester = tester
        return self._tester

    def _port(self) -> TesterPort:
        link = self._row.links[0]
        return TesterPort(
            name="client/nic0",
            io="af_packet",
            device=_INTERFACE,
            netns=self._row.client_netns,
            mac=link["a"]["mac"],
            peer_mac=link["b"]["mac"],
        )

    @contextmanager
    def _frames_as_on_a_wire(self) -> Iterator[None]:
        """While it asks, the proxies' machine sends frames that a TCP other than this kernel's can read."""
        self._row.proxy.call(device_queue.finish_frames, interface=_INTERFACE, here=True)
        try:
            yield
        finally:
            self._row.proxy.call(device_queue.finish_frames, interface=_INTERFACE, here=False)

    def _settled(self, address: str, port: int, request: bytes) -> int:
        """Octets of an answer that two answers in a row have: the first ones may have other heads."""
        lengths = [self._exchanged(address, port, request)]
        for _ in range(_MOST_ASKED - 1):
            lengths.append(self._exchanged(address, port, request))
            if lengths[-1] == lengths[-2]:
                return lengths[-1]
        raise DriverError(
            "PROBE-03",
            f"proxy {address}:{port}: answers to the request that TRex is to send",
            expected="two in a row of one length",
            found=f"lengths of {lengths} octets",
        )

    def _exchanged(self, address: str, port: int, request: bytes) -> int:
        """Octets of the answer to a request of the kernel's own; DriverError PROBE-02."""
        found = self._row.client.call(
            workload_probe.exchange, address=address, port=port, request=request.decode("ascii")
        )
        if found["fault"] or found["status"] != 200:
            raise DriverError(
                "PROBE-02",
                f"proxy {address}:{port}: the request that TRex is to send",
                expected="status 200 and as many octets as announced",
                found=f"status {found['status']} {found['fault']}".strip(),
            )
        return int(found["octets"])


_: type[RequestsWorkload] = AstfClients
