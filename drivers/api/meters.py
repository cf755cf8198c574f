"""What reads the power of a machine, found by `power.meter` of the testbed file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.methodology.answers.power import Energy


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The machine that a meter is of: `call` calls a function there.

    `root` is before every path of it (empty outside of tests).
    """

    call: Callable[..., Any]
    root: str = ""


class Meter(Protocol):
    """Counts energy between two moments of this machine's clock; it does nothing on the machine meanwhile.

    `options` are `power.options` of the testbed file (an unknown one is a ConfigError METER-01). `probe` says
    what is missing. `begin` is called right before a trial and returns what `since` takes right after it.
    """

    def __init__(self, options: Mapping[str, JsonValue], place: Place) -> None: ...

    def probe(self) -> Missing | None:
        """Return what is missing."""
        ...

    def begin(self) -> Any:
        """Return what stands now."""
        ...

    def since(self, begun: Any) -> Energy:
        """Return what was used since; waits as long as its own period for a reading after now."""
        ...

    def describe(self) -> Mapping[str, JsonValue]:
        """What it is, as evidence."""
        ...
