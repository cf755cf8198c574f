"""An origin that fails behind real proxies: what must be so of each, whatever the machine."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import labelled, needs_http, row_with_ledger, soon

from bmwg.drivers.nodes import process
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.workload import failing_origin, probe
from bmwg.drivers.workload.nginx import Nginx, StaleNginx
from bmwg.drivers.workload.origin_failure import OriginClients
from bmwg.drivers.workload.squid import Squid
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.origin_failure import (
    CLASSES,
    ERROR,
    FAILURES,
    FRESH,
    NEW,
    REFUSES,
    STALE,
    STALLS,
    OriginFails,
)
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.deployment import deployed
from bmwg.resources.kinds.requests.measure import measured

pytestmark = [
    *needs_http,
    pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx: sh setup/install.sh http"),
]
SPEC = RequestsSpec(
    experiment="origin_failure",
    workload=Workload.ORIGIN_FAILURE,
    form="native",
    object_octets=1000,
    clients=1,
    number=1,
    within_s=30.0,
)


def asked(function: str, fails: str, *, cache: bool, answer_s: float = 2.0) -> RequestsSpec:
    """Return a repetition of four seconds of load."""
    origin = OriginFails(
        fails=fails, rate_rps=15, fail_s=2.0, return_s=2.0, answer_s=answer_s, objects=3, cache=cache
    )
    return replace(SPEC, function=function, cache=cache, origin=origin, asked_requests=origin.asked_requests)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("failing")
    with row_with_ledger(folder) as (row, ledger):
        yield row, ledger, folder
        assert labelled(f"origin-failing-{row.place.token}") == []


def standing(bench: Any, function: Any, *, cache: bool) -> Any:
    """Deploy a function natively before an origin that can fail."""
    row, ledger, _ = bench
    place = hosting("native", node=row.proxy, place=row.place, ledger=ledger)
    options = {"proxies": 1, "stress_cpus": 0, "deadline_s": 20.0, "fails": True}
    return deployed(row, place, function=function, cache=cache, **options)


def failed(bench: Any, function: Any, fails: str, *, cache: bool) -> Any:
    """Run one repetition; returns what it came to, which must be a measurement."""
    row, _, folder = bench
    spec = asked(function.name, fails, cache=cache)
    with standing(bench, function, cache=cache) as deployment, OriginClients(row, folder) as clients:
        clients.attach(deployment.served)
        found = measured(deployment, clients, spec)
        assert deployment.fault() is None
    judged = REQUESTS.assessed(spec, found)
    if judged.validity is Validity.INCOMPLETE and "late by the client" in judged.reason:
        pytest.skip(f"needs CPUs that are not taken away: {judged.reason}")
    assert judged.validity is Validity.VALID, judged.reason
    for one in found.failure.asked:
        assert one.told == one.sent
    assert sum(one.sent for one in found.failure.asked) == spec.asked_requests == found.requests
    return found.failure


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("function", [Squid(), Nginx()], ids=lambda one: one.name)
def test_a_proxy_without_a_cache_answers_nothing_rightly(bench: Any, function: Any, fails: str) -> None:
    found = failed(bench, function, fails, cache=False)
    assert [found.meanwhile[of].right for of in CLASSES] == [0, 0, 0]
    if fails == STALLS:
        assert all(
            set(one.failures) == {"no answer in time"} for one in found.meanwhile.values() if one.wrong
        )
    else:
        status = "503" if fails == ERROR or function.name == "squid" else "502"
        assert all(set(one.statuses) == {status} for one in found.meanwhile.values())
    assert found.recovery_ns is not None


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("function", [Squid(), Nginx(), StaleNginx()], ids=lambda one: one.name)
def test_a_cache_answers_what_is_fresh_and_nothing_that_is_new(bench: Any, function: Any, fails: str) -> None:
    found = failed(bench, function, fails, cache=True)
    fresh = found.meanwhile[FRESH]
    assert fresh.right + fresh.right_after == fresh.sent > 0  # those amid the return are apart
    assert found.meanwhile[NEW].right == 0
    stale = found.meanwhile[STALE]
    if function.name == "nginx":
        assert stale.right == 0
    elif function.name == "nginx-stale" and fails != STALLS:  # one of each that is asked for first is updated
        assert stale.right + stale.right_after == stale.sent
    assert found.recovery_ns is not None


def test_the_origin_says_how_long_each_object_may_be_kept(bench: Any) -> None:
    row, _, _ = bench
    with failing_origin.serving(row) as origin:
        address, port = origin.endpoint
        for of in CLASSES:
            url = origin.path(1000, of, "any")
            found = row.client.call_within(
                30.0,
                probe.wait_serving,
                address=address,
                port=port,
                url=url,
                sha256=row.sha256[1000],
                within_s=20.0,
            )
            assert found["status"] == 200


@pytest.mark.parametrize("fails", FAILURES)
def test_an_origin_that_fails_is_ended_and_leaves_nothing(bench: Any, fails: str) -> None:
    row, _, _ = bench
    with failing_origin.serving(row) as origin:
        address, port = origin.endpoint
        path = origin.path(1000, NEW, "one")
        row.client.call_within(
            30.0,
            probe.wait_serving,
            address=address,
            port=port,
            url=path,
            sha256=row.sha256[1000],
            within_s=20.0,
        )
        origin.fail(fails)
        found = row.client.call(probe.fetch, address=address, port=port, url=path, within_s=1.0)
        expected = {REFUSES: "ConnectionRefusedError", ERROR: "", STALLS: "TimeoutError"}[fails]
        assert found["fault"].split(":")[0] == expected
        assert found["status"] == (503 if fails == ERROR else 0)
    assert labelled(f"origin-failing-{row.place.token}") == []


def test_without_an_origin_that_can_fail_nothing_is_sent(bench: Any) -> None:
    row, ledger, folder = bench
    place = hosting("native", node=row.proxy, place=row.place, ledger=ledger)
    with (
        deployed(row, place, proxies=1, cache=True, stress_cpus=0, deadline_s=20.0) as deployment,
        OriginClients(row, folder) as clients,
    ):
        clients.attach(deployment.served)
        with pytest.raises(DriverError) as caught:
            clients.run(asked("squid", REFUSES, cache=True))
    assert caught.value.error_id == "FAIL-01"


def test_an_origin_that_is_killed_amid_a_load_is_a_fault(bench: Any) -> None:
    row, _, _ = bench
    with standing(bench, Squid(), cache=True) as deployment:
        word = f"origin-failing-{row.place.token}".encode()
        for pid, words in process.each("cmdline"):
            if words[0].endswith(b"apache2") and any(word in one for one in words):
                os.kill(pid, signal.SIGKILL)
        assert "the origin that fails" in soon(deployment.fault)
