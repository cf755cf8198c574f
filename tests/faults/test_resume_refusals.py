"""What cannot be continued is refused with what was expected and found, and nothing is changed by that."""

import json
import shutil
import signal

import pytest
from tests.faults.support import (
    END_DEADLINE_S,
    bmwg,
    start,
    trials_on_disk,
    wait_for,
    write_profile,
    write_testbed,
)

from bmwg.drivers.platform_record.source import SPENT
from bmwg.drivers.undo.ledger import cleanup
from bmwg.methodology.errors import ConfigError, TestbedError, TrialInvalid
from bmwg.methodology.records import TrialSpec
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.kinds.frames.frames_continued import Recorded, continuation
from bmwg.resources.run import continuation as module
from bmwg.resources.run.continuation import check_platform


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    testbed = write_testbed(folder, "simulated")
    profile = write_profile(folder, trial={"restabilize_s": 0.2})  # time to be killed before its end
    process, run = start(folder, profile, testbed)
    wait_for(lambda: trials_on_disk(run) >= 4, "four trials", process=process)
    process.kill()
    process.wait(10)
    yield run
    cleanup(run)


def contents(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_a_complete_run_is_not_continued(tmp_path):
    testbed, profile = write_testbed(tmp_path, "simulated"), write_profile(tmp_path)
    process, run = start(tmp_path, profile, testbed, tests=("CN-TPUT-1.1",))
    assert process.wait(END_DEADLINE_S) == 0
    before = contents(run)
    done = bmwg(tmp_path, "resume", str(run))
    assert done.returncode == 2
    assert "RES-01" in done.stderr
    assert contents(run) == before


def test_another_toolkit_is_refused(cut_off, monkeypatch):
    monkeypatch.setattr(module, "toolkit_state", lambda: ("0.0.1", "abcdef0", False))
    before = contents(cut_off)
    with pytest.raises(ConfigError, match="RES-02"):
        continuation(cut_off)
    assert contents(cut_off) == before


def test_tests_outside_the_runs_plan_are_refused(cut_off):
    assert continuation(cut_off, {"CN-TPUT-1.1"}).run.run_id == cut_off.name
    with pytest.raises(ConfigError, match="RES-03") as caught:
        continuation(cut_off, {"CN-TPUT-1.1", "CN-TPUT-1.6"})
    assert "CN-TPUT-1.6" in caught.value.found


def test_another_machine_is_refused_by_what_differs(cut_off):
    run = read_run(cut_off)
    check_platform(run, run.platform_before)
    other = json.loads(json.dumps(run.platform_before))
    kernel = other["fields"]["kernel"]
    name = next(key for key, fact in kernel.items() if isinstance(fact.get("value"), str))
    kernel[name]["value"] += "-other"
    with pytest.raises(TestbedError, match="RES-04") as caught:
        check_platform(run, other)
    assert f"kernel/{name}" in caught.value.found
    assert "two platforms" in caught.value.hint


def test_a_machine_that_was_too_busy_to_be_asked_is_said_to_be(cut_off):
    """Nothing shows that a fact stayed which could not be asked; but that is no other machine."""
    run = read_run(cut_off)
    busy = json.loads(json.dumps(run.platform_before))
    kernel = busy["fields"]["kernel"]
    name = next(key for key, fact in kernel.items() if isinstance(fact.get("value"), str))
    kernel[name]["unknown"] = f"uname -a: not run, {SPENT}"
    del kernel[name]["value"]
    with pytest.raises(TestbedError, match="RES-04") as caught:
        check_platform(run, busy)
    assert "resume again" in caught.value.hint


def test_a_recorded_trial_that_does_not_follow_is_refused(cut_off):
    trials = list(read_run(cut_off).trials)
    first = trials[0]
    recorded = Recorded(trials)
    assert recorded.next(first.spec, first.phase).seq == first.seq
    with pytest.raises(TrialInvalid, match="RES-06"):
        recorded.next(TrialSpec(frame_octets=64, load_fps=1, duration_s=1.0), first.phase)


def test_a_run_that_another_process_writes_is_left_alone(tmp_path):
    testbed = write_testbed(tmp_path, "simulated")
    profile = write_profile(tmp_path, trial={"restabilize_s": 0.2})
    process, run = start(tmp_path, profile, testbed)
    try:
        wait_for(lambda: trials_on_disk(run) >= 2, "two trials", process=process)
        process.send_signal(signal.SIGSTOP)  # it must not end while we look
        done = bmwg(tmp_path, "resume", str(run))
        assert done.returncode != 0
        assert "LEDGER-04" in done.stdout + done.stderr
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(10)
        cleanup(run)


def test_a_note_of_the_trial_under_way_that_is_garbage_costs_a_sentence_only(cut_off, tmp_path):
    for number, note in enumerate((b"", b"{", b"[]", b'{"after_trial": "x"}', b"\xff" * 5000)):
        run = tmp_path / f"{number}" / cut_off.name
        shutil.copytree(cut_off, run)
        (run / "under_way.json").write_bytes(note)
        done = bmwg(tmp_path, "resume", str(run)) if number == 0 else None
        assert done is None or done.returncode == 0, done.stdout
        if number:
            RunStore.resume(run).close(None, "interrupted", reason="again")
        assert read_run(run).interruptions[0]["trial_cut_off"] is None
