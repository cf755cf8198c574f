"""Narrows a profile to some networks, paths and frame sizes: less is measured, by the same numbers.

Ids: PRF-11 nothing of the profile is left, SET-02 a frame size is none of Ethernet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology import suites
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import shortened
from bmwg.methodology.profiles.profile import Deviation, PathPlan, Profile
from bmwg.schemas.validation import near_hint

_HINT = "add --path: it takes any network asked for; models and clusters have suites of their own"
KEY = "narrowed"  # of a profile's data: what it was narrowed to
NOTHING_LEFT = "PRF-11"  # the id of a profile of which nothing is left
LEAST_OCTETS, MOST_OCTETS = 64, 9216  # as the schema of profiles has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What alone is to be measured; an empty part narrows nothing. `frame_octets` count the FCS."""

    networks: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    frame_octets: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.networks or self.paths or self.frame_octets)

    def as_builtins(self) -> dict[str, list[str] | list[int]]:
        """Return the parts that narrow, as a profile holds them."""
        parts: dict[str, list[str] | list[int]] = {
            "networks": list(self.networks),
            "paths": list(self.paths),
            "frame_octets": list(self.frame_octets),
        }
        return {name: part for name, part in parts.items() if part}


def from_words(networks: str, paths: str, sizes: str) -> Narrowing:
    """Read what narrows a run, words between commas. Raises ConfigError SET-02 for no size of Ethernet."""
    octets = []
    for text in _listed(sizes):
        if not (text.isascii() and text.isdigit() and LEAST_OCTETS <= int(text) <= MOST_OCTETS):
            raise ConfigError(
                "SET-02",
                "--frame-size (environment variable BMWG_FRAME_SIZES)",
                expected=f"octets with FCS, {LEAST_OCTETS} to {MOST_OCTETS}",
                found=repr(text),
            )
        octets.append(int(text))
    return Narrowing(networks=_listed(networks), paths=_listed(paths), frame_octets=tuple(octets))


def _listed(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, said.split(","))))


def narrowed(
    profile: Profile, wanted: Narrowing, options: Collection[str], named_only: Collection[str] = ()
) -> Profile:
    """Return a profile that measures on these networks, paths and frame sizes alone.

    `options` are the networks of the testbed, `named_only` those that `all` leaves out. With networks, paths
    without one are left out unless they are named. A path that is named takes the networks and sizes that are
    asked for, also where the profile has others on it. A path that the profile lacks is another kind's if one
    of those asked for is left; suites of a networking model keep their own networks.
    Its name tells it apart from the whole profile. Raises ConfigError PRF-11.
    """
    if not wanted:
        return profile
    for name in wanted.networks:
        require_known("network", name, options, "networks of the testbed")
    lines = [*profile.paths, *(plan for plans in profile.suite_paths.values() for plan in plans)]
    require_path(wanted, {plan.path for plan in lines}, profile.name)
    all_options = [name for name in options if name not in named_only]
    paths = _kept(profile.paths, wanted, all_options, other_networks=True)
    suite_paths = {
        suite: _kept(plans, wanted, all_options, other_networks=suite == suites.RFC2544)
        for suite, plans in profile.suite_paths.items()
    }
    latency = profile.latency
    if wanted.frame_octets and not set(latency.frame_octets) & set(wanted.frame_octets):
        latency = replace(latency, frame_octets=wanted.frame_octets)
    kept = {suite: plans for suite, plans in suite_paths.items() if plans}
    if not paths and not kept:
        raise nothing_left(profile.name, wanted)
    name = f"{profile.name}-{KEY}"
    data = shortened.declared(
        {
            **profile.data,
            "name": name,
            KEY: wanted.as_builtins(),
            "latency": {**profile.data["latency"], "frame_octets": list(latency.frame_octets)},
            "paths": [_as_data(plan) for plan in paths],
            "suites": {suite: {"paths": [_as_data(plan) for plan in plans]} for suite, plans in kept.items()},
        }
    )
    deviations = tuple(Deviation(**deviation) for deviation in data["deviations"])
    return replace(
        profile,
        name=name,
        latency=latency,
        paths=paths,
        suite_paths=kept,
        deviations=deviations,
        data=data,
    )


def _kept(
    plans: Sequence[PathPlan], wanted: Narrowing, all_options: Collection[str], *, other_networks: bool
) -> tuple[PathPlan, ...]:
    found: list[PathPlan] = []
    for path in dict.fromkeys(plan.path for plan in plans):
        if wanted.paths and path not in wanted.paths:
            continue
        of_path = [plan for plan in plans if plan.path == path]
        if wanted.networks:
            of_path = _on_networks(of_path, wanted, all_options, other_networks=other_networks)
        if wanted.frame_octets:
            of_path = _of_sizes(of_path, wanted.frame_octets)
        found += of_path
    return tuple(found)


def _on_networks(
    plans: Sequence[PathPlan], wanted: Narrowing, all_options: Collection[str], *, other_networks: bool
) -> list[PathPlan]:
    found = [plan for plan in plans if not plan.needs_network and wanted.paths]
    with_network = [plan for plan in plans if plan.needs_network]
    left = list(wanted.networks)
    for plan in with_network:
        able = all_options if plan.all_networks else plan.networks
        if names := tuple(name for name in wanted.networks if name in able):
            found.append(replace(plan, networks=names, all_networks=False))
            left = [name for name in left if name not in names]
    others = tuple(name for name in left if name in all_options)
    if others and other_networks and wanted.paths and with_network:
        found.append(replace(with_network[0], networks=others, all_networks=False))
    return found


def _of_sizes(plans: Sequence[PathPlan], sizes: tuple[int, ...]) -> list[PathPlan]:
    found: list[PathPlan] = []
    for plan in plans:
        one = replace(plan, frame_octets=sizes)
        if one not in found:
            found.append(one)
    return found


def _as_data(plan: PathPlan) -> dict[str, Any]:
    networks: Any = "all" if plan.all_networks else list(plan.networks) or "none"
    return {
        "path": plan.path,
        "hosting": plan.hosting,
        "function": plan.function,
        "networks": networks,
        "frame_octets": list(plan.frame_octets),
        **({"axes": {name: list(values) for name, values in plan.axes.items()}} if plan.axes else {}),
    }


def require_known(what: str, name: str, known: Collection[str], whose: str) -> None:
    """Raise ConfigError PRF-11 for a name that is none of those known, with the near one."""
    if name in known:
        return
    raise ConfigError(
        "PRF-11",
        f"--{what} {name}; nothing was started",
        expected=f"one of the {whose}: {', '.join(sorted(known))}",
        found=name,
        hint=near_hint(name, known, f"bmwg list {what}s"),
    )


def require_path(wanted: Narrowing, known: Collection[str], profile: str) -> None:
    """Raise ConfigError PRF-11 where paths are asked for and a profile, by name, has none of them."""
    if wanted.paths and not set(wanted.paths) & set(known):
        require_known("path", wanted.paths[0], known, f"paths of {profile}")


def nothing_left(profile: str, wanted: Narrowing, hint: str = "") -> ConfigError:
    """Return the error of a profile, by name, that has nothing to measure when it is narrowed."""
    return ConfigError(
        "PRF-11",
        f"profile {profile}; nothing was started",
        expected="something to measure",
        found="nothing on " + "; ".join(f"{key} {value}" for key, value in wanted.as_builtins().items()),
        hint=hint or _HINT,
    )
