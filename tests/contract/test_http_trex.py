"""TRex's TCP asks a real proxy before a real server, in namespaces made here; skipped by name without it."""

import os
import signal
import threading

import pytest
from tests.contract.http_support import needs_http, row_with_ledger

from bmwg.drivers.places import forms
from bmwg.drivers.traffic.trex.config import DIR_VARIABLE
from bmwg.drivers.workload.trex_astf import AstfClients
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.resources.kinds.requests.deployment import deployed
from bmwg.resources.kinds.requests.measure import served

pytestmark = [
    *needs_http,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get(DIR_VARIABLE), reason=f"lacks TRex: {DIR_VARIABLE} names no folder"
    ),
]


def load(octets, rate_rps, per=1):
    return RequestsSpec(
        workload=Workload.TREX_ASTF,
        object_octets=octets,
        clients=1,
        within_s=60,
        rate_rps=rate_rps,
        duration_s=2,
        late_ms=1000,
        requests_per_connection=per,
    )


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trex")
    with row_with_ledger(folder) as (row, ledger):
        hosting = forms.hosting("native", node=row.proxy, place=row.place, ledger=ledger)
        with (
            hosting,
            deployed(row, hosting, proxies=1, cache=False, stress_cpus=0, deadline_s=20) as deployment,
            AstfClients(row, folder) as clients,
        ):
            clients.attach(served(deployment))
            yield clients, deployment


@pytest.mark.parametrize(("octets", "per", "rate_rps"), [(1000, 1, 100), (1000, 5, 100), (200_000, 1, 20)])
def test_every_request_is_answered_as_squid_counts_it(stand, octets, per, rate_rps):
    clients, deployment = stand
    (before,) = deployment.counters()
    found = clients.run(load(octets, rate_rps, per))
    (after,) = deployment.counters()
    due = 2 * rate_rps
    assert found.faults == ()
    assert (found.asked_requests, found.requests) == (due, due)
    assert found.generator["answers"] == due, found
    assert found.body_octets == due * octets, found
    assert found.generator["connections_established"] == due / per
    kinds = 1 if per == 1 else 2  # each is asked by the kernel, two to five times before and once after
    own = after["server.all.requests"] - before["server.all.requests"] - due
    assert 3 * kinds <= own <= 6 * kinds
    assert after["client_http.errors"] == before["client_http.errors"]


def test_a_proxy_that_dies_fails_requests_and_no_hang(stand):
    clients, deployment = stand
    pid = deployment.instances[0]._parts[""]._process["pid"]
    threading.Timer(1.5, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(DriverError, match="PROBE-02"):  # nobody answers the kernel afterwards
        clients.run(load(1000, 100))
    with pytest.raises(DriverError, match="PROBE-02"):  # and before the next load nothing is sent
        clients.run(load(1000, 100))
