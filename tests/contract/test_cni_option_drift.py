"""A CNI option that changes before a deployment is made again makes the later cells invalid, by name.

Real nodes, pods, plugins and the embedded tester. A pod dies twice in the run, so that its path is deployed
again; each time somebody has changed an option: in the configuration list that the run hands over, and
in a file of the node that a vendor's plugin reads by itself, where neither list nor binary tell of it.
"""

import json
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
import yaml
from tests.contract.guard_support import PROFILE, TESTS
from tests.needs import needs_crun

from bmwg.drivers.testbed.file import embedded_file
from bmwg.methodology.profiles import parse_profile
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.verify.replay import contradictions
from bmwg.resources.kinds.frames import bench
from bmwg.resources.run import narrowing
from bmwg.resources.run.settings import Settings

PLUGINS = Path("/usr/lib/cni")
pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    needs_crun,
    pytest.mark.skipif(
        not (PLUGINS / "bridge").exists(), reason="needs apt-get install containernetworking-plugins"
    ),
]

SIZES = [64, 128, 256]
LISTED = "dut1: cni/configurations/net0/plugins/0/hairpinMode: (absent) -> true"
SEEN = "dut1: nic/bmwg-br0/mtu_octets: 1500 -> 1480"
# a vendor's plugin: it completes what it is given by a file on the node, and lets the real one work
VENDOR = """#!/usr/bin/python3
import json, os, sys
given = json.load(sys.stdin)
given.update(json.load(open("{options}")))
reading, writing = os.pipe()
os.write(writing, json.dumps(given).encode())
os.close(writing)
os.dup2(reading, 0)
os.execv("{plugins}/bridge", ["bridge"])
"""


class Operator(threading.Thread):
    """Changes an option and ends the pod, once a size's first trial is recorded."""

    def __init__(self, journal, bed, acts):
        super().__init__(daemon=True)
        self.journal, self.bed, self.left = journal, bed, dict(acts)
        self.ended = threading.Event()

    def run(self):
        while self.left and not self.ended.wait(0.02):
            octets = next(iter(self.left))
            mark = f"/{octets}/forward".encode()
            lines = self.journal.read_bytes().splitlines()
            if any(mark in line and b'"cell":"pvp/' in line for line in lines):
                self.left.pop(octets)()
                (pod,) = self.bed.pods.values()
                os.kill(pod.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("option")
    plugins, options = folder / "plugins", folder / "options.json"
    plugins.mkdir()
    shutil.copy(PLUGINS / "static", plugins / "static")
    (plugins / "bridge").write_text(VENDOR.format(options=options, plugins=PLUGINS))
    (plugins / "bridge").chmod(0o755)
    options.write_text("{}")
    testbed = yaml.safe_load(embedded_file().read_text())
    testbed["networks"] = {"bridge": {**testbed["networks"]["bridge"], "plugin_dir": str(plugins)}}
    (folder / "bed.yaml").write_text(yaml.safe_dump(testbed))
    paths = [{**path, "frame_octets": SIZES} for path in PROFILE["paths"]]
    profile = parse_profile(yaml.safe_dump({**PROFILE, "paths": paths}), source="test")
    before, narrowing.load_profile = narrowing.load_profile, lambda name, **_: profile
    try:
        settings = Settings(results=folder, run_id="run", testbed=folder / "bed.yaml")
        opened = bench.Bench.open(settings, TESTS)
        bed = opened._session.bed
        listed = bed.testbed.network("bridge").conflist["plugins"][0]
        acts = {
            64: lambda: listed.update(hairpinMode=True),
            128: lambda: options.write_text(json.dumps({"mtu": 1480})),
        }
        operator = Operator(folder / "run" / "trials.jsonl", bed, acts)
        try:
            opened.begin_suite("the run")
            operator.start()
            outcomes = opened.outcomes("CN-TPUT-1.3")
        finally:
            operator.ended.set()
            operator.join(15)
            opened.close()
    finally:
        narrowing.load_profile = before
    assert operator.left == {}
    return folder / "run", {outcome.cell.frame_octets: outcome for outcome in outcomes}


def test_each_option_is_named(run):
    folder, outcomes = run
    assert outcomes[256].type is OutcomeType.INVALID, outcomes[256]
    assert outcomes[256].reason.startswith("the platform changed while it was measured: ")
    assert LISTED in outcomes[256].reason
    assert outcomes[256].trials
    assert (outcomes[256].lower, outcomes[256].values) == (None, ())
    platform = json.loads((folder / "platform.json").read_text())
    (entry,) = [entry for entry in platform["drift"] if outcomes[256].outcome_id in entry["outcomes"]]
    said = [f"{change['path']}: {change['before']} -> {change['after']}" for change in entry["changes"]]
    assert LISTED in said
    assert SEEN in said
    assert not [line for line in said if "sha256" in line]  # the binary is what it was
    assert entry["deployment"] == list(platform["deployments"])[-1]


def test_the_run_verifies(run):
    folder, _ = run
    evidence = read_evidence(FolderFiles(folder))
    assert evidence.findings == ()
    for outcome in evidence.outcomes:
        assert list(contradictions(evidence, outcome)) == []
