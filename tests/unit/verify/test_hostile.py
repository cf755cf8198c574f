"""A bundle of a stranger: a named error in bounded time, nothing written, whatever it holds."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import time
import tracemalloc

import mutations
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.reports.bundle.archive import Archive, write_archive
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.verify.verify import verify_bundle

LIMIT_S = 5.0
LIMIT_OCTETS = 100 << 20


def rules(path):
    """Verify within a bound of time; return the ids of what was found."""
    start = time.monotonic()
    verified = verify_bundle(path)
    assert time.monotonic() - start < LIMIT_S
    assert verified.exit_code in (2, 4)
    assert all(str(finding).replace("\n", "").isprintable() for finding in verified.findings)
    return {finding.rule_id for finding in verified.findings}


def peak_octets(path):
    """Return how much memory verifying took at most."""
    tracemalloc.start()
    try:
        verify_bundle(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def tar(path, *members):
    """Write a tar of (name, type, link name, octets) by the standard library."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, kind, link, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    "member",
    [
        ("../../escape", tarfile.REGTYPE, "", b"x"),
        ("/etc/bmwg-escape", tarfile.REGTYPE, "", b"x"),
        ("manifest.json/../run.json", tarfile.REGTYPE, "", b"x"),
        ("MANIFEST.JSON", tarfile.REGTYPE, "", b"x"),
        ("manifest.json", tarfile.SYMTYPE, "/etc/passwd", b""),
        ("manifest.json", tarfile.LNKTYPE, "run.json", b""),
        ("manifest.json", tarfile.CHRTYPE, "", b""),
        ("manifest.json", tarfile.BLKTYPE, "", b""),
        ("manifest.json", tarfile.FIFOTYPE, "", b""),
        ("manifest.json", tarfile.DIRTYPE, "", b""),
        ("manifest.json", tarfile.CONTTYPE, "", b"{}"),
        ("manifest.json", tarfile.GNUTYPE_SPARSE, "", b"{}"),
        ("manifest.json", tarfile.XHDTYPE, "", b"20 path=../../escape\n"),
        ("././@LongLink", tarfile.GNUTYPE_LONGNAME, "", b"../../escape\0"),
    ],
)
def test_no_member_but_a_plain_known_part(tmp_path, member):
    inside = tmp_path / "inside"
    inside.mkdir()
    before = sorted(os.listdir(tmp_path))
    assert rules(tar(inside / "b.tar", member)) == {"BND-03"}
    assert sorted(os.listdir(tmp_path)) == before
    assert os.listdir(inside) == ["b.tar"]


def test_a_part_twice(bundle, tmp_path):
    parts = mutations.parts_of(bundle)
    data = mutations.packed(parts)
    first = mutations.packed({"manifest.json": parts["manifest.json"]})[:-1024]
    (tmp_path / "b.tar").write_bytes(first + data)
    assert rules(tmp_path / "b.tar") == {"BND-03"}


@pytest.mark.parametrize("name", ["manifest.json", "run.json", "platform.json", "trials.jsonl"])
def test_a_missing_part(bundle, tmp_path, name):
    parts = mutations.parts_of(bundle)
    del parts[name]
    (tmp_path / "b.tar").write_bytes(mutations.packed(parts))
    assert rules(tmp_path / "b.tar") == {"BND-04"}


@pytest.mark.parametrize(
    "magic", [b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"]
)
def test_nothing_packed_is_unfolded(tmp_path, magic):
    (tmp_path / "bomb").write_bytes(magic + bytes(4096))
    assert rules(tmp_path / "bomb") == {"BND-03"}


@pytest.mark.parametrize("size", [b"77777777777", b"-0000000001", b"0x000000010", b"           "])
def test_a_size_that_lies(bundle, tmp_path, size):
    data = bytearray(bundle.read_bytes())
    data[124:135] = size
    (tmp_path / "b.tar").write_bytes(data)
    assert rules(tmp_path / "b.tar") == {"BND-03"}


def test_octets_where_none_belong(bundle, tmp_path):
    data = bundle.read_bytes()
    for changed in (data + b"x", data + bytes(512), data[:-512], data[:-1], data[:100], b"", bytes(2048)):
        (tmp_path / "b.tar").write_bytes(changed)
        assert rules(tmp_path / "b.tar") == {"BND-03"}


def test_a_sparse_giant(tmp_path, bundle):
    path = tmp_path / "b.tar"
    path.write_bytes(bundle.read_bytes())
    os.truncate(path, 1 << 40)
    assert rules(path) == {"BND-03"}
    assert peak_octets(path) < LIMIT_OCTETS


@pytest.mark.parametrize("part", ["run.json", "trials.jsonl"])
def test_memory_stays_bounded(bundle, tmp_path, part):
    data = {"run.json": b"[" + b"0," * (2 << 20) + b"0]", "trials.jsonl": b"[" * (30 << 20)}[part]
    parts = mutations.parts_of(bundle) | {part: data}
    path = tmp_path / "b.tar"
    path.write_bytes(mutations.packed(mutations.rehashed(parts)))
    assert peak_octets(path) < 2 * LIMIT_OCTETS


def test_no_file_at_all(tmp_path):
    assert rules(tmp_path / "nothing") == {"BND-02"}
    os.mkfifo(tmp_path / "fifo")
    assert rules(tmp_path / "fifo") == {"BND-02"}


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("part", ["manifest.json", "run.json", "platform.json"])
@pytest.mark.parametrize(
    "data",
    [
        b'{"schema":"run/1.0","schema":"run/1.0"}',
        b'{"schema":"run/1.0"',
        b"\xff\xfe{}",
        b'{"a":"\xc3\x28"}',
        b'{"a":"\\ud800"}',
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"9" * 40 + b"}",
        b'{"a":' + DEEP + b"}",
        b'{"a":' + b"[" * 80 + b"]" * 80 + b"}",
        b"[]",
        b"null",
        b"",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_json_that_is_not_plain(bundle, tmp_path, part, data):
    parts = mutations.parts_of(bundle) | {part: data}
    (tmp_path / "b.tar").write_bytes(mutations.packed(parts))
    assert rules(tmp_path / "b.tar") & {"BND-07", "STORE-03"}


@pytest.mark.parametrize("part", ["manifest.json", "run.json", "platform.json"])
def test_an_unknown_schema_version(bundle, tmp_path, part):
    parts = mutations.parts_of(bundle)
    document = json.loads(parts[part]) | {"schema": "run/99.0"}
    parts[part] = json.dumps(document).encode()
    (tmp_path / "b.tar").write_bytes(
        mutations.packed(mutations.rehashed(parts) if part != "manifest.json" else parts)
    )
    assert "STORE-03" in rules(tmp_path / "b.tar")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"null",
        DEEP,
        b"\xff" * 100,
        b'{"schema":"trial/1.0"}',
        b'{"schema":"trial/1.0","seq":' + b"9" * 5000 + b"}",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_a_journal_line_that_is_none(bundle, tmp_path, line):
    parts = mutations.parts_of(bundle)
    parts["trials.jsonl"] = line + b"\n" + parts["trials.jsonl"]
    (tmp_path / "b.tar").write_bytes(mutations.packed(mutations.rehashed(parts)))
    assert rules(tmp_path / "b.tar") & {"STORE-01", "STORE-03", "STORE-04"}


def test_a_line_without_end(bundle, tmp_path):
    parts = mutations.parts_of(bundle)
    parts["trials.jsonl"] = b"x" * (8 << 20)
    (tmp_path / "b.tar").write_bytes(mutations.packed(mutations.rehashed(parts)))
    assert "BND-03" in rules(tmp_path / "b.tar")


def test_numbers_too_large_to_count(run_copy):
    import replayable

    from bmwg.reports.verify.verify import verify_folder

    run = json.loads((run_copy / "run.json").read_text("ascii"))
    trials = replayable.bodies(run_copy)
    trials[0]["result"]["streams"][0]["latency"]["sum_ns"] = 10**400
    replayable.forge(run_copy, run, trials)
    assert "BND-07" in {finding.rule_id for finding in verify_folder(run_copy).findings}


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\x1b[2J\x1b]0;owned\x07", "\u202eabc", "\n\nverified: all"]
)
def test_texts_of_a_stranger_do_not_reach_the_terminal(bundle, tmp_path, capsys, text):
    parts = mutations.parts_of(bundle)
    run = json.loads(parts["run.json"])
    run["outcomes"][0]["statement"] = text
    run["outcomes"][0]["id"] = text
    parts["run.json"] = json.dumps(run).encode()
    (tmp_path / "b.tar").write_bytes(mutations.packed(mutations.rehashed(parts)))
    assert main(["verify", str(tmp_path / "b.tar")]) != 0
    said = capsys.readouterr().out
    assert all(line.isprintable() for line in said.splitlines())
    assert not any(line.startswith("verified") for line in said.splitlines())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_and_paste_is_a_finding_or_the_same(bundle, tmp_path, data):
    original = bundle.read_bytes()
    start = data.draw(st.integers(0, len(original)))
    end = data.draw(st.integers(start, min(len(original), start + 2000)))
    put = data.draw(st.binary(max_size=64))
    changed = original[:start] + put + original[end:]
    path = tmp_path / "b.tar"
    path.write_bytes(changed)
    if changed != original:
        assert verify_bundle(path).exit_code in (2, 4)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.sampled_from(["manifest.json", "run.json", "platform.json", "envelope.json"]), data=st.data())
def test_any_value_anywhere_is_a_finding(bundle, tmp_path, part, data):
    parts = mutations.parts_of(bundle)
    document = json.loads(parts[part])
    tree = document
    while True:
        key = data.draw(st.sampled_from(sorted(tree) if isinstance(tree, dict) else range(len(tree))))
        if not isinstance(tree[key], (dict, list)) or not tree[key] or data.draw(st.booleans()):
            break
        tree = tree[key]
    tree[key] = data.draw(_JSON)
    text = json.dumps(document).encode()
    path = tmp_path / "b.tar"
    path.write_bytes(mutations.packed(parts | {part: text}))
    assert verify_bundle(path).exit_code in (2, 4)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_strict_json_raises_nothing_else(data):
    with contextlib.suppress(ConfigError):
        strict_json(data, "made", 1000)


def test_an_archive_holds_only_what_it_knows(tmp_path):
    with pytest.raises(ConfigError, match="BND-01"):
        write_archive(tmp_path / "b.tar", {"surprise.txt": b""})
    write_archive(tmp_path / "b.tar", dict.fromkeys(("manifest.json", "run.json"), b"{}"))
    with pytest.raises(ConfigError, match="BND-04"):
        Archive(tmp_path / "b.tar")
    with pytest.raises(ConfigError, match="BND-01"):
        write_archive(tmp_path / "b.tar", {"manifest.json": b"{}"})


def test_an_archive_that_breaks_off_has_no_name_and_leaves_nothing(tmp_path):
    (tmp_path / "run.json").mkdir()  # cannot be read as a file
    with pytest.raises(TestbedError, match="STORE-08"):
        write_archive(tmp_path / "b.tar", {"manifest.json": b"{}", "run.json": tmp_path / "run.json"})
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
