"""The report of RFC 9411's tests: a row a cell with function, TLS, object, KPIs, and whence the rows are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.phases import SECOND_NS, modelled, phase

from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.mixes import APPLICATIONS, BMWG_WEB, RFC9411_MIXED
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.records import OutcomeType
from bmwg.reports import rooms
from bmwg.reports.compare import Side, compare
from bmwg.reports.compare.page import sample_text
from bmwg.reports.compare.samples import headline_of
from bmwg.reports.exported import as_junit
from bmwg.reports.kinds.requests import physics
from bmwg.reports.kinds.requests.beside_alone import mark
from bmwg.reports.kinds.requests.section import http_section, http_summary
from bmwg.reports.kinds.requests.sustain_charts import by_interval, plot_name, sustain_plots
from bmwg.reports.opened import open_run
from bmwg.reports.render.blocks import Grid, Paragraph, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.render.sections.matrices import matrices
from bmwg.reports.render.sections.results import central
from bmwg.reports.render.sections.unanswered import unanswered
from bmwg.reports.render.text import NONE
from bmwg.reports.store import RunStore, read_run

USED = profile.load("rfc9411-quick")


def planned(experiment: str) -> Any:
    """Return the first cell of an experiment of the quick profile."""
    return next(one for one in USED.plan() if one.spec.experiment == experiment)


def test_an_answer_stands_with_its_function_tls_object_and_kpis(tmp_path: Path) -> None:
    of, held = planned("https_connections_per_second"), planned("concurrent_connections")
    alone = next(
        one
        for one in USED.plan()
        if (one.spec.experiment, one.spec.function) == (of.spec.experiment, profile.DIRECT)
    )
    with RunStore.create(tmp_path, "r", cells.header(USED, [of, held, alone])) as store:
        for one, limit in ((of, 900), (held, 2000), (alone, 1900)):
            results = [tried.result for tried in modelled(one, limit)]
            specs = [tried.spec for tried in modelled(one, limit)]
            told = [
                cells.record(store, replace(one, spec=spec), number, result, "d-1")
                for number, (spec, result) in enumerate(zip(specs, results, strict=True), start=1)
            ]
            store.add_outcome(cells.REQUESTS.answered(one, told))
        store.close(None, "complete")
    run = read_run(tmp_path / "r")
    ends = {value.metric.partition(".")[2]: value.number for value in run.outcomes[0].values}
    assert central(run.outcomes[0]) == f"{ends['met']}\u00a0connections/s, not {ends['unmet']:,}"
    blocks = list(flat(http_section(run)))
    said = " ".join(str(block.text) for block in blocks if isinstance(block, Paragraph))
    assert "no verdict or grade rests on them" in said
    grids = [block for block in blocks if isinstance(block, Grid)]
    (half,) = [grid for grid in grids if "offered" in [str(cell) for cell in grid.head]]
    rows = [[str(cell) for cell in row] for grid in grids if grid is not half for row in grid.rows]
    https, bare = [
        row for row in rows if "TLSv1.3, TLS_AES_128_GCM_SHA256, key ec-prime256v1" in " ".join(row)
    ]
    assert (https[1], bare[1]) == ("nginx", "none (clients and origin alone)")
    assert https[3] == "1 KiB"
    assert https[5].endswith(" connections/s, tester limited")  # 1,900 are not three times 900
    assert bare[5].endswith(" connections/s")
    assert https[7].endswith(" times this")
    assert bare[7] == "this"
    (plain,) = [row for row in rows if any(cell.endswith(" connections") for cell in row)]
    assert plain[2] == "none"
    assert "3 answers" in http_summary(run)
    graphs = {plot.name: plot for plot in sustain_plots(run)}
    assert set(graphs) == {plot_name(one.spec.experiment) for one in (of, held)}
    first, bound = run.outcomes[0], "tester limited"
    assert rooms.marks(run) == {first.outcome_id: bound}
    assert any(bound in line for line in summary_lines(facts(run)))
    told_by = {answer.reason for answer in open_run(run.folder).answers if answer.number is not None}
    assert told_by == {"", bound}
    moved = replace(run.outcomes[0], type=OutcomeType.UNSTABLE, values=(), reason="contradicted")
    (line,) = unanswered(facts(replace(run, outcomes=[moved])))
    assert line.why == "unstable, contradicted"
    assert "longer trials, or a quieter hour" in line.helps
    reached = "the target is reached: the criteria are met at 1000 requests/s, the highest load"
    moved = replace(moved, type=OutcomeType.AT_CEILING, reason=reached)
    (line,) = unanswered(facts(replace(run, outcomes=[moved])))
    assert (line.why, line.helps) == (reached, "a profile whose highest load is higher")
    (line,) = unanswered(facts(replace(run, outcomes=[replace(moved, type=OutcomeType.TESTER_LIMITED)])))
    assert line.helps == "clients and origin on hosts of their own (docs/lab.md)"
    assert (
        "times at half of the rate found. After RFC 9411, section 7.8; 1 transaction a connection"
        in half.caption
    )
    row, _ = [[str(cell) for cell in row] for row in half.rows]
    met = int(https[5].split()[0])
    assert row[4:6] == [f"{met // 2} requests/s", f"1\u00a0ns / 2\u00a0ns / {met // 2}\u00a0ns"]


@pytest.mark.parametrize("limit", [100, 100_000])
def test_times_that_there_are_not_have_their_reason(tmp_path: Path, limit: int) -> None:
    of = planned("https_connections_per_second")
    grids = shown(tmp_path, USED, of, limit)
    (half,) = [grid for grid in grids if "offered" in [str(cell) for cell in grid.head]]
    ((*_, offered),) = [[str(cell) for cell in row][:5] for row in half.rows]
    why = "at_floor, at the initial 200" if limit == 100 else "at_ceiling, the target is reached"
    assert offered.startswith(f"none: {why}")


def test_half_of_held_connections_has_their_unit(tmp_path: Path) -> None:
    (first, *_) = [one for one in USED.data["experiments"] if one["id"] == "concurrent_connections"]
    timed = {**first, "rate": {**first["rate"], "latency_s": 4}}
    used = profile.PROFILES.of({**USED.data, "experiments": [timed]})
    grids = shown(tmp_path, used, used.plan()[0], 2000)
    (half,) = [grid for grid in grids if "offered" in [str(cell) for cell in grid.head]]
    ((*_, offered),) = [[str(cell) for cell in row][:5] for row in half.rows]
    assert offered.endswith(" connections")


def shown(tmp_path: Path, used: Any, of: Any, limit: int) -> list[Grid]:
    """Return the tables of a run with one cell, whose function carries `limit`."""
    with RunStore.create(tmp_path, "r", cells.header(used, [of])) as store:
        told = [
            cells.record(store, replace(of, spec=tried.spec), number, tried.result, "d-1")
            for number, tried in enumerate(modelled(of, limit), start=1)
        ]
        store.add_outcome(cells.REQUESTS.answered(of, told))
        store.close(None, "complete")
    return [block for block in flat(http_section(read_run(tmp_path / "r"))) if isinstance(block, Grid)]


def test_a_graph_tells_answers_by_interval_and_of_held_connections_those_that_were_open() -> None:
    made = Sustained(
        interval_ns=SECOND_NS // 2,
        requests_per_connection=1,
        due_connections=30,
        opened=30,
        tried=30,
        completed=(10, 20),
        open_ns=(SECOND_NS, 2 * SECOND_NS),
    )
    assert by_interval(planned("connections_per_second").spec, made) == [20, 40]
    assert by_interval(planned("concurrent_connections").spec, made) == [2, 4]


def test_held_connections_tell_rates_of_their_sustain_phase_alone(tmp_path: Path) -> None:
    """They open and ask from the ramp up on: what they did there is in no rate of the phase."""
    held = phase(
        held_connections=500,
        due_connections=500,
        opened=500,
        tried=5_000,
        least_open=500,
        objects=((1000, 3_000),),
        body_octets=3_000_000,
        completed=(300,) * 10,
    )
    assert (held.opened_per_s, held.transactions_per_s, held.body_bps) == (None, 300, 300 * 1000 * 8)
    assert (phase().opened_per_s, phase().body_bps) == (1000, 8_000_000)
    of = planned("concurrent_connections")
    (grid,) = shown(tmp_path, USED, of, 2000)
    (row,) = [[str(cell) for cell in one] for one in grid.rows]
    told = dict(zip(map(str, grid.head), row, strict=True))
    assert told["connections/s opened"] == NONE
    assert "in the ramp up too" in grid.caption
    (outcome,) = read_run(tmp_path / "r").outcomes
    assert "concurrent_connections.opened" not in {one.metric for one in outcome.values}


def test_graphs_of_unlike_cells_have_unlike_names(tmp_path: Path) -> None:
    used = profile.load("rfc9411")
    some = [
        one
        for one in used.plan()
        if (one.spec.experiment, one.spec.function, one.spec.form) == ("http_throughput", "nginx", "native")
    ][:4]
    assert len({(one.spec.object_octets, one.spec.ip) for one in some}) == 4
    with RunStore.create(tmp_path, "r", cells.header(used, some)) as store:
        for of in some:
            told = [
                cells.record(store, replace(of, spec=tried.spec), number, tried.result, "d-1")
                for number, tried in enumerate(modelled(of, 9000), start=1)
            ]
            store.add_outcome(cells.REQUESTS.answered(of, told))
        store.close(None, "complete")
    (graph,) = sustain_plots(read_run(tmp_path / "r"))
    text = " ".join(graph.svg.split())
    assert all(f"{octets}o" in text for octets in {one.spec.object_octets for one in some})
    assert "v6" in text


def test_a_mark_stands_in_junit_in_the_matrix_and_in_a_comparison(tmp_path: Path) -> None:
    of = planned("https_connections_per_second")
    alone = next(
        one
        for one in USED.plan()
        if (one.spec.experiment, one.spec.function) == (of.spec.experiment, profile.DIRECT)
    )
    runs = []
    for name in "ab":
        with RunStore.create(tmp_path, name, cells.header(USED, [of, alone])) as store:
            for one, limit in ((of, 900), (alone, 1900)):
                told = [
                    cells.record(store, replace(one, spec=tried.spec), number, tried.result, "d-1")
                    for number, tried in enumerate(modelled(one, limit), start=1)
                ]
                store.add_outcome(cells.REQUESTS.answered(one, told))
            store.close(None, "complete")
        runs.append(read_run(tmp_path / name))
    assert 'name="reason" value="tester limited"' in as_junit(open_run(runs[0].folder))
    grids = [one for one in flat(matrices(facts(runs[0]))) if isinstance(one, Grid)]
    (results,) = [one for one in grids if one.caption == "Operation by speed: results"]
    assert [str(row[3]).endswith(", tester limited") for row in results.rows] == [True, False]
    assert all(str(row[0]).startswith("client-proxy-server native ") for row in results.rows)
    made = compare([Side(name=run.run_id, runs=(run,)) for run in runs])
    marked = {row.cell.function: row for row in made.rows}
    assert marked["nginx"].samples["a"].marks == ("tester limited",)
    assert sample_text(marked["nginx"].samples["b"], marked["nginx"]).endswith("; tester limited")
    assert marked["none"].samples["a"].marks == ()
    # the headlines of another search are no answers of this one, without a number
    assert [row.metric for row in made.rows] == ["connection_rate.met"] * 2
    assert all(not sample.others for row in made.rows for sample in row.samples.values())


def test_transactions_have_one_headline_and_it_is_a_number(tmp_path: Path) -> None:
    of = planned("http_throughput")
    with RunStore.create(tmp_path, "r", cells.header(USED, [of])) as store:
        told = [
            cells.record(store, replace(of, spec=tried.spec), number, tried.result, "d-1")
            for number, tried in enumerate(modelled(of, 9_000), start=1)
        ]
        store.add_outcome(cells.REQUESTS.answered(of, told))
        store.close(None, "complete")
    (outcome,) = read_run(tmp_path / "r").outcomes
    assert headline_of(outcome) == ("transaction_rate.met",)


@pytest.mark.parametrize(
    ("carried", "alone", "kind", "marked"),
    [
        (900, 1900, OutcomeType.MEASURED, "tester limited"),
        (600, 1900, OutcomeType.MEASURED, ""),  # three times as much
        (900, None, OutcomeType.TESTER_LIMITED, "tester limited"),
        (900, None, OutcomeType.UNSTABLE, "tester's limit not known"),
        (900, None, OutcomeType.AT_CEILING, "tester's limit not known"),
    ],
)
def test_a_figure_is_marked_unless_it_is_shown_to_be_the_functions_own(carried, alone, kind, marked):
    def answered(function: str, number: int | None, type_: OutcomeType) -> Any:
        values = {"met": number} if number is not None else {}
        return SimpleNamespace(values=values, outcome=SimpleNamespace(type=type_), function=function)

    one, bare = answered("nginx", carried, OutcomeType.MEASURED), answered("none", alone, kind)
    assert mark(one, bare) == marked
    assert mark(one, None) == mark(bare, bare) == ""


def test_a_mix_is_told_by_its_sizes(tmp_path: Path) -> None:
    used = profile.load("rfc9411")
    of = next(one for one in used.plan() if one.spec.mix == RFC9411_MIXED)
    cells_of = {str(cell) for grid in shown(tmp_path, used, of, 3000) for row in grid.rows for cell in row}
    (mixed,) = [cell for cell in cells_of if "by turns" in cell]
    assert mixed.startswith("205 octets, 6 KiB, 8 KiB,")
    assert mixed.endswith("347 KiB by turns (mean 53780 octets)")


def test_a_mix_of_applications_is_told_with_the_share_of_each(tmp_path: Path) -> None:
    of = next(one for one in USED.plan() if one.spec.mix == BMWG_WEB)
    (mix,) = [grid for grid in shown(tmp_path, USED, of, 3000) if "application" in map(str, grid.head)]
    assert mix.caption == "Mix bmwg-web, version 1: 8 of 10 connections by TLS, by turns"
    assert [[str(cell) for cell in row] for row in mix.rows][1] == [
        "call",
        "HTTPS",
        "2 of 10",
        "512 octets, 1 KiB",
    ]


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
    of_held = {"held_connections": 500, "due_connections": 500, "opened": 500, "least_open": 500}
    assert wrong(held, phase(**of_held)) == []
    ramp = phase(**of_held, objects=((1000, 10_001),), body_octets=10_001_000, tried=10_001)
    assert wrong(held, ramp) == ["right answers by object"]


def of_the_mix(**changes: Any) -> Sustained:
    """A sustain phase of 30 connections of the mix of applications: three rounds, all answered."""
    of = APPLICATIONS[BMWG_WEB]
    objects = tuple(
        (size, 3 * of.share(one.name) * 10 // len(one.sizes_octets))
        for one in of.applications
        for size in one.sizes_octets
    )
    octets = sum(size * count for size, count in objects)
    fields = {"due_connections": 30, "opened": 30, "tried": 300, "requests_per_connection": 10}
    more = {
        "completed": (30,) * 10,
        "objects": objects,
        "body_octets": octets,
        "negotiated": {"TLSv1.3 X": 24},
    }
    return phase(**{**fields, **more, **changes})


MIXED = replace(
    SPEC, rate_rps=30, object_octets=26132, mix=BMWG_WEB, tls="tls13-aes128-p256", requests_per_connection=10
)


def test_a_phase_of_a_mix_of_applications_has_the_shares_of_its_turns() -> None:
    assert wrong(MIXED, of_the_mix()) == []
    first, second, *others = of_the_mix().objects
    swapped = ((first[0], first[1] + 12), (second[0], second[1] - 12), *others)
    octets = sum(size * count for size, count in swapped)
    assert wrong(MIXED, of_the_mix(objects=swapped, body_octets=octets)) == [
        "right answers of 2048 octets",
        "right answers of 6144 octets",
    ]
    assert wrong(MIXED, of_the_mix(negotiated={"TLSv1.3 X": 30})) == []  # a fourth round may have begun
    fewer = of_the_mix(negotiated={"TLSv1.3 X": 30}, due_connections=29, opened=29)
    assert "TLS handshakes of the mix" in wrong(MIXED, fewer)


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
