"""What another distribution offers is planned by its name in a profile's file, and a slip has its near name.

`tests/data/vendor` is on PYTHONPATH, which is as good as an installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.guard_support import PROFILE

ROOT = Path(__file__).resolve().parents[3]
VENDOR = ROOT / "tests" / "data" / "vendor"
WIRE, *_ = PROFILE["paths"]
NODE = {
    "path": "l2-node",
    "hosting": "baremetal",
    "function": "kernel-bridge",
    "networks": "none",
    "frame_octets": [64],
}
FRAMES = {**PROFILE, "paths": [{**WIRE, "frame_octets": [64]}], "suites": {"vendor-toy": {"paths": [NODE]}}}


def ours(kind: str) -> dict[str, Any]:
    text = (ROOT / "methodology" / kind / "profiles" / "quick.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return {**found, "experiments": found["experiments"][:1]}


def forms(*names: str) -> dict[str, Any]:
    profile = ours("kinds/requests")
    return {**profile, "experiments": [{**profile["experiments"][0], "forms": list(names)}]}


def acts(name: str) -> dict[str, Any]:
    profile = ours("kinds/acts")
    return {**profile, "experiments": [{**profile["experiments"][0], "id": name}]}


def planned(folder: Path, suite: str, profile: dict[str, Any], installed: bool = True) -> tuple[int, str]:
    file = folder / "profile.yaml"
    file.write_text(yaml.safe_dump(profile))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    beside = [str(VENDOR)] if installed else []
    kept["PYTHONPATH"] = os.pathsep.join([*beside, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "bmwg", "plan", str(VENDOR / "suite" / suite), "--profile", str(file)]
    done = subprocess.run(command, check=False, env=kept, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("suite", "profile", "cell"),
    [
        ("loss_and_reset.robot", {**FRAMES, "benchmarks": {"toy": {"load_fps": 2000}}}, "toy_loss"),
        ("forms.robot", forms("native", "niced"), "HP-OTHER-1"),
        ("starts.robot", acts("toy_start"), "toy_start"),
    ],
)
def test_what_another_distribution_offers_is_planned(tmp_path, suite, profile, cell) -> None:
    code, said = planned(tmp_path, suite, profile)
    assert (code, cell in said) == (0, True), said
    assert planned(tmp_path, suite, profile, installed=False)[0] != 0


@pytest.mark.parametrize(
    ("suite", "profile", "error_id", "near"),
    [
        (
            "loss_and_reset.robot",
            {**FRAMES, "suites": {"vendor-tyo": {"paths": [NODE]}}},
            "PRF-04",
            "vendor-toy",
        ),
        ("loss_and_reset.robot", {**FRAMES, "benchmarks": {"soka": {}}}, "PRF-04", "soak"),
        ("forms.robot", forms("nicde"), "HPROF-02", "niced"),
        ("starts.robot", acts("toy_strat"), "APROF-02", "toy_start"),
    ],
)
def test_a_slip_is_refused_with_its_near_name(tmp_path, suite, profile, error_id, near) -> None:
    code, said = planned(tmp_path, suite, profile)
    assert (code, error_id in said) == (2, True), said
    assert near in said.rpartition("found")[2], said
