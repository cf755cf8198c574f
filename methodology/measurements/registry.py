"""All measurements by name, as installed distributions offer them; ours come by the same door.

What is offered is a tuple `MEASUREMENTS`; the name of the offer is that of its settings in a profile's
`benchmarks`. Ids: MEAS-01 no measurement of that name, MEAS-02 what is offered is no such tuple, MEAS-03 one
name twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bmwg.methodology import offers
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.matrix import Place
from bmwg.methodology.measurements.measurement import Measurement
from bmwg.schemas.validation import near_hint

GROUP = offers.MEASUREMENTS
HEADLINE = (  # metrics by which runs are compared; other kinds of load name theirs (`Kind.headline`)
    "throughput.rfc2544_26_1",
    "throughput.tst009_12_3",
    "tester.envelope",
    *(f"latency.all_frames.{way}{part}" for way in ("", "forward.", "reverse.") for part in ("p50", "p99")),
)


@cache
def measurements() -> Mapping[str, Measurement]:
    """Return all installed measurements by name.

    Raises what `offers.load` raises, TestbedError MEAS-02, MEAS-03.
    """
    found: dict[str, Measurement] = {}
    for name in offers.names(GROUP):
        offered = offers.load(GROUP, name, f"measurements {name!r}")
        if not isinstance(offered, tuple) or not all(isinstance(one, Measurement) for one in offered):
            raise TestbedError(
                "MEAS-02",
                f"measurements {name!r}",
                expected="a tuple of Measurement",
                found=type(offered).__name__,
            )
        for one in offered:
            if one.name in found:
                raise TestbedError(
                    "MEAS-03",
                    f"measurement {one.name} of the measurements {name!r}",
                    expected="a name that no other has",
                    found="it is offered already",
                    hint="uninstall one of the distributions",
                )
            found[one.name] = one
    return found


def measurement(name: str) -> Measurement:
    """Return a measurement; ConfigError MEAS-01 when no installed distribution offers it."""
    known = measurements()
    if name not in known:
        raise ConfigError(
            "MEAS-01",
            f"measurement {name!r}",
            expected=f"one of {', '.join(known)}",
            found=name,
            hint=near_hint(name, known, "install the distribution that offers it"),
        )
    return known[name]


def recorded_as(metric: str) -> str:
    """Return the metric that the journal names beside the trials of an outcome: its family, or itself."""
    families = {family for one in measurements().values() for family in one.families}
    able = [family for family in families if metric == family or metric.startswith(f"{family}.")]
    return max(able, key=len, default=metric)


def places() -> Mapping[str, tuple[Place, ...]]:
    """Return where the answers of each family stand in the matrix of RFC 8172."""
    found: dict[str, tuple[Place, ...]] = {}
    for one in measurements().values():
        for family in one.families:
            found[family] = tuple(dict.fromkeys((*found.get(family, ()), *one.places)))
    return found
