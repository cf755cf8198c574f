"""The report of RFC 9411's tests: a row a cell with function, TLS, object, KPIs, and whence the rows are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.phases import SECOND_NS, modelled, phase

from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.reports.kinds.requests import physics
from bmwg.reports.kinds.requests.section import http_section, http_summary
from bmwg.reports.render.blocks import Grid, Paragraph, flat
from bmwg.reports.store import RunStore, read_run

USED = profile.load("rfc9411-quick")


def planned(experiment: str) -> Any:
    """Return the first cell of an experiment of the quick profile."""
    return next(one for one in USED.plan() if one.spec.experiment == experiment)


def test_an_answer_stands_with_its_function_tls_object_and_kpis(tmp_path: Path) -> None:
    of, held = planned("https_connections_per_second"), planned("concurrent_connections")
    with RunStore.create(tmp_path, "r", cells.header(USED, [of, held])) as store:
        for one, limit in ((of, 900), (held, 450)):
            results = [tried.result for tried in modelled(one, limit)]
            specs = [tried.spec for tried in modelled(one, limit)]
            told = [
                cells.record(store, replace(one, spec=spec), number, result, "d-1")
                for number, (spec, result) in enumerate(zip(specs, results, strict=True), start=1)
            ]
            store.add_outcome(cells.REQUESTS.answered(one, told))
        store.close(None, "complete")
    run = read_run(tmp_path / "r")
    blocks = list(flat(http_section(run)))
    said = " ".join(str(block.text) for block in blocks if isinstance(block, Paragraph))
    assert "no verdict or grade rests on them" in said
    grids = [block for block in blocks if isinstance(block, Grid)]
    (half,) = [grid for grid in grids if "offered" in [str(cell) for cell in grid.head]]
    rows = [[str(cell) for cell in row] for grid in grids if grid is not half for row in grid.rows]
    (https,) = [row for row in rows if "TLSv1.2, ECDHE-RSA-AES128-GCM-SHA256, key rsa-2048" in " ".join(row)]
    assert https[1] == "nginx"
    assert https[3] == "1 KiB"
    assert any(cell.endswith(" connections/s") for cell in https)
    (plain,) = [row for row in rows if any(cell.endswith(" connections") for cell in row)]
    assert plain[2] == "none"
    assert "2 answers" in http_summary(run)
    assert (
        "times at half of the rate found. After RFC 9411, section 7.8; 1 transaction a connection"
        in half.caption
    )
    (row,) = [[str(cell) for cell in row] for row in half.rows]
    met = next(int(cell.split()[0]) for cell in https if cell.endswith(" connections/s"))
    assert row[4:6] == [f"{met // 2} requests/s", f"1\u00a0ns / 2\u00a0ns / {met // 2}\u00a0ns"]


def test_a_mix_is_told_by_its_sizes(tmp_path: Path) -> None:
    of = next(one for one in USED.plan() if one.spec.mix)
    with RunStore.create(tmp_path, "r", cells.header(USED, [of])) as store:
        told = [
            cells.record(store, replace(of, spec=tried.spec), number, tried.result, "d-1")
            for number, tried in enumerate(modelled(of, 3000), start=1)
        ]
        store.add_outcome(cells.REQUESTS.answered(of, told))
        store.close(None, "complete")
    blocks = flat(http_section(read_run(tmp_path / "r")))
    cells_of = {
        str(cell) for block in blocks if isinstance(block, Grid) for row in block.rows for cell in row
    }
    (mixed,) = [cell for cell in cells_of if "by turns" in cell]
    assert mixed.startswith("205 octets, 6 KiB, 8 KiB,")
    assert mixed.endswith("347 KiB by turns (mean 53780 octets)")


SPEC = RequestsSpec(
    workload=Workload.TRANSACTIONS, object_octets=1000, clients=1, rate_rps=1000, duration_s=10.0
)


def wrong(spec: RequestsSpec, found: Sustained) -> list[str]:
    """Name the counts that lie outside of their bounds."""
    result = RequestsResult(
        asked_requests=found.tried, requests=found.tried, failed=found.failed, sustain=found
    )
    return [
        one.what
        for one in physics.PHYSICS.counts(spec, result)
        if one.found < (one.least or 0) or (one.most is not None and one.found > one.most)
    ]


def test_an_honest_phase_is_within_every_bound() -> None:
    assert wrong(SPEC, phase()) == []
    held = replace(SPEC, rate_rps=0, held_connections=500)
    assert wrong(held, phase(held_connections=500, due_connections=500, opened=500, least_open=500)) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"completed": (1000,) * 9}, "intervals"),
        ({"open_ns": (SECOND_NS,) * 9}, "intervals of open connections"),
        ({"due_connections": 9_000, "opened": 9_000, "tried": 9_000}, "connections that were due"),
        ({"opened": 10_001}, "connections opened"),
        ({"client_ns": 11 * SECOND_NS + 1}, "client_ns"),
        ({"resets": 10_001}, "resets"),
        ({"body_octets": 10_000_001}, "body_octets"),
        ({"body_octets": 9_999_999}, "body_octets"),
        ({"objects": ((1000, 10_001),)}, "right answers by object"),
        ({"objects": ((999, 10_000),)}, "objects that were not asked for, or not told"),
        ({"objects": ((1000, 5_002), (1000, 4_998))}, "right answers of objects, apart"),
        ({"negotiated": {"TLSv1.3 X": 10_001}}, "TLS handshakes"),
        ({"negotiated": {"TLSv1.3 X": 10}, "resumed": 11}, "resumed sessions"),
        ({"first_octet_ns": {"p50": 9, "p90": 8}}, "first_octet_ns p90"),
    ],
)
def test_a_count_outside_of_its_bounds_is_named(changes: dict[str, Any], what: str) -> None:
    assert what in wrong(SPEC, phase(**changes))
