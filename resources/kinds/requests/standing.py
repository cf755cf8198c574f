"""What a bench knows of a function while it stands: proxies in instances, or what requests cross."""

from __future__ import annotations

from typing import Any, Protocol

from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.row import Row


class Standing(Protocol):
    """A function that stands. `counters` are Squid's, `counted` is what the function counts by itself.
    `answered` are requests that the origin counted, None where it is not asked.

    `usage` is CPU time (ns) and memory (octets) of its processes, None of one that is none.
    """

    row: Row

    @property
    def grouped(self) -> bool: ...
    @property
    def served(self) -> list[Served]: ...
    @property
    def looked_at(self) -> list[Served]: ...
    def usage(self) -> tuple[int, int] | None: ...
    def counters(self) -> list[dict[str, int]]: ...
    def counted(self) -> dict[str, int]: ...
    def answered(self) -> int | None: ...
    def fault(self) -> str | None: ...
    def describe(self) -> dict[str, Any]: ...
