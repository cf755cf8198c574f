"""What a kept version of a procedure is to whoever replays a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmwg.methodology.measurements.measurement import Answered, Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRule:
    """A version of the procedure of one metric. `measure` is that of a `Measurement`, as it was.

    `first_commit` is the first that wrote this version, `last_commit` the last one.
    """

    metric: str
    version: int
    first_commit: str
    last_commit: str
    measure: Callable[[Asked], Answered]
    needs_throughput: bool = False
    reads_latency: bool = False
