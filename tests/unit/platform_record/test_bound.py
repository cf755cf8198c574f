"""The sealed form: equal for a run's own file and its public copy, another for any other text."""

from __future__ import annotations

import copy
import json

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.bound import commitments, places, sealed_form, shown_plainly
from bmwg.methodology.record.redaction import redact_platform, telling

SALT = b"0123456789abcdef"
MAC = "02:00:00:00:00:07"


def fact(value):
    return {"value": value, "how": {"kind": "file", "from": "here"}, "at": "t"}


def platform():
    record = {
        "schema": "record/1.0",
        "scope": "machine",
        "fields": {
            "host": {"hostname": fact("basement-7"), "model": fact("a board")},
            "nic": {"eth0": {"mac": fact(MAC), "mtu_octets": fact(1500)}},
        },
    }
    made = {
        "schema": "platform/1.0",
        "run_id": "r",
        "base": {"before": record, "after": None},
        "deployments": {"a/b~1": {"macs": ["x", MAC], "said": "basement-7 answered", "mtu": 1500}},
        "drift": [{"changes": [{"path": "p", "before": MAC, "after": "192.0.2.7"}]}],
    }
    part = {key: made[key] for key in ("base", "deployments", "drift")}
    return {**made, "seals": {"key": "ab" * 32, "places": telling(part, "basement-7")}}


def test_all_that_redaction_hides_is_sealed_and_nothing_else():
    assert set(platform()["seals"]["places"]) == {
        "/base/before/fields/host/hostname/value",
        "/base/before/fields/nic/eth0/mac/value",
        "/deployments/a~1b~01/macs/0",
        "/deployments/a~1b~01/macs/1",
        "/deployments/a~1b~01/said",
        "/drift/0/changes/0/before",
        "/drift/0/changes/0/after",
    }


def test_a_public_copy_has_the_same_sealed_form_and_tells_nothing():
    made = platform()
    public = redact_platform(made, SALT)
    assert sealed_form(public) == sealed_form(made)
    assert sealed_form(public, "/deployments") == sealed_form(made, "/deployments")
    assert list(shown_plainly(public)) == []
    text = json.dumps(public)
    for secret in (MAC, "basement-7", "192.0.2.7", made["seals"]["key"]):
        assert secret not in text


def test_one_text_under_two_keys_and_two_places_has_four_commitments():
    made, other = platform(), platform()
    other["seals"]["key"] = "cd" * 32
    mine = ["/base/before/fields/nic/eth0/mac/value", "/deployments/a~1b~01/macs/1"]
    assert len({commitments(one)[place] for one in (made, other) for place in mine}) == 4


@pytest.mark.parametrize("public", [False, True])
def test_any_other_value_is_another_form(public):
    made = platform()
    shown = redact_platform(made, SALT) if public else made
    changed = copy.deepcopy(shown)
    changed["base"]["before"]["fields"]["nic"]["eth0"]["mtu_octets"]["value"] = 9000
    assert sealed_form(changed) != sealed_form(made)
    changed = copy.deepcopy(shown)
    if public:
        changed["commitments"]["/drift/0/changes/0/after"] = "sealed-" + "0" * 64
    else:
        changed["drift"][0]["changes"][0]["after"] = "192.0.2.8"
    assert sealed_form(changed) != sealed_form(made)


def test_a_plain_text_beside_its_commitment_is_noticed():
    public = redact_platform(platform(), SALT)
    public["base"]["before"]["fields"]["host"]["hostname"]["value"] = "another"
    assert list(shown_plainly(public)) == ["/base/before/fields/host/hostname/value"]
    del public["deployments"]["a/b~1"]["said"]
    assert "/deployments/a~1b~01/said" in shown_plainly(public)
    with pytest.raises(LookupError):
        sealed_form(public)


def test_a_text_that_was_never_sealed_is_not_hidden():
    made = platform()
    made["seals"]["places"].remove("/drift/0/changes/0/before")
    with pytest.raises(ConfigError, match="REC-09"):
        redact_platform(made, SALT)


def test_a_run_without_seals_is_redacted_as_before():
    made = platform()
    del made["seals"]
    assert "commitments" not in redact_platform(made, SALT)


def test_places_are_where_the_shapes_part():
    first = {"a": [1, {"b": 2}], "c": "x", "d": [1]}
    assert list(places(first, {"a": [1, {"b": 3}], "c": "x", "d": [1, 2]})) == ["/a/1/b", "/d"]
