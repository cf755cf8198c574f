"""A number that a translated machine made says so in every form, not in the report alone."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_parts import TESTBED, Maker, cell, header

from bmwg.cli.reproduced import _line
from bmwg.methodology.records import VM, Cell, Outcome, OutcomeType, Quantity
from bmwg.reports import rooms
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.compare.comparison import compare
from bmwg.reports.compare.reproduce import reproduce
from bmwg.reports.compare.sides import Side
from bmwg.reports.exported import as_csv, as_data, as_junit
from bmwg.reports.opened import open_run, opened
from bmwg.reports.registry import Entry, Examined
from bmwg.reports.registry.pages import entry_page
from bmwg.reports.registry.site import compare_page
from bmwg.reports.render.sections import guest
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.submissions.reproduction import candidate

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


def test_pages_of_a_registry_and_a_reproduction_tell_it(tmp_path: Path) -> None:
    """They are made of what verifying read of a bundle, not of a run that was read for a report."""
    folder = ran(tmp_path, "tcg")
    evidence = read_evidence(FolderFiles(folder))
    marks = rooms.marks_in(evidence)
    assert set(marks.values()) == {WORDS}
    assert marks == rooms.marks(read_run(folder))
    held = candidate(evidence, frozenset())
    machines = {key: one for key, one in held.stated.items() if "/vm/" in key[1]}
    assert {one.mark for one in machines.values()} == {WORDS}
    assert {one.mark for key, one in held.stated.items() if key not in machines} == {""}
    assert {one.duration_s for one in held.stated.values()} == {1.0}
    seen = Examined(findings=(), trusted=True, answers=evidence.outcomes, marks=marks, candidate=held)
    entry = Entry(folder=folder, toolkit_version="1", organization="o", name="n", examined=seen)
    assert entry_page(entry).decode("utf-8").count(f"{WORDS}: ") == len(marks)
    assert f"{WORDS}: " in str(compare_page(entry, entry))
    assert WORDS in next(_line(one) for one in reproduce(machines, machines).held if one.first.ends)


def test_a_comparison_of_runs_inside_a_translated_guest_tells_it_in_its_rows(tmp_path: Path) -> None:
    """The form for programs has no banner."""
    inside = {"name": guest.GUEST, "accelerator": "tcg"}
    sides = [
        Side(name=side, runs=(read_run(ran(tmp_path, "kvm", side, drivers=(inside,))),)) for side in "AB"
    ]
    marks = {mark for row in compare(sides).rows for one in row.samples.values() for mark in one.marks}
    assert marks == {"run in a guest under TCG: function, no rate"}


def test_a_reason_beside_a_number_leaves_its_mark(tmp_path: Path) -> None:
    """What carries the full rate of its medium is a plain number with a reason."""
    run = read_run(ran(tmp_path, "tcg"))
    full = "the full rate of the medium"
    told = opened(replace(run, outcomes=tuple(replace(one, reason=full) for one in run.outcomes)))
    of_machines = {answer.reason for answer in told.answers if answer.hosting == VM}
    assert of_machines == {f"{full}; {WORDS}"}


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
