"""Find drivers by name through entry points, in-tree ones by the same door as everybody else's.

Ids: DRIVER-01 no driver of that name, DRIVER-02 two distributions offer one name, DRIVER-03 not importable.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError

GROUP = "bmwg.drivers"


def names(kind: str) -> tuple[str, ...]:
    """List the names of all installed drivers of one kind (`traffic`, `network`, ...), sorted."""
    return tuple(sorted({point.name for point in metadata.entry_points(group=f"{GROUP}.{kind}")}))


def load(kind: str, name: str, *, where: str = "") -> Any:
    """Import the driver `name` of one kind. `where` is the place in the user's file that names it."""
    points = [point for point in metadata.entry_points(group=f"{GROUP}.{kind}") if point.name == name]
    subject = f"{where + ': ' if where else ''}{kind} driver {name!r}"
    if not points:
        raise ConfigError(
            "DRIVER-01",
            subject,
            expected=f"one of {', '.join(names(kind)) or 'none installed'}",
            **_near(kind, name),
        )
    return _import(subject, _the_only(subject, points))


def _near(kind: str, name: str) -> dict[str, str]:
    near = difflib.get_close_matches(name, names(kind), 1)
    return {"found": repr(name), "hint": f"did you mean {near[0]!r}?" if near else ""}


def _the_only(subject: str, points: Sequence[metadata.EntryPoint]) -> metadata.EntryPoint:
    # the same distribution may be found twice (an editable install and its build folder): that is one offer
    offers = {(point.dist.name if point.dist else "unknown", point.value): point for point in points}
    if len(offers) > 1:
        found = " and ".join(f"{distribution} ({value})" for distribution, value in sorted(offers))
        raise TestbedError(
            "DRIVER-02",
            subject,
            expected="one installed distribution that offers it",
            found=found,
            hint="uninstall one of them",
        )
    return next(iter(offers.values()))


def _import(subject: str, point: metadata.EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        distribution = point.dist.name if point.dist else "unknown"
        raise TestbedError(
            "DRIVER-03",
            subject,
            expected=f"{point.value} of {distribution} importable",
            found=str(error),
        ) from error
