"""A run of HTTP experiments inside a guest names that guest in its record and before any figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.http.made import opened

from bmwg.drivers.machines import guest_run
from bmwg.drivers.nodes import mounts
from bmwg.reports.store import read_run
from bmwg.resources.run.settings import Settings

MACHINE = {
    "kind": "qemu",
    "name": "guest-ab12cd",
    "qemu": "7.2.22",
    "accelerator": "tcg",
    "guest_kernel": "6.1.0-56-amd64",
    "guest_clock": {"monotonic_ns": 1, "source": "tsc"},
}


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the run would mount in memory; nothing is mounted."""
    asked: list[str] = []
    monkeypatch.setattr(guest_run, "EVIDENCE", tmp_path / "guest.json")
    monkeypatch.setattr(mounts, "in_memory", lambda *, target: asked.append(target))
    return asked


def run_of_nothing(results: Path) -> Path:
    bench = opened(Settings(profile="guest", results=results, run_id="r1"), set())
    bench.run.close()
    return results / "r1"


def test_the_record_and_the_page_of_a_run_in_a_guest_name_it(tmp_path: Path, in_memory: list[str]) -> None:
    guest_run.EVIDENCE.write_text(json.dumps(MACHINE))
    folder = run_of_nothing(tmp_path / "results")
    (machine,) = read_run(folder).drivers
    assert machine == {**MACHINE, "name": "qemu guest", "version": "7.2.22"}
    assert in_memory == [str(folder.resolve() / "pods")]
    page = (folder / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert page.index("Virtual machine under TCG: function, never a rate.") < page.index("Indicative:")


def test_a_run_outside_of_a_guest_names_none(tmp_path: Path, in_memory: list[str]) -> None:
    folder = run_of_nothing(tmp_path / "results")
    assert (read_run(folder).drivers, in_memory) == ((), [])
    assert "Virtual machine" not in (folder / "report.rst").read_text(encoding="utf-8")
