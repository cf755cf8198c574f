"""What a kept version of a procedure is to whoever replays a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmwg.methodology.measurements.measurement import Answered, Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRule:
    """A version of the procedure of one metric. `measure` is that of a `Measurement`, as it was.

    `methodology.procedures.CHANGES` says which commits measured by it.
    """

    metric: str
    version: int
    measure: Callable[[Asked], Answered]
    needs_throughput: bool = False
    reads_latency: bool = False
