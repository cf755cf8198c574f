"""VER-55 of requests: a cell with a cache, TLS or more proxies is not answered by what stood without."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.reports.kinds.requests.stood import answered_by_what_was_asked

ASKED = replace(
    made.spec(), proxies=2, cache=True, stress_cpus=3, tls="tls13-aes128-p256", http="h2", ip="v6-v4"
)
TOLD: dict[str, Any] = {
    "instances": [{"name": "one"}, {"name": "two"}],
    "cache": True,
    "stress_cpus": 3,
    "tls": {"asked": {"set": "tls13-aes128-p256", "http2": True}},
    "addresses": {"versions": "IPv6 to the clients, IPv4 to the origin"},
}


def shortfalls(spec: RequestsSpec, described: dict[str, Any]) -> list[str]:
    """Return what differs between a cell and the one deployment of its repetitions."""
    cell = profile.cell_of(spec)
    evidence = SimpleNamespace(
        plan=[SimpleNamespace(cell=cell)],
        deployments={"one": described},
        executions=[
            SimpleNamespace(
                cell_id=cell.cell_id, deployment_id="one", body=SimpleNamespace(kind=cell.kind, faults=())
            )
        ],
    )
    return [where for where, _, _ in answered_by_what_was_asked.check(evidence)]  # type: ignore[arg-type]


def test_what_stood_as_asked_is_no_finding_nor_is_what_is_not_told() -> None:
    assert shortfalls(ASKED, TOLD) == []
    assert shortfalls(made.spec(), {"hosting": {"form": "native"}}) == []
    assert shortfalls(replace(ASKED, workload=Workload.START), {"instances": [{}]}) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"instances": [{}]}, "proxies"),
        ({"cache": False}, "cache"),
        ({"stress_cpus": 0}, "stress_cpus"),
        ({"tls": {"asked": {"set": "tls12-rsa-2048", "http2": True}}}, "tls"),
        ({"tls": {"asked": {"set": "tls13-aes128-p256", "http2": False}}}, "HTTP/2"),
        ({"addresses": {"versions": "IPv4"}}, "ip"),
    ],
)
def test_what_stood_otherwise_is_named(change: dict[str, Any], named: str) -> None:
    (where,) = shortfalls(ASKED, {**TOLD, **change})
    assert f": {named} of one" in where


def test_a_cell_with_tls_is_not_answered_by_what_tells_of_none() -> None:
    assert len(shortfalls(ASKED, {name: told for name, told in TOLD.items() if name != "tls"})) == 2


def test_a_hidden_text_is_not_compared() -> None:
    hidden = {"asked": {"set": "redacted-named-" + "0" * 32, "http2": True}}
    assert shortfalls(ASKED, {**TOLD, "tls": hidden}) == []
