"""`bmwg fleet status|verify|report`: what is missing, twice or foreign is named; a run is verified once."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.fleet import made

from bmwg.methodology.answers.latency import METRIC
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.fleet import kept, report
from bmwg.reports.fleet.kept import Verified, verified
from bmwg.reports.fleet.plan import read_fleet
from bmwg.reports.fleet.report import comparisons, page_of
from bmwg.reports.fleet.union import grades_of, union_of, verdicts_of, verify_union
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import Run, read_run
from bmwg.reports.verify.fleets import shard_planned
from bmwg.reports.verify.verify import verify_folder
from bmwg.schemas.validation import problems


@pytest.fixture
def results(whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results in a folder of the test's own; what verifying said is kept in another."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(whole[1], tmp_path / "res", ignore=shutil.ignore_patterns("robot"))
    return tmp_path / "res"


def fleet(act: str, whole: tuple[Path, Path], results: Path, *words: object, status: int = 0) -> str:
    return made.bmwg("fleet", act, whole[0], results, *words, at=results.parent, status=status)


def of_shard(results: Path, number: int) -> Path:
    (found,) = [results / one["run_id"] for one in made.runs(results) if one["fleet"]["shard"] == number]
    return found


def rules(whole: tuple[Path, Path], results: Path) -> list[str]:
    return [one.rule_id for one in union_of(results, read_fleet(whole[0])).problems]


def rewritten(run: Path, **changes: object) -> None:
    """Change the header without any care, as a hand with an editor does."""
    told = made.header(run)
    (run / "run.json").write_text(json.dumps({**told, **changes}), "ascii")


def test_a_whole_fleet_is_told_verified_and_reported(whole, results) -> None:
    assert "2 of 2 shards are complete" in fleet("status", whole, results)
    document = json.loads(fleet("status", whole, results, "--json"))
    assert not problems(document, "output")
    assert [one["counts"] for one in document["shards"]] == [of_shard(results, n).name for n in (1, 2)]
    assert document["problems"] == []
    said = fleet("verify", whole, results)
    assert said.count("verified: run") == 2
    page = fleet("report", whole, results, "--format", "md").strip()
    text = Path(page).read_text("utf-8")
    assert "Simulated: no frame was sent" in text
    assert "Indicative: profile unwaiting" in text
    assert "no grade is better" not in text
    for told in made.runs(results):
        assert told["run_id"] in text
        assert told["testbed"]["name"] in text
    assert "What was measured on several testbeds" in text
    assert "Answers" in text


def test_what_keeps_a_run_from_a_grade_is_told_of_its_shard(whole, results, monkeypatch) -> None:
    assert "  state: simulated: no frame was sent" in fleet("verify", whole, results)
    union = union_of(results, read_fleet(whole[0]))
    made_of = verify_union(union)
    made_of[2] = replace(made_of[2], state=("simulated: no frame was sent", "drifted: 1 facts changed"))
    text = " ".join(restructured(page_of(union, made_of)).replace("\\", "").split())
    assert "Shard 2: drifted: 1 facts changed." in text
    assert "Shard 2: simulated" not in text  # a banner says it of all
    assert "Narrowed" not in text
    monkeypatch.setattr(report, "read_anywhere", lambda place: _of_the_bridge(read_run(place)))
    text = " ".join(restructured(page_of(union, made_of)).replace("\\", "").split())
    assert "Narrowed by its command: this fleet measures networks: bridge alone." in text


def _of_the_bridge(run: Run) -> Run:
    return replace(run, profile={**run.profile, "narrowed": {"networks": ["bridge"]}})


def test_the_report_is_one_page_of_html(whole, results) -> None:
    page = Path(fleet("report", whole, results).strip())
    assert page.name == "report.html"
    assert page.read_text("utf-8").count("<h1") == 1


def test_the_union_has_the_answers_and_grades_of_one_run(whole, results, tmp_path) -> None:
    plan, at = whole[0], whole[0].parent
    told = read_fleet(plan)
    tests = [word for one in told.shards for test in one.tests for word in ("--test", test)]
    words = ("run", made.ROOT / "testcases" / "containerized", *tests, "--profile", at / "profile.yaml")
    made.bmwg(*words, "--testbed", at / "first.yaml", "--results", tmp_path / "one", at=at)
    (folder,) = [one.parent for one in (tmp_path / "one").glob("*/run.json")]
    alone = verified(folder, [name for one in told.shards for name in one.tests])
    union = union_of(results, told)
    made_of = {n: verified(one.place, told.shard(n).tests) for n, one in union.counting.items()}
    one_run = read_run(folder)
    wanted = {
        (one.metric, one.cell.cell_id): (one.type, one.values)
        for one in one_run.outcomes
        if one.outcome_id.partition(":")[0] in {name for shard in told.shards for name in shard.tests}
    }
    found = {
        (one.metric, one.cell.cell_id): (one.type, one.values)
        for number, attempt in union.counting.items()
        for one in read_run(attempt.place).outcomes
        if one.outcome_id.partition(":")[0] in told.shard(number).tests
    }
    assert found == wanted
    assert {kind for kind, _ in found.values()} == {OutcomeType.MEASURED}
    assert grades_of(made_of, whole=True) == grades_of({1: alone}, whole=True)
    assert verdicts_of(made_of) == verdicts_of({1: alone})
    judged = judge(verify_folder(folder).evidence)  # what the run's own report says
    own = {(one.document, one.benchmark): one.grade.value for one in judged.grades}
    assert grades_of(made_of, whole=True) == {key: own[key] for key in grades_of(made_of, whole=True)}
    assert grades_of(made_of, whole=True)
    said = {(one.benchmark, one.requirement): one.verdict.value for one in judged.verdicts}
    assert verdicts_of(made_of) == Counter(said.values())


def test_a_missing_shard_is_named(whole, results) -> None:
    shutil.rmtree(of_shard(results, 1))
    said = fleet("status", whole, results, status=1)
    assert "shard 1: not begun" in said
    assert "FLT-01" in said
    assert "1 of 2 shards are complete" in said
    assert "FLT-01" in fleet("verify", whole, results, status=1)
    text = Path(fleet("report", whole, results, "--format", "text", status=1).strip()).read_text("utf-8")
    assert "FLT-01" in text
    assert "no grade is better than incomplete" in " ".join(text.split())


def test_two_complete_attempts_are_named_and_the_first_counts(whole, results) -> None:
    first = of_shard(results, 1)
    other = results / "again"
    shutil.copytree(first, other)
    told = made.header(other)
    rewritten(other, run_id="again", fleet={**told["fleet"], "attempt": 2})
    union = union_of(results, read_fleet(whole[0]))
    assert [one.rule_id for one in union.problems] == ["FLT-02"]
    assert union.counting[1].place == first


@pytest.mark.parametrize(
    "change",
    [
        lambda told: {"toolkit": {**told["toolkit"], "commit": "0" * 40}},
        lambda told: {"order_seed": told["order_seed"] + 1},
        lambda told: {"profile": {**told["profile"], "title": "another"}},
        lambda told: {"plan": told["plan"][1:]},
        lambda told: {"fleet": {**told["fleet"], "shard": 2}},
        lambda told: {"fleet": {**told["fleet"], "shard": 9}},
    ],
    ids=["commit", "seed", "profile", "plan", "other-shard", "no-shard"],
)
def test_a_run_that_is_not_what_the_plan_says_does_not_count(whole, results, change) -> None:
    run = of_shard(results, 1)
    rewritten(run, **change(made.header(run)))
    assert rules(whole, results) == ["FLT-01", "FLT-03"]


def test_a_run_of_another_fleet_and_one_that_cannot_be_read_are_named(whole, results) -> None:
    run = of_shard(results, 1)
    rewritten(run, fleet={**made.header(run)["fleet"], "sha256": "5" * 64})
    (of_shard(results, 2) / "run.json").write_bytes(b"{")
    assert rules(whole, results) == ["FLT-01", "FLT-01", "FLT-04", "FLT-04"]


def test_a_run_of_no_fleet_is_no_fault(whole, results) -> None:
    run = results / "own"
    shutil.copytree(of_shard(results, 1), run)
    told = made.header(run)
    del told["fleet"]
    (run / "run.json").write_text(json.dumps(told), "ascii")
    union = union_of(results, read_fleet(whole[0]))
    assert union.problems == ()
    assert union.alone == ("own: a run of its own, of no fleet",)


def test_a_hostile_run_among_good_ones_is_rejected_and_the_others_are_verified(whole, results) -> None:
    journal = of_shard(results, 1) / "trials.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"received', b'"recieved', 1))
    said = fleet("verify", whole, results, status=4)
    assert "shard 1: REJECTED" in said
    assert "shard 2: verified" in said
    text = Path(fleet("report", whole, results, "--format", "md", status=1).strip()).read_text("utf-8")
    assert "not verified" in text


def test_a_run_is_verified_once_and_again_when_a_file_or_the_toolkit_changes(
    whole, results, monkeypatch
) -> None:
    counted: list[Path] = []
    monkeypatch.setattr(kept, "verify_folder", lambda folder: counted.append(folder) or verify_folder(folder))
    run, tests = of_shard(results, 1), read_fleet(whole[0]).shard(1).tests
    first, second = verified(run, tests), verified(run, tests)
    assert (first.anew, second.anew, len(counted)) == (True, False, 1)
    assert replace(first, anew=False) == second
    platform = run / "platform.json"
    platform.write_bytes(platform.read_bytes() + b"\n")
    assert verified(run, tests).anew
    monkeypatch.setattr(kept, "toolkit_key", lambda: "another")
    assert verified(run, tests).anew
    assert verified(run, tests[:1]).anew == (len(tests) > 1)


def test_findings_are_kept_as_well_and_a_broken_file_of_the_keep_is_no_matter(
    whole, results, tmp_path
) -> None:
    run, tests = of_shard(results, 1), read_fleet(whole[0]).shard(1).tests
    (run / "trials.jsonl").write_bytes(b"")
    first = verified(run, tests)
    assert first.findings
    assert verified(run, tests).findings == first.findings
    for file in (tmp_path / "cache").rglob("*.json"):
        file.write_text("[]")
    assert verified(run, tests).anew


def test_where_nothing_can_be_kept_a_run_is_verified_all_the_same(whole, results, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    run, tests = of_shard(results, 1), read_fleet(whole[0]).shard(1).tests
    assert verified(run, tests, tmp_path / "file").anew


def test_testbeds_agree_or_do_not(whole, results) -> None:
    runs = {number: read_run(of_shard(results, number)) for number in (1, 2)}
    same = list(comparisons(runs))
    assert same
    assert {(one.first, one.second) for one in same} == {("first", "second")}
    assert all(one.agrees for one in same)
    slower = replace(
        runs[2],
        outcomes=tuple(
            replace(one, values=tuple(replace(value, number=value.number * 0.9) for value in one.values))
            for one in runs[2].outcomes
        ),
    )
    assert not any(one.agrees for one in comparisons({1: runs[1], 2: slower}))


def test_latencies_at_loads_of_their_own_part_no_testbeds(whole, results) -> None:
    shards = [read_run(of_shard(results, number)) for number in (1, 2)]
    (run, *_) = [one for one in shards if any(told.metric == METRIC for told in one.outcomes)]
    slower = tuple(
        replace(one, values=tuple(replace(value, number=2 * value.number) for value in one.values))
        if one.metric == METRIC
        else one
        for one in run.outcomes
    )
    other = replace(run, testbed={**run.testbed, "name": "other"}, outcomes=slower)
    found = list(comparisons({1: run, 2: other}))
    assert found
    assert [one for one in found if not one.agrees] == []


def test_the_worst_of_the_shards_is_the_grade_and_the_verdict() -> None:
    one = Verified(
        run_id="a",
        findings=(),
        questions=(),
        trials=1,
        state=(),
        grades=(
            ("RFC2544", "throughput", "unconditionally compliant"),
            ("RFC2544", "latency", "not assessed"),
        ),
        verdicts=(("throughput", "X", "met"), ("throughput", "Y", "not_applicable")),
    )
    other = replace(
        one,
        grades=(("RFC2544", "throughput", "not compliant"),),
        verdicts=(("throughput", "X", "not_met"), ("throughput", "Y", "met")),
    )
    assert grades_of({1: one, 2: other}, whole=True) == {("RFC2544", "throughput"): "not compliant"}
    assert verdicts_of({1: one, 2: other}) == {"not_met": 1, "met": 1}
    assert grades_of({1: one}, whole=False) == {("RFC2544", "throughput"): "incomplete"}
    assert grades_of({2: other}, whole=False) == {("RFC2544", "throughput"): "not compliant"}


def test_the_keep_is_a_folder_of_the_user(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.user_folder() == tmp_path / "bmwg" / "verified"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert kept.user_folder() == Path(os.path.expanduser("~")) / ".cache" / "bmwg" / "verified"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({}, []),
        ({"plan_sha256": "5" * 64}, ["run.json: fleet: plan_sha256"]),
        ({"shard": 3}, ["run.json: fleet: shard"]),
    ],
)
def test_a_header_that_contradicts_its_own_plan_is_no_shard(whole, results, change, where) -> None:
    evidence = read_evidence(FolderFiles(of_shard(results, 1)))
    assert evidence.run is not None
    told = {**evidence.run, "fleet": {**evidence.run["fleet"], **change}}
    found = shard_planned.apply(replace(evidence, run=told))
    assert [one.where for one in found] == where
    assert all(one.rule_id == "VER-80" for one in found)


def test_a_shard_without_a_seed_and_a_run_of_its_own(whole, results) -> None:
    evidence = read_evidence(FolderFiles(of_shard(results, 1)))
    assert evidence.run is not None
    told = {key: value for key, value in evidence.run.items() if key != "order_seed"}
    assert [one.where for one in shard_planned.apply(replace(evidence, run=told))] == ["run.json: order_seed"]
    del told["fleet"]
    assert shard_planned.apply(replace(evidence, run=told)) == []


def bundled(results: Path, number: int) -> Path:
    """The bundle of a shard's run, beside the runs."""
    run = of_shard(results, number)
    place = results / f"{run.name}.bmwg.tar"
    made.bmwg("bundle", run, "--output", place, at=results.parent)
    return place


def test_a_bundle_counts_as_its_run(whole, results) -> None:
    before = fleet("verify", whole, results)
    bundled(results, 1)
    assert rules(whole, results) == []  # one run, though it lies there twice
    shutil.rmtree(of_shard(results, 1))
    assert "2 of 2 shards are complete" in fleet("status", whole, results)
    after = fleet("verify", whole, results)
    assert after.splitlines()[-1] == before.splitlines()[-1]  # the verdicts on clauses
    assert "shard 2: verified before" in after
    page = Path(fleet("report", whole, results, "--format", "md").strip()).read_text("utf-8")
    assert "2 shards are complete and verified" in page


def test_a_broken_bundle_among_good_ones_is_named(whole, results) -> None:
    place = bundled(results, 1)
    octets = place.read_bytes()
    shutil.rmtree(of_shard(results, 1))
    place.write_bytes(octets[: len(octets) // 2])
    said = fleet("verify", whole, results, status=1)
    assert "FLT-04" in said
    assert f"found {place.name}: BND-03" in said
    assert "FLT-01" in said
    assert "shard 2: verified" in said
    at = octets.index(b'"received_frames":')
    place.write_bytes(octets[:at] + octets[at:].replace(b'"received_frames":1', b'"received_frames":2', 1))
    assert "shard 1: REJECTED" in fleet("verify", whole, results, status=4)
