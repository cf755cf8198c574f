"""Keys and envelopes: one form, one signature, no other kind of key; redaction and Robot's output."""

from __future__ import annotations

import base64
import json
import stat

import mutations
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private, load_public, make_key, read_envelope
from bmwg.reports.verify.verify import verify_bundle


def test_a_key_is_for_its_owner_alone_and_never_overwritten(tmp_path):
    public = make_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert load_private(tmp_path / "key").public_key.keyid == load_public(public).keyid
    with pytest.raises(ConfigError, match="KEY-01"):
        make_key(tmp_path / "key")


def test_other_keys_are_refused(tmp_path, keys):
    other = ec.generate_private_key(ec.SECP256R1())
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "ec").write_bytes(other.private_bytes(pem, serialization.PrivateFormat.PKCS8, none))
    (tmp_path / "ec.pub").write_bytes(
        other.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "noise").write_bytes(b"\x00\xff" * 100)
    for load, name in [
        (load_private, tmp_path / "ec"),
        (load_public, tmp_path / "ec.pub"),
        (load_private, tmp_path / "noise"),
        (load_public, tmp_path / "noise"),
        (load_public, tmp_path / "nothing"),
        (load_public, keys["signer"]),
        (load_private, keys["signer.pub"]),
    ]:
        with pytest.raises(ConfigError, match="KEY-02"):
            load(name)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e | {"extra": 1},
        lambda e: e | {"signatures": []},
        lambda e: e | {"signatures": e["signatures"] * 2},
        lambda e: e | {"payloadType": "text/plain"},
        lambda e: e | {"payload": e["payload"] + "\n"},
        lambda e: e | {"payload": base64.b64encode(b"{}").decode()},
        lambda e: e | {"payload": 7},
        lambda e: e | {"signatures": [{"keyid": "é", "sig": "AA=="}]},
        lambda e: e | {"signatures": [{"sig": "AA=="}]},
        lambda e: [e],
    ],
)
def test_an_envelope_has_one_form(bundle, change):
    envelope = json.loads(mutations.parts_of(bundle)["envelope.json"])
    with pytest.raises(ConfigError, match="SIG-01"):
        read_envelope(json.dumps(change(envelope)).encode())


def test_an_envelope_in_another_form_is_refused(bundle):
    octets = mutations.parts_of(bundle)["envelope.json"]
    assert read_envelope(octets).run_id == "made"
    with pytest.raises(ConfigError, match="SIG-01"):
        read_envelope(octets.replace(b",", b", ", 1))
    signature = json.loads(octets)["signatures"][0]["sig"]
    assert signature.endswith("==")
    bits = {"A": "B", "Q": "R", "g": "h", "w": "x"}  # the last digit has four bits that nobody reads
    lax = signature[:-3] + bits[signature[-3]] + "=="
    with pytest.raises(ConfigError, match="SIG-01"):
        read_envelope(octets.replace(signature.encode(), lax.encode()))


def test_a_redacted_bundle_verifies_and_holds_no_name(run_folder, keys, tmp_path):
    evidence = folder_evidence(run_folder)
    path = make_bundle(
        run_folder,
        tmp_path / "b.tar",
        evidence=evidence,
        findings=[],
        signer=load_private(keys["signer"]),
        salt=b"0123456789abcdef0123456789abcdef",
    )
    verified = verify_bundle(path, load_public(keys["signer.pub"]))
    assert verified.findings == ()
    before = evidence.platform["base"]["before"]
    name = before["fields"]["host"]["hostname"]["value"]
    octets = mutations.parts_of(path)["platform.json"].decode("ascii")
    assert "redacted-name-" in octets
    assert f'"{name}"' not in octets


def test_a_robot_output_belongs_to_the_run(run_folder, tmp_path, capsys):
    (tmp_path / "output.xml").write_text("<robot>another run</robot>")
    options = ["bundle", str(run_folder), "--output", str(tmp_path / "b.tar")]
    assert main([*options, "--robot-output", str(tmp_path / "output.xml")]) == 2
    assert "BND-06" in capsys.readouterr().err
    (tmp_path / "output.xml").write_text("<robot>run made: testbed</robot>")
    assert main([*options, "--robot-output", str(tmp_path / "output.xml")]) == 0
    assert "output.xml" in mutations.parts_of(tmp_path / "b.tar")
    assert main(["verify", str(tmp_path / "b.tar")]) == 6  # consistent, and nobody signed


def test_the_command_makes_a_key(tmp_path, capsys):
    assert main(["bundle", "--make-key", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine.pub").exists()
    assert main(["bundle"]) == 2
    assert "BND-01" in capsys.readouterr().err
