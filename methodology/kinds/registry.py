"""The one table of kinds of load. Ids: STORE-03 a kind that nothing registers."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.kind import Kind
from bmwg.methodology.kinds.requests import REQUESTS
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import FRAMES

KINDS: Mapping[str, Kind] = {one.name: one for one in (REQUESTS, STREAMS)}
_BODIES = {FRAMES: "frames", **{name: one.schema for name, one in KINDS.items()}}


def body_schema(name: str, where: str) -> str:
    """Return the name of the schema of a kind's `spec` and `result`. Raises ConfigError STORE-03."""
    if name not in _BODIES:
        raise unknown(name, where)
    return _BODIES[name]


def kind(name: str, where: str) -> Kind:
    """Return a kind whose trials are not of frames. Raises ConfigError STORE-03."""
    if name not in KINDS:
        raise unknown(name, where)
    return KINDS[name]


def of_profile(profile: Mapping[str, object]) -> str:
    """Return the name of the kind of load that a profile is for."""
    return next((one.name for one in KINDS.values() if one.profile_format == profile.get("schema")), FRAMES)


def unknown(name: str, where: str) -> ConfigError:
    """Return the error for a kind of load that nothing here registers."""
    return ConfigError(
        "STORE-03",
        f"{where}: a kind of load that this toolkit does not know",
        expected=" or ".join(sorted(_BODIES)),
        found=repr(name)[:80],
        hint="read it with the toolkit version that run.json names, or a later one",
    )
