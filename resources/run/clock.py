"""The clock by which a run waits and tells when the steps around its trials happened."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock that can be waited by."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds since a fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait at least this long."""
        ...


class HostClock:
    """The clock of the machine that runs the tester."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds since the machine started."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Wait at least this long."""
        time.sleep(seconds)
