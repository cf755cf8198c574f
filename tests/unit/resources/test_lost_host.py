"""A host that is lost: when it counts as such, whose affair an error then is, and a run that goes on."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.resources.test_answers import Opened

from bmwg.drivers.traffic.simulated import SimulatedTraffic
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.records import FRAMES
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"
TESTS = ["CN-TPUT-1.1", "CN-TPUT-1.2"]


class Ending:
    """A host whose agent answers so often and is then lost."""

    name = "dut1/host"

    def __init__(self, answers: int) -> None:
        self.left = answers
        self.broken: str | None = None

    def call_within(self, deadline_s, function):
        return self.call(function)

    def call(self, function):
        self.left -= 1
        if self.left < 0:
            self.broken = "agent died"
            raise DriverError("NODE-03", "node dut1/host is broken", found=self.broken)
        return "0.1.0", None, None


def test_a_host_is_lost_once_its_agent_does_not_answer_and_nothing_else_makes_it_so():
    run = Machines({"tester": Ending(9), "dut1": Ending(2)}, under_test="dut1")  # one answer told the toolkit
    run.require_held()
    run.ask_all()
    run.require_held()
    run.ask_all()
    for _ in range(2):
        with pytest.raises(TestbedError, match="NODE-23  the dut1's host is lost"):
            run.require_held()
    Machines().require_held()


@pytest.mark.parametrize("asked_late", [True, False])
def test_an_error_of_a_run_that_has_lost_a_host_ends_it_by_that_hosts_name(asked_late: bool) -> None:
    run, host = Opened(), Ending(2 if asked_late else 9)
    run.machines = Machines({"dut1": host})
    told: list[str] = []
    answers = Answers(run, FRAMES, str)
    with answers.measuring(told.append):  # the host answers: the error is its cell's
        raise DriverError("NODE-03", "node dut1 is broken", found="agent died")
    assert len(told) == 1
    if not asked_late:
        host.broken = "agent died"
    for _ in range(2):
        with pytest.raises(TestbedError, match="NODE-23"), answers.measuring(told.append):
            raise DriverError("TST-12", "the tester ended")
    assert run.stopped is not None
    assert len(told) == 1
    (said,) = run.said
    assert said.startswith("stopped: NODE-23 the dut1's host is lost")


def test_a_run_of_frames_that_loses_a_host_keeps_no_trial_after_it_and_goes_on(tmp_path, monkeypatch) -> None:
    host, wanted = Ending(1000), Settings(testbed=TESTBED, results=tmp_path, run_id="mine")
    honest, trials = SimulatedTraffic.run, 0

    def runs(traffic, spec):
        nonlocal trials
        trials += 1
        if trials == 3:
            host.broken = "agent died"
        return honest(traffic, spec)

    monkeypatch.setattr(SimulatedTraffic, "run", runs)
    bench = Bench.open(wanted, TESTS)
    bench._session.run.machines.hosts = {"dut1": host}
    for test_id in TESTS:  # the second is not tried
        with pytest.raises(TestbedError, match="NODE-23"):
            bench.outcomes(test_id)
    bench.close()
    assert trials == 3
    cut = read_run(tmp_path / "mine")
    assert (cut.status, len(cut.trials), len(cut.outcomes)) == ("interrupted", 2, 0)
    assert "NODE-23 the dut1's host is lost" in cut.interruption

    again = Bench.open(replace(wanted, run_id=None, continue_run="mine"), TESTS)
    for test_id in TESTS:
        again.outcomes(test_id)
    again.close()
    run = read_run(tmp_path / "mine")
    assert run.status == "complete"
    assert [(one.seq, one.result) for one in run.trials[:2]] == [(one.seq, one.result) for one in cut.trials]
    assert {one.type.value for one in run.outcomes} == {"measured"}
    (break_,) = run.interruptions
    assert break_["after_trial"] == 2
    assert break_["trial_cut_off"]["cell"].startswith("wire/")
    assert not verify_folder(run.folder).findings
