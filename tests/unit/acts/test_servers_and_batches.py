"""Servers that are asked for at once, and batches of pods: when they are valid, and what the answer says."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from tests.unit.acts.lives import MS, QUICK, life, pair, spec, values

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult
from bmwg.methodology.records import Validity
from bmwg.schemas.validation import problems

CLOUD = profile.PROFILES.load("cloud")
SERVER, BATCH = CLOUD.plan()


def test_servers_have_a_path_a_hosting_and_metrics_of_their_own() -> None:
    assert [(one.test_id, one.metric) for one in (SERVER, BATCH)] == [
        ("LC-START-2", "server_start"),
        ("LC-BATCH-1", "server_batch"),
    ]
    assert {(one.cell.path, one.cell.hosting) for one in (SERVER, BATCH)} == {("pvp-vm", "vm")}
    for one in (SERVER, BATCH):
        told = {name: getattr(one.cell, name) for name in ("path", "hosting", "function", "network")}
        assert ACTS.cell({**told, "axes": dict(one.cell.axes)}) == one.cell
    told["hosting"] = "pod"
    with pytest.raises(ValueError, match="hosting: expected vm"):
        ACTS.cell({**told, "axes": dict(BATCH.cell.axes)})
    with pytest.raises(ValueError, match=r"found server_batc \(near server_batch\)"):
        ACTS.cell({**told, "hosting": "vm", "axes": {**dict(BATCH.cell.axes), "experiment": "server_batc"}})


def test_servers_at_once_may_overlap_and_one_after_the_other_may_not() -> None:
    at_once = spec(BATCH)
    assert at_once.at_once == 2
    assert ACTS.assessed(at_once, pair()).validity is Validity.VALID
    in_turn = replace(at_once, at_once=1)
    found = ACTS.assessed(in_turn, pair())
    assert found.validity is Validity.INCONSISTENT
    assert "server 2: the request at 70000000 ns" in found.reason
    # a third that was asked for before the first two were gone
    third = ActsResult(lives=(*pair().lives, life(1500, 80), life(1500, 9000)), wall_ns=20_000 * MS)
    assert ACTS.assessed(replace(at_once, cycles=4), third).validity is Validity.INCONSISTENT


def test_a_batch_lasts_from_the_first_request_until_the_last_forwards() -> None:
    done = [ACTS.tried(seq, spec(BATCH, seq), pair()) for seq in range(1, 6)]
    told = values(ACTS.answered(BATCH, done))
    assert told["server_batch.mean"] == (70 + 1900 - 50) * MS
    assert told["server_batch.repetitions"] == 5
    assert told["server_batch.start.median"] == pytest.approx((1500 + 1900) / 2 * MS)
    assert told["server_batch.removal.median"] == 600 * MS
    silent = pair(first_frame_ns=None, received_frames=0, not_before_ns=None, last_frame_ns=None)
    assert silent.batch_ns is None
    assert "server 2: no frame came out within 300 s" in ACTS.assessed(spec(BATCH), silent).reason


def test_a_batch_keeps_to_the_schema_and_an_older_line_is_one_at_a_time() -> None:
    body = ACTS.body_of(spec(BATCH), pair(), {})
    assert problems({"spec": body.spec, "result": body.result}, "acts") == []
    assert (ACTS.spec_of(body), ACTS.result_of(body)) == (spec(BATCH), pair())
    older = {name: value for name, value in spec().as_builtins().items() if name != "at_once"}
    assert type(spec()).from_builtins(older) == spec()


def test_a_profile_whose_servers_do_not_fit_or_whose_path_nobody_knows_is_told() -> None:
    odd = copy.deepcopy(dict(CLOUD.data))
    odd["experiments"][1]["cycles"] = 3
    assert "multiple of at_once" in profile.PROFILES.wrong(odd)
    odd = {**copy.deepcopy(dict(CLOUD.data)), "path": "wire"}
    assert "p2p or pvp or pvp-moving or pvp-service" in profile.PROFILES.wrong(odd)


def test_a_batch_is_one_whose_time_holds_no_removal() -> None:
    odd = copy.deepcopy(dict(QUICK.data))
    several = next(one for one in odd["experiments"] if one.get("at_once") == 4)
    several["cycles"] = 8
    found = profile.PROFILES.wrong(odd)
    assert "expected one batch, whose time is the answer, found cycles 8, at_once 4" in found
