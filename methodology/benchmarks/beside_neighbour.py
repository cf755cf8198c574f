"""Metrics of the throughput beside a neighbour of CPU or memory bandwidth (LTD 3.2.2.6.1, 3.2.2.3.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One of these tests: its metric, what its neighbours use up, and the rows that it carries out."""

    name: str
    metric: str
    kinds: tuple[str, ...]
    rows: tuple[str, ...]


STRESS = Beside(
    name="stress",
    metric="throughput_beside.ltd_3_2_2_6_1",
    kinds=("cpu", "memory"),
    rows=("LTD-3.2.2.6.1",),
)
MEMORY_BANDWIDTH = Beside(
    name="memory_bandwidth",
    metric="throughput_beside.ltd_3_2_2_3_2",
    kinds=("memory",),
    rows=("LTD-3.2.2.3.2-01", "LTD-3.2.2.3.2-02"),
)
EACH = (STRESS, MEMORY_BANDWIDTH)
