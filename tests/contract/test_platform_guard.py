"""Changing one sysctl, one offload or one CNI option while frames flow makes that cell invalid, by name.

Real nodes, pods, plugins and the embedded tester; what changes is changed from outside, as an operator would.
"""

import json
import re
import subprocess
import sys
import tarfile
import threading

import pytest
import yaml
from tests.contract.guard_support import PROFILE, TESTS
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.answers import throughput
from bmwg.methodology.profiles import parse_profile
from bmwg.methodology.record.coverage import coverage, run_records
from bmwg.methodology.record.drift import run_drift
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.make import make_bundle
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.forms.rst import esc
from bmwg.reports.verify.replay import contradictions
from bmwg.resources.kinds.frames import bench
from bmwg.resources.run import narrowing
from bmwg.resources.run.settings import Settings
from bmwg.schemas.validation import problems

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_crun, needs_cni]

# what is done when a size's first trial is on the disk, and the fact that names it
ACTS = {
    64: (
        "echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter",
        "dut1: kernel/settings/net.ipv4.conf.all.rp_filter",
    ),
    128: ("ethtool -K nic1 tx-checksum-ip-generic off", "dut1: nic/nic1/offloads/tx-checksum-ip-generic"),
    256: ("ip link set bmwg-br0 promisc on", "dut1: nic/bmwg-br0/promiscuous"),  # promiscMode of the plugin
}


class Operator(threading.Thread):
    """Acts on the node once a cell's first trial is recorded."""

    def __init__(self, journal, pid):
        super().__init__(daemon=True)
        self.journal, self.pid = journal, pid
        self.left = dict(ACTS)
        self.failed = []
        self.ended = threading.Event()

    def run(self):
        while self.left and not self.ended.wait(0.02):
            lines = self.journal.read_bytes().splitlines()
            for octets in [octets for octets in self.left if any(b'"pvp/' in line for line in lines)]:
                if any(f"/{octets}/forward".encode() in line and b'"cell":"pvp/' in line for line in lines):
                    act, _ = self.left.pop(octets)
                    command = ["nsenter", f"--target={self.pid}", "--net", "--mount", "sh", "-c", act]
                    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
                    if done.returncode:
                        self.failed.append(done.stderr)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guard")
    profile = parse_profile(yaml.safe_dump(PROFILE), source="test")
    before, narrowing.load_profile = narrowing.load_profile, lambda name, **_: profile
    try:
        opened = bench.Bench.open(Settings(results=folder, run_id="run"), TESTS)
        operator = Operator(folder / "run" / "trials.jsonl", opened._session.bed.node("dut1").pid)
        try:
            opened.begin_suite("the run")
            operator.start()
            opened.outcomes("CN-TPUT-1.1")
            outcomes = opened.outcomes("CN-TPUT-1.3")
        finally:
            operator.ended.set()
            operator.join(15)
            opened.close()
    finally:
        narrowing.load_profile = before
    assert operator.failed == []
    assert operator.left == {}
    return folder / "run", {outcome.cell.frame_octets: outcome for outcome in outcomes}


def test_each_change_makes_its_own_cell_invalid_by_name(run):
    _, outcomes = run
    for octets, (_, path) in ACTS.items():
        assert outcomes[octets].type is OutcomeType.INVALID, outcomes[octets]
        assert outcomes[octets].reason.startswith("the platform changed while it was measured: ")
        assert f"{path}: " in outcomes[octets].reason
        assert outcomes[octets].lower is None
        assert outcomes[octets].values == ()
        assert outcomes[octets].trials  # the evidence stays
    assert outcomes[512].type is not OutcomeType.INVALID, outcomes[512].reason


def test_the_files_say_it_and_verify(run):
    folder, outcomes = run
    platform = json.loads((folder / "platform.json").read_text())
    assert problems(platform, "platform") == []
    named = {entry["outcomes"][0]: entry["changes"] for entry in platform["drift"] if entry["outcomes"]}
    assert set(named) == {outcomes[octets].outcome_id for octets in ACTS}
    evidence = read_evidence(FolderFiles(folder))
    for outcome in evidence.outcomes:
        assert list(contradictions(evidence, outcome)) == []
    assert all(change.path.split("/")[0] not in ("kernel", "nic") for change in run_drift(platform))


def test_an_outcome_that_claims_more_than_the_drift_allows_is_refused(run):
    folder, outcomes = run
    evidence = read_evidence(FolderFiles(folder))
    good = evidence.outcome(outcomes[512].cell.cell_id, throughput.METRIC)
    changed = {"path": "dut1: kernel/settings/x", "before": "0", "after": "1"}
    entry = {"at": "t", "deployment": None, "outcomes": [good.outcome_id], "changes": [changed]}
    evidence.platform["drift"].append(entry)
    assert any("invalid, as platform.json" in expected for _, expected, _ in contradictions(evidence, good))


def test_the_deployment_is_recorded_where_it_runs(run):
    folder, _ = run
    platform = json.loads((folder / "platform.json").read_text())
    (pvp,) = [places for name, places in platform["records"].items() if name.startswith("pvp")]
    assert set(pvp) == {"tester", "dut1", "dut1/pod0", "dut2"}
    first = next(iter(platform["records"].values()))
    whole = {place: first[place] if "equal_to" in record else record for place, record in pvp.items()}
    for record in whole.values():
        assert problems(record, "record") == []
    cni = whole["dut1"]["fields"]["cni"]
    assert set(cni["plugins"]["value"]) == {"/usr/lib/cni/bridge", "/usr/lib/cni/static"}
    assert cni["configurations"]["value"]["net0"]["plugins"][0]["bridge"] == "bmwg-br0"
    pod = whole["dut1"]["fields"]["workload"]["pod0"]
    assert pod["cpuset"]["value"] == list(load_testbed().pods.cpus)
    assert pod["memory_limit_octets"]["value"] == load_testbed().pods.memory_octets
    assert whole["tester"]["fields"]["tester"]["name"]["value"] == "embedded"
    score = coverage(run_records(platform))
    assert score.ratio >= 0.9, [row for row in score.rows if row.gaps]


def test_the_doctor_looked_and_each_trial_has_its_samples(run):
    folder, _ = run
    platform = json.loads((folder / "platform.json").read_text())
    assert [entry["suite"] for entry in platform["doctor"]] == ["the run"]
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_bytes().splitlines()]
    for trial in trials:
        assert {"host.steal_ns", "host.softirq_ns", "host.foreign_frames"} <= trial["host"].keys()
    assert any(trial["host"]["host.softirq_ns"] > 0 for trial in trials)


def test_the_report_says_what_changed_and_what_the_doctor_found(run):
    folder, outcomes = run
    text = (folder / "report.rst").read_text()
    assert "State of the platform" in text
    for octets, (_, path) in ACTS.items():
        assert esc(path) in text
        assert esc(outcomes[octets].outcome_id) in text
    assert "configuration rows of RFC 8172" in text


def test_a_redacted_bundle_of_it_verifies(run, tmp_path):
    folder, _ = run
    evidence = read_evidence(FolderFiles(folder))
    bundle = make_bundle(folder, tmp_path / "b.tar", evidence=evidence, findings=[], salt=b"s" * 32)
    done = subprocess.run(
        [sys.executable, "-m", "bmwg", "verify", str(bundle)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 6, done.stdout + done.stderr
    with tarfile.open(bundle) as archive:
        public = archive.extractfile("platform.json").read().decode()
    for mac in set(re.findall(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", (folder / "platform.json").read_text())):
        assert mac not in public
    assert json.loads(public)["base"]["before"]["fields"]["host"]["hostname"]["value"].startswith("redacted-")


def test_looking_costs_little(run):
    folder, _ = run
    platform = json.loads((folder / "platform.json").read_text())
    records = [record for places in platform["records"].values() for record in places.values()]
    took = [record["took_ms"] for record in records if "took_ms" in record]
    assert sorted(took)[len(took) // 2] < 500, took
