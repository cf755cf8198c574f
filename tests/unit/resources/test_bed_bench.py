"""What a kind on a testbed counts beside each execution."""

from __future__ import annotations

from types import SimpleNamespace

from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.resources.kinds.repeated.bed_bench import BedBench
from bmwg.resources.kinds.streams.bench import StreamsBench


def test_the_counts_of_all_machines_of_the_run_are_told() -> None:
    bench = object.__new__(StreamsBench)
    assert isinstance(bench, BedBench)
    machines = SimpleNamespace(counted=object())
    bench.run = SimpleNamespace(machines=machines, store=None, continued=None)  # type: ignore[assignment]
    bench._bed = SimpleNamespace()  # type: ignore[assignment]
    (planned, *_) = PROFILES.load("quick").plan()
    assert bench.executions(planned)._host is machines.counted
