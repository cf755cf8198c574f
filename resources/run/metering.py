"""The meter of a run: made by the testbed file, read while the machine is idle, then beside each trial.

Ids: METER-02 the testbed file names a meter that cannot be read; nothing was started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.meters import Meter, Place
from bmwg.methodology.errors import TestbedError
from bmwg.resources.run.clock import Clock

NAME = "power meter"  # how it is named among a run's drivers
_IDLE_S = 60.0  # LTP-3.2.3-04: at least 60 s without load


def meter_of(testbed: Mapping[str, Any], call: Callable[..., Any]) -> Meter | None:
    """Return the meter that a testbed file names; None without one. Raises METER-01, METER-02."""
    said = testbed.get("power")
    if said is None:
        return None
    kind = registry.load(registry.METER, said["meter"], where="power.meter")
    meter: Meter = kind(said.get("options", {}), Place(call=call))
    if missing := meter.probe():
        raise TestbedError(
            "METER-02", missing.what, expected="readings", found=missing.reason, hint=missing.mend
        )
    return meter


def idle(testbed: Mapping[str, Any], meter: Meter, clock: Clock) -> dict[str, Any]:
    """Wait while nothing is deployed; return the meter as a driver, with the idle machine's energy."""
    said = testbed["power"]
    begun = meter.begin()
    clock.sleep(float(said.get("idle_s", _IDLE_S)))
    counts = meter.since(begun).counts()
    return {**meter.describe(), "name": NAME, "of": said["of"], "idle": counts}
