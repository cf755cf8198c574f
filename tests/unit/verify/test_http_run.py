"""A run of HTTP experiments verifies from its trials, as folder and as bundle; no changed one does."""

from __future__ import annotations

import json
import re

import mutations
import pytest
import replayable
from http_run import ADDRESS, COMMIT, make_run

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.requirements.rows import VerdictBasis
from bmwg.reports.bundle.archive import write_archive
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private, load_public
from bmwg.reports.checker.judge import judge as judge_clauses
from bmwg.reports.checker.verdicts import Verdict
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import binding
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.codec import cell_to_json
from bmwg.reports.store.read import JOURNAL_FILE
from bmwg.reports.verify.verify import verify_bundle, verify_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("http"))


@pytest.fixture(scope="module")
def signed(made, keys, tmp_path_factory):
    return make_bundle(
        made,
        tmp_path_factory.mktemp("b") / "web.bmwg.tar",
        evidence=folder_evidence(made),
        findings=list(verify_folder(made).findings),
        signer=load_private(keys["signer"]),
    )


def rules(verification):
    return {finding.rule_id for finding in verification.findings}


def chained(run, lines, document=None):
    """Write run and journal anew, their chain whole and their bonds made again."""
    replayable.forge(run, document or json.loads((run / "run.json").read_text()), lines)


def journal_of(run):
    return replayable.bodies(run)


def test_a_folder_verifies_and_is_never_graded(made, capsys):
    found = verify_folder(made)
    assert found.findings == ()
    assert len(found.evidence.outcomes) == len(found.evidence.plan)
    assert not any("compliant" in one.grade for one in found.judgement.grades)
    assert main(["verify", str(made)]) == 0
    told = capsys.readouterr().out
    counted = f"{len(found.evidence.outcomes)} outcomes follow from {len(found.evidence.executions)} trials"
    assert counted in told
    assert "not part of this run" not in told.split("RFC2544")[0]


def test_the_report_of_an_http_run_begins_with_its_experiments_and_has_no_empty_sections(made):
    page = (made / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles[:4] == ["At a glance", "What to trust", "What next", "HTTP proxy by hosting form"]
    packets = {"Throughput", "Latency", "Cost of each layer", "Searches as they went"}
    packets |= {"Statement in the form of RFC 2544 section 26.1", "Validity of the trials"}
    packets |= {"Matrices of RFC 8172 section 4.4", "Tester: envelope and pacing", "Not assessed"}
    assert not packets & set(titles)
    assert "Pacing over valid trials" not in page


def test_a_bundle_verifies_with_its_report_rendered_anew(signed, keys):
    found = verify_bundle(signed, load_public(keys["signer.pub"]), own_commit=COMMIT, render=write_report)
    assert found.findings == ()
    assert found.trust == "signed by a key that you trust"
    assert not any("rendered" in note for note in found.notes)
    assert found.evidence.executions


def lower_time(lines):
    lines[0]["result"]["mean_request_ns"] -= 1


def fewer_requests(lines):
    lines[0]["spec"]["asked_requests"] = lines[0]["result"]["requests"] = 1


def another_object(lines):
    lines[0]["spec"]["object_octets"] += 1


def another_test(lines):
    lines[0]["test"] = "HP-TEN-1"


def taken_for_valid(lines):
    lines[1]["assessment"] = {"validity": "valid", "reason": ""}


def frames(lines):
    lines[0]["kind"] = "frames"


def unknown_kind(lines):
    lines[0]["kind"] = "wishes"


def without_bond(lines):
    del lines[0]["platform"]


def another_deployment(lines):
    lines[0]["deployment"] = "another"


def unplanned_cell(lines):
    lines[0]["cell"] = "another/native/1p/1000o/1c"


def dropped(lines):
    del lines[0]


def hidden(lines):
    lines.append({**lines[0], "cell": lines[0]["cell"].replace("/native/", "/docker_nat/")})


def never_chosen(lines):
    planned = next(one for one in profile.load("quick").plan() if one.spec.experiment == "one_client_cached")
    spec = {**lines[0]["spec"], "asked_requests": planned.spec.asked_requests}
    lines.append({**lines[0], "cell": planned.cell.cell_id, "spec": spec})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lower_time, {"VER-16"}),
        (never_chosen, {"VER-18"}),
        (fewer_requests, {"VER-18"}),
        (another_object, {"VER-18"}),
        (another_test, {"VER-18"}),
        (another_deployment, {"VER-10"}),
        (unplanned_cell, {"VER-18"}),
        (dropped, {"VER-16"}),
        (hidden, {"VER-18"}),
        (taken_for_valid, {"VER-03"}),
        (frames, {"STORE-04"}),
        (unknown_kind, {"STORE-03"}),
        (without_bond, {"VER-14"}),
    ],
)
def test_a_journal_written_anew_must_agree_with_the_plan(run, change, expected):
    lines = journal_of(run)
    change(lines)
    chained(run, lines)
    assert rules(verify_folder(run)) & expected


def test_a_broken_chain_is_refused(run, made):
    lines = journal_of(run)
    lower_time(lines)
    (run / JOURNAL_FILE).write_text("".join(canonical(line) + "\n" for line in lines))
    assert "STORE-04" in rules(verify_folder(run))  # a line without its hash
    text = (made / JOURNAL_FILE).read_text().replace('"mean_request_ns":1000000', '"mean_request_ns":999999')
    (run / JOURNAL_FILE).write_text(text)
    assert "STORE-01" in rules(verify_folder(run))
    with pytest.raises(ConfigError, match="BND-05"):
        make_bundle(
            run, run / "b.tar", evidence=folder_evidence(run), findings=list(verify_folder(run).findings)
        )


def linked_anew(run, change):
    """Change the platform file and make the last link anew, as somebody would who knows of it."""
    platform = json.loads((run / "platform.json").read_text())
    change(platform)
    (run / "platform.json").write_text(json.dumps(platform))
    document = json.loads((run / "run.json").read_text())
    document["journal"]["platform"] = binding.of_run(document, platform, document["journal"]["hash"])
    (run / "run.json").write_text(json.dumps(document))
    return verify_folder(run).findings


def another_record(platform):
    platform["records"]["native-1"]["proxy"]["fields"]["kernel"] = {}


def another_hosting(platform):
    platform["deployments"]["native-1"]["hosting"]["form"] = "docker_nat"


@pytest.mark.parametrize(
    ("change", "expected"), [(another_record, {"VER-14"}), (another_hosting, {"VER-14", "VER-55"})]
)
def test_each_repetition_tells_that_the_platform_file_was_changed(run, change, expected):
    found = linked_anew(run, change)
    assert {one.rule_id for one in found} == expected
    assert found[0].where == "trial 1"


def test_a_run_that_was_watched_cannot_lose_its_bonds(run):
    lines = journal_of(run)
    for line in lines:
        del line["platform"]
    chained(run, lines)
    assert rules(verify_folder(run)) == {"VER-14"}


def test_the_end_of_the_journal_is_bound(run):
    """What the copy for HTTP had lost: trials cut off at the end were not missed by the run's own file."""
    lines = (run / JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    (run / JOURNAL_FILE).write_bytes(b"".join(lines[:-1]))
    assert "VER-02" in rules(verify_folder(run))


def test_the_plan_stands_under_the_hash_of_the_header(run):
    document = json.loads((run / "run.json").read_text())
    document["plan"].pop()
    (run / "run.json").write_text(json.dumps(document))
    assert "VER-01" in rules(verify_folder(run))


def test_an_unknown_version_of_a_procedure_is_named(run):
    document = json.loads((run / "run.json").read_text())
    document["procedures"]["processing_time"] = 9
    chained(run, journal_of(run), document)
    found = rules(verify_folder(run))
    assert "VER-13" in found
    assert found <= {"VER-13", "VER-50"}  # and no release that is listed here has it


def test_a_redacted_bundle_verifies_by_its_commitments(made, tmp_path):
    evidence = folder_evidence(made)
    bundle = make_bundle(made, tmp_path / "b.tar", evidence=evidence, findings=[], salt=b"s" * 32)
    assert rules(verify_bundle(bundle)) == set()
    assert ADDRESS in (made / "platform.json").read_text()
    assert ADDRESS.encode() not in bundle.read_bytes()


def edited(run, change):
    document = json.loads((run / "run.json").read_text())
    change(document)
    chained(run, journal_of(run), document)
    return rules(verify_folder(run))


def another_plan(data):
    data["profile"]["repetitions"] = 9


def part_of_a_test(data):
    gone = data["plan"].pop()
    data["outcomes"] = [one for one in data["outcomes"] if one["cell"] != gone["cell"]]


def number_from_nowhere(data):
    value = {"metric": "processing_time.mean", "number": 1.0, "unit": "ns"}
    data["outcomes"][-1] |= {"type": "measured", "values": [value], "trials": [1]}


def better_number(data):
    data["outcomes"][0]["values"][0]["number"] -= 1


def not_tried(data):
    data["outcomes"][0] |= {"type": "not_assessed", "values": [], "trials": [], "reason": "was slow"}


def fewer_trials(data):
    data["outcomes"][0]["trials"].pop()


def silent(data):
    data["outcomes"][0]["quality"] = []


def no_answer(data):
    data["outcomes"].pop()


def another_id(data):
    data["outcomes"][0]["id"] = "HP-TEN-1:one_client/native/1p/1000o/1c"


def another_axis(data):
    data["plan"][0]["cell"]["axes"]["clients"] = 2


def no_such_axis(data):
    data["plan"][0]["cell"]["axes"]["speed"] = 2


def unknown_kind_of_cell(data):
    data["plan"][0]["cell"]["kind"] = "wishes"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (another_plan, "VER-16"),
        (part_of_a_test, "VER-17"),
        (number_from_nowhere, "VER-16"),
        (better_number, "VER-16"),
        (not_tried, "VER-18"),
        (fewer_trials, "VER-16"),
        (silent, "VER-16"),
        (no_answer, "VER-09"),
        (another_id, "VER-16"),
        (another_axis, "VER-01"),
        (no_such_axis, "VER-01"),
        (unknown_kind_of_cell, "STORE-03"),
    ],
)
def test_edited_answers_are_caught(run, change, expected):
    assert expected in edited(run, change)


@pytest.mark.parametrize("text", [b"", b"[" * 5000, b'{"schema": NaN}', b"\xff", b"7"])
def test_nonsense_is_refused_by_name(run, text):
    (run / JOURNAL_FILE).write_bytes(text + b"\n")
    assert verify_folder(run).exit_code != 0


def test_single_changes_of_the_bundle_are_refused(signed, keys, tmp_path):
    """Octets of both parts, as they are and with a manifest made anew, against the signer's key."""
    trusted, parts = load_public(keys["signer.pub"]), mutations.parts_of(signed)
    for name in ("run.json", "trials.jsonl"):
        for place in range(0, len(parts[name]), len(parts[name]) // 12):
            octets = bytearray(parts[name])
            octets[place] ^= 1
            for number, whole in enumerate(({name: bytes(octets)}, None)):
                changed = parts | {name: bytes(octets)}
                path = tmp_path / f"{name}-{place}-{number}.tar"
                write_archive(path, changed if whole else mutations.rehashed(changed))
                assert verify_bundle(path, trusted).exit_code != 0


def test_what_was_planned_is_the_profiles(made):
    stated = json.loads((made / "run.json").read_text())["plan"]
    planned = [one for one in profile.load("quick").plan() if one.spec.experiment == "one_client"]
    assert [entry["cell"] for entry in stated] == [cell_to_json(one.cell) for one in planned]
    assert [entry["test"] for entry in stated] == [one.test_id for one in planned]


ISOLATED = ("RFC8172-5-01", "RFC8204-6-01", "CINF08-7-01", "RFC6815-7-01", "RFC6815-5-02")


def verdicts(folder):
    return {one.requirement: one for one in judge_clauses(folder_evidence(folder)).verdicts}


def test_a_run_of_requests_has_verdicts_by_the_table_of_all_rules(tmp_path):
    places = {"name": "client - proxy - server", "nodes": ["client", "proxy", "server"]}
    run = make_run(tmp_path, testbed=places)
    found = verdicts(run)
    for row in ISOLATED:
        assert found[row].verdict is Verdict.MET, found[row]
        assert found[row].basis is VerdictBasis.MEASURED
    assert not any(row.startswith("RFC2544") for row in found)
    grades = {
        one.document: one for one in judge_clauses(folder_evidence(run)).grades if one.benchmark == "all"
    }
    assert dict(grades["RFC6815"].counts)["MUST NOT met"] == 2
    clauses = write_report(run).with_name("report-clauses.html")
    assert "RFC8172-5-01" in clauses.read_text("utf-8")


@pytest.mark.parametrize(
    ("testbed", "verdict"),
    [
        ({"name": "x", "nodes": {"a": {"kind": "ssh"}, "b": {"kind": "namespace"}}}, "not_assessed"),
        ({"name": "x", "nodes": {}, "roles": {"client": "one", "dut": "two"}}, "not_assessed"),
    ],
)
def test_requests_between_hosts_are_not_taken_for_isolated(tmp_path, testbed, verdict):
    run = make_run(tmp_path, testbed=testbed)
    assert {verdicts(run)[row].verdict.value for row in ISOLATED} == {verdict}


def test_a_run_of_requests_without_a_repetition_is_judged_for_nothing(run):
    (run / JOURNAL_FILE).write_bytes(b"")
    assert verdicts(run) == {}
