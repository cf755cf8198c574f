"""The parts of `tests/rehearsal` that need no guest: its files, its guests' words, its journal, its ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rehearsal import third
from tests.rehearsal.course import FAULT, Course, OverError, told_in

from bmwg.drivers.machines import qemu
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.profiles import load_profile
from bmwg.resources import rooms
from bmwg.resources.rooms import PlanAsked

GEN_PORTS, DUT_PORTS = ["eth1", "eth2", "eth3", "eth4"], ["eth1", "eth2"]
CELLS = {
    "wire/none/none/none/64/forward": "measured",
    "node/baremetal/kernel-l3/none/64/forward": "at_ceiling",
    "pvp/pod/kernel-l3/bridge/64/forward": "measured",
    "pvp/pod/kernel-l3/ptp/64/forward": "invalid",
    "pvp/pod/kernel-l3/ebpf-tc/64/forward": "unstable",
}
GOOD: list[dict[str, Any]] = [
    {"what": "gen booted", "as_before": True},
    {"what": "dut1 booted", "as_before": True},
    {"what": "runner killed", "status": -9, "trials": 2},
    {"what": "cleanup", "status": 0},
    {"what": "tester's host without power", "status": 130, "trials": 9},
    {"what": "gen booted", "as_before": True},
    {"what": "cleanup", "status": 0},
    {"what": "cable pulled", "fault": "interface eth1 on node dut1 lost its link"},
    {"what": "resumed", "status": 1, "trials": 20},
    {"what": "answers", "complete": True, "types": CELLS, "trials": 20},
    {"what": "verified", "status": 0},
    {"what": "hosts", "differs": {}},
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the files that the rehearsal of a third host writes."""
    data = third.testbed(GEN_PORTS, DUT_PORTS, tmp_path / "python")
    (tmp_path / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (tmp_path / "third.yaml").write_text(third.profile([third.OTHER_MODEL]))
    return tmp_path


def test_the_rehearsals_files_are_a_testbed_and_a_profile_of_today(files: Path) -> None:
    testbed = load_testbed(files / "testbed.yaml")
    assert testbed.tester.host is not None
    assert testbed.tester.host.name == third.TESTER
    assert [str(link.b) for link in testbed.links] == ["dut1/eth1", "dut1/eth2", "tester/eth4"]
    profile = load_profile(str(files / "third.yaml"))
    assert profile.indicative
    asked = PlanAsked(testbed=files / "testbed.yaml", profile=str(files / "third.yaml"), seed=0)
    planned = [
        cell.cell_id
        for room, mine in rooms.asked(third.TESTS).values()
        for cell in room.schedule(asked, mine).cells
    ]
    assert sorted(planned) == sorted(CELLS)
    models = {testbed.network(name).model for name in ("bridge", "ebpf-tc")}
    assert models == {"kernel", "ebpf"}  # of the pods whose cable is not pulled


def test_each_nic_of_the_guests_has_an_address_and_a_tap_of_its_own(tmp_path: Path) -> None:
    words = []
    for host in third.HOSTS:
        files = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}
        words += qemu.command(host.spec(tmp_path), channel_fd=3, monitor_fd=4, **files)
    macs = [word.partition("mac=")[2][:17] for word in words if ",mac=" in word]
    taps = [word.partition("ifname=")[2].partition(",")[0] for word in words if ",ifname=" in word]
    assert len(macs) == len(set(macs)) == 8
    assert len(taps) == len(set(taps)) == 6
    assert all(len(tap) < 16 for tap in taps)  # the kernel's limit


def test_a_rehearsal_in_which_all_happened_lacks_nothing() -> None:
    assert third.lacking(GOOD) == []


@pytest.mark.parametrize("without", sorted(third.WANTED))
def test_what_did_not_happen_is_named(without: str) -> None:
    left = [event for event in GOOD if event["what"] != without]
    assert third.lacking(left)[0] == f"{without}: it did not happen"


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("gen booted", {"as_before": False}),
        ("runner killed", {"status": 0}),
        ("runner killed", {"trials": 0}),
        ("cleanup", {"status": 3}),
        ("tester's host without power", {"status": 1}),
        ("cable pulled", {"fault": ""}),
        ("answers", {"complete": False}),
        ("answers", {"types": {**CELLS, "pvp/pod/kernel-l3/ptp/64/forward": "measured"}}),
        ("answers", {"types": {**CELLS, "pvp/pod/kernel-l3/bridge/64/forward": "invalid"}}),
        ("answers", {"types": {**CELLS, "pvp/pod/kernel-l3/ebpf-tc/64/forward": "not_assessed"}}),
        ("answers", {"types": dict(list(CELLS.items())[1:])}),
        ("verified", {"status": 4}),
        ("hosts", {"differs": {"gen": ["eth2 is down"]}}),
    ],
)
def test_what_was_otherwise_than_it_should_be_is_named(what: str, found: dict[str, Any]) -> None:
    events = deepcopy(GOOD)
    next(event for event in reversed(events) if event["what"] == what).update(found)
    (said,) = third.lacking(events)
    assert said.startswith(f"{what}: ")


def test_a_host_that_never_lost_its_power_is_named() -> None:
    assert third.lacking(GOOD[1:]) == ["gen booted 1 times"]


def test_a_trial_is_waited_for_by_its_cell_and_its_fault(tmp_path: Path) -> None:
    with Course(tmp_path / "lab", ends_within_s=600) as course, course.commands():
        run = course.folder / "results" / "one"
        run.mkdir(parents=True)
        lines = ['{"cell":"wire/x"}', '{"cell":"node/x"}', '{"cell":"node/x","faults":["gone"]}']
        (run / "trials.jsonl").write_text("\n".join(lines) + '\n{"cell":"pvp')  # a line that is not whole
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait(60)
        assert len(course.trials()) == 3
        assert course.until(ended, '"cell":"node/', since=0) == lines[1]
        assert course.until(ended, '"cell":"wire/', since=1) == ""
        assert course.until(ended, FAULT, since=0) == lines[2]
        assert course.until(ended, '"cell":"pvp', since=0) == ""


def told_to_end(whole: Course, undone: list[Any]) -> None:
    with whole as course, course.commands():
        course.begin("--version")
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            undone.append(signal.getsignal(signal.SIGTERM))


def test_a_rehearsal_that_is_told_to_end_undoes_what_it_began_and_says_so(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    undone: list[Any] = []
    whole = Course(tmp_path / "lab", ends_within_s=600)
    with pytest.raises(OverError, match="SIGTERM after"):
        told_to_end(whole, undone)
    assert undone == [signal.SIG_IGN]
    assert all(command.poll() is not None for command in whole._commands)
    assert signal.getsignal(signal.SIGTERM) is before
    (told,) = told_in(tmp_path / "lab")
    assert told["what"] == "ended early"
    assert told["why"].startswith("SIGTERM after")


def test_the_journal_is_a_line_for_each_event(tmp_path: Path) -> None:
    with Course(tmp_path / "lab", ends_within_s=600) as course:
        course.note("gen booted", ports=["eth1"], as_before=True)
    assert told_in(tmp_path / "lab") == json.loads(json.dumps(course.events))
