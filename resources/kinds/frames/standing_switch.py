"""The address table of the switch that stands between the tester's ports: what it knows, and how it forgets.

Ids: SWITCH-02 its ageing time is shorter than a trial, SWITCH-03 it does not forget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.trial.pattern import KNOWN_BEFORE
from bmwg.resources.run.clock import Clock

_LOOK_S = 0.25
_LATE_S = 15.0  # choice: beyond twice the ageing time; tables are cleared in rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingSwitch:
    """An address that is not heard goes after `ageing_s` seconds; `known` counts those that it has now."""

    ageing_s: float
    known: Callable[[], int]

    @classmethod
    def of(cls, bed: Bed, cell: Cell, evidence: Mapping[str, Any]) -> StandingSwitch | None:
        """Return the switch of a deployment, with its ageing time as it was read back; None without one."""
        function = evidence.get("function")
        found = function.get("settings", {}).get("found", {}) if isinstance(function, Mapping) else {}
        if "ageing_s" not in found:
            return None
        driver, node = registry.switch(cell.function, bed), bed.node(str(evidence["node"]))
        return cls(ageing_s=float(found["ageing_s"]), known=lambda: driver.table(node))

    def forget(self, clock: Clock) -> None:
        """Wait until it knows no address; TestbedError SWITCH-03 where that does not come about."""
        ends_ns = clock.monotonic_ns() + round((2 * self.ageing_s + _LATE_S) * 1e9)
        while known := self.known():
            if clock.monotonic_ns() > ends_ns:
                raise TestbedError(
                    "SWITCH-03",
                    "the switch after twice its ageing time",
                    expected="no address in its table",
                    found=str(known),
                    hint="something else sends through it, or it does not forget",
                )
            clock.sleep(_LOOK_S)

    def looked_at(self, spec: TrialSpec) -> tuple[tuple[str, int], ...]:
        """Count what it knows between learning frames and a trial (RFC2889-3-02); nothing where none go."""
        if spec.pattern is None or spec.pattern.unprepared:
            return ()
        return ((KNOWN_BEFORE, self.known()),)

    def require_longer(self, spec: TrialSpec, *, before_s: float) -> None:
        """Refuse a trial in which addresses age (RFC2889-3-03, RFC2889-5.7.3-01): TestbedError SWITCH-02.

        `before_s` is the wait behind its learning frames; what teaches addresses has such a trial behind it.
        """
        if spec.pattern is None:
            return
        needed_s = 2 * spec.total_s if spec.pattern.unprepared else before_s + spec.total_s
        if needed_s >= self.ageing_s:
            raise TestbedError(
                "SWITCH-02",
                f"the switch's ageing time, for a trial of {spec.words}; it was not sent",
                expected=f"more than {needed_s:.3g} s",
                found=f"{self.ageing_s:g} s",
                hint="functions.<switch>.ageing_s of the testbed file, shorter trials, or faster learning",
            )
