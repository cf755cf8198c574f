"""Narrows a profile of paths with network options to some of both: less, by the same numbers. Pure.

A profile has its places as `paths`, each with its `networks`, or one `path` and experiments with `networks`.
Id: PRF-11 nothing of the profile is left, or a name is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.profiles.narrowed import KEY, Narrowing, nothing_left, require_known, require_path
from bmwg.methodology.records import NOTHING

_HINT = "a path that is named takes any network; frame sizes are of frames alone"
_PLACES = ("paths", "experiments")  # the keys under which a profile may have network options


def narrowed(data: Mapping[str, Any], wanted: Narrowing, options: Collection[str]) -> Mapping[str, Any]:
    """Return a profile's data with these paths and networks alone; `options` are those of the testbed.

    With networks, places without one are left out unless they are named. A path that is named takes the
    networks that are asked for, also where the profile has others on it. Frame sizes are of frames alone.
    Raises ConfigError PRF-11.
    """
    if not wanted:
        return data
    name = str(data["name"])
    for network in wanted.networks:
        require_known("network", network, options, "networks of the testbed")
    key = next((key for key in _PLACES if any("networks" in place for place in data.get(key, ()))), None)
    if key is None or wanted.frame_octets:
        raise nothing_left(name, wanted, _HINT)
    require_path(wanted, {str(place.get("path", data.get("path"))) for place in data[key]}, name)
    kept = list(_kept(data[key], data.get("path"), wanted))
    if not kept:
        raise nothing_left(name, wanted, _HINT)
    return {**data, "name": f"{name}-{KEY}", KEY: wanted.as_builtins(), key: kept}


def _kept(
    places: Sequence[Mapping[str, Any]], path: str | None, wanted: Narrowing
) -> Iterator[Mapping[str, Any]]:
    seen: list[Mapping[str, Any]] = []
    for place in places:
        if wanted.paths and place.get("path", path) not in wanted.paths:
            continue
        own = place.get("networks", [NOTHING])
        networks = list(own)
        if wanted.networks and own == [NOTHING]:
            networks = networks if wanted.paths else []
        elif wanted.networks:
            networks = [name for name in wanted.networks if wanted.paths or name in own]
        one = {**place, **({"networks": networks} if "networks" in place else {})}
        if networks and one not in seen:
            seen.append(one)
            yield one
