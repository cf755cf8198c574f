"""What a stranger may send in place of challenges, lists, logs, envelopes and stamps: refused by id."""

from __future__ import annotations

import base64
import json
import os
import resource
from pathlib import Path
from typing import Any

import parties
import pytest

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.reports.bundle.signing import load_private, load_public, read_envelope
from bmwg.reports.store.canonical import canonical
from bmwg.reports.submissions.announcements import PAYLOAD, append, read_log
from bmwg.reports.submissions.challenge import challenge_of, read_challenge, write_challenge
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.envelope import MAX_OCTETS, STATEMENT_PAYLOAD, read_sealed, seal, statement
from bmwg.reports.submissions.keyring import read_keys, write_keys
from bmwg.reports.submissions.stamps import Stamp, read_stamps, with_stamp
from bmwg.reports.submissions.trust import trust_of
from bmwg.reports.verify.certified import certified

HEADER = {"run_id": "r", "header_sha256": "1" * 64}


@pytest.fixture
def told(world: parties.World) -> dict[str, Any]:
    """Return what a challenge says."""
    return dict(challenge_of(world.challenge("told")).told)


def signed(world: parties.World, kind: str, predicate: Any) -> bytes:
    """Return a document that nobody checked before it was signed."""
    from bmwg.reports.store.canonical import sha256_of

    payload = statement(f"urn:bmwg:{kind}:1.0", {kind: sha256_of(predicate)}, predicate)
    return seal(payload, STATEMENT_PAYLOAD, load_private(world.key("body")))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"until": parties.BEGIN}, "CHAL-01"),
        ({"until": "2026-01-30T00:00:00Z"}, "CHAL-01"),
        ({"until": "2028-01-30T00:00:00Z"}, "CHAL-01"),
        ({"from": "2026-01-31T07:00:00"}, "STORE-04"),
        ({"from": "2026-01-31"}, "STORE-04"),
        ({"nonce": "short"}, "STORE-04"),
        ({"order_seed": -1}, "STORE-04"),
        ({"order_seed": 2**40}, "STORE-04"),
        ({"extra": 1}, "STORE-04"),
        ({"product": {"name": "x"}}, "STORE-04"),
        ({"from": 7}, "STORE-04"),
    ],
)
def test_a_challenge_that_cannot_be(world, told, change, error):
    with pytest.raises(ConfigError, match=error):
        read_challenge(signed(world, "challenge", told | change), "challenge")
    with pytest.raises(ConfigError, match=error):
        write_challenge(told | change, load_private(world.key("body")))


@pytest.mark.parametrize(
    ("octets", "error"),
    [
        (b"", "BND-07"),
        (b"{", "BND-07"),
        (b"\x30\x82\x01", "BND-07"),
        (b"[" * 100_000, "BND-07"),
        (b"{}", "SIG-01"),
        (b"[]", "SIG-01"),
        (b'{"payload":"","payloadType":"x","signatures":[]}', "SIG-01"),
        (b" " * (MAX_OCTETS + 1), "BND-07"),
    ],
)
def test_no_envelope(octets, error):
    with pytest.raises(ConfigError, match=error):
        read_sealed(octets, "here", STATEMENT_PAYLOAD)
    with pytest.raises(ConfigError, match=error if len(octets) <= 1 << 16 else "CHAL-01"):
        read_challenge(octets, "here")


def test_ten_thousand_signatures_are_too_many(world, told):
    document = json.loads(world.challenge("many").read_bytes())
    entry = document["signatures"][0]
    document["signatures"] = [entry | {"keyid": f"{number:064x}"} for number in range(10_000)]
    octets = canonical(document).encode("ascii")
    with pytest.raises(ConfigError, match="BND-07"):
        read_sealed(octets, "here", STATEMENT_PAYLOAD)  # beyond what an envelope may be
    document["signatures"] = document["signatures"][:1000]
    with pytest.raises(ConfigError, match="SIG-04"):
        read_sealed(canonical(document).encode("ascii"), "here", STATEMENT_PAYLOAD)


@pytest.mark.parametrize(
    "signature",
    [
        lambda one: one | {"sig": base64.b64encode(bytes(256)).decode("ascii")},  # as RSA gives
        lambda one: one | {"sig": "no base64"},
        lambda one: one | {"keyid": "short"},
        lambda one: one | {"keyid": one["keyid"].upper()},
        lambda one: one | {"alg": "none"},
        lambda one: "text",
    ],
)
def test_a_signature_of_another_form(world, signature):
    document = json.loads(world.challenge("forms").read_bytes())
    document["signatures"] = [signature(document["signatures"][0])]
    with pytest.raises(ConfigError, match="SIG-01"):
        read_sealed(canonical(document).encode("ascii"), "here", STATEMENT_PAYLOAD)


def test_a_key_id_of_somebody_else_proves_nothing(world):
    document = json.loads(world.challenge("stolen").read_bytes())
    document["signatures"][0]["keyid"] = load_public(world.public("vendor")).keyid
    sealed = read_sealed(canonical(document).encode("ascii"), "here", STATEMENT_PAYLOAD)
    with pytest.raises(ConfigError, match="SIG-02"):
        sealed.signed_by([load_public(world.public("vendor"))])


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"until": "2025-12-31T00:00:00Z"}, "KEY-03"),
        ({"until": "2026-01-01T00:00:00"}, "STORE-04"),
        ({"role": "king"}, "STORE-04"),
        ({"ed25519": "00"}, "STORE-04"),
        ({"revoked": {"at": "2026-01-01T00:00:00Z"}}, "STORE-04"),
    ],
)
def test_an_entry_that_no_list_holds(world, entry, error):
    told = {"body": "B", "issued_at": parties.WITHIN, "keys": [world.entry("vendor") | entry]}
    with pytest.raises(ConfigError, match=error):
        write_keys(told, load_private(world.key("body")))


def test_a_list_holds_a_key_once_and_is_the_bodys(world, tmp_path):
    twice = {
        "body": "B",
        "issued_at": parties.WITHIN,
        "keys": [world.entry("vendor"), world.entry("vendor", role="lab")],
    }
    root = load_public(world.public("body"))
    for octets, error in (
        (signed(world, "keys", twice), "KEY-05"),
        (write_keys(twice | {"keys": []}, load_private(world.key("other"))), "KEY-04"),
        (b"{}", "SIG-01"),
    ):
        (tmp_path / "keys.json").write_bytes(octets)
        with pytest.raises(ConfigError, match=error):
            read_keys(tmp_path / "keys.json", root)


def test_a_log_is_one_chain_of_whole_lines(world, tmp_path):
    log, key = tmp_path / "log.jsonl", load_private(world.key("vendor"))
    for run_id in ("a", "b", "c"):
        append(log, HEADER | {"run_id": run_id}, "start", key, at=parties.WITHIN)
    lines = log.read_bytes().splitlines(keepends=True)
    for octets, error in (
        (lines[0] + lines[2], "ANN-01"),
        (lines[1], "ANN-01"),
        (lines[0] + lines[0], "ANN-01"),
        (lines[0] + lines[1][:-20], "ANN-01"),
        (lines[0] + b"\n", "BND-07"),
        (lines[0] + b"x" * (1 << 17) + b"\n", "ANN-01"),
        (b'{"payload":1}\n', "SIG-01"),
    ):
        log.write_bytes(octets)
        with pytest.raises(ConfigError, match=error):
            read_log(log)


def test_what_is_announced_goes_together(world, tmp_path):
    log, key = tmp_path / "log.jsonl", load_private(world.key("vendor"))
    with pytest.raises(ConfigError, match="ANN-02"):
        append(log, HEADER, "end", key, at=parties.WITHIN)
    append(log, HEADER, "start", key, at=parties.WITHIN)
    for act, header in (("start", HEADER), ("end", HEADER | {"header_sha256": "2" * 64})):
        with pytest.raises(ConfigError, match="ANN-02"):
            append(log, header, act, key, at=parties.WITHIN)
    append(log, HEADER, "end", key, at=parties.WITHIN)
    with pytest.raises(ConfigError, match="ANN-02"):
        append(log, HEADER, "abort", key, at=parties.WITHIN)
    with pytest.raises(ConfigError, match="STORE-04"):
        append(log, HEADER | {"run_id": "b"}, "start", key, at="2026-01-31T08:00:00")


def test_a_clock_a_day_off_shows_in_the_log(world, tmp_path):
    log, key = tmp_path / "log.jsonl", load_private(world.key("vendor"))
    for number, at in enumerate(("2026-02-02T00:00:00Z", "2026-02-01T23:56:00Z")):  # a small step is none
        append(log, HEADER | {"run_id": f"r{number}"}, "start", key, at=at)
    before = log.read_bytes()
    with pytest.raises(ConfigError, match="ANN-06"):
        append(log, HEADER | {"run_id": "back"}, "start", key, at="2026-02-01T00:00:00Z")
    assert log.read_bytes() == before
    last = read_log(log)[-1]
    told = {**last.told, "number": 3, "prev": last.sha256, "run_id": "back", "at": "2026-02-01T00:00:00Z"}
    log.write_bytes(before + seal(canonical(told).encode("ascii"), PAYLOAD, key) + b"\n")
    with pytest.raises(ConfigError, match="ANN-06"):
        read_log(log)


def test_a_line_that_the_disk_takes_a_part_of_is_taken_away(world, tmp_path):
    """A log that ends in part of a line is read by nobody, and no line can be added to it."""
    log, key = tmp_path / "log.jsonl", load_private(world.key("vendor"))
    append(log, HEADER, "start", key, at=parties.WITHIN)
    before, limits = log.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(TestbedError, match="STORE-08"):
            append(log, HEADER, "end", key, at=parties.WITHIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert log.read_bytes() == before
    append(log, HEADER, "end", key, at=parties.WITHIN)


def test_a_log_that_somebody_else_signed_is_refused(world, tmp_path):
    mine = parties.World(tmp_path)
    mine.lists(mine.entry("vendor"))
    mine.announced_header(HEADER, key="other")
    with pytest.raises(ConfigError, match="ANN-04"):
        trust_of(mine.trust)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data | {"stamps": []}, "STORE-04"),
        (lambda data: data | {"stamps": data["stamps"] * 20}, "STORE-04"),
        (lambda data: data | {"stamps": data["stamps"] * 2}, "STAMP-01"),
        (lambda data: data | {"stamps": [data["stamps"][0] | {"reply": "no base64"}]}, "STAMP-01"),
        (lambda data: data | {"stamps": [data["stamps"][0] | {"reply": "A" * 100_000}]}, "STORE-04"),
        (lambda data: data | {"schema": "stamps/9.0"}, "STORE-04"),
    ],
)
def test_stamps_in_another_form(change, error):
    data = json.loads(with_stamp(None, Stamp(key_id="0" * 64, reply=b"x")))
    with pytest.raises(ConfigError, match=error):
        read_stamps(canonical(change(data)).encode("ascii"))


def test_a_bundle_is_signed_once_by_each(world, tmp_path, capsys):
    bundle = world.bundle(world.run("plain"))
    assert len(read_envelope(_envelope(bundle)).key_ids) == 1
    out = tmp_path / "out.tar"
    assert main(["sign", str(bundle), "--key", str(world.key("vendor")), "--output", str(out)]) == 2
    assert "SIG-04" in capsys.readouterr().err
    assert main(["sign", str(bundle), "--key", str(world.key("witness"))]) == 2
    assert "BND-01" in capsys.readouterr().err
    assert main(["sign", str(bundle), "--key", str(world.key("witness")), "--output", str(out)]) == 0
    assert main(["sign", str(out), "--ask", str(tmp_path / "q"), "--of", "zz"]) == 2
    assert "SIG-05" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["2026-01-31T08:00:00", "yesterday", "2026-13-01T00:00:00Z", ""])
def test_a_time_has_a_zone(world, tmp_path, capsys, time):
    words = [
        "keys",
        "add",
        str(world.trust),
        "--key",
        str(world.key("body")),
        "--public",
        str(world.public("lab")),
    ]
    words += ["--organization", "X", "--role", "lab", "--from", time, "--until", parties.END]
    assert main(words) == 2
    assert "CHAL-02" in capsys.readouterr().err


def _envelope(bundle: Path) -> bytes:
    import mutations

    return mutations.parts_of(bundle)["envelope.json"]


@pytest.mark.parametrize("part", ["envelope.json", "challenge.json", "stamps.json", "counters.json"])
@pytest.mark.parametrize(
    ("octets", "error"),
    [
        (b"", "BND-07"),
        (b"\x30\x84\xff\xff\xff\xff", "BND-07"),
        (b"[" * 50_000, "BND-07"),
        (b'{"payload":"","payload":""}', "BND-07"),
        (b"{}", "SIG-01 STORE-04"),
        (b"x" * ((1 << 20) + 1), "BND-03"),
    ],
)
def test_a_bundle_with_noise_in_place_of_what_is_signed(fresh, part, octets, error):
    """Refused by id, by all that reads a bundle, before a body and without one."""
    bundle = fresh.bundle(fresh.run("noise", fresh.challenge()))
    import mutations

    bundle.write_bytes(mutations.packed(mutations.parts_of(bundle) | {part: octets}))
    for trust in (trust_of(fresh.trust), None):
        verified = certified(bundle, None, trust, at=moment(parties.WITHIN))
        assert {one.rule_id for one in verified.findings} & set(error.split())
        assert verified.exit_code == 2


def test_a_body_is_read_within_bounds(fresh):
    """Certificates that are none, and a list or a log that is larger than any."""
    roots = fresh.trust / "stamps"
    roots.mkdir()
    for octets in (b"", b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", b"\xff" * 100):
        (roots / "tsa.pem").write_bytes(octets)
        with pytest.raises(ConfigError, match="STAMP-01"):
            trust_of(fresh.trust)
    (roots / "tsa.pem").unlink()
    fresh.log.parent.mkdir()
    fresh.log.touch()
    os.truncate(fresh.log, (16 << 20) + 1)
    with pytest.raises(ConfigError, match="ANN-01"):
        trust_of(fresh.trust)
    fresh.log.unlink()
    os.truncate(fresh.trust / "keys.json", (1 << 20) + 1)
    with pytest.raises(ConfigError, match="BND-07"):
        trust_of(fresh.trust)


@pytest.mark.parametrize(
    ("begin", "until", "error"),
    [
        (parties.END, parties.BEGIN, "CHAL-01"),
        (parties.BEGIN, parties.BEGIN, "CHAL-01"),
        (parties.BEGIN, "2026-02-28T00:00:00", "CHAL-02"),
    ],
)
def test_a_window_that_is_none_is_not_issued(world, tmp_path, capsys, begin, until, error):
    (tmp_path / "submission.yaml").write_bytes(parties.submission_of(parties.VENDOR))
    words = ["challenge", "issue", "--body", "B", "--key", str(world.key("body"))]
    words += ["--submission", str(tmp_path / "submission.yaml"), "--profile", "quick", "--plan", "7" * 64]
    out = tmp_path / "challenge.json"
    assert main([*words, "--from", begin, "--until", until, "--output", str(out)]) == 2
    assert error in capsys.readouterr().err
    assert not out.exists()
