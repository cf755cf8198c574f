"""The one table of kinds of load, made of what installed distributions offer; ours come by the same door.

A kind that cannot be imported is left out; whoever names it gets its error, and `broken` tells of it. Ids:
STORE-03 a kind that nothing registers, KIND-01 what is offered calls itself otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from bmwg.methodology import offers
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.kinds.kind import Kind
from bmwg.methodology.records import UNNAMED
from bmwg.schemas import load as schema

GROUP = "bmwg.kinds"


def offer(group: str, name: str, subject: str, called: Callable[[Any], str]) -> Any:
    """Import what a kind offers in a group; TestbedError KIND-01 where it calls itself otherwise."""
    found = offers.load(group, name, f"{subject} {name!r}")
    if called(found) != name:
        raise TestbedError(
            "KIND-01", f"{subject} {name!r}", expected="an offer of that name", found=repr(called(found))
        )
    return found


def offered(
    group: str, subject: str, called: Callable[[Any], str]
) -> tuple[dict[str, Any], dict[str, TestbedError]]:
    """Return all that is offered in a group by name, and why the rest cannot be imported. KIND-01."""
    found: dict[str, Any] = {}
    broken: dict[str, TestbedError] = {}
    for name in offers.names(group):
        try:
            found[name] = offer(group, name, subject, called)
        except TestbedError as error:
            if error.error_id == "KIND-01":
                raise
            broken[name] = error
    return found, broken


@cache
def _offered() -> tuple[Mapping[str, Kind], Mapping[str, TestbedError]]:
    return offered(GROUP, "kind of load", lambda one: one.name)


def kinds() -> Mapping[str, Kind]:
    """Return the kinds whose trials are not of frames, by name, without broken ones. TestbedError KIND-01."""
    return _offered()[0]


def broken() -> Mapping[str, TestbedError]:
    """Return why kinds cannot be had that a distribution offers, by name: DRIVER-02, DRIVER-03."""
    return _offered()[1]


@cache
def _bodies() -> Mapping[str, Mapping[str, Any]]:
    return {UNNAMED: schema(UNNAMED), **{name: one.schema for name, one in kinds().items()}}


def names() -> tuple[str, ...]:
    """Return the names of all kinds, that of frames first: the order in which a run tells of them."""
    return tuple(_bodies())


def plans_itself(name: str) -> bool:
    """Whether a kind is a `Kind`: its own module plans it, judges its trials and computes its answers.

    Trials of other kinds are planned by test cases and replayed by the procedures of `measurements`.
    """
    if name in broken():
        raise broken()[name]
    return name in kinds()


def body_schema(name: str, where: str) -> Mapping[str, Any]:
    """Return the schema of a kind's `spec` and `result`.

    Raises ConfigError STORE-03, and for a kind that is offered and broken its own error.
    """
    if name in broken():
        raise broken()[name]
    if name not in _bodies():
        raise unknown(name, where)
    return _bodies()[name]


def kind(name: str, where: str) -> Kind:
    """Return a kind whose trials are not of frames. Raises as `body_schema` does."""
    if name in broken():
        raise broken()[name]
    if name not in kinds():
        raise unknown(name, where)
    return kinds()[name]


def of_profile(profile: Mapping[str, Any]) -> str:
    """Return the name of the kind of load that a profile is for."""
    said = profile.get("schema")
    return next((one.name for one in kinds().values() if one.profile_format == said), UNNAMED)


def unknown(name: str, where: str) -> ConfigError:
    """Return the error for a kind of load that nothing here registers."""
    return ConfigError(
        "STORE-03",
        f"{where}: a kind of load that this toolkit does not know",
        expected=" or ".join(sorted(_bodies())),
        found=repr(name)[:80],
        hint="read it with the toolkit version that run.json names, or a later one",
    )
