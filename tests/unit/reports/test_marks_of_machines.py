"""A number that a translated machine made says so in every form, not in the report alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_parts import TESTBED, Maker, cell, header

from bmwg.methodology.records import VM, Cell, Outcome, OutcomeType, Quantity
from bmwg.reports import rooms
from bmwg.reports.compare.comparison import compare
from bmwg.reports.compare.sides import Side
from bmwg.reports.exported import as_csv, as_data, as_junit
from bmwg.reports.opened import open_run
from bmwg.reports.render.sections import guest
from bmwg.reports.store import RunStore, read_run

WORDS = "machine under TCG: function, no rate"


def ran(results: Path, accelerator: str, name: str = "one", rate_fps: int = 4_000, **changes: object) -> Path:
    """A run with a pod natively and with a machine that forwards."""
    with RunStore.create(results, name, header(testbed=TESTBED, **changes)) as store:
        maker = Maker(store)
        maker.measured(cell("pvp", "bridge"), 400_000, 1_600_000, 900)
        maker.measured(cell("pvp-vm", function="kernel-l3", hosting=VM), rate_fps, 1_600_000, 900)
        store.add_deployment("pvp-vm-none", {"machine": {"accelerator": accelerator}})
    return store.folder


def test_json_csv_and_junit_tell_it_beside_the_number_and_of_no_other(tmp_path: Path) -> None:
    run = open_run(ran(tmp_path, "tcg"))
    numbers = [answer for answer in run.answers if answer.number is not None]
    assert {answer.reason for answer in numbers if answer.hosting == VM} == {WORDS}
    assert {answer.reason for answer in numbers if answer.hosting != VM} == {""}
    assert WORDS in str(as_data(run))
    rows = list(csv.DictReader(io.StringIO(as_csv(run))))
    assert {row["reason"] for row in rows if row["hosting"] == VM and row["number"]} == {WORDS}
    assert WORDS in as_junit(run)
    assert WORDS not in as_junit(open_run(ran(tmp_path, "kvm", "other")))


def test_a_comparison_tells_it_beside_its_verdict(tmp_path: Path) -> None:
    sides = [
        Side(
            name=side,
            runs=tuple(
                read_run(ran(tmp_path, "tcg", f"{side}{number}", rate_fps=rate + number))
                for number in range(4)
            ),
        )
        for side, rate in (("A", 4_000), ("B", 3_000))
    ]
    rows = [row for row in compare(sides).rows if row.cell.hosting == VM]
    assert rows
    for row in rows:
        assert {mark for sample in row.samples.values() for mark in sample.marks} <= {WORDS}
        assert row.p_value is None or WORDS in row.verdict


@pytest.mark.parametrize(
    ("deployment", "words"),
    [
        ({"machine": {"accelerator": "tcg"}}, WORDS),
        ({"machines": {"vm0": {"accelerator": "kvm"}, "vm1": {"accelerator": "tcg"}}}, "KVM/TCG"),
        ({"machines": {"vm0": {"accelerator": "kvm"}}}, ""),
        ({"machines": {"vm0": {"accelerator": "kvm"}, "vm1": {}}}, "KVM"),
        ({"hosting": {"form": "vm_full", "machine": {"accelerator": "tcg"}}}, WORDS),
        ({"hosting": {"form": "vm_full"}}, "an accelerator not recorded"),
        ({"hosting": {"form": "native"}}, ""),
        ({"hosting": "kvm", "machines": {"vm0": {"accelerator": "tcg"}}}, WORDS),
        ({}, ""),
    ],
)
def test_wherever_a_deployment_records_its_machines_they_are_found(deployment, words) -> None:
    answered = Outcome(
        outcome_id="x",
        metric="goodput",
        cell=Cell(kind="streams", path="p", hosting="kvm", function="none", network="none", name="p/kvm"),
        type=OutcomeType.MEASURED,
        values=(Quantity(metric="goodput.mean", number=1e6, unit="bit/s"),),
        trials=(7,),
    )
    run = SimpleNamespace(
        platform={"deployments": {"d-1": deployment}},
        executions=[SimpleNamespace(seq=7, deployment_id="d-1")],
        outcomes=[answered],
    )
    found = guest.marks(run)
    assert set(found) == ({"x"} if words else set())
    assert words in found.get("x", "")


def test_a_run_inside_a_translated_guest_tells_it_of_all_its_numbers(tmp_path: Path) -> None:
    for name, accelerator, told in (("t", "tcg", True), ("k", "kvm", False)):
        inside = {"name": guest.GUEST, "accelerator": accelerator}
        folder = ran(tmp_path, "kvm", name, drivers=(inside,))
        numbers = [answer for answer in open_run(folder).answers if answer.number is not None]
        said = {answer.reason for answer in numbers}
        assert said == ({"run in a guest under TCG: function, no rate"} if told else {""})
        assert rooms.marks(read_run(folder)) == {}
