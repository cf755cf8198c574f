"""Frames, requests, streams, acts and jobs in one run on real parts: one report, bundle and verification.

The cheapest test of each kind, on the embedded testbed, by profile `quick` made shorter: one frame size, few
repetitions, jobs natively and in a pod. A kind whose program is missing here has cells that are not assessed;
its own test is skipped by name, and the rest holds all the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.needs import needs_cni, needs_crun

from bmwg.cli.main import main
from bmwg.drivers.testbed.file import embedded_file
from bmwg.methodology.kinds import registry
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.archive import Archive
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_crun, needs_cni]
ROOT = Path(__file__).resolve().parents[2]
# Of each kind: its test, its programs, and words of its section.
TESTS = {
    "frames": ("CN-TPUT-1.1", (), "Validity of the trials"),
    "requests": ("HP-START-1", ("squid", "apache2", "ab"), "HTTP proxy by hosting form"),
    "streams": ("PP-RTT-6", ("sockperf",), "Transport between pods and hosts"),
    "acts": ("LC-START-1", (), "The life of pods"),
    "jobs": ("HB-CPU-1", ("sysbench",), "Hosts and forms"),
}
NETWORK = "bridge"  # alone, so that starts of pods are of one option
# What the run's header then says of each kind is what `verify` holds it against.
RUNNER = """
import sys

import yaml

from bmwg.cli.main import main
from bmwg.methodology.profiles import parse_profile
from bmwg.methodology.profiles.profile_files import ProfileFiles
from bmwg.resources.run import narrowing

few = {"repetitions": 3, "slow_repetitions": 3, "least_repetitions": 3, "hostings": ["baremetal", "pod"]}
whole, frames = ProfileFiles.read, narrowing.load_profile


def shorter(self, name):
    data = whole(self, name)
    return {**data, **{key: value for key, value in few.items() if key in data}}


def of_one_size(name, **options):
    data = frames(name, **options).data
    (wire, *_) = data["paths"]
    paths = [{**wire, "frame_octets": [64]}]
    return parse_profile(yaml.safe_dump({**data, "paths": paths}), source=name, **options)


ProfileFiles.read, narrowing.load_profile = shorter, of_one_size
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every-kind")
    bed = yaml.safe_load(embedded_file().read_text())
    bed["networks"] = {NETWORK: bed["networks"][NETWORK]}
    (folder / "bed.yaml").write_text(yaml.safe_dump(bed))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    tests = [word for test, _, _ in TESTS.values() for word in ("--test", test)]
    options = ["--testbed", str(folder / "bed.yaml"), "--results", str(folder / "results")]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, "run", str(ROOT / "testcases"), *tests, *options],
        check=False,
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = [one.parent for one in (folder / "results").glob("*/run.json")]
    assert len(found) == 1, done.stdout + done.stderr  # one run folder for all suites
    return found[0]


def test_there_is_a_test_of_every_kind_of_load():
    assert set(TESTS) == set(registry.names())


def test_all_suites_are_one_run_with_one_journal(run):
    found = read_run(run)
    assert found.status == "complete"
    assert set(found.kinds) == set(TESTS)
    assert {one.test_id for one in found.plan} >= {test for test, _, _ in TESTS.values()}
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
    assert len(lines) == len(found.trials) + len(found.executions)


@pytest.mark.parametrize("kind", TESTS)
def test_each_kind_is_measured(run, kind):
    test, programs, _ = TESTS[kind]
    if missing := [program for program in programs if shutil.which(program) is None]:
        pytest.skip(f"needs {', '.join(missing)}: sh setup/install.sh http workloads")
    found = read_run(run)
    planned = {one.cell.cell_id for one in found.plan if one.test_id == test}
    mine = [one for one in found.of_kind(kind) if one.cell.cell_id in planned]
    tried = [one for one in mine if one.type is not OutcomeType.NOT_ASSESSED]
    assert tried, [one.reason for one in mine]
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert {one["seq"] for one in lines if one["kind"] == kind} >= {
        seq for one in tried for seq in one.trials
    }
    assert any(one["assessment"]["validity"] == "valid" for one in lines if one["kind"] == kind)


def test_one_report_has_a_section_of_each_kind(run):
    assert [one.name for one in run.glob("report*.rst")] == ["report.rst"]
    text = (run / "report.rst").read_text()
    for kind, (_, programs, words) in TESTS.items():
        if all(shutil.which(program) for program in programs):
            assert words in text, kind


def test_one_verification_replays_all_and_finds_a_changed_answer_of_each(run, tmp_path):
    verified = verify_folder(run)
    assert [str(one) for one in verified.findings] == []
    document = json.loads((run / "run.json").read_text())
    for kind in TESTS:
        mine = [
            number
            for number, one in enumerate(document["outcomes"])
            if one["cell"].get("kind", "frames") == kind and one["values"]
        ]
        if not mine:
            continue  # absent, or this machine gave no answer: told above
        copy = tmp_path / kind
        copy.mkdir()
        for name in ("trials.jsonl", "platform.json"):
            (copy / name).write_bytes((run / name).read_bytes())
        changed = json.loads(json.dumps(document))
        changed["outcomes"][mine[0]]["values"][0]["number"] += 1000
        (copy / "run.json").write_text(json.dumps(changed))
        assert verify_folder(copy).findings, kind


def test_one_bundle_holds_all_and_verifies(run, tmp_path, capsys):
    bundle = tmp_path / "bundle.tar"
    assert main(["bundle", str(run), "--output", str(bundle)]) == 0
    assert main(["verify", str(bundle)]) == 6  # consistent, and nobody signed
    capsys.readouterr()
    with Archive(bundle) as archive:
        assert archive.has("trials.jsonl")


def test_nothing_of_it_is_left(run):
    ledger = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
    made = {entry["number"] for entry in ledger if "kind" in entry}
    assert made == {entry["done"] for entry in ledger if "done" in entry}
