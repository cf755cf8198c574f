"""Reverse proxies that end TLS: they serve, what they agree on is proven, and what is wrong is named."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_docker, needs_http, row_with_ledger
from tests.contract.test_crossed_functions import offer, standing

from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.haproxy import Haproxy
from bmwg.drivers.workload.nginx import Nginx
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.row import Row
from bmwg.drivers.workload.run_authority import RunAuthority
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests.mixes import RFC9411_MIXED, sizes_octets
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.methodology.kinds.requests.tls import SETS
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.deployment import deployed

ABSENT = [name for name in ("nginx", "haproxy") if shutil.which(name) is None]
pytestmark = [
    *needs_http,
    pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http"),
]
USUAL = ["", "tls12-rsa-2048", "tls13-aes128-p256"]
OTHERS = [name for name in SETS if name not in USUAL]
FUNCTIONS = [Nginx(), Haproxy()]
SPEC = RequestsSpec(
    experiment="https_connections_per_second",
    workload=Workload.TRANSACTIONS,
    form="native",
    object_octets=1000,
    clients=1,
    rate_rps=100,
    duration_s=1.0,
    ramp_s=0.3,
    late_ms=2000,
    number=1,
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Row, Ledger, Path]]:
    folder = tmp_path_factory.mktemp("reverse")
    with row_with_ledger(folder, more_octets=sizes_octets(RFC9411_MIXED)) as (row, ledger):
        yield row, ledger, folder


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
@pytest.mark.parametrize("name", [*USUAL, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_function_serves_and_each_connection_agrees_on_what_the_cell_says(
    bench: tuple[Row, Ledger, Path], authority: RunAuthority, function: ProxyFunction, name: str
) -> None:
    tls = authority.terminated(name) if name else None
    with standing(bench, function, tls) as deployment:
        spec = replace(SPEC, function=function.name, tls=name)
        found, judged = offer(bench, deployment, spec)
        assert found.faults == ()
        assert judged.validity in (Validity.VALID, Validity.SENT_SHORT)  # of a machine that others share
        phase = found.sustain
        assert (phase.tried + found.unsent_requests, phase.failures, phase.resets) == (100, {}, 0)
        version = f"{SETS[name].version} {SETS[name].cipher} {SETS[name].group}" if name else ""
        agreed = {version: phase.tried} if name else {}
        assert (phase.negotiated, phase.resumed) == (agreed, 0)
        told = deployment.describe()
        if name:
            assert told["tls"]["agreed"]["key"] == SETS[name].key
            assert told["tls"]["agreed"]["names"] == ["proxy.bmwg.invalid"]
        assert "PRIVATE KEY" not in str(told)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_each_connection_asks_a_function_for_each_object_of_the_mix(
    bench: tuple[Row, Ledger, Path], authority: RunAuthority, function: ProxyFunction
) -> None:
    with standing(bench, function, authority.terminated("tls13-aes128-p256")) as deployment:
        spec = replace(SPEC, function=function.name, tls="tls13-aes128-p256", requests_per_connection=10)
        found, _ = offer(bench, deployment, replace(spec, mix=RFC9411_MIXED, object_octets=53_780))
    assert (found.faults, found.probes) == ((), ((200, True), (200, True)))
    connections = 10 - found.unsent_requests // 10
    assert found.sustain.failures == {}
    assert found.sustain.objects == tuple((octets, connections) for octets in sizes_octets(RFC9411_MIXED))
    assert found.body_octets == connections * 537_805


@needs_docker
def test_ten_transactions_a_connection_through_a_container_and_no_key_is_left(
    bench: tuple[Row, Ledger, Path], authority: RunAuthority
) -> None:
    row, ledger, folder = bench
    tls = authority.terminated("tls13-aes128-p256")
    with hosting("docker_routed", node=row.proxy, place=row.place, ledger=ledger) as place:
        with deployed(
            row,
            place,
            proxies=1,
            cache=False,
            stress_cpus=0,
            deadline_s=30.0,
            function=Nginx(),
            tls=tls,
        ) as deployment:
            spec = replace(SPEC, form="docker_routed", tls=tls.of.name, requests_per_connection=10)
            found, _ = offer(bench, deployment, spec)
        assert found.faults == ()
        assert (found.sustain.tried + found.unsent_requests, found.sustain.failures) == (100, {})
        assert found.sustain.tried == 10 * sum(found.sustain.negotiated.values())
    assert [
        file for file in folder.rglob("*") if file.is_file() and b"PRIVATE KEY" in file.read_bytes()
    ] == []


EXPIRED = datetime.timedelta(seconds=-60)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("error_id", "changes"),
    [
        ("TLS-01", {"valid": EXPIRED}),
        ("TLS-02", {"server": "other.bmwg.invalid"}),
    ],
)
def test_a_certificate_out_of_its_time_or_of_another_name_is_named(
    bench: tuple[Row, Ledger, Path],
    authority: RunAuthority,
    function: ProxyFunction,
    error_id: str,
    changes: dict[str, Any],
) -> None:
    tls = authority.issued(SETS["tls13-aes128-p256"], **changes)
    with pytest.raises(DriverError) as caught, standing(bench, function, tls):
        pass
    assert caught.value.error_id == error_id


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_a_certificate_of_another_authority_and_a_refused_cipher_are_named(
    bench: tuple[Row, Ledger, Path], authority: RunAuthority, function: ProxyFunction
) -> None:
    theirs = RunAuthority("another").terminated("tls12-rsa-2048")
    ours = authority.terminated("tls12-rsa-2048")
    other_cipher = authority.terminated("tls12-ecdsa-p256").trust
    for error_id, trust in (
        ("TLS-03", ours.trust),
        ("TLS-04", replace(theirs.trust, cipher=other_cipher.cipher)),
    ):
        with pytest.raises(DriverError) as caught, standing(bench, function, replace(theirs, trust=trust)):
            pass
        assert caught.value.error_id == error_id


def test_another_cipher_than_asked_for_is_named(
    bench: tuple[Row, Ledger, Path], authority: RunAuthority
) -> None:
    tls = authority.terminated("tls13-aes128-p256")
    asked = replace(tls.trust, cipher="TLS_AES_256_GCM_SHA384")
    with pytest.raises(DriverError) as caught, standing(bench, Nginx(), replace(tls, trust=asked)):
        pass
    assert caught.value.error_id == "TLS-05"
