"""`bmwg fleet copy` into a bucket of a real S3 server: once, whole, never over another, faults by name."""

from __future__ import annotations

import importlib.util
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.fleet import made, s3

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.fleet.plan import read_fleet
from bmwg.reports.verify.verify import verify_bundle
from bmwg.resources.fleet import copies
from bmwg.resources.fleet.copies import Store, copy_fleet

for needed in ("obstore", "moto", "flask_cors"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: setup/install.sh --tests", allow_module_level=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A place of its own in the bucket, and the door to it."""

    place: str
    door: s3.Door

    def objects(self) -> dict[str, bytes]:
        store = Store(self.place)
        return {name: store.get(name) for name in store.sizes("")}

    def overwrite(self, name: str, octets: bytes) -> None:
        import obstore

        obstore.put(Store(self.place)._store, name, octets)


@pytest.fixture(scope="module")
def shard(whole: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A fleet of which one shard was worked off: its plan and its results."""
    results = tmp_path_factory.mktemp("s3") / "res"
    shutil.copytree(whole[1], results, ignore=shutil.ignore_patterns("robot"))
    (other,) = [one["run_id"] for one in made.runs(results) if one["fleet"]["shard"] == 2]
    shutil.rmtree(results / other)
    return whole[0], results


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with s3.server() as begun:
        yield begun


@pytest.fixture
def bucket(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setattr(copies, "LINES", 10)
    with s3.door(port) as door:
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{door.server_address[1]}"),
            ("AWS_ACCESS_KEY_ID", "none"),
            ("AWS_SECRET_ACCESS_KEY", "none"),
            ("AWS_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        yield Bucket(place=f"s3://{s3.BUCKET}/{tmp_path.name}", door=door)


def copied(shard: tuple[Path, Path], bucket: Bucket) -> copies.Copied:
    return copy_fleet(shard[1], read_fleet(shard[0]), Store(bucket.place))


def require_whole(shard: tuple[Path, Path], bucket: Bucket, at: Path) -> None:
    """What lies in the bucket is what a folder would have."""
    copy_fleet(shard[1], read_fleet(shard[0]), Store(str(at / "folder")))
    wanted = {
        str(one.relative_to(at / "folder")): one.read_bytes()
        for one in (at / "folder").rglob("*")
        if one.is_file()
    }
    lying = bucket.objects()
    assert lying.keys() == wanted.keys()
    for name, octets in lying.items():
        if name.endswith(".bmwg.tar"):
            (at / "one.bmwg.tar").write_bytes(octets)
            assert verify_bundle(at / "one.bmwg.tar").findings == ()
        elif name.endswith("trials.jsonl"):
            assert octets == wanted[name]


def test_pieces_and_bundle_lie_in_the_bucket_once(
    shard: tuple[Path, Path], bucket: Bucket, tmp_path: Path
) -> None:
    first = copied(shard, bucket)
    assert first.problems == ()
    assert set(first.put) == set(bucket.objects())
    assert any(name.endswith("-trials.jsonl") for name in first.put)
    require_whole(shard, bucket, tmp_path)
    before = bucket.objects()
    assert copied(shard, bucket) == copies.Copied(put=(), problems=())
    assert bucket.objects() == before


@pytest.mark.parametrize("ending", ["-trials.jsonl", ".bmwg.tar"])
def test_a_partial_object_is_named_and_left(shard: tuple[Path, Path], bucket: Bucket, ending: str) -> None:
    copied(shard, bucket)
    name = next(one for one in sorted(bucket.objects()) if one.endswith(ending))
    cut_off = bucket.objects()[name][:-100]
    bucket.overwrite(name, cut_off)
    (problem,) = copied(shard, bucket).problems
    assert (problem.error_id, name in problem.what) == ("FLEET-09", True)
    assert bucket.objects()[name] == cut_off


def test_an_object_that_is_made_meanwhile_is_never_overwritten(bucket: Bucket) -> None:
    store = Store(bucket.place)
    store.put("a", b"theirs")
    with pytest.raises(ToolkitError, match="FLEET-09"):
        store.put("a", b"ours")
    store.put("a", b"theirs")  # the same octets harm nobody
    assert store.get("a") == b"theirs"


def test_a_full_store_is_named_and_the_next_line_copies_the_rest(
    shard: tuple[Path, Path], bucket: Bucket, tmp_path: Path
) -> None:
    bucket.door.fault, bucket.door.times = "full", 1000
    found = copied(shard, bucket)
    assert [one.error_id for one in found.problems] == ["FLEET-08"]
    assert "507" in found.problems[0].found
    assert bucket.objects() == {}
    bucket.door.times = 0
    assert copied(shard, bucket).problems == ()
    require_whole(shard, bucket, tmp_path)


@pytest.mark.parametrize("fault", ["cut", "unsaid"])
def test_a_connection_that_breaks_is_tried_again_and_nothing_stands_there_in_part(
    shard: tuple[Path, Path], bucket: Bucket, tmp_path: Path, fault: str
) -> None:
    bucket.door.fault, bucket.door.times = fault, 2
    assert copied(shard, bucket).problems == ()
    require_whole(shard, bucket, tmp_path)


def test_a_store_that_does_not_answer_is_named(
    shard: tuple[Path, Path], bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_TIMEOUT", timedelta(milliseconds=200))
    bucket.door.fault, bucket.door.times = "silent", 1000
    (problem,) = copied(shard, bucket).problems
    assert problem.error_id == "FLEET-08"


def test_a_store_that_is_not_there_is_named(
    shard: tuple[Path, Path], bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        (problem,) = copied(shard, bucket).problems
    assert problem.error_id == "FLEET-08"


def test_a_bucket_that_is_not_there_is_named(bucket: Bucket) -> None:
    with pytest.raises(ToolkitError, match="FLEET-08"):
        Store("s3://another/place").sizes("fleet")
