"""Squid before what is encrypted: tunnels that it cannot look into, and others that it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_http, row_with_ledger
from tests.contract.test_crossed_functions import SPEC, TLS, _Stage, offer, standing

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.workload import squid_inspecting
from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.run_authority import INSPECTOR, RunAuthority
from bmwg.drivers.workload.squid import Squid
from bmwg.drivers.workload.squid_inspecting import InspectingSquid
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import ip, mixes
from bmwg.methodology.kinds.requests.tls import SETS
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.deployment import look
from bmwg.resources.kinds.requests.needs import lacking

pytestmark = [
    *needs_http,
    pytest.mark.skipif(
        not os.path.exists(squid_inspecting.SIGNER), reason="needs squid-openssl: sh setup/install.sh http"
    ),
]
OF_TLS = replace(SPEC, tls=TLS, requests_per_connection=10, rate_rps=200)


@pytest.fixture(scope="module", params=[ip.V4, ip.V6])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A row, its ledger, its folder."""
    folder: Path = tmp_path_factory.mktemp("forward")
    with row_with_ledger(folder, ip=request.param) as (row, ledger):
        yield row, ledger, folder


def test_a_tunnel_passes_what_squid_does_not_see(bench: Any, authority: RunAuthority) -> None:
    with standing(bench, Squid(), authority.terminated(TLS)) as deployment:
        spec = replace(OF_TLS, function="squid", ip=bench[0].addresses.ip)
        found, judged = offer(bench, deployment, spec)
        told = deployment.describe()
    assert (found.faults, found.sustain.failures, found.sustain.resets) == ((), {}, 0)
    assert judged.validity in (Validity.VALID, Validity.SENT_SHORT)  # of a machine that others share
    assert found.whole["requests"] == 10 * found.whole["connections"] > 0
    assert found.function_counts == {"connections": found.whole["connections"], "seen_requests": 0}
    assert told["tls"]["ends_at"] == "the origin"
    assert told["tls"]["agreed"]["issuer"] == "CN=bmwg-run-of-requests"
    assert "PRIVATE KEY" not in str(told)


@pytest.mark.parametrize("name", [TLS, "tls12-rsa-2048"])
def test_squid_that_inspects_sees_each_request_and_signs_by_itself(
    bench: Any, authority: RunAuthority, name: str
) -> None:
    with standing(bench, InspectingSquid(), authority.terminated(name)) as deployment:
        spec = replace(OF_TLS, function="squid-inspecting", tls=name, ip=bench[0].addresses.ip)
        found, judged = offer(bench, deployment, spec)
        told = deployment.describe()
    assert judged.validity in (Validity.VALID, Validity.SENT_SHORT)
    phase, of = found.sustain, SETS[name]
    assert (found.faults, phase.failures, phase.resets) == ((), {}, 0)
    assert phase.negotiated == {f"{of.version} {of.cipher} {of.group}": phase.opened}
    assert found.function_counts == {"requests": found.whole["requests"], "closed_tunnels": 0}
    assert told["tls"]["ends_at"] == "the function, and the origin"
    assert told["tls"]["agreed"]["issuer"] == f"CN={INSPECTOR}"
    assert told["tls"]["agreed"]["key"] == of.key
    assert "PRIVATE KEY" not in str(told)


def test_clients_that_trust_the_origin_alone_see_that_squid_inspects(
    bench: Any, authority: RunAuthority
) -> None:
    tls = authority.terminated(TLS)
    with standing(bench, InspectingSquid(), tls) as deployment:
        (served,) = deployment.served
        trust = replace(served.trust, authority=tls.trust.authority)
        with pytest.raises(DriverError) as caught:
            look(bench[0], replace(served, trust=trust), 5.0)
    assert caught.value.error_id == "TLS-03"


def test_squid_that_inspects_refuses_an_origin_of_another_authority(
    bench: Any, authority: RunAuthority
) -> None:
    """Squid verifies what it asks; clients see no certificate of the right name."""
    tls = replace(authority.terminated(TLS))
    other = RunAuthority().terminated(TLS)
    wrong = replace(tls, trust=replace(tls.trust, authority=other.trust.authority))
    with pytest.raises(DriverError) as caught, standing(bench, InspectingSquid(), wrong, deadline_s=6.0):
        pass
    assert caught.value.error_id in {"TLS-02", "TLS-03", "TLS-04", "PROBE-01"}


def test_a_tunnel_that_squid_refuses_fails_by_its_status(bench: Any, authority: RunAuthority) -> None:
    with standing(bench, Squid(), authority.terminated(TLS)) as deployment:
        (served,) = deployment.served
        trust = replace(served.trust, tunnel=served.trust.tunnel.replace(":8443", ":8444"))
        astray = replace(served, trust=trust)
        found, _ = offer(bench, deployment, OF_TLS, [astray])
        with pytest.raises(DriverError) as caught:
            look(bench[0], astray, 0.5)
    assert found.sustain.failures == {"status 503": found.sustain.tried}
    assert caught.value.error_id == "TLS-04"
    assert "503" in caught.value.found


def test_requests_that_go_past_the_tunnels_are_no_measurement(bench: Any, authority: RunAuthority) -> None:
    with standing(bench, InspectingSquid(), authority.terminated(TLS)) as deployment:
        tls = authority.terminated(TLS)
        address, _ = bench[0].origin_endpoint
        astray = Served(address=address, port=8443, forward=False, trust=tls.trust)
        _, judged = offer(bench, deployment, OF_TLS, [astray])
    assert "the function itself counted 0 requests" in judged.reason


def test_plain_requests_are_seen(bench: Any) -> None:
    with standing(bench, Squid()) as deployment:
        found, _ = offer(bench, deployment, replace(SPEC, function="squid", requests_per_connection=10))
    assert found.sustain.failures == {}
    assert found.function_counts == {"requests": found.whole["requests"]}
    assert found.whole["requests"] > 0


def test_a_mix_of_both_is_not_assessed(bench: Any) -> None:
    spec = replace(OF_TLS, function="squid", mix=mixes.BMWG_WEB, object_octets=26_132)
    found = lacking(_Stage(bench, "native"), [spec])  # type: ignore[arg-type]
    assert isinstance(found, Missing)
    assert found.what == "function squid for a mix of HTTP and HTTPS"
