"""Runs and bundles of commit 3ac94e6: read, rendered, verified by their own rules; changed, they are refused.

A procedure that answers otherwise under the same version fails here, on trials that really happened.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import evidence
import mutations
import pytest
import replayable

from bmwg.cli import verify as cli
from bmwg.methodology import procedures
from bmwg.methodology.benchmarks import back_to_back, recovery, soak
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.former import envelope_2, latency_2
from bmwg.methodology.former.registry import RULES, former_rule
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.search import bisection, tst009
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_public
from bmwg.reports.checker.evidence import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.http.answers import answers_of
from bmwg.reports.render.report import write_report
from bmwg.reports.store import read_run
from bmwg.reports.verify import verify
from bmwg.reports.verify.verify import TRUSTED, UNSIGNED, verify_bundle, verify_folder
from bmwg.resources.continuation import continuation

NAMES = [one.name for one in evidence.KEPT]
BUNDLES = [(one.name, kind) for one in evidence.KEPT for kind in one.bundles]
of = {one.name: one for one in evidence.KEPT}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture
def kept(place: Path, tmp_path: Path) -> Any:
    """Return what gives a copy of a kept run's folder that a test may change."""

    def copied(name: str) -> Path:
        return Path(shutil.copytree(evidence.unpacked(place, name) / name, tmp_path / name))

    return copied


@cache
def verified(place: Path, name: str) -> verify.Verification:
    """Verify a kept run as it is, once a session."""
    return verify_folder(evidence.unpacked(place, name) / name)


def rules(found: verify.Verification) -> set[str]:
    return {finding.rule_id for finding in found.findings}


def test_the_evidence_is_as_it_was_made() -> None:
    assert {path.name.split(".")[0] for path in evidence.EVIDENCE.glob("*/*.tar.xz")} == set(NAMES)
    for one in evidence.KEPT:
        octets = (evidence.EVIDENCE / one.commit[:12] / f"{one.name}.tar.xz").read_bytes()
        assert hashlib.sha256(octets).hexdigest() == one.sha256, f"{one.name}: evidence is never edited"


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_run_is_verified_by_its_own_rules(place: Path, name: str) -> None:
    found = verified(place, name)
    assert rules(found) == of[name].findings
    assert found.evidence is not None
    assert found.evidence.run is not None
    assert found.evidence.run["toolkit"] == {"version": "0.1.0", "commit": of[name].commit, "dirty": False}
    counted = len(found.evidence.outcomes), len(found.evidence.lines)
    assert counted == (of[name].answers, of[name].executions)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_lines_tell_what_a_kept_run_lacks(place: Path, name: str) -> None:
    found = verified(place, name)
    assert tuple(one.name for one in found.lacks) == of[name].lacks
    said = cli.lines(found, clauses=False)
    assert said[0].startswith(f"this run lacks {len(of[name].lacks)} protection")
    assert of[name].commit in said[0]
    told = said[1 : 1 + len(of[name].lacks)]
    assert [line.split(":")[0] for line in told] == [f"lacks {lacked}" for lacked in of[name].lacks]


def test_a_run_of_today_lacks_nothing(run_folder: Path) -> None:
    found = verify_folder(run_folder)
    assert (found.lacks, found.findings) == ((), ())
    said = [line for line in cli.lines(found, clauses=False) if not line.startswith("unknown ")]
    assert said[0].startswith("verified:")  # a made run names a commit and a profile that nobody knows


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_run_is_read_and_rendered_and_nothing_is_made_up(kept: Any, name: str) -> None:
    folder = kept(name)
    run = read_run(folder)
    stated = json.loads((folder / "run.json").read_text())
    if (folder / "http.json").exists():
        former = json.loads((folder / "http.json").read_text())["outcomes"]
        found = {outcome.cell.cell_id: outcome.type.value for outcome in run.outcomes}
        assert found == {one["cell"]: one["type"] for one in former}
    else:
        assert [outcome.outcome_id for outcome in run.outcomes] == [one["id"] for one in stated["outcomes"]]
    (folder / "report.html").unlink(missing_ok=True)
    assert write_report(folder).stat().st_size > 10_000
    text = (folder / "report.rst").read_text()
    assert of[name].commit[:12] in text
    says = of[name].commit != evidence.COMMIT  # that commit does not say whether anything was kept awake
    assert ("While this run measured" in text) == says


@pytest.mark.parametrize(("name", "kind"), BUNDLES)
def test_a_kept_bundle_verifies_against_its_signer(place: Path, name: str, kind: str) -> None:
    path = evidence.unpacked(place, name) / f"{name}.{kind}.bmwg.tar"
    key = None if kind == "unsigned" else load_public(of[name].signer)
    found = verify_bundle(path, key)
    assert rules(found) == set()
    assert found.trust == (UNSIGNED if kind == "unsigned" else TRUSTED)
    assert tuple(one.name for one in found.lacks) == of[name].lacks


@pytest.mark.parametrize("name", ["packets", "http", "packets-former", "http-former"])
def test_a_redacted_bundle_shows_no_name_of_the_machine(place: Path, name: str) -> None:
    path = evidence.unpacked(place, name) / f"{name}.redacted.bmwg.tar"
    platform = mutations.parts_of(path)["platform.json"]
    hostname = json.loads(platform)["base"]["before"]["fields"]["host"]["hostname"]
    assert hostname["value"] != "evidence"


# -- what the evidence holds: each procedure, with its answers


def test_every_procedure_with_a_number_is_in_the_evidence(place: Path) -> None:
    seen: set[str] = set()
    for name in NAMES:
        run = json.loads((evidence.unpacked(place, name) / name / "run.json").read_text())
        seen |= {recorded_as(one["metric"]) for one in run["outcomes"] if one["trials"]}
    assert set(procedures.CURRENT) - set(procedures.OF_EVERY_RUN) <= seen


def test_every_version_of_the_evidence_is_current_or_kept(place: Path) -> None:
    """Whoever raises a number keeps the rule that it had here."""
    for name in NAMES:
        run = json.loads((evidence.unpacked(place, name) / name / "run.json").read_text())
        for metric, version in run.get("procedures", {}).items():
            if metric not in procedures.OF_EVERY_RUN and version != procedures.version(metric):
                assert former_rule(metric, version), f"{metric} {version}: keep it in methodology/former"


def test_the_history_of_procedures_has_each_version_once_in_order() -> None:
    numbers: dict[str, int] = {}
    for change in procedures.CHANGES:
        for name, version in change.versions.items():
            assert version == numbers.get(name, procedures.FIRST) + 1
            numbers[name] = version
    assert numbers == procedures.CURRENT
    for rule in RULES:
        assert rule.version < procedures.version(rule.metric)
        assert procedures.last_commit(rule.metric, rule.version)


def outcome(run: dict[str, Any], metric: str) -> dict[str, Any]:
    return next(one for one in run["outcomes"] if one["metric"] == metric)


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return json.loads((folder / "run.json").read_text()), replayable.bodies(folder)


@pytest.mark.parametrize(
    ("name", "metric", "kind", "number"),
    [
        ("packets", "tester.envelope", "measured", 747117),
        ("packets", "throughput.rfc2544_26_1", "measured", 290791),
        ("packets", "throughput.tst009_12_3", "measured", 280000),
        ("packets", "conditional_throughput.rfc9971.0.2f0.4d0.5l50e", "measured", 291295.0),
        ("packets", "back_to_back.rfc9004", "measured", 383.3333333333333),
        ("packets", "latency.rfc2544_26_2", "unstable", None),
        ("step-down", "tester.envelope", "measured", 158113),
        ("unstable", "throughput.rfc2544_26_1", "unstable", None),
        ("unqualified", "tester.envelope", "invalid", None),
        ("resumed", "tester.envelope", "measured", 158113),
        ("packets-former", "throughput.rfc2544_26_1", "measured", 243391),
        ("packets-former", "throughput.tst009_12_3", "measured", 240000),
        ("http-former", "processing_time", "measured", 906800.0),
        ("http-former", "transaction_rate", "unstable", None),
    ],
)
def test_the_answers_are_those_that_were_given(
    place: Path, name: str, metric: str, kind: str, number: Any
) -> None:
    run = read_run(evidence.unpacked(place, name) / name)
    found = next(one for one in run.outcomes if one.metric == metric)
    assert found.type.value == kind
    assert [value.number for value in found.values][:1] == ([] if number is None else [number])


ANSWERS_OF_HTTP = (
    "9049f021300577faf83eff31ff1a5be52dc9254054608f57c37f5f91e040548a"  # as the code of 3ac94e6 told them
)


def test_the_answers_of_http_are_those_that_were_given(place: Path) -> None:
    """No file holds the numbers of a run of requests: they are computed on reading, so they are held here."""
    folder = evidence.unpacked(place, "http") / "http"
    run = read_run(folder)
    answers = [asdict(one) for one in answers_of(run)]
    text = json.dumps(answers, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == ANSWERS_OF_HTTP
    assert answers[0]["values"] == (505000.0, 595000.0, 622000.0, 583000.0, 565000.0)


# -- mutations: each is refused


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
        ("packets-former", "trials.jsonl"),
        ("http-former", "http.jsonl"),
    ],
)
def test_one_octet_of_a_kept_bundle_is_refused(place: Path, tmp_path: Path, name: str, part: str) -> None:
    parts = mutations.parts_of(evidence.unpacked(place, name) / f"{name}.signed.bmwg.tar")
    octets = bytearray(parts[part])
    octets[len(octets) // 2] ^= 1
    key = load_public(of[name].signer)
    for changed in (parts | {part: bytes(octets)}, mutations.rehashed(parts | {part: bytes(octets)})):
        (tmp_path / "changed.bmwg.tar").write_bytes(mutations.packed(changed))
        assert verify_bundle(tmp_path / "changed.bmwg.tar", key).exit_code != 0


def test_repetitions_that_were_cut_off_are_refused(kept: Any) -> None:
    folder = kept("http")
    lines = (folder / "http.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "http.jsonl").write_bytes(b"".join(lines[:-3]))
    assert verify_folder(folder).exit_code != 0


# -- the guard: a procedure that answers otherwise under the same version


def one_more(called: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers one more than another did, or has one remark more."""

    def changed(*given: Any, **named: Any) -> Any:
        answer = called(*given, **named)
        if isinstance(answer, list | tuple):
            return type(answer)([*answer, "one more"])
        return None if answer is None else answer + 1

    return changed


METHODOLOGY = "bmwg.methodology"
OTHERWISE = {  # what a careless change may do, without another number: the trials or the answer differ
    "throughput: next load": ("search.bisection.middle", one_more(bisection.middle)),
    "throughput: remarks": ("search.bisection._forwarded_more", one_more(bisection._forwarded_more)),
    "envelope 2: next load": ("former.envelope_2._middle", one_more(envelope_2._middle)),
    "tst009: next load": ("search.tst009.Tst009Goal.load", one_more(tst009.Tst009Goal.load)),
    "mlrsearch: widths": ("mlr.engine._WIDTH_MARGIN", 0.5),
    "latency 2: percentile": (
        "former.latency_2.PERCENTILES",
        (("p50", Fraction(1, 4)), *latency_2.PERCENTILES[1:]),
    ),
    "frame loss: end": ("benchmarks.frame_loss._IN_SUCCESSION", 1),
    "back-to-back: remarks": ("benchmarks.back_to_back._remarks", one_more(back_to_back._remarks)),
    "soak: drift": ("benchmarks.soak._drift_ns", one_more(soak._drift_ns)),
    "reset: time": ("benchmarks.recovery.reset_by_loss_ms", one_more(recovery.reset_by_loss_ms)),
    "delay variation 2": ("former.delay_variation_2.PDV_REQUIREMENTS", ("RFC8219-7.3.1-01",)),
}


@pytest.mark.parametrize("name", list(OTHERWISE))
def test_another_answer_under_the_same_version_fails_on_the_evidence(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    where, other = OTHERWISE[name]
    monkeypatch.setattr(f"{METHODOLOGY}.{where}", other)
    found = verify_folder(evidence.unpacked(place, "packets") / "packets")
    assert rules(found) & {"VER-03", "VER-08"}


def test_the_current_rule_would_misjudge_the_evidence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kept rule of version 2 honest runs are refused as if they were forged."""
    monkeypatch.setattr("bmwg.reports.verify.replay.former_rule", lambda metric, version: None)
    refused = {
        name for name in NAMES if "VER-08" in rules(verify_folder(evidence.unpacked(place, name) / name))
    }
    assert {"packets", "step-down", "resumed", "disturbed", "unqualified"} <= refused


def test_a_kept_run_that_was_cut_off_is_not_gone_on_with(kept: Any) -> None:
    folder = kept("cut-off")
    with pytest.raises(ConfigError) as caught:
        continuation(folder)
    assert caught.value.error_id == "RES-02"
    assert evidence.COMMIT in caught.value.expected


def test_a_kept_run_is_bundled_as_any_other(kept: Any, tmp_path: Path) -> None:
    folder = kept("packets")
    path = make_bundle(folder, tmp_path / "again.bmwg.tar", evidence=folder_evidence(folder), findings=[])
    found = verify_bundle(path)
    assert (rules(found), [one.name for one in found.lacks]) == (set(), evidence.LACKS_OF_PACKETS)


def test_reading_a_kept_run_twice_reads_the_same(place: Path) -> None:
    folder = evidence.unpacked(place, "packets") / "packets"
    first, again = (read_evidence(FolderFiles(folder)) for _ in range(2))
    assert (first.findings, first.outcomes) == ((), again.outcomes)
