"""A kept run or bundle that was changed is refused, by the rules of its own version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import evidence
import mutations
import pytest
import replayable
from kept_runs import outcome, read, rules

from bmwg.reports.bundle.signing import load_public
from bmwg.reports.verify.verify import verify_bundle, verify_folder


def of_version(number: int) -> Any:
    def change(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
        run["procedures"]["tester.envelope"] = number

    return change


def a_count(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    proof = outcome(run, "tester.envelope")["bounds"]["lower"]["trials"][0]
    trials[proof - 1]["result"]["streams"][0]["received_frames"] -= 1


def a_validity(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    trials[0]["assessment"] = {"validity": "valid", "reason": ""}


def a_higher_number(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    found = outcome(run, "tester.envelope")
    found["values"][0]["number"] += 1
    found["bounds"]["lower"]["load_fps"] += 1


def another_type(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    outcome(run, "tester.envelope").update(type="at_ceiling", values=[])


def a_trial_taken_out(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    del trials[1]


def the_last_trials_cut(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    del trials[-3:]


def a_wider_goal(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    run["profile"]["search"]["relative_width"] = 0.5


def a_limit(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    run["qualification_max_fps"] = 2_000_000


def kept_awake(run: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    run["profile"]["keep_awake"] = "pm_qos"


CHANGES = [
    (of_version(1), "VER-13"),
    (of_version(3), "VER-08"),  # by version 3 the search would have gone on
    (of_version(4), "VER-13"),
    (a_count, "VER-08"),
    (a_validity, "VER-03"),
    (a_higher_number, "VER-08"),
    (another_type, "VER-08"),
    (a_trial_taken_out, "VER-08"),
    (the_last_trials_cut, "VER-08"),
    (a_wider_goal, "VER-08"),
    (a_limit, "VER-08"),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_a_change_with_a_chain_made_anew_is_refused_by_the_rules_of_its_version(
    kept: Any, change: Any, expected: str
) -> None:
    folder = kept("step-down")
    run, trials = read(folder)
    change(run, trials)
    replayable.forge(folder, run, trials)
    assert expected in rules(verify_folder(folder))


@pytest.mark.parametrize("change", [*(one for one, _ in CHANGES), kept_awake])
def test_a_change_without_a_new_chain_is_refused(kept: Any, change: Any) -> None:
    folder = kept("step-down")
    run, trials = read(folder)
    change(run, trials)
    if trials != replayable.bodies(folder):
        lines = (json.dumps(body, sort_keys=True, separators=(",", ":")) for body in trials)
        (folder / "trials.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "run.json").write_text(json.dumps(run))
    assert verify_folder(folder).exit_code != 0


def test_an_unknown_version_is_told_with_who_can_verify_it(kept: Any) -> None:
    folder = kept("step-down")
    run, trials = read(folder)
    said = {}
    for number in (1, 4):
        run["procedures"]["tester.envelope"] = number
        replayable.forge(folder, run, trials)
        (finding,) = (one for one in verify_folder(folder).findings if one.rule_id == "VER-13")
        said[number] = str(finding)
        assert "expected version 2 or 3, which this toolkit knows" in said[number]
        assert f"commit {evidence.COMMIT}" in said[number]
    assert "commits up to 59ca94f3b37c measured so" in said[1]
    assert "a later toolkit measured it" in said[4]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("packets", "run.json"),
        ("packets", "platform.json"),
        ("packets", "trials.jsonl"),
        ("http", "run.json"),
        ("http", "http.json"),
        ("http", "http.jsonl"),
    ],
)
def test_one_octet_of_a_kept_bundle_is_refused(place: Path, tmp_path: Path, name: str, part: str) -> None:
    parts = mutations.parts_of(evidence.unpacked(place, name) / f"{name}.signed.bmwg.tar")
    octets = bytearray(parts[part])
    octets[len(octets) // 2] ^= 1
    key = load_public(evidence.SIGNER)
    for changed in (parts | {part: bytes(octets)}, mutations.rehashed(parts | {part: bytes(octets)})):
        (tmp_path / "changed.bmwg.tar").write_bytes(mutations.packed(changed))
        assert verify_bundle(tmp_path / "changed.bmwg.tar", key).exit_code != 0


def test_repetitions_that_were_cut_off_are_refused(kept: Any) -> None:
    folder = kept("http")
    lines = (folder / "http.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "http.jsonl").write_bytes(b"".join(lines[:-3]))
    assert verify_folder(folder).exit_code != 0
