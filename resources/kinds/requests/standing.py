"""What a bench knows of a function while it stands: proxies in instances, or what requests cross."""

from __future__ import annotations

from typing import Any, Protocol

from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.row import Row


class Standing(Protocol):
    """A function that stands in a row."""

    row: Row

    @property
    def grouped(self) -> bool:
        """Whether instances stand behind one address."""

    @property
    def served(self) -> list[Served]:
        """What clients ask, and how."""

    @property
    def looked_at(self) -> list[Served]:
        """What is probed."""

    def usage(self) -> tuple[int, int] | None:
        """CPU time (ns) and memory (octets) of its processes; None of what is no process."""

    def counters(self) -> list[dict[str, int]]:
        """Squid's counters, of each instance."""

    def counted(self) -> dict[str, int]:
        """What the function counts by itself; nothing where it does not tell."""

    @property
    def counts_looks(self) -> bool:
        """Whether asking for these counts is one of them."""

    def answered_by_origin(self) -> dict[str, int]:
        """Requests that the origin counted; nothing where it is not asked."""

    def fault(self) -> str | None:
        """Say what of it no longer stands."""

    def describe(self) -> dict[str, Any]:
        """Evidence for the platform's record."""
