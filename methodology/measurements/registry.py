"""All measurements by name. A new one is a module with `MEASUREMENTS` and a line here."""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.measurements import (
    back_to_back,
    burst_interval,
    delay_variation,
    frame_loss,
    latency,
    modifiers,
    recovery,
    soak,
    tagged_latency,
    throughput,
)
from bmwg.methodology.measurements.measurement import Measurement

_MODULES: Iterable[tuple[Measurement, ...]] = (
    throughput.MEASUREMENTS,
    latency.MEASUREMENTS,
    tagged_latency.MEASUREMENTS,
    delay_variation.MEASUREMENTS,
    frame_loss.MEASUREMENTS,
    soak.MEASUREMENTS,
    back_to_back.MEASUREMENTS,
    burst_interval.MEASUREMENTS,
    recovery.MEASUREMENTS,
    modifiers.MEASUREMENTS,
)
HEADLINE = (  # metrics by which runs are compared; other kinds of load name theirs (`Kind.headline`)
    "throughput.rfc2544_26_1",
    "tester.envelope",
    *(f"latency.all_frames.{way}{part}" for way in ("", "forward.", "reverse.") for part in ("p50", "p99")),
)
BY_NAME: dict[str, Measurement] = {one.name: one for module in _MODULES for one in module}


def measurement(name: str) -> Measurement:
    """Return a measurement; ToolkitBug MEAS-01 when nothing is registered under the name."""
    if name not in BY_NAME:
        raise ToolkitBug("MEAS-01", "measurement", expected=f"one of {', '.join(BY_NAME)}", found=name)
    return BY_NAME[name]


def recorded_as(metric: str) -> str:
    """Return the metric that the journal names beside the trials of an outcome: its family, or itself."""
    families = {family for one in BY_NAME.values() for family in one.families}
    able = [family for family in families if metric == family or metric.startswith(f"{family}.")]
    return max(able, key=len, default=metric)
