"""Signatures by sigstore bundles: of a known identity at its log entry's time, or of nobody, or refused."""

from __future__ import annotations

import base64
import importlib
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import identities
import mutations
import parties
import pytest
from parties import WITHIN, Case, World

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import SIGSTORE_PART
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.store.canonical import canonical
from bmwg.reports.submissions import sigstore
from bmwg.reports.submissions.countersign import identified, statement_of
from bmwg.reports.submissions.keyring import write_keys
from bmwg.reports.submissions.sigstore import read_bundles, with_bundle

WHO, ISSUER = "seen@example.net", "https://issuer.example.net"
SEEN = datetime(2026, 2, 1, 12, tzinfo=UTC)
judges = identities.needed()


@dataclass(frozen=True)
class Scene:
    """A vendor's bundle that an identity is about to sign."""

    world: World
    authority: identities.Authority
    bundle: Path

    def knows(self, **changes: Any) -> None:
        """Have the body list the vendor's key and one identity, and pin the authority."""
        entry = {"identity": WHO, "issuer": ISSUER, "organization": parties.WITNESS, "role": "witness"}
        valid = dict(zip(("from", "until"), parties.VALID, strict=True))
        told = {
            "body": parties.BODY,
            "issued_at": WITHIN,
            "keys": [self.world.entry("vendor")],
            "identities": [entry | valid | changes],
        }
        octets = write_keys(told, load_private(self.world.key("body")))
        (self.world.trust / "keys.json").write_bytes(octets)
        self.authority.trusted_root(self.world.trust / "trusted_root.json")

    def signed(self, at: datetime = SEEN, *, who: str = WHO, issuer: str = ISSUER, of: bytes = b"") -> Path:
        """Return the bundle with the identity's signature of its statement, or of another one."""
        made = self.authority.bundle(of or statement_of(self.bundle), who, issuer, at)
        return self.with_(made)

    def with_(self, made: Any) -> Path:
        """Return the bundle with a sigstore bundle in it."""
        out = self.world.place / "signed.tar"
        out.unlink(missing_ok=True)
        identified(self.bundle, out, json.dumps(made).encode("ascii"))
        return out

    def said(self, bundle: Path, at: str = WITHIN) -> str:
        return Case(self.world, bundle, at=at).shown()


@pytest.fixture(scope="session")
def authority() -> identities.Authority:
    return identities.Authority()


@pytest.fixture(scope="module")
def handed_in(world: World, released: None) -> Path:
    """Return the vendor's bundle, made once: no test changes it."""
    return world.bundle(world.run("sigstore", world.challenge()))


@pytest.fixture
def scene(fresh: World, authority: identities.Authority, handed_in: Path) -> Scene:
    made = Scene(fresh, authority, handed_in)
    made.knows()
    return made


@judges
def test_a_known_identity_is_a_witness_and_no_network_is_asked(scene: Scene, monkeypatch) -> None:
    def refused(*words: object, **named: object) -> None:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    said = scene.said(scene.signed())
    assert "level: witnessed" in said
    assert (
        f"Third Witness (witness), identity {WHO} by {ISSUER}, valid at 2026-02-01T12:00:00Z by a log" in said
    )


@judges
def test_a_vendor_can_sign_by_an_identity(scene: Scene) -> None:
    """The envelope is signed by a key that the body does not know; the identity is the vendor's."""
    scene.world.key("stranger")
    bundle = scene.world.bundle(scene.world.run("by-identity", scene.world.challenge()), "stranger")
    scene = Scene(scene.world, scene.authority, bundle)
    scene.knows(organization=parties.VENDOR, role="vendor")
    assert "level: challenged" in scene.said(scene.signed())
    assert "level: self-declared" in scene.said(bundle)


@judges
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"until": "2026-02-01T11:00:00Z"}, "expired at 2026-02-01T11:00:00Z"),
        ({"from": "2026-02-01T13:00:00Z"}, "not valid before 2026-02-01T13:00:00Z"),
        ({"revoked": {"at": "2026-01-20T00:00:00Z", "why": "it was stolen"}}, "it was stolen"),
        ({"organization": parties.VENDOR}, "0 of 1 witnesses or labs signed beside"),
        ({"identity": "other@example.net"}, "0 of 1 witnesses or labs signed beside"),
        ({"issuer": "https://other.example.net"}, "0 of 1 witnesses or labs signed beside"),
    ],
)
def test_an_identity_is_judged_at_the_time_of_its_log_entry(scene: Scene, changes, words) -> None:
    """Whatever the time at which the bundle is judged."""
    scene.knows(**changes)
    for at in (WITHIN, "2026-12-01T00:00:00Z"):
        said = scene.said(scene.signed(), at)
        assert "level: challenged" in said
        assert words in said


@judges
def test_an_identity_that_was_revoked_later_still_counts(scene: Scene) -> None:
    scene.knows(revoked={"at": "2026-03-01T00:00:00Z", "why": "its owner left"})
    assert "level: witnessed" in scene.said(scene.signed(), "2026-06-01T00:00:00Z")


@judges
def test_who_signed_before_the_run_ended_is_found(scene: Scene) -> None:
    assert "VER-62" in scene.said(scene.signed(datetime(2026, 1, 31, 7, tzinfo=UTC)))


@judges
def test_who_signed_after_the_window_is_outside(scene: Scene) -> None:
    said = scene.said(scene.signed(datetime(2026, 3, 1, tzinfo=UTC)))
    assert "challenge: outside: signed at 2026-03-01T00:00:00Z by a third party" in said


@judges
def test_a_bundle_over_another_statement_is_none_of_this_one(scene: Scene) -> None:
    other = scene.world.bundle(scene.world.run("other", None, seed=9))
    assert "SIG-08" in scene.said(scene.signed(of=statement_of(other)))
    assert "SIG-08" in scene.said(
        scene.with_(
            scene.authority.bundle(statement_of(scene.bundle), WHO, ISSUER, SEEN, payload_type="text/plain")
        )
    )


@judges
def test_an_authority_that_nobody_pinned_vouches_for_nobody(scene: Scene) -> None:
    other = Scene(scene.world, identities.Authority(), scene.bundle)
    assert "SIG-08" in scene.said(other.signed())


def _certificate(made: dict[str, Any]) -> None:
    octets = bytearray(base64.b64decode(made["verificationMaterial"]["certificate"]["rawBytes"]))
    octets[-1] ^= 1
    made["verificationMaterial"]["certificate"]["rawBytes"] = identities.b64(bytes(octets))


def _entry(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(made: dict[str, Any]) -> None:
        made["verificationMaterial"]["tlogEntries"][0][name] = value

    return change


def _signature(made: dict[str, Any]) -> None:
    made["dsseEnvelope"]["signatures"][0]["sig"] = identities.b64(bytes(70))


def _twice(made: dict[str, Any]) -> None:
    made["verificationMaterial"]["tlogEntries"] *= 2


def _root(made: dict[str, Any]) -> None:
    made["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["rootHash"] = identities.b64(bytes(32))


@judges
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (_certificate, "SIG-08"),
        (_signature, "SIG-08"),
        (_root, "SIG-08"),
        (_entry("integratedTime", "1769860800"), "SIG-08"),  # a day earlier than promised
        (_entry("integratedTime", "yesterday"), "SIG-07"),
        (_entry("kindVersion", {"kind": "dsse", "version": "9.9.9"}), "SIG-07"),
        (_entry("canonicalizedBody", identities.b64(b"{}")), "SIG-08"),
        (_twice, "SIG-07"),
        (lambda made: made.pop("verificationMaterial"), "SIG-07"),
        (lambda made: made.update(mediaType="text/plain"), "SIG-07"),
        (lambda made: made["dsseEnvelope"].update(payload=identities.b64(b"[" * 9_000)), "SIG-08"),
    ],
)
def test_a_bundle_that_was_changed_is_refused(scene: Scene, change, error) -> None:
    made = scene.authority.bundle(statement_of(scene.bundle), WHO, ISSUER, SEEN)
    change(made)
    said = scene.said(scene.with_(made))
    assert error in said
    assert "level: witnessed" not in said


@judges
@pytest.mark.parametrize("octets", [b"", b"{}", b"[" * 5000, b"\xff" * 100, b" " * ((1 << 20) + 1)])
def test_a_trusted_root_that_is_none(scene: Scene, octets: bytes) -> None:
    (scene.world.trust / "trusted_root.json").write_bytes(octets)
    assert "SIG-07" in scene.said(scene.signed())


def test_without_the_extra_bundles_are_named_and_count_for_nothing(scene: Scene, monkeypatch) -> None:
    """Nor is it a finding that none of the owner's keys signed: perhaps his identity did."""

    def none(name: str) -> Any:
        if name.startswith("sigstore"):
            raise ModuleNotFoundError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(sigstore, "import_module", none)
    signed = scene.signed()
    said = scene.said(signed)
    assert "not judged: sigstore bundles: it needs the Python module sigstore" in said
    assert "level: challenged" in said
    scene.knows(organization=parties.VENDOR, role="vendor")
    scene.world.lists(scene.world.entry("witness"))
    said = scene.said(parties.signed_by(scene.world, signed, "witness"))
    assert "SIG-06" not in said
    assert "level: self-declared" in said


def test_without_a_pinned_root_bundles_are_named(scene: Scene) -> None:
    (scene.world.trust / "trusted_root.json").unlink()
    said = scene.said(scene.signed())
    assert "not judged: sigstore bundles: no trusted_root.json is pinned" in said
    assert "level: challenged" in said


@pytest.mark.parametrize(
    ("octets", "error"),
    [
        (b"", "BND-07"),
        (b"{}", "STORE-04"),
        (b'{"bundles":[],"schema":"sigstore/1.0"}', "STORE-04"),
        (b'{"bundles":["no base64"],"schema":"sigstore/1.0"}', "SIG-07"),
        (b'{"bundles":["e30=","e30="],"schema":"sigstore/1.0"}', "SIG-07"),
        (b'{"bundles":["e30="],"schema":"sigstore/1.0"}\n', "SIG-07"),
        (canonical({"bundles": ["e30="] * 10_000, "schema": "sigstore/1.0"}).encode("ascii"), "STORE-04"),
        (canonical({"bundles": ["A" * 90_000], "schema": "sigstore/1.0"}).encode("ascii"), "STORE-04"),
    ],
)
def test_a_part_in_another_form(octets: bytes, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        read_bundles(octets)


def test_a_part_grows_by_one_bundle_each() -> None:
    part = None
    for number in range(16):
        part = with_bundle(part, f'{{"n":{number}}}'.encode("ascii"))
    assert len(read_bundles(part)) == 16
    assert with_bundle(part, b'{"n":3}') == part
    for octets, error in ((b'{"n":16}', "STORE-04"), (b"x", "BND-07"), (b" " * 70_000, "BND-07")):
        with pytest.raises(ConfigError, match=error):
            with_bundle(part, octets)


def test_the_commands(scene: Scene, capsys) -> None:
    """The body lists an identity; the statement is written, signed elsewhere, and added."""
    place, world = scene.world.place, scene.world
    body = ["--key", str(world.key("body"))]
    who = ["--identity", "added@example.net", "--issuer", ISSUER]
    times = ["--from", parties.VALID[0], "--until", "2099-12-31T00:00:00Z"]
    add = ["keys", "add", str(world.trust), *body, "--organization", "Fourth", "--role", "witness", *times]
    assert main([*add, *who]) == 0
    assert main([*add, *who]) == 2  # once
    assert "KEY-05" in capsys.readouterr().err
    assert main([*add, *who[:2]]) == 2
    assert "--issuer" in capsys.readouterr().err
    revoke = ["keys", "revoke", str(world.trust), *body, "--at", WITHIN, "--why", "lost"]
    assert main([*revoke, *who]) == 0
    assert main([*revoke, "--identity", "nobody@example.net", "--issuer", ISSUER]) == 2
    capsys.readouterr()
    assert main(["keys", "show", str(world.trust)]) == 0
    assert f"added@example.net by {ISSUER}  witness  Fourth  revoked at" in capsys.readouterr().out
    statement, made, out = place / "statement.json", place / "made.json", place / "out.tar"
    assert main(["sign", str(scene.bundle), "--statement", str(statement)]) == 0
    told = scene.authority.bundle(statement.read_bytes(), WHO, ISSUER, SEEN)
    made.write_text(json.dumps(told), encoding="ascii")
    assert main(["sign", str(scene.bundle), "--sigstore", str(made)]) == 2  # no output
    assert main(["sign", str(scene.bundle), "--sigstore", str(made), "--output", str(out)]) == 0
    assert read_bundles(mutations.parts_of(out)[SIGSTORE_PART]) == (made.read_bytes(),)
    assert main(["sign", str(scene.bundle), "--sigstore", str(statement), "--output", str(out)]) == 2
