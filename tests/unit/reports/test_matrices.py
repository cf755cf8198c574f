"""The matrix of RFC 8172: what stands in each cell, where it leads, and why others are empty."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_parts import Maker, cell, header

from bmwg.methodology.kinds import registry
from bmwg.methodology.kinds.repeated.kind import RepeatedKind
from bmwg.methodology.matrix import Criterion, Stage
from bmwg.methodology.measurements.registry import measurements, places
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.methodology.requirements.rows import catalogue
from bmwg.methodology.requirements.unjudged_rows import RowClass, unjudged
from bmwg.methodology.requirements.vsperf_tests import tests as vsperf_tests
from bmwg.reports.render.blocks import Fold, Grid, flat, parts
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.html import html
from bmwg.reports.render.sections.matrices import UNMEASURED, _brief, matrices
from bmwg.reports.render.sections.vsperf_coverage import AMONG_THROUGHPUTS, coverage
from bmwg.reports.store import RunStore, read_run

VENDOR = Path(__file__).resolve().parents[2] / "data" / "vendor"
COVERAGE = "Coverage, without results"


def grid(blocks, caption: str) -> Grid:
    return next(one for one in flat(blocks) if isinstance(one, Grid) and one.caption == caption)


def covered(folder: Path) -> dict[tuple[str, str], str]:
    found = grid(matrices(facts(read_run(folder))), COVERAGE)
    return {
        (row[0], name): text for row in found.rows for name, text in zip(found.head[1:], row[1:], strict=True)
    }


def test_every_measurement_and_every_act_names_its_place() -> None:
    assert [one.name for one in measurements().values() if not one.places] == []
    for kind in registry.kinds().values():
        if isinstance(kind, RepeatedKind):
            assert set(kind.places) == set(kind.families), kind.name
    acts = registry.kind("acts", "here")
    assert [metric for metric, places in acts.places.items() if not places] == []
    assert {row for one in measurements().values() for place in one.places for row in place.rows} <= set(
        catalogue()
    )


def test_the_one_cell_that_is_said_to_be_unmeasured_is_the_only_one() -> None:
    by_kind = [one.places for one in registry.kinds().values()]
    met = {
        (place.stage, place.criterion)
        for known in (places(), *by_kind)
        for of_metric in known.values()
        for place in of_metric
    }
    assert {(stage, each) for stage in Stage for each in Criterion} - met == {UNMEASURED}


def test_a_page_is_the_same_where_another_distribution_is_installed(
    made_folder: Path, tmp_path: Path
) -> None:
    pages = []
    for number, beside in enumerate(("", str(VENDOR))):
        copy = shutil.copytree(made_folder, tmp_path / str(number))
        (copy / "report.html").unlink(missing_ok=True)
        path = os.pathsep.join(filter(None, [beside, os.environ.get("PYTHONPATH", "")]))
        render = [sys.executable, "-m", "bmwg", "report", str(copy)]
        done = subprocess.run(
            render,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        pages.append({page.name: page.read_bytes() for page in sorted(copy.glob("report*.[hr]*"))})
    assert len(pages[0]) > 1
    assert pages[0] == pages[1]


def test_each_test_of_rfc_8204_section_5_has_its_cell_and_one_row_of_the_design() -> None:
    named = vsperf_tests()
    arranged = [one for one in named if one.stage]
    assert len(arranged) == 24
    assert {one.stage for one in arranged} == {Stage.ACTIVATION, Stage.OPERATION}
    assert {one.criterion for one in arranged} == set(Criterion)
    rows = [row for one in named for row in one.rows]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(catalogue())
    assert [one.name for one in named if not one.stage] == ["Throughput.RFC2544.MatchAction.PacketLossRatio"]


def test_a_measurement_stands_where_rfc_8204_has_the_test_that_it_carries_out() -> None:
    cells = {row: (one.stage, one.criterion) for one in vsperf_tests() if one.stage for row in one.rows}
    elsewhere = {
        (one.name, row)
        for one in measurements().values()
        for place in one.places
        for row in place.rows
        if row in cells and (place.stage, place.criterion) != cells[row]
    }
    assert elsewhere == set()


def test_accuracy_of_what_no_search_found_is_its_own_number(tmp_path: Path) -> None:
    metric = "illegal_frames.rfc2889_5_9"
    with RunStore.create(tmp_path, "illegal", header()) as store:
        maker = Maker(store)
        maker.measured(cell("pvp", "bridge"), 900_000, 1_000_000)
        seq = maker.trial(cell("pvp", "bridge"), 9_000, phase="illegal frames", metric=metric)
        maker.outcome(
            cell("pvp", "bridge"),
            metric,
            OutcomeType.MEASURED,
            trials=(seq,),
            values=(Quantity(metric=metric, number=3.0, unit="frames"),),
        )
    found = matrices(facts(read_run(store.folder)))
    told = {row[1]: row[3] for row in grid(found, "Operation by accuracy: results").rows}
    assert told[metric] == "3\u00a0frames"
    (fold,) = [b for b in flat(found) if isinstance(b, Fold) and b.summary.startswith("Capacity: ")]
    (capacity,) = fold.inside
    assert isinstance(capacity, Grid)
    accuracy = capacity.rows[1][2]
    assert "frames received at the throughput: 0 reordered" in accuracy
    assert accuracy.endswith(f"; {metric}: 3\u00a0frames")


def test_matrices_hold_results_in_three_columns_and_scale_only_in_coverage(made_folder: Path) -> None:
    found = matrices(facts(read_run(made_folder)))
    overview = grid(found, COVERAGE)
    assert overview.head == ("stage", "speed", "accuracy", "reliability", "scale")
    assert [row[0] for row in overview.rows] == ["activation", "operation", "de-activation"]
    folds = [b for b in flat(found) if isinstance(b, Fold) and b.summary.startswith("Capacity: ")]
    assert len({each.summary for each in folds}) == len(folds) > 4
    for each in folds:
        (one,) = each.inside
        assert isinstance(one, Grid)
        assert one.head == ("stage", "speed", "accuracy", "reliability")
        assert all(text.startswith(("not assessed: ", "not applicable: ")) for text in one.rows[0][1:])
    bridge = next(each for each in folds if each.summary == "Capacity: pvp bridge, one direction, 1 flow")
    one = next(iter(bridge.inside))
    assert isinstance(one, Grid)
    assert "64\u00a0octets: throughput 317,187\u00a0frames/s" in one.rows[1][1]


def test_every_cell_with_results_leads_to_them_and_every_other_says_why(made_folder: Path) -> None:
    told = covered(made_folder)
    shown = html([*matrices(facts(read_run(made_folder))), *coverage(facts(read_run(made_folder)))], {})
    ids = set(re.findall(r'id="([^"]+)"', shown))
    targets = {part.target for text in told.values() for part in parts(text) if part.target}
    assert {"#operation-by-speed", "#operation-by-accuracy"} <= targets
    for target in re.findall(r'href="#([^"]+)"', shown):
        assert target in ids
    for text in told.values():
        assert text.startswith(("not assessed: ", "not applicable: ")) or any(
            one.target for one in parts(text)
        )
    assert "the toolkit has no measurement of it" in told["de-activation", "accuracy"]


def test_accuracy_is_what_trials_counted_and_no_rate(made_folder: Path) -> None:
    found = grid(matrices(facts(read_run(made_folder))), "Operation by accuracy: results")
    told = [row[3] for row in found.rows if row[2] == "measured"]
    assert told
    assert all("frames received at the throughput: 0 reordered, 0 duplicate" in text for text in told)
    assert not any("frames/s" in row[3] for row in found.rows)


def test_a_path_on_which_nothing_is_made_has_no_activation(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "node", header()) as store:
        Maker(store).measured(cell("node", "none", hosting="baremetal"), 900_000, 1_000_000)
    told = covered(store.folder)
    words = "not applicable: no function is made or removed here"
    assert {told[stage, each] for stage in ("activation", "de-activation") for each in Criterion} == {words}


@pytest.mark.parametrize("kind", [OutcomeType.NOT_ASSESSED, OutcomeType.INVALID])
def test_why_a_cell_has_no_result_is_the_reason_of_its_own_answer(tmp_path: Path, kind: OutcomeType) -> None:
    with RunStore.create(tmp_path, "soaked", header()) as store:
        maker = Maker(store)
        maker.measured(cell("pvp", "bridge"), 900_000, 1_000_000)
        maker.outcome(cell("pvp", "bridge"), "reset.rfc6201.link", kind, reason="no link to reset")
    assert covered(store.folder)["activation", "reliability"] == (
        "not assessed: reset.rfc6201.link: no link to reset"
    )
    table = grid(coverage(facts(read_run(store.folder))), "Coverage of VSPERF's tests")
    held = {row[0]: row[3] for row in table.rows}
    assert held["Throughput.RFC2544.ResetTime"] == "not assessed: no link to reset"
    assert held["Throughput.RFC2544.PacketLossRate"].startswith("throughput.rfc2544_26_1: 1 of 1 measured")
    assert held["Activation.RFC2889.AddressLearningRate"] == "not assessed: no cell of this run asks for it"
    assert held["Throughput.RFC2889.ForwardPressure"].startswith("not assessed: missing is a gap")
    modified = held["Throughput.RFC2544.PacketLossRateFrameModification"]
    assert modified.startswith("among the throughputs where the run has such cells: addresses, ports")


def test_each_carried_out_test_of_vsperf_is_named_by_a_measurement_or_told_among_throughputs() -> None:
    named = {row for one in measurements().values() for place in one.places for row in place.rows}
    known = unjudged()
    for test in vsperf_tests():
        here = any(known[row].row_class is RowClass.CARRIED_OUT for row in test.rows if row in known)
        told = {bool(named & {*test.rows}), bool(AMONG_THROUGHPUTS & {*test.rows})}
        assert told == ({True, False} if here else {False}), test


def test_a_part_that_an_answer_does_not_tell_is_no_result(tmp_path: Path) -> None:
    from bmwg.methodology.matrix import REMOVED, STARTED
    from bmwg.methodology.records import Outcome
    from bmwg.reports.render.sections.matrices import Standing

    outcome = Outcome(
        outcome_id="x",
        metric="pod_start",
        cell=cell("pvp", "bridge"),
        type=OutcomeType.MEASURED,
        values=(Quantity(metric="pod_start.mean", number=1.0, unit="ns"),),
    )
    assert Standing(place=STARTED, outcome=outcome).measured
    assert not Standing(place=REMOVED, outcome=outcome).measured


def test_a_cell_has_room_for_the_first_of_many_reasons_and_for_a_whole_short_one() -> None:
    each = "resize 1: for 1.2 ms before the first frame came none was offered"
    many = f"pod_resize: 0 of 3 repetitions are valid: {'; '.join([each] * 7)}"
    assert _brief(many) == f"pod_resize: 0 of 3 repetitions are valid: {each} and so on"
    assert _brief("policy: no rules; no agent") == "policy: no rules; no agent"
    assert _brief("x" * 400) == "x" * 400
