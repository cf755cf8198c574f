"""Two lanes of the tester on NICs that spread frames by UDP ports: each lane's come to its own queue."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.rehearsal.rehearsal_lab import CALL_DEADLINE_S, NEEDS, ROOT, ended, lab_host

from bmwg.drivers.machines import guest_run
from bmwg.drivers.nodes.cables import _UNDONE_BY
from bmwg.drivers.ports import pci_port

pytestmark = NEEDS
WIRED = ("eth4", "eth5")  # the two ends of one cable
OUTPUT = "/run/lanes"


def test_lanes_of_two_nics_get_their_own_frames(tmp_path: Path) -> None:
    with lab_host(tmp_path) as host:
        taken = [host.call_within(CALL_DEADLINE_S, pci_port.require_free, port=port) for port in WIRED]
        for nic in taken:
            host.call_within(CALL_DEADLINE_S, pci_port.take, address=nic["address"])
        pid = host.call_within(
            CALL_DEADLINE_S,
            guest_run.start,
            argv=[
                sys.executable,
                str(ROOT / "tests" / "rehearsal" / "lanes_in_guest.py"),
                *(str(nic["address"]) for nic in taken),
            ],
            output=OUTPUT,
            folder=str(ROOT),
            environment={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        )
        status, said = ended(host, pid, within_s=CALL_DEADLINE_S, output=OUTPUT)
        for nic in taken:
            host.call_within(CALL_DEADLINE_S, pci_port.give_back, **{key: nic[key] for key in _UNDONE_BY})
    assert status == 0, said
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    trials = [one for one in told if "flows" in one]
    if len(trials) != 3:
        pytest.fail(said)
    for trial in trials:
        assert trial["fault"] is None
        for stream in trial["streams"]:
            assert stream["received"] == stream["sent"] > 0
            assert stream["duplicate"] == stream["corrupt"] == 0
    steered, one_flow, odd = trials
    assert steered["lanes.handed_frames"] == 0  # the NIC's hash is ours
    for trial in (one_flow, odd):
        assert trial["lanes.handed_frames"] > 0
