"""Guests whose root is a disk image: they serve from it, never write it, and what is wrong with it is named.

Slow under TCG: each boots a real guest.
"""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.guest_support import (
    DRIVERS,
    LIBVIRT,
    QEMU,
    SMALL,
    fetched,
    fresh_owner,
    hosting_of,
    interfaces_of,
    needs_guest,
    pending,
    qemus,
)
from tests.contract.http_support import needs_http, needs_libvirt, row_with_ledger
from tests.contract.image_support import (
    FILES,
    MARK,
    file_system,
    needs_images,
    needs_mmdebstrap,
    partitioned,
    small_image,
    squid_image,
)

from bmwg.drivers.api.instance import VmDriver
from bmwg.drivers.machines.guest_image import examine
from bmwg.drivers.nodes import programs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.workload import squid
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.resources.kinds.requests.deployment import start_serving

pytestmark = [*needs_guest, *needs_images]


@pytest.fixture
def owner() -> Iterator[str]:
    with fresh_owner() as label:
        yield label


@pytest.fixture
def node(owner: str) -> Iterator[NamespaceNode]:
    with NamespaceNode("proxy", owner=owner) as node:
        yield node


def with_image(vms: VmDriver, path: Path) -> VmDriver:
    return replace(vms, image=examine(str(path)))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def output_of(instance: Any, *command: str) -> str:
    """What a command prints inside the guest."""
    folder = "/run/asked"
    instance.call(programs.write_files, folder=folder, files={})
    started = instance.call(programs.start, command=list(command), folder=folder, packages=[])
    end_s = time.monotonic() + 20
    while time.monotonic() < end_s and instance.call(programs.fault, folder=folder, **started) is None:
        time.sleep(0.1)
    said: str = instance.call(programs.said, folder=folder)
    return said


@needs_mmdebstrap
@pytest.mark.parametrize(
    ("form", "vms", "parts"),
    [
        pytest.param("vm_para", QEMU, False, id="qemu-raw", marks=needs_http),
        pytest.param("vm_full", LIBVIRT, True, id="libvirt-partitions", marks=[*needs_http, needs_libvirt]),
    ],
)
def test_squid_of_the_image_serves(form: str, vms: VmDriver, parts: bool, tmp_path: Path) -> None:
    path = squid_image()
    if parts:  # the first partition is no root
        (tmp_path / "boot").mkdir()
        first = file_system(tmp_path / "boot.raw", tmp_path / "boot", 8 << 20)
        path = partitioned(tmp_path / "disk.qcow2", [first, path])
    chosen = with_image(vms, path)
    assert chosen.image is not None
    with row_with_ledger(tmp_path) as (row, ledger):
        place = replace(row.place, vms=chosen)
        with hosting(form, node=row.proxy, place=place, ledger=ledger) as made:
            assert made.probe() is None
            instance: Any
            instance, _ = start_serving(row, made, squid.program(cache=False), 0, 60.0)
            assert instance.fault() is None
            assert instance.sample_inside().memory_octets > 5 << 20
            assert output_of(instance, "cat", MARK) == "squid's image"
            described, evidence = instance.describe(), made.describe()
            instance.stop()
    found = described["machine"]["root_found"]
    assert described["root"] == evidence["root"] == "image"
    assert (found["partition"], found["file_system"]) == ("vda2" if parts else "vda", "ext4")
    assert "bookworm" in found["system"]
    assert evidence["image"] == chosen.image.record()
    assert evidence["image"]["sha256"] == sha256_of(path)  # read again: the guest has not written it


@pytest.mark.parametrize("vms", DRIVERS)
def test_what_the_guest_writes_is_in_its_memory_and_its_root_is_no_host(
    vms: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    path = small_image(tmp_path)
    before = sha256_of(path)
    with hosting_of(node, "vm_para", owner, tmp_path, with_image(vms, path)) as hosting:
        instance: Any = hosting.start(FILES, 0, SMALL)
        assert fetched(node, instance) == "from the image"
        assert output_of(instance, "cat", MARK) == "the small image"
        assert output_of(instance, "sh", "-c", f"echo changed >{MARK} && cat {MARK}") == "changed"
        assert "not permitted" in output_of(instance, "sh", "-c", "echo >/dev/vda")
        assert "python" not in output_of(instance, "busybox", "ls", "/usr/bin")
        assert instance.describe()["machine"]["kind"] == vms.driver
        size = Booted.from_builtins(instance.describe()["machine"][booted.KEY])
        disk, held = size.parts[booted.DISK], path.stat().st_blocks * 512
        assert disk == {Counted.LENGTH: path.stat().st_size, Counted.ALLOCATED: held}
        assert list(size.parts)[1:] == [booted.INITRAMFS, booted.DISK]
        assert instance.fault() is None
        instance.stop()
        again: Any = hosting.start(FILES, 0, SMALL)
        assert output_of(again, "cat", MARK) == "the small image"
        again.stop()
    assert sha256_of(path) == before
    assert (qemus(owner), interfaces_of(node), pending(tmp_path)) == ([], {"lo"}, [])


@pytest.mark.parametrize("vms", DRIVERS)
def test_a_program_that_the_image_lacks_is_named_though_the_host_has_it(
    vms: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    chosen = with_image(vms, small_image(tmp_path))
    with hosting_of(node, "vm_para", owner, tmp_path, chosen) as hosting:
        with pytest.raises(TestbedError) as caught:
            hosting.start(squid.program(cache=False), 0, SMALL)
        assert caught.value.error_id == "IMAGE-08"
        assert "no squid in the image small.raw" in caught.value.what
        assert "squid" in caught.value.hint
    assert (qemus(owner), interfaces_of(node), pending(tmp_path)) == ([], {"lo"}, [])


def _without_root(folder: Path) -> Path:
    (folder / "none").mkdir()
    return file_system(folder / "none.raw", folder / "none", 8 << 20)


def _without_file_system(folder: Path) -> Path:
    (folder / "bare.raw").write_bytes(bytes(510) + b"\x55\xaa" + bytes((1 << 20) - 512))
    return folder / "bare.raw"


def _not_shut_down(folder: Path) -> Path:
    path = small_image(folder, "open.raw")
    subprocess.run(["debugfs", "-w", "-R", "feature needs_recovery", path], check=True, timeout=30)
    return path


@pytest.mark.parametrize(
    ("make", "vms", "told"),
    [
        pytest.param(_without_root, QEMU, "vda", id="empty"),
        pytest.param(_without_root, LIBVIRT, "vda", id="empty-libvirt", marks=needs_libvirt),
        pytest.param(_without_file_system, QEMU, "vda", id="bare"),
        pytest.param(_not_shut_down, QEMU, "EXT4-fs", id="journal"),
    ],
)
def test_a_guest_that_finds_no_root_says_so_and_ends(
    make: Any, vms: VmDriver, told: str, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    before = sha256_of(path)
    with hosting_of(node, "vm_para", owner, tmp_path, with_image(vms, path)) as hosting:
        with pytest.raises(TestbedError) as caught:
            hosting.start(FILES, 0, SMALL)
        assert caught.value.error_id == "IMAGE-07", caught.value
        assert path.name in caught.value.what
        assert told in caught.value.found
    assert sha256_of(path) == before
    assert (qemus(owner), interfaces_of(node), pending(tmp_path)) == ([], {"lo"}, [])


@pytest.mark.parametrize("vms", DRIVERS)
def test_an_image_that_is_changed_between_two_starts_starts_no_guest(
    vms: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    path = small_image(tmp_path)
    with hosting_of(node, "vm_para", owner, tmp_path, with_image(vms, path)) as hosting:
        hosting.start(FILES, 0, SMALL).stop()
        with path.open("r+b") as file:
            file.seek(1 << 20)
            file.write(b"another")
        with pytest.raises(ToolkitError) as caught:
            hosting.start(FILES, 0, SMALL)
        assert caught.value.error_id == "IMAGE-06"
        lack = hosting.probe()
        assert lack is not None
        assert "small.raw" in lack.what
        assert "IMAGE-06" in lack.reason
        path.unlink()
        with pytest.raises(ToolkitError) as caught:
            hosting.start(FILES, 0, SMALL)
        assert caught.value.error_id == "IMAGE-01"
        lack = hosting.probe()
        assert lack is not None
        assert "IMAGE-01" in lack.reason
    assert (qemus(owner), interfaces_of(node), pending(tmp_path)) == ([], {"lo"}, [])
