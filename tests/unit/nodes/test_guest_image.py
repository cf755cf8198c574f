"""A disk image is what it says, stands alone, and is the one that was recorded; each rule has a bad one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.unit.nodes.test_libvirt_domain import SPEC, written

from bmwg.drivers.machines import guest_image, guest_initramfs, qemu
from bmwg.drivers.machines.guest_image import Format, examine, layout, require, unfit
from bmwg.drivers.machines.qemu import Disk
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError

needs_qemu_img = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="needs qemu-img: qemu-utils")
needs_mke2fs = pytest.mark.skipif(shutil.which("mke2fs") is None, reason="needs mke2fs: e2fsprogs")
MIB = 1 << 20
BOOT_SECTOR = bytes(510) + b"\x55\xaa"


def qemu_img(*words: str | Path) -> None:
    subprocess.run(["qemu-img", *map(str, words)], check=True, capture_output=True, timeout=30)


def raw(folder: Path, name: str = "disk.raw") -> Path:
    """A raw disk with the mark of a partition table."""
    path = folder / name
    path.write_bytes(BOOT_SECTOR + bytes(MIB - 512))
    return path


def qcow2(folder: Path, *options: str) -> Path:
    path = folder / "disk.qcow2"
    qemu_img("create", "-q", "-f", "qcow2", *options, path, "8M")
    return path


def patched(path: Path, offset: int, octets: bytes) -> Path:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(octets)
    return path


@needs_qemu_img
@pytest.mark.parametrize("options", [(), ("-o", "compat=0.10"), ("-o", "cluster_size=512")], ids=str)
def test_a_qcow2_is_read_as_qemu_reads_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = qcow2(tmp_path, *options)
    found = examine(str(path))
    told = json.loads(subprocess.check_output(["qemu-img", "info", "--output=json", str(path)], timeout=30))
    assert (found.format.value, found.virtual_octets) == (told["format"], told["virtual-size"])
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.octets == path.stat().st_size


@needs_mke2fs
def test_a_file_system_without_partitions_is_a_raw_disk(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", str(path), "4M"], check=True, timeout=30)
    assert (examine(str(path)).format, examine(str(path)).virtual_octets) == (Format.RAW, 4 * MIB)


def test_a_record_names_the_file_and_no_folder(tmp_path: Path) -> None:
    kept = examine(str(raw(tmp_path))).record()
    assert kept["file"] == "disk.raw"
    assert kept["format"] == "raw"
    assert str(tmp_path) not in json.dumps(kept)


def _absent(folder: Path) -> Path:
    return folder / "none.qcow2"


def _folder(folder: Path) -> Path:
    return folder


def _empty(folder: Path) -> Path:
    (folder / "empty").touch()
    return folder / "empty"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _text(folder: Path) -> Path:
    (folder / "text").write_text("no disk\n" * 1000)
    return folder / "text"


def _iso(folder: Path) -> Path:
    return patched(raw(folder), 32769, b"CD001")


def _odd(folder: Path) -> Path:
    (folder / "odd").write_bytes(BOOT_SECTOR + b"x")
    return folder / "odd"


def _short(folder: Path) -> Path:
    (folder / "short").write_bytes(b"QFI\xfb" + bytes(20))
    return folder / "short"


def _luks(folder: Path) -> Path:
    return patched(raw(folder), 0, b"LUKS\xba\xbe")


BAD: list[tuple[str, Callable[[Path], Path]]] = [
    ("IMAGE-01", _absent),
    ("IMAGE-01", _folder),
    ("IMAGE-01", _empty),
    ("IMAGE-01", _pipe),
    ("IMAGE-02", _text),
    ("IMAGE-02", _iso),
    ("IMAGE-04", _luks),
    ("IMAGE-05", _odd),
    ("IMAGE-05", _short),
]


@pytest.mark.parametrize(("error_id", "make"), BAD, ids=lambda value: getattr(value, "__name__", str(value)))
def test_what_is_no_disk_image_is_refused_by_name(
    tmp_path: Path, error_id: str, make: Callable[[Path], Path]
) -> None:
    path = make(tmp_path)
    with pytest.raises(ConfigError, match=f"^{error_id} ") as caught:
        examine(str(path))
    assert caught.value.found
    assert path.name in caught.value.what


@needs_qemu_img
@pytest.mark.parametrize("kind", ["vmdk", "vdi", "vhdx", "vpc", "qed"])
def test_other_formats_are_not_taken_for_raw_disks(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "disk"
    qemu_img("create", "-q", "-f", kind, path, "8M")
    with pytest.raises(ConfigError, match=r"^IMAGE-02 "):
        examine(str(path))


@needs_qemu_img
def test_an_image_on_a_backing_file_is_refused(tmp_path: Path) -> None:
    path = qcow2(tmp_path, "-F", "raw", "-b", str(raw(tmp_path)))
    with pytest.raises(ConfigError, match=r"^IMAGE-03 "):
        examine(str(path))


@needs_qemu_img
def test_an_image_with_its_data_elsewhere_is_refused_and_the_other_file_is_not_touched(
    tmp_path: Path,
) -> None:
    path = qcow2(tmp_path, "-o", f"data_file={tmp_path / 'data'}")
    (tmp_path / "data").unlink()
    os.mkfifo(tmp_path / "data")  # whoever opens it stands still
    with pytest.raises(ConfigError, match=r"^IMAGE-03 "):
        examine(str(path))


@needs_qemu_img
def test_an_encrypted_image_is_refused(tmp_path: Path) -> None:
    path = patched(qcow2(tmp_path), 32, struct.pack(">I", 2))
    with pytest.raises(ConfigError, match=r"^IMAGE-04 "):
        examine(str(path))


@needs_qemu_img
@pytest.mark.parametrize(
    ("error_id", "offset", "octets"),
    [
        ("IMAGE-02", 4, struct.pack(">I", 9)),  # version
        ("IMAGE-02", 72, struct.pack(">Q", 1 << 40)),  # a feature of tomorrow
        ("IMAGE-05", 72, struct.pack(">Q", 1)),  # not closed
        ("IMAGE-05", 72, struct.pack(">Q", 2)),  # corrupt
        ("IMAGE-05", 20, struct.pack(">I", 40)),  # clusters of a tebibyte
        ("IMAGE-05", 24, bytes(8)),  # a disk of nothing
        ("IMAGE-05", 40, struct.pack(">Q", 1 << 40)),  # a table behind the end
        ("IMAGE-05", 36, struct.pack(">I", 1 << 30)),  # a table longer than the file
    ],
)
def test_a_header_that_says_what_cannot_be_is_refused(
    tmp_path: Path, error_id: str, offset: int, octets: bytes
) -> None:
    path = patched(qcow2(tmp_path), offset, octets)
    with pytest.raises(ConfigError, match=f"^{error_id} "):
        examine(str(path))


@needs_qemu_img
def test_every_beginning_of_a_header_is_read_or_refused_by_name(tmp_path: Path) -> None:
    head = qcow2(tmp_path).read_bytes()[:112]
    refused = set()
    for length in range(len(head)):
        try:
            layout(head[:length], length, "x")
        except ToolkitError as error:
            refused.add(error.error_id)
    assert refused == {"IMAGE-02", "IMAGE-05"}


def test_a_change_is_found_though_length_and_time_are_the_same(tmp_path: Path) -> None:
    path = raw(tmp_path)
    first = examine(str(path))
    status = path.stat()
    patched(path, 4096, b"x")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(TestbedError, match=r"^IMAGE-06 ") as caught:
        require(path=str(path), sha256=first.sha256)
    assert first.sha256 in caught.value.expected
    assert "IMAGE-06" in str(unfit(path=str(path), sha256=first.sha256))
    patched(path, 4096, b"\0")
    assert require(path=str(path), sha256=first.sha256).sha256 == first.sha256
    assert unfit(path=str(path), sha256=first.sha256) is None


def test_an_image_is_hashed_once_while_nobody_touches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(raw(tmp_path))
    first = examine(path)
    monkeypatch.setattr(guest_image, "_hashed", lambda *_: pytest.fail("hashed again"))
    assert examine(path) == first


def test_an_image_that_is_written_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = raw(tmp_path)

    def hashed(*_: object) -> str:
        patched(path, 0, b"x")
        os.utime(path, ns=(1, 1))  # a clock's tick may not have passed
        return "0" * 64

    monkeypatch.setattr(guest_image, "_hashed", hashed)
    with pytest.raises(TestbedError, match=r"^IMAGE-06 "):
        examine(str(path))


def test_reading_has_a_deadline(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^IMAGE-01 ") as caught:
        examine(str(raw(tmp_path)), within_s=-1.0)
    assert "in time" in caught.value.found


DISK = Disk(file="a", path="/i/a,b=c.qcow2", format=Format.QCOW2)


def test_qemu_gets_the_disk_for_reading_alone_in_the_format_that_was_found() -> None:
    places = {"kernel": Path("/k"), "modules": Path("/m"), "initramfs": Path("/i")}
    argv = qemu.command(replace(SPEC, disk=DISK), **places, channel_fd=3, monitor_fd=4)
    block = json.loads(argv[argv.index("-blockdev") + 1])
    assert block == {
        "driver": "qcow2",
        "node-name": "root",
        "read-only": True,
        "file": {"driver": "file", "filename": DISK.path, "read-only": True},
        "backing": None,
    }
    assert "-blockdev" not in qemu.command(SPEC, **places, channel_fd=3, monitor_fd=4)


def test_libvirt_gets_the_same_disk() -> None:
    (disk,) = written(replace(SPEC, disk=DISK)).findall("devices/disk")
    found = {part.tag: part.attrib for part in disk}
    assert found == {
        "driver": {"name": "qemu", "type": "qcow2"},
        "source": {"file": DISK.path},
        "backingStore": {},
        "target": {"dev": "vda", "bus": "virtio"},
        "readonly": {},
    }
    assert ET.tostring(written()).count(b"<disk") == 0


def test_the_first_root_of_a_guest_with_a_disk_takes_nothing_else(tmp_path: Path) -> None:
    kernel = guest_initramfs.GuestKernel(release="1", image=tmp_path / "k", modules=tmp_path)
    names = (*guest_initramfs.MODULES, *guest_initramfs.DISK_MODULES)
    (tmp_path / "modules.builtin").write_text("".join(f"kernel/{name}.ko\n" for name in names))
    if guest_initramfs.probe_shell() is not None:
        pytest.skip(f"needs {guest_initramfs.probe_shell()}")
    texts = [
        guest_initramfs.build(kernel, python="/py", from_disk=chosen, cache=tmp_path).read_bytes()
        for chosen in (False, True)
    ]
    from_host, from_disk = (text[text.index(b"#!/bin/busybox sh") :] for text in texts)
    assert b"bmwg-root /lower" in from_host
    assert b"/dev/vda" not in from_host
    assert b"bmwg-root /lower" not in from_disk
    assert b"mount -t ext4 -o ro $device /lower" in from_disk
