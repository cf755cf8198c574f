"""Runs of HTTP experiments whose guests have a disk image: measured, continued with it, or told why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.http_support import labelled, needs_guest, needs_http
from tests.contract.image_support import needs_images, needs_mmdebstrap, small_image, squid_image
from tests.faults.test_http_runs import tiny
from tests.unit.http import made

from bmwg.drivers.machines.guest_image import examine
from bmwg.drivers.testbed.file import embedded_file
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import test_id as name_of_test
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.run.settings import Settings

pytestmark = [*needs_http, *needs_guest, *needs_images, pytest.mark.slow]
FORM = "vm_para"
TEST_ID = name_of_test("one_client", FORM)


@pytest.fixture(autouse=True)
def one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "load", lambda name, forms: tiny(FORM, requests=50))


def file_with(folder: Path, image: Path) -> Path:
    file = folder / f"{image.stem}.yaml"
    file.write_text(f"{embedded_file().read_text()}\nvms: {{driver: qemu, image: {image}}}\n")
    return file


@needs_mmdebstrap
def test_a_run_goes_on_with_its_image_and_with_no_other_and_the_report_names_it(tmp_path: Path) -> None:
    image = squid_image()
    testbed = file_with(tmp_path, image)
    made.opened(Settings(results=tmp_path, run_id="r", testbed=testbed), {TEST_ID}).run.close()
    folder = tmp_path / "r"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for other in (file_with(tmp_path, small_image(tmp_path)), None):
        with pytest.raises(ConfigError) as caught:
            made.opened(Settings(results=tmp_path, continue_run="r", testbed=other), {TEST_ID})
        assert caught.value.error_id == "IMAGE-09"
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before

    bench = made.opened(Settings(results=tmp_path, continue_run="r", testbed=testbed), {TEST_ID})
    try:
        (answer,) = bench.outcomes(TEST_ID)
    finally:
        bench.run.close()
    assert answer.type is OutcomeType.MEASURED, answer
    run = read_run(folder)
    found = examine(str(image))
    assert run.testbed["vms"]["image"] == found.record()
    for evidence in run.deployments.values():
        assert evidence["hosting"]["root"] == "image"
        assert evidence["hosting"]["image"] == found.record()
        assert [one["root"] for one in evidence["instances"]] == ["image"]
        assert evidence["hosting"]["machine"]["root_found"]["partition"] == "vda"
    text = (folder / "report.rst").read_text().replace("\\", "")
    assert f"root: disk image {image.name}, SHA-256 {found.sha256[:12]}" in text
    for path in folder.iterdir():
        if path.suffix in (".json", ".jsonl", ".rst", ".html"):
            assert str(image.parent) not in path.read_text(), path.name
    assert [one for one in verify_folder(folder).findings if one.rule_id in ("VER-14", "VER-18")] == []


def test_an_image_without_the_program_is_told_for_each_cell_and_leaves_nothing(tmp_path: Path) -> None:
    testbed = file_with(tmp_path, small_image(tmp_path))
    bench = made.opened(Settings(results=tmp_path, run_id="r", testbed=testbed), {TEST_ID})
    try:
        token = bench._stage.row().place.token
        (answer,) = bench.outcomes(TEST_ID)
    finally:
        bench.run.close()
    assert answer.type is OutcomeType.INVALID
    assert "IMAGE-08" in answer.reason
    assert "no squid in the image small.raw" in answer.reason
    assert labelled(token) == []


def test_an_image_that_is_gone_when_its_cell_comes_is_not_assessed(tmp_path: Path) -> None:
    image = small_image(tmp_path)
    testbed = file_with(tmp_path, image)
    bench = made.opened(Settings(results=tmp_path, run_id="r", testbed=testbed), {TEST_ID})
    image.unlink()
    try:
        (answer,) = bench.outcomes(TEST_ID)
    finally:
        bench.run.close()
    assert answer.type is OutcomeType.NOT_ASSESSED
    assert "disk image small.raw: IMAGE-01" in answer.reason
    assert "image" in bench.mends[answer.outcome_id]
