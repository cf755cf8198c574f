"""An origin that is slower than its function: searches end at its rate, and a figure is marked by that."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import needs_http, row_with_ledger
from tests.contract.test_crossed_functions import standing

from bmwg.drivers.workload.crossed import Direct
from bmwg.drivers.workload.nginx import Nginx
from bmwg.drivers.workload.transactions import TransactionClients
from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import alone, phase_search, profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.phase_search import MET
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.records import OutcomeType
from bmwg.resources.kinds.requests.measure import measured

pytestmark = [
    *needs_http,
    pytest.mark.slow,
    pytest.mark.quiet,
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in ("nginx", "nft", "tc")),
        reason="needs nginx, nft, tc: sh setup/install.sh http",
    ),
]
OCTETS, LINK_BIT_S, TRIES = 16384, 24_000_000, 2
HIGHEST_RPS = LINK_BIT_S / (8 * OCTETS)  # of bodies alone: heads and headers make it less
SEARCH = {"min_rps": 20, "max_rps": 2000, "duration_s": 3.0, "sustain_s": 4.0, "relative_width": 0.1}
SEARCH |= {"max_repeats": 3}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A row whose origin sends over a link of 24 Mbit/s."""
    folder: Path = tmp_path_factory.mktemp("slow")
    with row_with_ledger(folder, more_octets=[OCTETS]) as (row, ledger):
        inside = ["nsenter", f"--net=/proc/{row.server.pid}/ns/net"]  # type: ignore[attr-defined]
        shape = f"tc qdisc add dev nic0 root tbf rate {LINK_BIT_S} burst 64k latency 100ms"
        subprocess.run([*inside, *shape.split()], check=True, timeout=10)
        yield row, ledger, folder


def found(bench: Any, function: Any) -> float:
    """Search for the highest load; returns it."""
    row, _, folder = bench
    of = next(
        one
        for one in profile.load("rfc9411-quick").plan()
        if (one.spec.experiment, one.spec.function) == ("http_throughput", function.name) and not one.spec.ip
    )
    settings = {
        key: value for key, value in {**(of.spec.search or {}), **SEARCH}.items() if value is not None
    }
    of = replace(of, spec=replace(of.spec, search=settings))
    for _ in range(TRIES):
        recorded: list[Tried[RequestsResult]] = []
        with standing(bench, function) as deployment, TransactionClients(row, folder) as clients:
            clients.attach(deployment.served)

            def measure(spec: RequestsSpec) -> Tried[RequestsResult]:
                result = measured(deployment, clients, replace(spec, number=len(recorded) + 1))  # noqa: B023
                recorded.append(REQUESTS.tried(len(recorded) + 1, spec, result, "d1"))  # noqa: B023
                return recorded[-1]  # noqa: B023

            phase_search.search(measure, of.spec)
        outcome = REQUESTS.answered(of, recorded)
        if outcome.type is OutcomeType.MEASURED:
            return next(value.number for value in outcome.values if value.metric.endswith(f".{MET}"))
    pytest.skip("needs CPUs that are not taken away")


def test_a_function_before_a_slow_origin_is_limited_by_what_both_carry_alone(bench: Any) -> None:
    bare, carried = int(found(bench, Direct())), int(found(bench, Nginx()))
    assert HIGHEST_RPS / 2 < bare <= HIGHEST_RPS
    assert HIGHEST_RPS / 2 < carried <= HIGHEST_RPS
    assert alone.limits(carried, bare)
