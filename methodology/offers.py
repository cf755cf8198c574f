"""Finds by name what installed distributions offer: entry points, in-tree ones by the same door as others'.

Ids: DRIVER-01 nothing of that name, DRIVER-02 two distributions offer one name, DRIVER-03 not importable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.schemas.validation import near_hint

MEASUREMENTS = "bmwg.measurements"


def names(group: str) -> tuple[str, ...]:
    """List the names that are offered in an entry-point group, sorted."""
    return tuple(sorted({point.name for point in _offered(group)}))


def load(group: str, name: str, subject: str) -> Any:
    """Import what is offered under `name`; `subject` says in messages what it is and who names it."""
    points = [point for point in _offered(group) if point.name == name]
    if not points:
        raise ConfigError(
            "DRIVER-01",
            subject,
            expected=f"one of {', '.join(names(group)) or 'none installed'}",
            found=repr(name),
            hint=near_hint(name, names(group)),
        )
    return _import(subject, _the_only(subject, points))


def _offered(group: str) -> Sequence[metadata.EntryPoint]:
    return read(group, tuple(sys.path))


@cache
def read(group: str, places: tuple[str, ...]) -> Sequence[metadata.EntryPoint]:
    """Return what the distributions in these places offer in a group; each look at them takes 5 ms."""
    return tuple(metadata.entry_points(group=group))


@cache
def packages() -> frozenset[str]:
    """Return the packages that offer anything to the toolkit, ours among them: what may run on a node."""
    points = (point for found in metadata.distributions() for point in found.entry_points)
    ours = (point.module.partition(".")[0] for point in points if point.group.startswith("bmwg."))
    return frozenset({"bmwg", *ours})


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
            hint=f"mend {distribution} (install it again, with what it needs) or uninstall it",
        ) from error
