"""`bmwg fleet copy`: what is closed lies in the store once, whole, and is never overwritten."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet import made

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.fleet.plan import read_fleet
from bmwg.reports.verify.verify import verify_bundle
from bmwg.resources.fleet import copies
from bmwg.resources.fleet.copies import Store, copy_fleet

KILLS = int(os.environ.get("FLEET_KILLS", "3"))  # FLEET_KILLS=100 for the long form

pytest.importorskip("obstore", reason="obstore is not installed: setup/install.sh --tests")


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LINES", 10)


def copied(whole: tuple[Path, Path], store: Path) -> copies.Copied:
    return copy_fleet(whole[1], read_fleet(whole[0]), Store(str(store)))


def objects(store: Path) -> dict[str, bytes]:
    return {str(one.relative_to(store)): one.read_bytes() for one in store.rglob("*") if one.is_file()}


def test_pieces_and_bundles_are_copied_once(whole: tuple[Path, Path], tmp_path: Path) -> None:
    made_first = copied(whole, tmp_path / "store")
    assert made_first.problems == ()
    lying = objects(tmp_path / "store")
    assert set(lying) == set(made_first.put)
    for run in made.runs(whole[1]):
        mine = {name: octets for name, octets in sorted(lying.items()) if f"/{run['run_id']}/" in name}
        journal = (whole[1] / run["run_id"] / "trials.jsonl").read_bytes()
        pieces = b"".join(octets for name, octets in mine.items() if name.endswith("-trials.jsonl"))
        assert journal.startswith(pieces)
        assert pieces.count(b"\n") == journal.count(b"\n") // 10 * 10
        (bundle,) = [name for name in mine if name.endswith(".bmwg.tar")]
        assert verify_bundle(tmp_path / "store" / bundle).findings == ()
        assert json.loads(mine[f"{bundle}.json"])["octets"] == len(mine[bundle])
    assert copied(whole, tmp_path / "store") == copies.Copied(put=(), problems=())


def test_a_copy_that_was_cut_off_is_named_and_left(whole: tuple[Path, Path], tmp_path: Path) -> None:
    store = tmp_path / "store"
    copied(whole, store)
    first, second = (
        next(one for one in sorted(store.rglob(pattern)))
        for pattern in ("shard-0001/**/*-trials.jsonl", "shard-0002/**/*.bmwg.tar")
    )
    cut = {one: one.read_bytes()[:-100] for one in (first, second)}
    for one, octets in cut.items():
        one.write_bytes(octets)
    found = copied(whole, store)
    assert [one.error_id for one in found.problems] == ["FLEET-09", "FLEET-09"]
    assert all(one.read_bytes() == octets for one, octets in cut.items())
    second.with_name(second.name + ".json").unlink()  # what would say how long it has to be
    assert [one.error_id for one in copied(whole, store).problems] == ["FLEET-09", "FLEET-09"]


def test_of_a_run_that_goes_on_only_what_is_closed_is_copied(
    whole: tuple[Path, Path], tmp_path: Path
) -> None:
    results = tmp_path / "res"
    shutil.copytree(whole[1], results, ignore=shutil.ignore_patterns("robot"))
    for run in made.runs(results):
        folder = results / run["run_id"]
        (folder / "run.json").write_text(json.dumps({**run, "status": "running"}), "ascii")
        with (folder / "trials.jsonl").open("ab") as journal:
            journal.write(b'{"cut off')
    found = copy_fleet(results, read_fleet(whole[0]), Store(str(tmp_path / "store")))
    assert found.problems == ()
    assert {name.rpartition("-")[2] for name in found.put} == {"trials.jsonl", "run.json", "platform.json"}
    assert not any(b"cut off" in octets for octets in objects(tmp_path / "store").values())


def test_a_run_that_is_broken_ends_no_other(whole: tuple[Path, Path], tmp_path: Path) -> None:
    results = tmp_path / "res"
    shutil.copytree(whole[1], results, ignore=shutil.ignore_patterns("robot"))
    broken, good = made.runs(results)
    journal = results / broken["run_id"] / "trials.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"received_frames":', b'"received_frames":1', 1))
    found = copy_fleet(results, read_fleet(whole[0]), Store(str(tmp_path / "store")))
    assert [one.error_id for one in found.problems] == ["BND-05"]
    assert any(name.endswith(f"{good['run_id']}.bmwg.tar") for name in found.put)
    assert not any(name.endswith(f"{broken['run_id']}.bmwg.tar") for name in found.put)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("needs root (mounts a disk)")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], check=True, timeout=30)
    yield place
    subprocess.run(["umount", str(place)], check=True, timeout=30)


@pytest.mark.root
def test_a_full_store_is_named_and_nothing_stands_there_in_part(
    whole: tuple[Path, Path], small_disk: Path
) -> None:
    found = copied(whole, small_disk)
    assert {one.error_id for one in found.problems} == {"FLEET-08"}
    assert "space" in str(found.problems[0])
    for run in made.runs(whole[1]):
        journal = (whole[1] / run["run_id"] / "trials.jsonl").read_bytes()
        for name, octets in objects(small_disk).items():
            if run["run_id"] in name and name.endswith("-trials.jsonl"):
                assert octets in journal
                assert octets.count(b"\n") == 10


@pytest.mark.parametrize("place", ["s3://", "nonsense://x"])
def test_a_place_that_is_no_store_is_refused(place: str) -> None:
    with pytest.raises(ToolkitError, match="FLEET-08"):
        Store(place).sizes("fleet")


def test_the_command_says_what_it_copied(whole: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("fleet", "copy", whole[0], whole[1], tmp_path / "store")
    assert "4 objects were copied, 0 runs could not be" in made.bmwg(*words, at=tmp_path)
    assert "0 objects were copied, 0 runs could not be" in made.bmwg(*words, at=tmp_path)


def test_whatever_copying_is_killed_the_next_one_completes_it(
    whole: tuple[Path, Path], tmp_path: Path
) -> None:
    store, chance = tmp_path / "store", random.Random(7)
    words = made.command("fleet", "copy", whole[0], whole[1], store)
    for _ in range(KILLS):
        copier = subprocess.Popen(words, cwd=tmp_path, env=made.environment(), stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 2.0))
        copier.kill()
        copier.wait()
    made.bmwg("fleet", "copy", whole[0], whole[1], store, at=tmp_path)
    made.bmwg("fleet", "copy", whole[0], whole[1], tmp_path / "at-once", at=tmp_path)
    lying = {
        name: octets for name, octets in objects(store).items() if "#" not in name
    }  # obstore's own, cut off
    assert lying.keys() == objects(tmp_path / "at-once").keys()
    for name in lying:
        if name.endswith(".bmwg.tar"):
            assert verify_bundle(store / name).findings == ()
