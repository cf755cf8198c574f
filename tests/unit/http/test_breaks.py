"""A deployment that breaks costs the cell that it broke under, and no cell has fewer repetitions for it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made as cells

from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.records import OutcomeType
from bmwg.resources.kinds.repeated import measure
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.resources.kinds.requests import bench as bench_module
from bmwg.resources.kinds.requests.bench import RequestsBench


class Bench(RequestsBench):
    """With doubles in the place of nodes and forms. `faults` are what stands after each execution, in order.

    An execution lasts a second, and removing a deployment `removal_s`.
    """

    def __init__(self, faults: str, *, removal_s: float = 0.0, warms_up: bool = False) -> None:
        self.faults: Iterator[str] = iter(faults)
        self.now_s, self.removal_s, self.warms_up = 0.0, removal_s, warms_up
        self.kept: dict[str, Any] = {}
        self.lines: list[tuple[str, str]] = []
        self._stage: Any = SimpleNamespace(set=lambda *_: None, close=self.removed)
        self.run: Any = SimpleNamespace(
            display=SimpleNamespace(note=lambda _: None), attempt=lambda act: act()
        )
        self.guard: Any = SimpleNamespace(judged=list, judged_after_break=list)
        self.answers: Any = SimpleNamespace(keep=lambda found: self.kept.update({found.cell.cell_id: found}))

    def removed(self) -> None:
        self.now_s += self.removal_s

    def append(self, **line: Any) -> int:
        self.lines.append((line["cell_id"], line["phase"]))
        return len(self.lines)

    def executions(self, planned: Any) -> Any:
        return CellExecutions(REQUESTS, planned, self)  # type: ignore[arg-type]

    def _measure_on_one(self, left: Any) -> None:
        def once(spec: Any) -> Any:
            self.now_s += 1
            return cells.result(spec, 1000)

        def fault() -> str | None:
            return "the proxy has ended" if next(self.faults, ".") == "x" else None

        stand: Any = Stand(deployment_id="d", run=once, leaks=cells.Watch(), fault=fault)
        try:
            while left:
                left[0].run(stand, left[0].planned.spec if self.warms_up else None)
                self.keep_judged(left.pop(0), self.guard.judged)
        finally:
            self.removed()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(faults: str, count: int = 1, limit_s: float = float("inf"), **settings: Any) -> Bench:
        bench = Bench(faults, **settings)
        clock = SimpleNamespace(monotonic=lambda: bench.now_s, monotonic_ns=lambda: int(bench.now_s * 1e9))
        monkeypatch.setattr(measure, "time", clock)
        monkeypatch.setattr(bench_module, "lacking", lambda *_: None)
        asked = {"wanted": 5, "least": 2, "max_invalid": 1, "limit_s": limit_s}
        group = [
            cells.planned(cells.spec(object_octets=1000 * number), **asked) for number in range(1, count + 1)
        ]
        bench.measure(group)
        assert list(bench.kept) == [planned.key for planned in group]
        return bench

    return run


def valid(bench: Bench) -> list[int]:
    """Return how many valid repetitions make up each answer."""
    return [round(found.values[2].number) if found.values else 0 for found in bench.kept.values()]


def test_a_break_under_one_cell_costs_no_other_a_repetition(measured: Any) -> None:
    """Each of three cells breaks once and has one invalid repetition, as many as are allowed."""
    for limit_s in (float("inf"), 100.0):
        bench = measured("..x..." * 3, count=3, limit_s=limit_s)
        assert [found.type for found in bench.kept.values()] == [OutcomeType.MEASURED] * 3
        assert valid(bench) == [5, 5, 5]


def test_a_cell_that_breaks_more_often_than_it_may_is_no_answer(measured: Any) -> None:
    bench = measured("..x.x" + "." * 5, count=2, limit_s=100.0)
    assert [found.type for found in bench.kept.values()] == [OutcomeType.INVALID, OutcomeType.MEASURED]
    assert valid(bench) == [0, 5]


def test_breaks_in_warm_ups_leave_no_answer_of_what_was_measured_before(measured: Any) -> None:
    """Three were valid when it broke; no warm-up of the next two deployments ended with one that stood."""
    bench = measured("....xx", limit_s=100.0, warms_up=True)
    assert sum(phase == MEASURED for _, phase in bench.lines) == 4
    (found,) = bench.kept.values()
    assert (found.type, found.values) == (OutcomeType.INVALID, ())
    assert "broke 2 times: the proxy has ended" in found.reason
    assert REQUESTS.replayed(cells.planned(cells.spec()), found, (), ()) == found


def test_the_time_that_a_broken_deployment_takes_to_be_removed_is_none_of_its_cell(measured: Any) -> None:
    bench = measured("..x", limit_s=20.0, removal_s=60.0)
    assert valid(bench) == [5]


def test_a_cell_whose_time_is_over_has_the_least_that_it_needs(measured: Any) -> None:
    bench = measured("", limit_s=3.5)
    assert valid(bench) == [4]
