"""A whole run inside a guest: options that this host's kernel may lack carry frames there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs_guest import booting

from bmwg.drivers.machines import qemu
from bmwg.drivers.machines.guest_clock import Reading
from bmwg.methodology.errors import TestbedError
from bmwg.resources.run import in_guest

_TESTS = ("--test", "CN-TPUT-1.1", "--test", "CN-TPUT-1.3")


@pytest.mark.slow
@pytest.mark.root
@booting()
def test_vlan_carries_frames_in_a_guest_and_ipvlan_is_refused_by_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bmwg", "run", "--in-guest", *_TESTS, "--results", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    (record,) = tmp_path.glob("*/run.json")
    run = json.loads(record.read_text())
    outcomes = {outcome["id"]: outcome for outcome in run["outcomes"]}
    outcome = outcomes["CN-TPUT-1.3:pvp/pod/kernel-l3/vlan/64/forward/vlan100"]
    assert outcome["type"] in ("measured", "unstable", "at_ceiling", "tester_limited"), (
        outcome,
        done.stdout[-2000:],
    )
    refused = outcomes["CN-TPUT-1.3:pvp/pod/kernel-l3/ipvlan/64/forward"]
    assert (refused["type"], "ipvlan hands" in refused["reason"]) == ("not_assessed", True)
    trials = [json.loads(line) for line in (record.parent / "trials.jsonl").read_text().splitlines()]
    assert sum(received_frames(trial) for trial in trials if "/vlan/" in json.dumps(trial)) > 0
    (machine,) = (driver for driver in run["drivers"] if driver["name"] == "qemu guest")
    assert machine["accelerator"] == qemu.probe_accelerator()[0].value
    assert machine["guest_kernel"] != os.uname().release


def received_frames(trial: object) -> int:
    """All frames that a trial's record says were received, wherever it says so."""
    if isinstance(trial, dict):
        own = trial.get("received_frames", 0)
        return (own if isinstance(own, int) else 0) + sum(received_frames(part) for part in trial.values())
    if isinstance(trial, list):
        return sum(received_frames(part) for part in trial)
    return 0


def clocks(inside_s: float, outside_s: float) -> tuple[Reading, Reading]:
    began = Reading(source="tsc", inside_ns=0, before_s=100.0, after_s=100.01)
    ended = Reading(
        source="tsc",
        inside_ns=int(inside_s * 1e9),
        before_s=100.0 + outside_s,
        after_s=100.01 + outside_s,
    )
    return began, ended


@pytest.mark.parametrize("inside_s", [60.0, 60.05, 59.95])
def test_a_guest_whose_clock_keeps_time_is_believed(inside_s: float) -> None:
    in_guest._check_clock(*clocks(inside_s, 60.0))


@pytest.mark.parametrize("inside_s", [59.8, 60.2, 0.0])
def test_a_guest_whose_clock_runs_wrong_is_not(inside_s: float) -> None:
    with pytest.raises(TestbedError) as caught:
        in_guest._check_clock(*clocks(inside_s, 60.0))
    assert caught.value.error_id == "GUEST-02"
