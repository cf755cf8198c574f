"""Runs and bundles of commit 3ac94e6: read, rendered, bundled, and verified by their own rules."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import evidence
import mutations
import pytest
from kept_runs import BUNDLES, NAMES, of, rules, verified

from bmwg.cli import verify as cli
from bmwg.methodology import procedures
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.former.registry import RULES, former_rule
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_public
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.http.answers import answers_of
from bmwg.reports.render.report import write_report
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import TRUSTED, UNSIGNED, verify_bundle, verify_folder
from bmwg.resources.frames_continued import continuation


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
    if not of[name].lacks:
        assert said[0].startswith("verified: ")
        return
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
