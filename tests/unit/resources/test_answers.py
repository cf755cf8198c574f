"""The answers of a bench: what stands, whose affair an error is, and that no address is in a reason."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from robot.errors import ExecutionFailed

from bmwg.drivers.traffic.embedded.result import faulty
from bmwg.drivers.traffic.simulated import SimulatedTraffic
from bmwg.methodology.answers.throughput import not_assessed
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitBug
from bmwg.methodology.records import FRAMES, Cell, Outcome, OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.progress import Estimate
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"
ADDRESS = "192.0.2.7"
CELL = Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64)
OUTCOME = not_assessed(CELL, outcome_id="T-1:wire", metric="throughput", reason="no program")


class Opened:
    """A run in whose place a list stands."""

    def __init__(self, earlier: tuple[Outcome, ...] = ()) -> None:
        self.kept: list[tuple[Outcome, str]] = []
        self.said: list[str] = []
        self.stopped: BaseException | None = None
        self.machines = Machines()
        self.store = SimpleNamespace(add_outcome=lambda outcome, mend: self.kept.append((outcome, mend)))
        self.display = SimpleNamespace(note=self.said.append, estimate=Estimate())
        self.continued = (
            SimpleNamespace(of_kind=lambda kind: earlier, mends={"old": "apt"}) if earlier else None
        )

    held = OpenRun.held


def test_an_answer_is_kept_told_and_stands() -> None:
    run = Opened()
    answers = Answers(run, FRAMES, lambda one: f"said {one.outcome_id}")
    assert CELL.cell_id not in answers
    assert answers.get(CELL.cell_id) is None
    answers.keep(OUTCOME, "apt-get install it")
    assert run.kept == [(OUTCOME, "apt-get install it")]
    assert run.said == []  # the end of the run tells what could not be tried, once
    answers.keep(replace(OUTCOME, type=OutcomeType.INVALID))
    assert run.said == ["said T-1:wire"]
    answers.keep(OUTCOME)
    assert answers[CELL.cell_id] is OUTCOME
    assert answers.mends == {"T-1:wire": "apt-get install it"}


def test_answers_of_a_run_that_goes_on_stand_by_what_they_are_asked_for() -> None:
    run = Opened((OUTCOME,))
    answers = Answers(run, FRAMES, str, key=lambda one: (one.metric, one.cell.cell_id))
    assert ("throughput", CELL.cell_id) in answers
    assert answers.mends == {"old": "apt"}
    assert run.kept == []


def test_an_error_of_a_cell_is_told_without_addresses_and_the_run_goes_on() -> None:
    run = Opened()
    told: list[str] = []
    answers = Answers(run, FRAMES, str)
    with answers.measuring(told.append):
        raise DriverError("HOST-01", f"the pod at {ADDRESS}", found="nothing")
    assert told == ["HOST-01 the pod at <address>; found nothing"]
    assert run.stopped is None


def _removed_in_vain(signal: BaseException) -> None:
    try:
        raise signal
    finally:
        raise DriverError("NODE-03", "node vm1 is broken", found="a call was interrupted")


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), ExecutionFailed("by a signal", exit=True)])
def test_a_signal_ends_the_run_also_where_what_was_made_cannot_be_removed_after_it(signal) -> None:
    """No cell is invalid by Ctrl-C: it has no answer, and the run can go on."""
    run = Opened()
    told: list[str] = []
    answers = Answers(run, FRAMES, str)
    with pytest.raises(type(signal)), answers.measuring(told.append):
        _removed_in_vain(signal)
    assert told == []
    assert run.stopped is signal


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ToolkitBug("STORE-05", "a bug"), TestbedError("STORE-08", "a full disk")]
)
def test_any_other_error_ends_the_run_and_nothing_is_measured_after_it(error: BaseException) -> None:
    run = Opened()
    told: list[str] = []
    answers = Answers(run, FRAMES, str)
    with pytest.raises(type(error)), answers.measuring(told.append):
        raise error
    assert run.stopped is error
    entered = False
    with pytest.raises(type(error)), answers.measuring(told.append):
        entered = True
    assert not entered
    assert told == []


def _failing(*_):
    raise DriverError("TST-12", f"the tester at {ADDRESS} ended", found=ADDRESS)


def _faulty(_, spec):
    return faulty(spec, f"the tester at {ADDRESS} ended", 0)


@pytest.mark.parametrize(
    ("where", "does"), [("run", _failing), ("attach", _failing), ("learn", _failing), ("run", _faulty)]
)
def test_a_tester_that_fails_with_an_address_leaves_none_in_the_run(
    tmp_path, monkeypatch, where, does
) -> None:
    monkeypatch.setattr(SimulatedTraffic, where, does)
    bench = Bench.open(Settings(testbed=TESTBED, results=tmp_path, run_id="mine"), ["CN-TPUT-1.1"])
    try:
        types = {one.type for one in bench.outcomes("CN-TPUT-1.1")}
    finally:
        bench.close()
    assert types == {OutcomeType.INVALID}
    assert all("<address>" in one.reason for one in read_run(tmp_path / "mine").outcomes)
    for file in ("run.json", "trials.jsonl", "report.html"):
        assert ADDRESS not in (tmp_path / "mine" / file).read_text()
    assert [str(one) for one in verify_folder(tmp_path / "mine").findings] == []
