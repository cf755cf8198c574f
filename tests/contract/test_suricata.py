"""Suricata inline: it sees each request, drops what a rule forbids, and its own counters tell both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_http, needs_pods, row_with_ledger
from tests.contract.test_crossed_functions import SPEC, TLS, _Stage, offer, standing

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.function import packet_queue
from bmwg.drivers.testbed.file import load_testbed, network_spec
from bmwg.drivers.workload import probe
from bmwg.drivers.workload.nginx import Nginx
from bmwg.drivers.workload.run_authority import RunAuthority
from bmwg.drivers.workload.suricata import FORBIDDEN, MARKED, RULES, Suricata
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import ip
from bmwg.resources.kinds.requests.needs import lacking

pytestmark = [
    *needs_http,
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in ("suricata", "iptables", "nft")),
        reason="needs suricata: sh setup/suricata.sh",
    ),
]
PATIENT = replace(SPEC, function="suricata", rate_rps=50, requests_per_connection=10, late_ms=20_000)


@pytest.fixture(scope="module", params=[ip.V4, ip.V6])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A row, its ledger, its folder."""
    folder: Path = tmp_path_factory.mktemp("suricata")
    networks = [network_spec(name, entry) for name, entry in load_testbed(None).data["networks"].items()]
    with row_with_ledger(folder, networks=networks, ip=request.param) as (row, ledger):
        yield row, ledger, folder


def asked(bench: Any, deployment: Any, target: str) -> dict[str, Any]:
    """Ask the origin once for a target, within two seconds."""
    (served,) = deployment.served
    told: dict[str, Any] = bench[0].client.call(
        probe.fetch, address=served.address, port=served.port, url=target, within_s=2.0
    )
    return told


def test_it_sees_each_request_and_drops_what_is_forbidden(bench: Any) -> None:
    row, _, _ = bench
    with standing(bench, Suricata()) as deployment:
        found, _ = offer(bench, deployment, replace(PATIENT, ip=row.addresses.ip))
        told = deployment.describe()["function"]
        assert asked(bench, deployment, MARKED)["status"] == 404  # of the origin: it was let through
        assert asked(bench, deployment, FORBIDDEN)["status"] == 0
        for _ in range(50):  # its statistics come once a second, when packets do
            last = deployment.counted()
            if last["suricata_alerts"] >= 2:
                break
            asked(bench, deployment, "/1000.bin")
    own = found.function_counts
    assert (found.faults, found.sustain.failures) == ((), {})
    assert own["connections"] >= found.whole["connections"] > 0
    assert own["suricata_packets"] > 0
    assert own["suricata_blocked"] == 0
    assert last["suricata_alerts"] == 2  # one for each target
    assert last["suricata_blocked"] >= 1
    assert last["suricata_http_requests"] >= found.whole["requests"]
    assert told["program"]["files"]["ours.rules"] == RULES
    assert "suricata" in told["program"]["packages"]
    with standing(bench, Nginx()) as deployment:  # nothing leads into a queue that nobody reads
        after, _ = offer(bench, deployment, replace(SPEC, ip=row.addresses.ip))
    assert after.sustain.failures == {}


def test_of_what_is_encrypted_it_sees_handshakes_alone(bench: Any) -> None:
    spec = replace(PATIENT, tls=TLS, ip=bench[0].addresses.ip)
    with standing(bench, Suricata(), RunAuthority().terminated(TLS)) as deployment:
        found, _ = offer(bench, deployment, spec)
    own = found.function_counts
    assert (found.faults, found.sustain.failures) == ((), {})
    assert own["suricata_http_requests"] == 0
    assert own["suricata_tls_flows"] >= 1


class Deaf(Suricata):
    """One that reads another queue."""

    def program(self, place: Any) -> Any:
        """Return it as it is started for that."""
        made = super().program(place)
        return replace(made, command=tuple("7" if word == "0" else word for word in made.command))

    def carries(self, place: Any) -> Any:
        """Return what waits for it, not as long."""
        step = super().carries(place)
        return replace(step, arguments={**step.arguments, "within_s": 3.0})


def test_a_program_that_takes_no_packets_is_named(bench: Any) -> None:
    assert str(packet_queue.NUMBER) == "0"
    with pytest.raises(DriverError) as caught, standing(bench, Deaf()):
        pass
    assert caught.value.error_id == "FUNC-08"


@needs_pods
def test_a_pod_that_forwards_has_no_program(bench: Any) -> None:
    spec = replace(PATIENT, form="pod_bridge")
    found = lacking(_Stage(bench, "pod_bridge"), [spec])  # type: ignore[arg-type]
    assert isinstance(found, Missing)
    assert found.what == "a program in such a pod"
