"""An act on another host beside a trial here: its times are told by this machine's clock, with the bound."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bmwg.drivers import registry
from bmwg.drivers.actuators.acting import ActingTraffic
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.watch import clocks
from bmwg.drivers.watch.clocks import ClockBound
from bmwg.methodology.records import TrialResult, TrialSpec

SPEC = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.02, act="link", act_at_s=0.0)
DONE = {"began_ns": 5_000, "ended_ns": 9_000, "beginning_ns": 7}
BOUND = ClockBound(offset_ns=1_000_000, bound_ns=20)


def acted(monkeypatch: pytest.MonkeyPatch, machine: object) -> dict[str, int]:
    monkeypatch.setattr(registry, "load", lambda *_, **__: lambda place: lambda: dict(DONE))
    monkeypatch.setattr(clocks, "bound", lambda far: BOUND)
    tester = SimpleNamespace(run=lambda spec: TrialResult(spec=spec, streams=(), wall_time_ns=1))
    bed = SimpleNamespace(tester=SimpleNamespace(machine=HERE))
    cell = SimpleNamespace(axes=())  # without a neighbour
    place = SimpleNamespace(node=SimpleNamespace(machine=machine), bed=bed, cell=cell)
    return dict(ActingTraffic(tester, place).run(SPEC).auxiliary)  # type: ignore[arg-type]


def test_on_another_host_the_act_is_made_wider_by_the_bound_of_the_clocks(monkeypatch) -> None:
    assert acted(monkeypatch, SimpleNamespace()) == {
        "act.began_ns": 5_000 + 1_000_000 - 20,
        "act.ended_ns": 9_000 + 1_000_000 + 20,
        "act.beginning_ns": 7,
        "act.clock_bound_ns": 20,
    }


def test_on_this_machine_the_clock_is_one(monkeypatch) -> None:
    assert acted(monkeypatch, HERE) == {f"act.{name}": value for name, value in DONE.items()}
