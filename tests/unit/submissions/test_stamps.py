"""Time stamps: of another bundle, by another authority, no reply, and the time by which a key is judged."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from authority import Authority, needed
from parties import Case, World

from bmwg.cli.main import main
from bmwg.reports.submissions.countersign import signature_of, stamped

pytestmark = needed()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authorities") / "tsa")


def with_stamp(world: World, bundle: Path, authority: Authority, of: Path | None = None) -> Path:
    """Return the bundle with a stamp of its signature, or of that of another bundle."""
    ask, reply = world.place / f"{bundle.stem}.tsq", world.place / f"{bundle.stem}.tsr"
    assert main(["sign", str(of or bundle), "--ask", str(ask)]) == 0
    authority.reply(ask, reply)
    key_id, _ = signature_of(bundle, "")
    out = bundle.with_name(f"{bundle.stem}-stamped.tar")
    stamped(bundle, out, key_id, reply.read_bytes())
    return out


def pin(world: World, authority: Authority) -> None:
    (world.trust / "stamps").mkdir()
    shutil.copy(authority.root, world.trust / "stamps" / "tsa.pem")


def now_challenge(world: World, now: datetime) -> tuple[Path, dict[str, Any]]:
    """Return a challenge of these days, and what makes a run of yesterday."""
    window = {"from": _text(now - timedelta(days=3)), "until": _text(now + timedelta(days=3))}
    return world.challenge(**window), {"began": now - timedelta(days=1)}


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_stamp_of_another_bundle_is_none(fresh, authority):
    pin(fresh, authority)
    mine, other = fresh.bundle(fresh.run("one", None)), fresh.bundle(fresh.run("two", None, seed=9))
    assert "STAMP-02" in Case(fresh, with_stamp(fresh, mine, authority, of=other)).shown()


def test_an_authority_of_another_purpose_is_none(fresh, tmp_path):
    """OpenSSL stamps by a certificate for stamps alone: here the root that is pinned is another."""
    other = Authority(tmp_path / "other")
    stamped_ = with_stamp(fresh, fresh.bundle(fresh.run("one", None)), other)
    pin(fresh, Authority(tmp_path / "web", "critical,serverAuth"))
    assert "STAMP-02" in Case(fresh, stamped_).shown()


def test_a_chain_for_web_servers_stamps_nothing(fresh, tmp_path):
    """Here the pinned root is the one that the authority has, and the root is for web servers alone."""
    web = Authority(tmp_path / "web", root="serverAuth")
    stamped_ = with_stamp(fresh, fresh.bundle(fresh.run("one", None)), web)
    pin(fresh, web)
    assert "STAMP-02" in Case(fresh, stamped_).shown()


def test_an_authority_that_nobody_pinned_is_none(fresh, authority, tmp_path):
    pin(fresh, Authority(tmp_path / "other"))
    assert (
        "STAMP-02" in Case(fresh, with_stamp(fresh, fresh.bundle(fresh.run("one", None)), authority)).shown()
    )


@pytest.mark.parametrize(
    "reply", [b"", b"0", b"\x30\x03\x02\x01\x00", b"\x30\x84\xff\xff\xff\xff", b"x" * 60_000]
)
def test_a_reply_that_is_none(fresh, authority, reply):
    pin(fresh, authority)
    bundle = fresh.bundle(fresh.run("one", None))
    out = bundle.with_name("noise.tar")
    stamped(bundle, out, signature_of(bundle, "")[0], reply)
    assert "STAMP-01" in Case(fresh, out).shown()


def test_a_run_whose_clock_is_a_day_off_is_found_by_its_stamp(fresh, authority):
    pin(fresh, authority)
    run = fresh.run("ahead", None, began=datetime.now(UTC) + timedelta(days=1))
    assert "VER-62" in Case(fresh, with_stamp(fresh, fresh.bundle(run), authority)).shown()


def test_who_signs_after_the_window_is_outside(fresh, authority):
    pin(fresh, authority)
    now = datetime.now(UTC)
    challenge = fresh.challenge(
        **{"from": _text(now - timedelta(days=9)), "until": _text(now - timedelta(days=2))}
    )
    run = fresh.run("late", challenge, began=now - timedelta(days=3))
    assert (
        "challenge: outside: signed at"
        in Case(fresh, with_stamp(fresh, fresh.bundle(run), authority)).shown()
    )


def test_a_key_is_judged_at_the_time_of_its_stamp(fresh, authority):
    """A key that expired after the stamp still counts; one that was revoked before it does not."""
    pin(fresh, authority)
    now = datetime.now(UTC)
    challenge, options = now_challenge(fresh, now)
    bundle = with_stamp(fresh, fresh.bundle(fresh.run("stamped", challenge, **options)), authority)
    later = _text(now + timedelta(days=400))
    until = {"from": _text(now - timedelta(days=30)), "until": _text(now + timedelta(days=1))}
    fresh.lists(fresh.entry("vendor", **until))
    said = Case(fresh, bundle, at=later).shown()
    assert "level: challenged" in said
    assert "by a stamp" in said
    fresh.lists(fresh.entry("vendor", revoked={"at": _text(now - timedelta(hours=1)), "why": "lost"}))
    assert "SIG-06" in Case(fresh, bundle, at=later).shown()


def test_without_a_pinned_authority_a_stamp_is_not_judged(fresh, authority):
    bundle = with_stamp(fresh, fresh.bundle(fresh.run("one", None)), authority)
    said = Case(fresh, bundle).shown()
    assert "not judged: the stamp of key" in said
