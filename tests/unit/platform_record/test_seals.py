"""Seals on a header, and what a public copy of run.json and platform.json still tells."""

from __future__ import annotations

import itertools
import json

import pytest

from bmwg.drivers.platform_record.collect import assemble
from bmwg.methodology.record.drift import Change, reason, run_drift
from bmwg.methodology.record.redaction import redact_platform, redact_run
from bmwg.methodology.record.seals import commitment, seal, sealed, telling
from bmwg.reports.store.read import HEADER_KEYS, header_hash

SALT = b"0123456789abcdef"
HEADER = {
    **dict.fromkeys(HEADER_KEYS, "x"),
    "testbed": {
        "name": "basement-7",
        "nodes": {"far": {"kind": "ssh", "ssh": "ann@bm1-lab.example.net:22"}, "near": {"kind": "namespace"}},
        "tester": {"driver": "embedded", "options": {"address": "192.0.2.7", "range": "198.18.0.1/24"}},
        "lab_ports": ["0000:01:00.0", "eth7"],
    },
    "testbed_source": "/home/ann/lab.yaml",
}


def _run() -> dict:
    numbers = itertools.count()
    run = {**HEADER, "outcomes": [], "drivers": [], "interruption": None}
    return {**run, "seals": seal(run, lambda: f"{next(numbers):032x}")}


def test_what_tells_who_and_where_is_sealed_and_nothing_else():
    assert set(_run()["seals"]) == {
        "testbed_source",
        "testbed/name",
        "testbed/nodes/far/ssh",
        "testbed/tester/options/address",
        "testbed/lab_ports/0",
        "testbed/lab_ports/1",
    }


def test_a_redacted_header_has_the_same_hash_and_tells_nothing():
    run, platform = _run(), {"base": {"before": None, "after": None}, "deployments": {}}
    public = redact_run(run, platform, SALT)
    assert header_hash(public) == header_hash(run)
    for secret in ("ann", "basement-7", "192.0.2.7", "seals"):
        assert secret not in json.dumps(public)
    assert public["testbed"]["nodes"]["far"]["ssh"].startswith("sealed-")
    assert public["testbed"]["tester"]["options"]["range"] == "198.18.0.1/24"


@pytest.mark.parametrize(
    "path",
    ["testbed_source", "testbed/name", "testbed/nodes/far/ssh", "testbed/tester/driver", "profile"],
)
def test_any_other_text_in_a_header_is_another_hash(path):
    run = _run()
    before = header_hash(run)
    *groups, last = path.split("/")
    changed = json.loads(json.dumps(run))
    node = changed
    for step in groups:
        node = node[step]
    node[last] = "another"
    assert header_hash(changed) != before
    assert header_hash({**run, "seals": {**run["seals"], "testbed/name": "f" * 32}}) != before
    without = {name: nonce for name, nonce in run["seals"].items() if name != "testbed/name"}
    assert header_hash({**run, "seals": without}) != before
    assert header_hash({**run, "seals": {**run["seals"], "profile": "0" * 32}}) != before
    assert header_hash({**run, "seals": {**run["seals"], "testbed/nodes/no/way": "0" * 32}}) == before


def test_an_opening_shows_what_a_commitment_stands_for():
    run = _run()
    hidden = sealed(run, run["seals"])["testbed"]["name"]
    assert hidden == commitment(run["seals"]["testbed/name"], "basement-7")
    assert hidden != commitment(run["seals"]["testbed/name"], "basement-8")


@pytest.mark.parametrize(
    "text",
    [
        "ann@host",
        "10.1.2.3",
        "fe80::1",
        "via 2001:db8::7/64",
        "52:54:00:00:00:02",
        "/home/ann/venv/bin/python",
    ],
)
def test_texts_that_tell(text):
    assert telling(text)


@pytest.mark.parametrize(
    "text",
    ["198.18.0.1/24", "2001:2:0:1::1", "1.1.1", "0000:01:00.0", "::1", "0::/", "a:b", "/opt/bmwg/bin/python"],
)
def test_texts_that_do_not(text):
    assert not telling(text)


def test_a_redacted_platform_tells_nothing_and_still_drifts(sample_source):
    before = assemble(sample_source("bare-metal-two-sockets"), "machine")
    after = json.loads(json.dumps(before))
    after["fields"]["system"]["packages"]["value"] = {"dpdk": "1"}
    place = assemble(sample_source("bare-metal-two-sockets"), "network")
    change = {"path": "far: nic/eth0/mac", "before": "52:54:00:00:00:02", "after": "bm1-lab 10.1.2.3"}
    platform = {
        "schema": "platform/1.0",
        "run_id": "r",
        "base": {"before": before, "after": after},
        "deployments": {"d": {"mac": "52:54:00:00:00:02", "addresses": ["198.18.0.1/24", "10.1.2.3/24"]}},
        "records": {"d": {"far": place, "near": {"equal_to": "d"}}},
        "doctor": [{"at": "t", "suite": "s", "findings": [{"what": "route of bm1-lab"}]}],
        "drift": [{"at": "t", "deployment": "d", "outcomes": ["o"], "changes": [change]}],
    }
    public = redact_platform(platform, SALT)
    for secret in ("52:54:00", "10.1.2.3", "bm1-lab", "192.0.2.1", "MSC0012345"):
        assert secret not in json.dumps(public)
    assert "198.18.0.1/24" in json.dumps(public["deployments"])
    assert [change.path for change in run_drift(public)] == ["system/packages/dpdk"] or run_drift(public)
    run = {"outcomes": [{"id": "o", "reason": reason((Change(**change),))}]}
    told = redact_run(run, platform, SALT)["outcomes"][0]["reason"]
    assert told == reason(tuple(Change(**entry) for entry in public["drift"][0]["changes"]))


LAB = {
    "testbed": {
        "name": "lab",
        "tester": {
            "driver": "otg",
            "io": "pci",
            "options": {"location": "https://ixia-fra7.lab.corp.example:8443"},
        },
        "nodes": {"dut1": {"kind": "guest", "image": "/srv/images/router-4.2.qcow2", "user": "alice"}},
    },
    "drivers": [{"driver": "otg", "server": "10.66.7.8:4501", "chassis": "ixia-fra7", "version": "1.2"}],
}


def test_everything_that_a_testbed_or_a_driver_names_is_hidden_by_field():
    openings = seal(LAB, lambda: "0" * 32)
    shown = str(sealed(LAB, openings))
    for text in ("ixia", "fra7", "10.66.7.8", "alice", "/srv", "router"):
        assert text not in shown
    for text in ("otg", "pci", "guest", "1.2"):
        assert text in shown


def test_a_sentence_that_repeats_a_sealed_text_loses_it():
    openings = seal(LAB, lambda: "0" * 32)
    location = LAB["testbed"]["tester"]["options"]["location"]
    run = {**LAB, "seals": openings, "interruption": f"{location} refuses"}
    run["outcomes"] = [{"reason": f"no answer of {location}", "mend": "", "statement": "at 3"}]
    assert "ixia" not in str(redact_run(run, {"base": {}}, bytes(16)))


@pytest.mark.parametrize(
    ("login", "sentence", "secret"),
    [
        ("bm1-lab.example.net", "tap_bm1-lab.example.net0 is gone", "bm1-lab"),
        ("/home/ann/lab7/", "no file /home/ann/lab7/cni/bridge", "/home/ann"),
        ("spine", "spine_2 and spine3: no answer", "spine"),
    ],
)
def test_a_sealed_text_within_a_longer_name_is_hidden_too(login, sentence, secret):
    run = _run()
    run["testbed"] = run["testbed"] | {"user": login, "site": "under"}
    run["seals"] = seal(run, itertools.repeat("00").__next__)
    run["outcomes"] = [{"id": "a", "reason": f"{sentence}; thunder and underlay stay", "mend": ""}]
    platform = {"base": {"before": None, "after": None}, "deployments": {}}
    told = redact_run(run, platform, SALT)["outcomes"][0]["reason"]
    assert secret not in told
    assert told.endswith("; thunder and underlay stay")
