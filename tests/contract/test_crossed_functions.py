"""Functions that requests cross, and what functions count by themselves: truths, and what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_docker, needs_http, needs_pods, row_with_ledger

from bmwg.drivers.api.instance import Program
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.function import tables
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.ports import routing, sysctl
from bmwg.drivers.testbed.file import load_testbed, network_spec
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.apache_proxy import ApacheProxy
from bmwg.drivers.workload.crossed import CrossedFunction, Direct, Firewall10, Firewall100000, RequestsNat44
from bmwg.drivers.workload.haproxy import Haproxy
from bmwg.drivers.workload.nginx import Nginx
from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.row import Row
from bmwg.drivers.workload.run_authority import RunAuthority, Terminated
from bmwg.drivers.workload.transactions import TransactionClients
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import mixes
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.crossed import crossed
from bmwg.resources.kinds.requests.deployment import deployed
from bmwg.resources.kinds.requests.measure import measured
from bmwg.resources.kinds.requests.needs import lacking

ABSENT = [name for name in ("nginx", "haproxy", "nft") if shutil.which(name) is None]
pytestmark = [
    *needs_http,
    pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http"),
]
TLS = "tls13-aes128-p256"
SPEC = RequestsSpec(
    experiment="http_throughput",
    workload=Workload.TRANSACTIONS,
    form="native",
    object_octets=1000,
    clients=1,
    rate_rps=100,
    duration_s=1.0,
    ramp_s=0.3,
    late_ms=5000,
    number=1,
)
OF_THE_MIX = replace(
    SPEC, tls=TLS, mix=mixes.BMWG_WEB, object_octets=26_132, requests_per_connection=10, rate_rps=300
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Row, Ledger, Path]]:
    folder = tmp_path_factory.mktemp("crossed")
    networks = [network_spec(name, entry) for name, entry in load_testbed(None).data["networks"].items()]
    sizes = mixes.sizes_octets(mixes.BMWG_WEB)
    with row_with_ledger(folder, networks=networks, more_octets=sizes) as (row, ledger):
        yield row, ledger, folder


def standing(
    bench: Any,
    function: Any,
    tls: Terminated | None = None,
    form: str = "native",
    deadline_s: float = 20.0,
) -> Any:
    """Deploy a function on a form, which is entered where there is nothing to make for it.

    One that never serves is waited for until `deadline_s` is over.
    """
    row, ledger, _ = bench
    place = hosting(form, node=row.proxy, place=row.place, ledger=ledger)
    if isinstance(function, CrossedFunction):
        return crossed(row, place, function, tls=tls, deadline_s=deadline_s)
    options = {"proxies": 1, "cache": False, "stress_cpus": 0, "deadline_s": deadline_s}
    return deployed(row, place, function=function, tls=tls, **options)


def offer(bench: Any, deployment: Any, spec: RequestsSpec, asked: list[Served] | None = None) -> Any:
    """Run one trial; returns it with what is said of it."""
    row, _, folder = bench
    with TransactionClients(row, folder) as clients:
        clients.attach(asked or deployment.served)
        found = measured(deployment, clients, spec)
    return found, REQUESTS.judged(spec, found)


FORMS = ["native", pytest.param("pod_bridge", marks=needs_pods)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [Direct(), Firewall10(), RequestsNat44()], ids=lambda one: one.name)
def test_each_connection_that_the_clients_opened_is_one_that_the_function_counted(
    bench: Any, authority: RunAuthority, function: CrossedFunction, form: str
) -> None:
    with standing(bench, function, authority.terminated(TLS), form) as deployment:
        found, _ = offer(bench, deployment, replace(OF_THE_MIX, form=form, function=function.name))
        told = deployment.describe()
    assert (found.faults, found.sustain.failures, found.probes) == ((), {}, ((200, True), (200, True)))
    counted = found.function_counts
    assert counted["connections"] >= found.whole["connections"] > 0  # a SYN may be sent twice
    assert counted["connections"] - found.whole["connections"] <= counted["dropped"] + 2
    assert counted["passed_octets"] > found.body_octets
    assert (told["tls"]["ends_at"], told["tls"]["agreed"]["cipher"]) == (
        "the origin",
        "TLS_AES_128_GCM_SHA256",
    )
    assert told["function"]["rule_set"]
    assert "PRIVATE KEY" not in str(told)
    row, _, _ = bench
    assert row.proxy.call(tables.listed) == []
    ways = {one["destination"]: one["via"] for one in row.client.call(routing.routes)}
    assert ways["198.18.2.0/24"] == row.place.client_address


@pytest.mark.parametrize("function", [Nginx(), Haproxy(), ApacheProxy()], ids=lambda one: one.name)
def test_a_reverse_proxy_serves_the_mix_and_counts_each_answer_that_the_clients_got(
    bench: Any, authority: RunAuthority, function: Any
) -> None:
    with standing(bench, function, authority.terminated(TLS)) as deployment:
        found, _ = offer(bench, deployment, replace(OF_THE_MIX, function=function.name))
    assert (found.faults, found.sustain.failures) == ((), {})
    assert found.function_counts["requests"] == found.whole["requests"] == found.origin_requests > 0
    encrypted = sum(found.sustain.negotiated.values())
    assert abs(10 * encrypted - 8 * found.sustain.opened) <= 20  # 8 of 10 connections, in whole rounds


@pytest.mark.parametrize("function", [Nginx(), Haproxy(), ApacheProxy(), Direct()], ids=lambda one: one.name)
def test_ten_requests_by_http2_are_answered_on_each_connection(
    bench: Any, authority: RunAuthority, function: Any
) -> None:
    tls = replace(authority.terminated(TLS), http2=True)
    spec = replace(OF_THE_MIX, mix="", object_octets=200_000, http="h2", function=function.name)
    with standing(bench, function, tls) as deployment:
        found, _ = offer(bench, deployment, spec)
        told = deployment.describe()
    phase = found.sustain
    assert (found.faults, phase.failures, phase.resets) == ((), {}, 0)
    assert phase.tried == 10 * phase.opened == 10 * sum(phase.negotiated.values()) > 0
    assert found.body_octets == phase.tried * 200_000
    assert found.function_counts.get("requests", found.whole["requests"]) == found.whole["requests"]
    assert told["tls"]["asked"]["http2"] is True


@pytest.mark.parametrize("http", ["", "h2"])
def test_an_object_that_is_not_there_fails_by_its_status(
    bench: Any, authority: RunAuthority, http: str
) -> None:
    row, _, folder = bench
    tls = replace(authority.terminated(TLS), http2=True)
    with standing(bench, Nginx(), tls) as deployment, TransactionClients(row, folder) as clients:
        clients.attach(deployment.served)
        phase = clients.run(replace(SPEC, tls=TLS, http=http, object_octets=123_456)).sustain
    assert phase is not None
    assert phase.failures == {"status 404": phase.tried}
    assert phase.body_octets == 0


@pytest.mark.parametrize("function", [Nginx(), Haproxy()], ids=lambda one: one.name)
def test_a_function_without_http2_fails_by_name(bench: Any, authority: RunAuthority, function: Any) -> None:
    """nginx refuses the handshake, HAProxy agrees on no protocol."""
    with standing(bench, function, authority.terminated(TLS)) as deployment:
        found, _ = offer(bench, deployment, replace(SPEC, tls=TLS, http="h2"))
    phase = found.sustain
    assert sum(phase.failures.values()) == phase.tried > 0
    assert set(phase.failures) <= {"no HTTP/2 by ALPN", "TLS: tlsv1 alert no application protocol"}


def test_requests_that_go_past_a_function_are_no_measurement_of_it(bench: Any) -> None:
    with standing(bench, Nginx()) as deployment:
        address, port = bench[0].origin_endpoint
        _, judged = offer(bench, deployment, SPEC, [Served(address=address, port=port, forward=False)])
    assert judged.validity is Validity.INCONSISTENT
    assert "the function itself counted 0 requests" in judged.reason


class CachingNginx(Nginx):
    """One that keeps what it should pass."""

    def program(self, **settings: Any) -> Program:
        """Return it with a cache."""
        made = super().program(**settings)
        config = made.files["nginx.conf"]
        for old, new in (
            ("    upstream", "    proxy_cache_path {folder}/kept keys_zone=kept:1m;\n    upstream"),
            ("proxy_pass", "proxy_cache kept;\n            proxy_cache_valid 1m;\n            proxy_pass"),
        ):
            assert old in config
            config = config.replace(old, new)
        return replace(made, files={**made.files, "nginx.conf": config})


def test_a_cache_that_answers_what_should_pass_is_named(bench: Any) -> None:
    with standing(bench, CachingNginx()) as deployment:
        found, judged = offer(bench, deployment, SPEC)
    assert found.sustain.failures == {}
    assert judged.validity is Validity.INCONSISTENT
    assert "the others are of a cache" in judged.reason


class Broken(Firewall10):
    """A firewall whose rules nft refuses."""

    def table(self, place: Any, origin: str, ports: list[int]) -> Any:
        """Return rules for an address that is none."""
        return super().table(place, "198.18.2.999", ports)


@pytest.mark.parametrize("form", FORMS)
def test_a_rule_set_that_does_not_load_is_named_and_leaves_nothing(bench: Any, form: str) -> None:
    with pytest.raises(DriverError) as caught, standing(bench, Broken(), form=form):
        pass
    assert caught.value.error_id == "FUNC-02"
    row, _, _ = bench
    assert row.proxy.call(tables.listed) == []
    with standing(bench, Firewall10(), form=form) as deployment:
        found, _ = offer(bench, deployment, replace(SPEC, form=form))
    assert found.probes == ((200, True), (200, True))


def test_what_no_rule_lets_through_fails_by_name(bench: Any) -> None:
    class Closed(Firewall10):
        def table(self, place: Any, origin: str, ports: list[int]) -> Any:
            return super().table(place, origin, [1])

    with pytest.raises(DriverError) as caught, standing(bench, Closed(), deadline_s=3.0):
        pass
    assert caught.value.error_id == "PROBE-01"


def test_too_few_ports_of_the_clients_are_their_own_shortfall(bench: Any) -> None:
    row, _, _ = bench
    key = "net/ipv4/ip_local_port_range"
    before = row.client.call(sysctl.write, key=key, value="40000 40009")
    try:
        with standing(bench, Direct()) as deployment:
            spec = replace(SPEC, rate_rps=0, held_connections=50, ramp_s=1.0)
            found, judged = offer(bench, deployment, spec)
    finally:
        row.client.call(sysctl.write, key=key, value=before)
    assert found.generator["EADDRNOTAVAIL"] >= 40
    assert judged.validity in (Validity.SENT_SHORT, Validity.FAULT)  # a probe may find no port either
    assert "not offered as asked (connections: EADDRNOTAVAIL: " in judged.reason


class _Stage:
    """As `lacking` asks a stage."""

    def __init__(self, bench: Any, form: str) -> None:
        self._bench, self._form = bench, form

    def row(self) -> Row:
        """The row."""
        return self._bench[0]

    def probed(self) -> Any:
        """The form."""
        row, ledger, _ = self._bench
        return hosting(self._form, node=row.proxy, place=row.place, ledger=ledger)


@pytest.mark.parametrize(
    ("form", "what"),
    [
        pytest.param("pod_ptp", "a way through a pod of network option ptp", marks=needs_pods),
        pytest.param("docker_routed", "a way through hosting form docker_routed", marks=needs_docker),
    ],
)
def test_a_form_that_is_not_in_the_way_lacks_one(bench: Any, form: str, what: str) -> None:
    spec = replace(SPEC, form=form, function="firewall-10")
    found = lacking(_Stage(bench, form), [spec])  # type: ignore[arg-type]
    assert isinstance(found, Missing)
    assert found.what == what


@pytest.mark.slow
def test_a_hundred_thousand_rules_load_and_the_last_one_lets_through(bench: Any) -> None:
    with standing(bench, Firewall100000()) as deployment:
        found, _ = offer(bench, deployment, replace(SPEC, rate_rps=20, late_ms=20_000))
        told = deployment.describe()["function"]
    assert found.sustain.failures == {}
    assert found.function_counts["connections"] >= found.whole["connections"] > 0
    assert any(line.startswith("# 99") or "lines more" in line for line in told["rule_set"])
