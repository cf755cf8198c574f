"""Sizes of files and layers, held against what the test has written itself."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

from bmwg.drivers.kubernetes import image
from bmwg.drivers.machines import unikernel
from bmwg.drivers.nodes import file_sizes, program_files
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted

KNOWN_OCTETS = 1_234_567


def test_a_file_with_holes_has_its_length_and_less_that_is_allocated(tmp_path) -> None:
    whole, holes = tmp_path / "whole", tmp_path / "holes"
    whole.write_bytes(b"x" * KNOWN_OCTETS)
    with holes.open("wb") as file:
        file.truncate(64 << 20)
    told = file_sizes.of_file(whole)
    assert told[Counted.LENGTH] == KNOWN_OCTETS
    assert told[Counted.ALLOCATED] >= KNOWN_OCTETS
    found = file_sizes.of_file(holes)
    assert found[Counted.LENGTH] == 64 << 20
    assert found[Counted.ALLOCATED] < 1 << 20


def layer_of(octets: int) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        program_files.add(tar, "known", b"\0" * octets)
        for kind, name in ((tarfile.DIRTYPE, "empty"), (tarfile.SYMTYPE, "link")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "known"
            tar.addfile(entry)
    return output.getvalue()


def test_a_layer_with_a_known_file_unpacks_to_its_octets_and_is_a_larger_archive() -> None:
    layer = layer_of(KNOWN_OCTETS)
    assert file_sizes.of_layer(layer) == {Counted.ARCHIVE: len(layer), Counted.UNPACKED: KNOWN_OCTETS}
    assert len(layer) > KNOWN_OCTETS


def test_an_image_of_a_known_file_tells_its_octets_packed_and_unpacked(tmp_path) -> None:
    layer = layer_of(KNOWN_OCTETS)
    archive = tmp_path / "image.tar"
    told = Booted.from_builtins(image.write(archive, "known:1", layer, ("/known",))[booted.KEY])
    with tarfile.open(archive) as tar:
        index = json.loads(tar.extractfile("index.json").read())
        blobs = f"blobs/{index['manifests'][0]['digest'].replace(':', '/')}"
        (stored,) = json.loads(tar.extractfile(blobs).read())["layers"]
        packed = tar.extractfile(f"blobs/{stored['digest'].replace(':', '/')}").read()
    assert gzip.decompress(packed) == layer
    assert told.parts == {
        booted.LAYERS: {
            Counted.PACKED: len(packed),
            Counted.ARCHIVE: len(layer),
            Counted.UNPACKED: KNOWN_OCTETS,
        }
    }
    assert told.total(Counted.PACKED) < KNOWN_OCTETS < told.total(Counted.ARCHIVE)


def test_a_unikernel_is_all_that_it_boots(tmp_path) -> None:
    for name, octets in (("k", 5000), ("i", 300), ("d", 7)):
        (tmp_path / name).write_bytes(b"x" * octets)
    kernel = unikernel.Boot(cpus="1", kernel=f"{tmp_path}/k", initrd=f"{tmp_path}/i")
    assert Booted.from_builtins(unikernel.boots(kernel)).total(Counted.LENGTH) == 5300
    disk = Booted.from_builtins(unikernel.boots(unikernel.Boot(cpus="1", image=f"{tmp_path}/d")))
    assert disk.total(Counted.LENGTH) == 7
    assert list(disk.parts) == [booted.DISK]
