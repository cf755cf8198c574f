"""The guests' disk image from testbed file to header, report and a run that goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.http import made
from tests.unit.http.test_answers import run  # noqa: F401 - a fixture

from bmwg.drivers.api.instance import VmDriver
from bmwg.drivers.machines.guest_image import examine
from bmwg.drivers.testbed.file import embedded_file, load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.reports.kinds.requests import words
from bmwg.reports.store import Run, read_run
from bmwg.resources.kinds.requests.vms import header_of, vms_of_header, vms_of_testbed
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

DISK = bytes(510) + b"\x55\xaa" + bytes((1 << 16) - 512)


def settings_of(folder: Path, entry: str) -> Settings:
    file = folder / "testbed.yaml"
    file.write_text(f"{embedded_file().read_text()}\nvms: {entry}\n")
    return Settings(testbed=file, results=folder / "results", run_id="r")


def test_the_driver_comes_from_the_testbed_file_and_then_from_the_header(tmp_path: Path) -> None:
    found = vms_of_testbed(settings_of(tmp_path, "{driver: libvirt, uri: 'qemu:///system'}"), {"vm_full"})
    assert found == VmDriver(driver="libvirt", uri="qemu:///system")
    assert header_of(found) == {"driver": "libvirt", "uri": "qemu:///system"}
    assert vms_of_header({"vms": header_of(found)}, Settings()) == found
    assert header_of(vms_of_testbed(Settings(), {"vm_full"})) == {}
    assert vms_of_header({}, Settings()) == VmDriver()


@pytest.mark.parametrize("absolute", [False, True])
def test_an_image_is_found_from_the_files_folder_and_kept_without_it(tmp_path: Path, absolute: bool) -> None:
    (tmp_path / "disk.raw").write_bytes(DISK)
    name = str(tmp_path / "disk.raw") if absolute else "disk.raw"
    settings = settings_of(tmp_path, f"{{driver: qemu, image: {name}}}")
    found = vms_of_testbed(settings, {"native", "vm_para"})
    assert found.image == examine(str(tmp_path / "disk.raw"))
    kept = header_of(found)
    assert kept["image"] == found.image.record()
    assert str(tmp_path) not in json.dumps(kept)
    assert vms_of_header({"vms": kept}, settings) == found


def test_an_image_is_not_asked_for_where_no_virtual_machine_is_measured(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "{driver: qemu, image: none.qcow2}")
    assert vms_of_testbed(settings, {"native", "docker_nat"}).image is None


def test_a_run_with_a_missing_image_ends_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path, "{driver: libvirt, image: none.qcow2}")
    monkeypatch.setattr(open_run, "open_display", lambda _: pytest.fail("something was begun"))
    with pytest.raises(ConfigError, match=r"^IMAGE-01 "):
        made.opened(settings, {"HP-ONE-5"})
    assert not settings.results.exists()


def test_a_run_goes_on_with_its_own_image_alone(tmp_path: Path) -> None:
    disk = tmp_path / "disk.raw"
    disk.write_bytes(DISK)
    settings = settings_of(tmp_path, "{driver: qemu, image: disk.raw}")
    header = {"vms": header_of(vms_of_testbed(settings, {"vm_full"}))}
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "other-name.raw").write_bytes(DISK)
    elsewhere = settings_of(moved, "{driver: qemu, image: other-name.raw}")
    assert vms_of_header(header, elsewhere).image == examine(str(moved / "other-name.raw"))
    disk.write_bytes(DISK[:-1] + b"x")
    for other, found in ((settings, "SHA-256"), (Settings(), "no vms.image")):
        with pytest.raises(ConfigError, match=r"^IMAGE-09 ") as caught:
            vms_of_header(header, other)
        assert found in caught.value.found


@pytest.mark.parametrize("name", ["''", "images/", "5", '"a\\nb"'])
def test_what_is_no_path_is_refused_by_the_schema(tmp_path: Path, name: str) -> None:
    settings = settings_of(tmp_path, f"{{driver: qemu, image: {name}}}")
    with pytest.raises(ConfigError, match=r"^CFG-03 "):
        load_testbed(settings.testbed)


def test_a_report_names_the_image_beside_the_accelerator(run: Path) -> None:  # noqa: F811
    found: Run = read_run(run)
    machine = {"kind": "qemu", "accelerator": "tcg"}
    image = {"file": "squid.qcow2", "sha256": "0123456789abcdef" * 4}
    deployments = {
        "1": {"hosting": {"form": "vm_para", "root": "image", "image": image, "machine": machine}},
        "2": {"hosting": {"form": "vm_full", "root": "host", "machine": machine}},
    }
    told = words.form_words(replace(found, deployments=deployments))
    root = "root: disk image squid.qcow2, SHA-256 0123456789ab"
    assert told["vm_para"] == f"VM, paravirtual NIC (TCG, {root})"
    assert told["vm_full"] == "VM, emulated NIC (TCG)"
    lost = {"1": {"hosting": {"form": "vm_para", "root": "image", "machine": machine}}}
    assert "disk image not recorded" in words.form_words(replace(found, deployments=lost))["vm_para"]
