"""A redacted bundle shows nothing that a testbed file or a driver's description names, and verifies."""

from __future__ import annotations

import json
from pathlib import Path

import mutations
import pytest
import replayable

from bmwg.methodology.record.named import is_public
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private, load_public
from bmwg.reports.verify.verify import verify_bundle, verify_folder

SALT = b"0123456789abcdef"
NAMED = {
    "location": "https://ixia-fra7.lab.corp.example:8443",
    "server": "10.66.7.8:4501",
    "user": "alice",
    "image": "/srv/images/acme-fw-9.qcow2",
    "site": "Frankfurt",
    "note": "rack seven",
}
SENTENCE = "alice has no access to https://ixia-fra7.lab.corp.example:8443, rack seven"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run whose testbed, driver and deployments name people, servers and paths."""
    testbed = json.loads(json.dumps(replayable.TESTBED))
    testbed["tester"]["options"] = dict(NAMED)
    testbed["nodes"] = {"dut1": {"kind": "ssh", **NAMED}}
    monkeypatch.setattr(replayable, "TESTBED", testbed)
    described = {"what": SENTENCE, "hosting": dict(NAMED), "all": [dict(NAMED)]}
    monkeypatch.setattr(replayable, "DESCRIBED", described)
    return replayable.make_run(tmp_path)


def test_nothing_that_is_named_is_readable_and_the_bundle_verifies(
    told: Path, tmp_path: Path, keys: dict[str, Path]
) -> None:
    assert verify_folder(told).findings == ()
    bundle = make_bundle(
        told,
        tmp_path / "public.bmwg.tar",
        evidence=folder_evidence(told),
        findings=[],
        signer=load_private(keys["signer"]),
        salt=SALT,
    )
    shown = b"\n".join(mutations.parts_of(bundle).values()).decode("utf-8")
    assert "alice" in (told / "platform.json").read_text("ascii")
    assert [text for text in (*NAMED.values(), "ixia-fra7", "10.66.7.8", "/srv") if text in shown] == []
    platform = json.loads(mutations.parts_of(bundle)["platform.json"])
    words = {(one["path"], one["hosting"]["form"]) for one in platform["deployments"].values()}
    assert words == {("wire", "none"), ("node", "baremetal")}  # public words stay
    assert verify_bundle(bundle, load_public(keys["signer.pub"])).findings == ()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("hosting/form", "pod"),
        ("network/networking_model", "kernel"),
        ("function/name", "kernel-l3"),
        ("attachments/0/interface/addresses/0", "198.18.0.1/24"),
        ("attachments/0/interface/name", "net0"),
        ("hops/0/at", "dut1/nic0"),
        ("pod/cpuset_cpus", "0-1"),
        ("network/plugins/0/package", "containernetworking-plugins 1.1.1+ds1-3+b5"),
    ],
)
def test_public_words_are_shown(place: str, text: str) -> None:
    assert is_public(tuple(place.split("/")), text)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("hosting/image", "acme"),
        ("hosting/name", "acme"),
        ("datapath/dut1/interfaces/0/name", "fra7uplink0"),
        ("hops/0/what", "the port at ssh://dut"),
        ("hops/0/what", "a file /srv/x"),
        ("hops/0/what", "reached as ann@dut"),
        ("network/plugins/0/path", "/usr/lib/cni/bridge"),
        ("endpoint/0", "10.66.7.8"),
        ("anything/else", "word"),
    ],
)
def test_every_other_text_is_hidden(place: str, text: str) -> None:
    assert not is_public(tuple(place.split("/")), text)
