"""The suites as a person runs them, on the simulated bed: no option, no root, sound files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.cli.main import main
from bmwg.methodology import suites as cases
from bmwg.methodology.plan import planning
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store import read_run
from bmwg.reports.verify.replay import contradictions

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "testcases" / "containerized"
RFC2544 = ROOT / "testcases" / "rfc2544"


def robot(
    folder: Path, *arguments: str, suites: Path = SUITES, **settings: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    return subprocess.run(
        [sys.executable, "-m", "robot", *arguments, str(suites)],
        check=False,
        cwd=folder,
        env=kept | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    done = robot(folder, BMWG_TESTBED=str(ROOT / "testbeds" / "simulated.yaml"))
    return done, folder


def test_plain_robot_passes_and_prints_where_the_report_is(finished):
    done, folder = finished
    assert done.returncode == 0, done.stdout + done.stderr
    run = next((folder / "results").iterdir())
    assert f"report: {run / 'report.html'}" in done.stdout
    assert (run / "report.html").stat().st_size > 10_000


def test_bmwg_run_ends_with_our_report_and_says_once_what_was_left_out(tmp_path):
    command = [sys.executable, "-m", "bmwg", "run", "--testbed", str(ROOT / "testbeds" / "simulated.yaml")]
    command += [
        "--results",
        str(tmp_path / "results"),
        *(f"--tag=path:{path}" for path in ("node", "vswitch-only")),
    ]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (one for one in (tmp_path / "results").iterdir() if (one / "run.json").exists())
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[-1] == f"report: {run / 'report.html'}"
    assert lines[-2] == "profile quick leaves out 2 tests of Throughput, Latency; `bmwg plan` lists them"
    assert "SKIP" not in done.stdout
    assert sum(line.startswith("doctor before") for line in lines) <= 1
    assert done.stderr == ""


def test_a_bundle_takes_the_output_of_its_own_run_alone(finished, tmp_path, capsys):
    _, folder = finished
    run = next((folder / "results").iterdir())
    options = [str(run), "--output", str(tmp_path / "b.tar"), "--robot-output"]
    assert main(["bundle", *options, str(folder / "output.xml")]) == 0
    assert main(["verify", str(tmp_path / "b.tar")]) == 6  # consistent, and nobody signed
    other = tmp_path / "output.xml"
    other.write_text((folder / "output.xml").read_text().replace(run.name, "another"))
    options[2] = str(tmp_path / "c.tar")
    assert main(["bundle", *options, str(other)]) == 2
    assert "BND-06" in capsys.readouterr().err


def test_every_planned_cell_has_exactly_one_outcome(finished):
    _, folder = finished
    run = read_run(next((folder / "results").iterdir()))
    planned = [(planned.test_id, planned.metric, planned.cell.cell_id) for planned in run.plan]
    answered = [(o.outcome_id.partition(":")[0], o.metric, o.cell.cell_id) for o in run.outcomes]
    assert len(planned) > 10
    assert sorted(planned) == sorted(answered)
    assert {test_id for test_id, _, _ in planned} == cases.DEFAULT_TESTS - OF_OTHER_PROFILES


# a node's port and a load balancer's address, which profile services has: quick's time has no room for them;
# a switch between two sockets of the tester, which rfc8204 has
OF_OTHER_PROFILES = frozenset(
    f"CN-{metric}-{number}" for metric in ("TPUT", "LAT") for number in ("1.7", "4.4", "4.5")
)
# by profile quick: of the user-space and the eBPF model, and of a cluster
ABSENT = ("ovs-dpdk", "ebpf-tc", "af-xdp", "flannel", "cilium")


def test_the_known_knee_is_found_behind_the_testers_own_limit(finished):
    _, folder = finished
    run = read_run(next((folder / "results").iterdir()))
    for outcome in run.outcomes:
        if outcome.metric == "tester.envelope":
            assert outcome.type is OutcomeType.MEASURED
            assert 1_500_000 * 0.97 <= outcome.lower.load_fps <= 1_500_000
        elif outcome.metric == "throughput.rfc2544_26_1":
            if outcome.cell.network in ABSENT:  # the simulated testbed has no such option, and says so
                assert outcome.reason == planning.NO_OPTION
                continue
            assert outcome.type is OutcomeType.MEASURED, outcome
            assert outcome.lower.load_fps <= 800_000 <= outcome.upper.load_fps
            assert outcome.upper.load_fps - outcome.lower.load_fps <= 0.03 * outcome.upper.load_fps


def test_a_simulated_run_says_so(finished):
    done, folder = finished
    assert "Simulated: no frame was sent" in done.stdout
    assert read_run(next((folder / "results").iterdir())).simulated


def test_latency_alone_finds_the_throughput_first(tmp_path):
    done = robot(
        tmp_path, "--include", "id:CN-LAT-1.2", BMWG_TESTBED=str(ROOT / "testbeds" / "simulated.yaml")
    )
    assert done.returncode == 0, done.stdout
    run = read_run(next((tmp_path / "results").iterdir()))
    assert [planned.test_id for planned in run.plan] == ["CN-LAT-1.2"]
    assert {outcome.metric for outcome in run.outcomes} == {
        "tester.envelope",
        "conditional_throughput.rfc9971.0.1f1.5d0l50e",
        "conditional_throughput.rfc9971.0.1f1.5d0.5l50e",
        "latency.all_frames",
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"BMWG_PROFILE": "quik"}, "did you mean 'quick'?"),
        ({"BMWG_TESTBED": "nowhere.yaml"}, "nowhere.yaml"),
        ({"BMWG_TESTBD": "x"}, "did you mean 'BMWG_TESTBED'?"),
    ],
)
def test_a_wrong_setting_starts_nothing(tmp_path, settings, said):
    done = robot(tmp_path, **settings)
    assert done.returncode != 0
    assert said in done.stdout
    assert not (tmp_path / "results").exists()


def test_an_existing_run_is_never_overwritten(tmp_path):
    settings = {"BMWG_TESTBED": str(ROOT / "testbeds" / "simulated.yaml"), "BMWG_RUN_ID": "mine"}
    (tmp_path / "results" / "mine").mkdir(parents=True)
    done = robot(tmp_path, **settings)
    assert done.returncode != 0
    assert "no run is ever overwritten" in done.stdout
    assert list((tmp_path / "results" / "mine").iterdir()) == []


def test_every_benchmark_of_rfc2544_is_measured_and_follows_from_its_trials(tmp_path):
    done = robot(tmp_path, suites=RFC2544, BMWG_TESTBED=str(ROOT / "testbeds" / "simulated.yaml"))
    assert done.returncode == 0, done.stdout
    folder = next((tmp_path / "results").iterdir())
    run = read_run(folder)
    asked = {planned.test_id for planned in run.plan}
    assert asked == {one.test_id for one in cases.cases() if one.suite == "rfc2544"}
    others = {o.outcome_id: o for o in run.outcomes if o.type is not OutcomeType.MEASURED}
    assert [one.split(":")[0] for one in others] == ["R2544-BURST-1.4"]  # 1,024 frames, and a queue of 256
    assert {o.type for o in others.values()} == {OutcomeType.AT_FLOOR}
    evidence = folder_evidence(folder)
    assert [wrong for outcome in evidence.outcomes for wrong in contradictions(evidence, outcome)] == []
    page = (folder / "report.rst").read_text(encoding="utf-8")
    headings = ("RFC 2544 26.2", "RFC 2544 26.3", "RFC 8219 7.2", "RFC 8219 7.3", "RFC 9971", "RFC 9004")
    for heading in (*headings, "RFC 5481 4.1"):
        assert f"({heading})" in page
    assert "this version holds no definition" not in page
