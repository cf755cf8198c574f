"""What runs of requests have by the one journal: lock, redaction, reserved CPUs, watch for leaks, compare."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from tests.unit.http import made

from bmwg.cli.main import main
from bmwg.drivers.undo import locks
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.records import OutcomeType
from bmwg.reports.compare import compare, comparison_page
from bmwg.reports.compare.screen import comparison_screen
from bmwg.reports.compare.sides import Side
from bmwg.reports.kinds.repeated import beside
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import Run, RunStore, read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.resources.kinds.requests import bench as bench_module
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

ADDRESS = "192.0.2.7"
QUICK = profile.load("quick")
NATIVE = next(one for one in QUICK.plan() if one.test_id == "HP-ONE-1")


def run_of(folder: Path, name: str, mean_ns: int) -> Run:
    """A run of one cell whose repetitions take about this long."""
    with RunStore.create(folder, name, made.header(QUICK, [NATIVE])) as store:
        store.add_deployment("native-1", {})
        kept = [made.result(NATIVE.spec, mean_ns + 1000 * number) for number in range(1, 6)]
        made.answer(store, NATIVE, kept)
    return read_run(folder / name)


def test_a_fault_and_the_answer_that_rests_on_it_tell_no_address(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "r", made.header(QUICK, [NATIVE])) as store:
        cell = CellExecutions(REQUESTS, NATIVE, store)
        fault = made.result(NATIVE.spec, 5, faults=(f"no route to {ADDRESS}:3128",))
        cell.run(Stand(deployment_id="native-1", run=lambda spec: fault, leaks=made.Watch()))
        answer = cell.answer()
    assert len(cell.done) == NATIVE.asked.max_invalid + 1
    assert answer.type is OutcomeType.INVALID
    assert "no route to <address>" in answer.reason
    assert ADDRESS not in (tmp_path / "r" / "trials.jsonl").read_text()
    assert {trial.validity.value for trial in read_run(tmp_path / "r").executions} == {"fault"}


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "r", made.header(QUICK, [NATIVE])), pytest.raises(ConfigError) as caught:
        RunStore.resume(tmp_path / "r")
    assert caught.value.error_id == "STORE-06"


def test_versions_of_the_procedures_stand_in_the_header(tmp_path: Path) -> None:
    run = run_of(tmp_path, "r", 1_000_000)
    found = verify_folder(run.folder)
    assert found.evidence is not None
    assert found.evidence.run is not None
    assert {"processing_time", "start_time", "transaction_rate", "trial"} <= set(
        found.evidence.run["procedures"]
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks and the index of ledgers of this test alone, so that runs beside it do not matter."""
    places = {"lock_dir": tmp_path / "locks", "index_dir": tmp_path / "index"}
    monkeypatch.setattr(open_run, "reserve_claims", partial(locks.reserve_claims, **places))
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: without it nothing is reserved")
def test_cpus_are_reserved_before_anything_is_made(here: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    places = {"lock_dir": here / "locks", "index_dir": here / "index"}
    with locks.reserve_claims(locks.claims_here([cpu]), **places), pytest.raises(TestbedError) as caught:
        made.opened(Settings(profile="guest", results=here / "results", run_id="r"), set())
    assert caught.value.error_id == "LOCK-01"
    assert not (here / "results").exists()


@pytest.mark.parametrize("searches", [False, True])
def test_a_test_frame_outside_ends_the_run_and_is_no_fault_of_a_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searches: bool
) -> None:
    planned = next(one for one in QUICK.plan() if (one.spec.search is not None) is searches)
    outside = made.Watch(TestbedError("ISO-03", "a test frame was seen"))
    told = made.result(planned.spec, 1_000_000, asked_requests=10, requests=10)
    monkeypatch.setattr(bench_module, "measured", lambda *_: told)
    with RunStore.create(tmp_path, "r", made.header(QUICK, [planned])) as store:
        bench: Any = SimpleNamespace(
            _stage=SimpleNamespace(clients=lambda name: SimpleNamespace(warms_up_itself=True)), leaks=outside
        )
        standing: Any = SimpleNamespace(fault=lambda: None)
        cell = CellExecutions(REQUESTS, planned, store)
        with pytest.raises(TestbedError, match="ISO-03"):
            RequestsBench._measure_cell(bench, cell, standing, "native-1")
    assert read_run(tmp_path / "r").executions == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as the run itself")
def test_a_leak_stops_the_bench_with_no_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(self: RequestsBench, group: object) -> NoReturn:
        assert isinstance(self.leaks, LeakWatch)
        raise TestbedError("ISO-03", "a test frame was seen")

    monkeypatch.setattr(RequestsBench, "measure", leaking)
    settings = Settings(profile="guest", results=here / "results", run_id="r")
    tags = {one.test_id for one in profile.load("guest").plan()}
    test_id = min(tags)
    bench = made.opened(settings, {test_id})
    with pytest.raises(TestbedError, match="ISO-03"):
        bench.outcomes(test_id)
    bench.run.close()
    run = read_run(here / "results" / "r")
    assert (run.status, run.outcomes) == ("interrupted", ())


def test_runs_of_requests_are_compared_in_their_own_unit(tmp_path: Path) -> None:
    sides = [
        Side(name=name, runs=tuple(run_of(tmp_path, f"{name}{n}", base + 500 * n) for n in range(4)))
        for name, base in (("A", 1_000_000), ("B", 2_000_000))
    ]
    found = compare(sides)
    (row,) = found.rows
    assert (row.metric, row.unit, row.shows) == ("processing_time.mean", "ns", True)
    assert row.ratio is not None
    assert 1.9 < row.ratio < 2.1
    assert "one_client/native/1p/1000o/1c" in comparison_screen(found).replace("..", "")
    assert "frames/s" not in comparison_screen(found)
    assert "2.00" in restructured(comparison_page(found))


def test_what_bmwg_plan_prints_is_what_a_run_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "testcases/http_proxy/01__one_client.robot", "--test", "HP-ONE-1"]) == 0
    told = capsys.readouterr().out
    wanted = [one for one in QUICK.plan() if one.test_id == "HP-ONE-1"]
    assert [line.split()[2] for line in told.splitlines() if line.startswith("HP-")] == [
        one.cell.cell_id for one in wanted
    ]
    assert told.count("processing_time") == len(wanted)


def test_what_the_machines_did_is_counted_while_the_neighbour_stands_beside_the_measurement(
    tmp_path: Path,
) -> None:
    """The second for which it works alone is in neither energy nor stolen time of the execution."""
    order: list[str] = []

    @contextmanager
    def entered(name: str) -> Iterator[dict[str, int]]:
        order.append(f"{name} in")
        yield {f"host.{name}": 1}
        order.append(f"{name} out")

    def run(spec: RequestsSpec) -> RequestsResult:
        order.append("run")
        return made.result(spec, 5)

    with RunStore.create(tmp_path, "r", made.header(QUICK, [NATIVE])) as store:
        cell = CellExecutions(
            REQUESTS, NATIVE, store, beside=lambda: entered("neighbour"), host=lambda: entered("machines")
        )
        cell.once(Stand(deployment_id="native-1", run=run, leaks=made.Watch()))
    assert order == ["neighbour in", "machines in", "run", "machines out", "neighbour out"]
    (line,) = read_run(tmp_path / "r").executions
    assert line.body.host == {"host.neighbour": 1, "host.machines": 1}


def test_a_neighbours_work_is_told_of_the_executions_that_make_up_the_mean() -> None:
    def line(seq: int, done: int, **changes: object) -> SimpleNamespace:
        counts = dict(zip(neighbours.COUNTS, (done, 1000, 100, 1000), strict=True))
        return SimpleNamespace(
            seq=seq, body=REQUESTS.body_of(NATIVE.spec, made.result(NATIVE.spec, 5, **changes), counts)
        )

    run = SimpleNamespace(executions=[line(1, 50), line(2, 99, faults=("its proxy has ended",))])
    assert beside._works(run, REQUESTS) == {1: 0.5}
