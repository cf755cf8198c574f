"""A distribution that does not come with the toolkit: its path, network, kind of load and suites, in one run.

Nothing of the tree names it. `tests/data/vendor` is put on PYTHONPATH, which is as good as an installation.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.contract.guard_support import PROFILE
from tests.contract.http_support import ABSENT
from tests.needs import needs_crun

from bmwg.drivers.testbed.file import embedded_file
from bmwg.methodology.records import FRAMES, OutcomeType

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_crun]
ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "tests" / "data" / "vendor"
# A noisy machine may leave trials that contradict each other: "unstable" is then the honest answer.
FOUND = (OutcomeType.MEASURED, OutcomeType.TESTER_LIMITED, OutcomeType.AT_CEILING, OutcomeType.UNSTABLE)
WIRE, *_ = PROFILE["paths"]
PATHS = [
    {
        "path": "l2-node",
        "hosting": "baremetal",
        "function": "kernel-bridge",
        "networks": "none",
        "frame_octets": [64],
    },
    {"path": "pvp", "hosting": "pod", "function": "kernel-l3", "networks": ["pairs"], "frame_octets": [64]},
]
LOADS = ("throughput.rfc2544_26_1", "tester.envelope")
MEASURED = {  # what it says of its own suite, and of its own measurement
    **PROFILE,
    "paths": [{**WIRE, "frame_octets": [64]}],
    "suites": {"vendor-toy": {"paths": PATHS}},
    "benchmarks": {
        "toy": {"load_fps": 2000},
        "reset": {"repetitions": 2, "load_percent": 20, "before_s": 0.3, "after_s": 0.7},
    },
}


def bmwg(*arguments, installed=True):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    beside = [str(VENDOR)] if installed else []
    kept["PYTHONPATH"] = os.pathsep.join([*beside, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "bmwg", *map(str, arguments)],
        check=False,
        env=kept,
        capture_output=True,
        text=True,
        timeout=300,
    )


def settings(folder, profile=MEASURED, **network):
    bed = yaml.safe_load(embedded_file().read_text())
    option = {"driver": "veth-pair", "uplink": "bridge_port", "model": "kernel", "options": {"prefix": "vt"}}
    bed["networks"] = {"pairs": {**option, **network}}
    (folder / "bed.yaml").write_text(yaml.safe_dump(bed))
    (folder / "profile.yaml").write_text(yaml.safe_dump(profile))
    options = ["--testbed", folder / "bed.yaml", "--profile", folder / "profile.yaml"]
    return [*options, "--results", folder / "results"]


def measured(folder, *suites, profile=MEASURED):
    done = bmwg("run", *(VENDOR / "suite" / suite for suite in suites), *settings(folder, profile))
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = (one for one in (folder / "results").iterdir() if (one / "run.json").exists())
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    suites = ("throughput.robot", "loss_and_reset.robot", "blocks.robot")
    return measured(tmp_path_factory.mktemp("vendor"), *suites)


@pytest.fixture(scope="module")
def run_of_frames(tmp_path_factory):
    profile = {name: said for name, said in MEASURED.items() if name != "benchmarks"}
    return measured(tmp_path_factory.mktemp("frames"), "throughput.robot", profile=profile)


def test_its_path_its_network_and_its_kind_of_load_are_measured_in_one_run(run):
    # read as text: the toolkit of this process does not have the distribution
    document = json.loads((run / "run.json").read_text())
    assert document["status"] == "complete"
    assert list(document["loads"]) == ["blocks"]  # beside frames
    answers = {FRAMES: [], "blocks": []}
    for one in document["outcomes"]:
        answers[one["cell"].get("kind", FRAMES)].append(one)
    found = {one["metric"]: one for one in answers[FRAMES]}
    assert found["toy_loss"]["type"] == OutcomeType.MEASURED, found["toy_loss"]
    assert found["toy_loss"]["values"][0]["unit"] == "frames"
    assert "reset.rfc6201.bridge-pause" in found
    by_path = {one["cell"]["path"]: one for one in answers[FRAMES] if one["metric"] in LOADS}
    assert set(by_path) == {"wire", "l2-node", "pvp"}
    assert all(one["type"] in FOUND for one in by_path.values()), by_path
    assert by_path["pvp"]["cell"]["network"] == "pairs"
    assert [one["type"] for one in answers["blocks"]] == [OutcomeType.MEASURED] * 2
    assert {one["values"][0]["unit"] for one in answers["blocks"]} == {"blocks/s"}
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))  # one journal
    assert [one["kind"] for one in lines].count("blocks") == 6
    journal = [one for one in lines if one["kind"] == FRAMES]
    by_bridge = {line["test"] for line in journal if "/baremetal/" in line["cell"]}
    assert by_bridge == {"TOY-TPUT-1.1", "TOY-LOSS-1.1"}
    acted = [line["result"]["auxiliary"] for line in journal if line["spec"].get("act") == "bridge-pause"]
    assert acted
    assert all(dict(one)["act.ended_ns"] > dict(one)["act.began_ns"] for one in acted)
    arrived = {
        line["cell"].split(":")[-1]
        for line in journal
        if any(stream["received_frames"] for stream in line["result"]["streams"])
    }
    assert arrived >= {one["cell"]["cell_id"] for one in by_path.values()}


def test_its_words_stand_in_the_record(run):
    platform = json.loads((run / "platform.json").read_text())
    text = json.dumps(platform)
    assert "the node bridges between its two interfaces" in text
    (deployed,) = (one for name, one in platform["deployments"].items() if name.startswith("pvp-"))
    evidence = json.dumps(deployed)
    assert '"driver": "veth-pair"' in evidence
    assert "conflist" not in evidence


def test_the_report_shows_them(run):
    page = (run / "report.html").read_text()
    assert "l2-node" in page
    assert "pvp pairs" in page
    assert "Blocks hashed" in page
    assert "host/hash/4096o" in page


def bundled(run, folder):
    bundle = folder / "bundle.tar"
    made = bmwg("bundle", run, "--output", bundle)
    assert made.returncode == 0, made.stdout + made.stderr
    return bundle


@pytest.fixture(scope="module")
def bundle(run, tmp_path_factory):
    return bundled(run, tmp_path_factory.mktemp("bundle"))


def test_one_bundle_holds_all_and_verifies(bundle):
    verified = bmwg("verify", bundle)
    assert verified.returncode == 6, verified.stdout + verified.stderr  # consistent, and nobody signed


@pytest.mark.parametrize(
    ("place", "metric"),
    [("l2-node", "throughput.rfc2544_26_1"), ("l2-node", "toy_loss"), ("host/hash/64o", "hash_rate")],
)
def test_a_changed_answer_of_frames_or_of_blocks_is_found(run, tmp_path, place, metric):
    for name in ("trials.jsonl", "platform.json"):
        shutil.copy(run / name, tmp_path / name)
    document = json.loads((run / "run.json").read_text())
    named = [one for one in document["outcomes"] if place in one["cell"]["cell_id"]]
    (mine,) = (one for one in named if one["metric"] == metric)
    if not mine["values"]:
        pytest.skip(f"this machine gave no answer for {place}: {mine['reason']}")
    mine["values"][0]["number"] += 1
    (tmp_path / "run.json").write_text(json.dumps(document))
    refused = bmwg("verify", tmp_path)
    assert refused.returncode not in (0, 6), refused.stdout + refused.stderr


def test_without_it_a_run_with_its_kind_of_load_is_refused_by_name(bundle):
    refused = bmwg("verify", bundle, installed=False)
    assert refused.returncode not in (0, 6)
    assert "STORE-03" in refused.stdout + refused.stderr


def test_a_bundle_of_its_path_and_network_verifies_also_where_it_is_not_installed(run_of_frames, tmp_path):
    verified = bmwg("verify", bundled(run_of_frames, tmp_path), installed=False)
    assert verified.returncode == 6, verified.stdout + verified.stderr


@pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http")
def test_its_hosting_form_serves_proxies_beside_ours(tmp_path):
    quick = yaml.safe_load(
        (ROOT / "methodology" / "kinds" / "requests" / "profiles" / "quick.yaml").read_text()
    )
    first = {**quick["experiments"][0], "forms": ["native", "niced"]}
    first["objects"] = [{"octets": 1000, "requests": 50}]
    profile = {**quick, "repetitions": 3, "slow_repetitions": 3, "experiments": [first]}
    (tmp_path / "forms.yaml").write_text(yaml.safe_dump(profile))
    suites = (VENDOR / "suite" / "forms.robot", ROOT / "testcases" / "http_proxy" / "01__one_client.robot")
    chosen = ("--test", "HP-OTHER-1", "--test", "HP-ONE-1", "--profile", tmp_path / "forms.yaml")
    done = bmwg("run", *suites, *chosen, "--results", tmp_path / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = (one.parent for one in (tmp_path / "results").glob("*/run.json"))
    document = json.loads((found / "run.json").read_text())
    assert [one["type"] for one in document["outcomes"]] == [OutcomeType.MEASURED] * 2
    assert '"runs": "a process on the node by nice -n 5"' in (found / "platform.json").read_text()
    assert "niced" in (found / "report.html").read_text()
    for installed in (True, False):  # its trials are of requests, which are read without it
        verified = bmwg("verify", found, installed=installed)
        assert verified.returncode == 0, verified.stdout + verified.stderr


def test_nothing_of_it_is_left(run):
    assert "vt0" not in os.listdir("/sys/class/net")
    ledger = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
    made = {entry["number"] for entry in ledger if "kind" in entry}
    assert made == {entry["done"] for entry in ledger if "done" in entry}


def test_without_it_the_run_is_refused_before_anything_is_made(tmp_path):
    done = bmwg("run", VENDOR / "suite" / "throughput.robot", *settings(tmp_path), installed=False)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "suites.vendor-toy: expected an installed suite" in said
    assert "l2-node" in said


def test_an_option_that_the_driver_does_not_know_is_refused_by_it(tmp_path):
    done = bmwg("run", VENDOR / "suite" / "throughput.robot", *settings(tmp_path, options={"prefixx": "a"}))
    assert done.returncode != 0
    assert "NET-04" in done.stdout + done.stderr
    assert "prefixx" in done.stdout + done.stderr
