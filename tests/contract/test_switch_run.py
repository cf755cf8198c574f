"""A run of patterns between four ports: searched, and verified from its files alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("full-mesh-4", "broadcast-4")
PROFILE = """extends: rfc2889-quick
name: two-patterns
title: Two patterns
suites:
  rfc2889:
    paths:
      - path: switch
        hosting: baremetal
        function: linux-bridge
        networks: none
        frame_octets: [64]
        axes: {pattern: [full-mesh-4, broadcast-4, full-mesh-3, undersize-4]}
      - path: switch
        hosting: baremetal
        function: linux-bridge
        networks: none
        frame_octets: [1519]
        axes: {pattern: [oversize-4]}
"""
pytestmark = [pytest.mark.slow, pytest.mark.quiet, pytest.mark.root]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("switch")
    (folder / "profile.yaml").write_text(PROFILE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    options = ["--testbed", str(ROOT / "testbeds" / "switch.yaml"), "--profile", str(folder / "profile.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "bmwg", "run", str(ROOT / "testcases" / "rfc2889"), *options],
        check=False,
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = [one.parent for one in (folder / "results").glob("*/run.json")]
    assert len(found) == 1, done.stdout + done.stderr
    return found[0]


def of_patterns(run):
    return {
        dict(one.cell.axes)["pattern"]: one
        for one in read_run(run).outcomes
        if "pattern" in dict(one.cell.axes)
    }


def test_each_pattern_has_an_answer_and_one_of_other_ports_has_none(run):
    found = of_patterns(run)
    assert found["full-mesh-3"].type is OutcomeType.NOT_ASSESSED
    assert "names 4" in found["full-mesh-3"].reason
    for name in PATTERNS:
        assert found[name].type is not OutcomeType.INVALID, found[name].reason
        assert found[name].trials


def test_frames_of_illegal_size_are_forwarded_by_a_bridge(run):
    for name in ("undersize-4", "oversize-4"):
        one = of_patterns(run)[name]
        assert one.type is OutcomeType.MEASURED, one.reason
        assert one.quality[0].startswith("fail")


def test_the_files_alone_show_the_answers(run):
    assert [str(one) for one in verify_folder(run).findings] == []
