"""The medium between tester and device, as a testbed file names it."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.drivers.testbed import Testbed

VIRTUAL = "veth"  # what it is where the file names none: virtual Ethernet, without a rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """What lies between tester and device; `line_rate_bps` is its rate, bit/s (None: it has none)."""

    kind: str = VIRTUAL
    line_rate_bps: int | None = None


def medium_of(testbed: Testbed) -> Medium:
    """Return the medium of a testbed file that keeps to its schema."""
    return Medium(**testbed.data.get("medium", {}))
