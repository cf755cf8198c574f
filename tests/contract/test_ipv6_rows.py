"""Rows whose sides speak IPv6: what crosses is of that version alone, by the kernels' own counts."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_docker, needs_http, needs_pods, row_with_ledger, soon
from tests.contract.test_crossed_functions import ABSENT, OF_THE_MIX, SPEC, TLS, _Stage, offer, standing

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.function import tables
from bmwg.drivers.nodes import process
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.testbed.file import load_testbed, network_spec
from bmwg.drivers.workload import probe
from bmwg.drivers.workload.apache_proxy import ApacheProxy
from bmwg.drivers.workload.crossed import Direct, Firewall10
from bmwg.drivers.workload.haproxy import Haproxy
from bmwg.drivers.workload.nat64 import Nat64
from bmwg.drivers.workload.nginx import Nginx
from bmwg.drivers.workload.run_authority import RunAuthority
from bmwg.drivers.workload.transactions import TransactionClients
from bmwg.methodology.kinds.requests import ip, mixes
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.needs import lacking

pytestmark = [
    *needs_http,
    pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http"),
]


@pytest.fixture(scope="module", params=[ip.V6, ip.V6_V4])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A row, its ledger, its folder."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    networks = [network_spec(name, entry) for name, entry in load_testbed(None).data["networks"].items()]
    sizes = mixes.sizes_octets(mixes.BMWG_WEB)
    with row_with_ledger(folder, networks=networks, more_octets=sizes, ip=request.param) as (row, ledger):
        yield row, ledger, folder


def require_versions(bench: Any, found: Any) -> None:
    """Assert that each side carried the load by its own version, and no packet of the other."""
    row, _, _ = bench
    for side, version in zip(("clients", "origin"), ip.versions(row.addresses.ip), strict=True):
        other = {4: 6, 6: 4}[version]
        assert found.ip_packets[f"{side}_ipv{other}"] == 0
    clients = found.ip_packets["clients_ipv6"]
    assert clients >= 4 * found.whole["connections"] > 0  # SYN, its answer, a request, a response


FORMS = ["native", pytest.param("pod_bridge", marks=needs_pods)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [Nginx(), Haproxy(), ApacheProxy()], ids=lambda one: one.name)
def test_a_reverse_proxy_carries_all_of_the_mix_by_the_versions_of_its_cell(
    bench: Any, authority: RunAuthority, function: Any, form: str
) -> None:
    spec = replace(OF_THE_MIX, function=function.name, form=form, ip=bench[0].addresses.ip)
    with standing(bench, function, authority.terminated(TLS), form) as deployment:
        found, judged = offer(bench, deployment, spec)
        told = deployment.describe()
    assert (found.faults, found.sustain.failures) == ((), {})
    assert judged.validity is not Validity.FAULT
    assert found.function_counts["requests"] == found.whole["requests"] == found.origin_requests > 0
    require_versions(bench, found)
    assert told["addresses"]["client"].startswith("2001:2:")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [Direct(), Firewall10()], ids=lambda one: one.name)
def test_what_forwards_counts_each_connection_of_ipv6(
    bench: Any, authority: RunAuthority, function: Any, form: str
) -> None:
    version = bench[0].addresses.ip
    spec = replace(OF_THE_MIX, function=function.name, form=form, ip=version)
    if version != ip.V6:
        found = lacking(_Stage(bench, form), [spec])  # type: ignore[arg-type]
        assert isinstance(found, Missing)
        assert found.what == f"function {function.name} between {ip.words(version)}"
        return
    with standing(bench, function, authority.terminated(TLS), form) as deployment:
        trial, _ = offer(bench, deployment, spec)
        told = deployment.describe()
    assert (trial.faults, trial.sustain.failures) == ((), {})
    assert trial.function_counts["connections"] >= trial.whole["connections"] > 0
    require_versions(bench, trial)
    assert told["function"]["rule_set"][0] == f"table ip6 {tables.TABLE} {{"
    assert bench[0].proxy.call(tables.listed) == []


@pytest.mark.skipif(shutil.which("tayga") is None, reason="needs tayga: sh setup/install.sh http")
def test_a_nat64_gives_clients_of_ipv6_an_origin_of_ipv4(bench: Any, authority: RunAuthority) -> None:
    row, _, _ = bench
    version = row.addresses.ip
    spec = replace(OF_THE_MIX, function="nat64", ip=version)
    if version != ip.V6_V4:
        assert "function nat64 between " in lacking(_Stage(bench, "native"), [spec]).what  # type: ignore[arg-type,union-attr]
        return
    before = row.client.call(routing.routes, ipv6=True)
    with standing(bench, Nat64(), authority.terminated(TLS)) as deployment:
        trial, _ = offer(bench, deployment, spec)
        told = deployment.describe()
        assert deployment.served[0].address == "2001:2:0:6464::c612:202"
    assert (trial.faults, trial.sustain.failures) == ((), {})
    assert trial.function_counts["connections"] >= trial.whole["connections"] > 0
    assert trial.memory_octets > 0
    require_versions(bench, trial)
    assert trial.ip_packets["origin_ipv4"] > trial.whole["connections"]
    assert set(told["function"]["program"]["packages"]) == {"tayga"}
    assert row.proxy.call(tables.listed) == []
    assert row.client.call(routing.routes, ipv6=True) == before
    assert "nat64" not in {one["name"] for one in row.proxy.call(interfaces.listing)}


@pytest.mark.skipif(shutil.which("tayga") is None, reason="needs tayga: sh setup/install.sh http")
def test_a_nat64_that_ends_is_a_fault_of_the_deployment(bench: Any) -> None:
    if bench[0].addresses.ip != ip.V6_V4:
        pytest.skip("between other versions it does not stand")
    with standing(bench, Nat64()) as deployment:
        assert deployment.fault() is None
        (pid,) = [pid for pid, words in process.each("cmdline") if words[0] == b"tayga"]
        os.kill(pid, signal.SIGKILL)
        assert soon(deployment.fault).startswith("nat64: the program has ended")


class _Astray(TransactionClients):
    """Clients on whose node something speaks IPv4 during the load."""

    def run(self, spec: Any, /) -> Any:
        """Have a connection over IPv4 refused on their node, then offer the load."""
        self._row.client.call(probe.direct, address="127.0.0.1", port=9, path="/", within_s=1.0)
        return super().run(spec)


def test_a_packet_of_the_other_version_is_a_fault_of_the_trial(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.contract.test_crossed_functions.TransactionClients", _Astray)
    with standing(bench, Nginx()) as deployment:
        _, judged = offer(bench, deployment, replace(SPEC, ip=bench[0].addresses.ip))
    assert judged.validity is Validity.FAULT
    assert "packets of IPv6, " in judged.reason
    assert judged.reason.startswith("clients: ")


@pytest.mark.parametrize(
    ("form", "function", "what"),
    [
        ("native", "nat44", "function nat44 between "),
        pytest.param("pod_ptp", "nginx", "IPv6 for a pod of network option ptp", marks=needs_pods),
        pytest.param("docker_routed", "nginx", " on hosting form docker_routed", marks=needs_docker),
    ],
)
def test_what_speaks_ipv4_alone_is_not_assessed(bench: Any, form: str, function: str, what: str) -> None:
    spec = replace(SPEC, form=form, function=function, ip=bench[0].addresses.ip)
    found = lacking(_Stage(bench, form), [spec])  # type: ignore[arg-type]
    assert isinstance(found, Missing)
    assert what in found.what
