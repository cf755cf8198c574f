"""Compliance profiles: what a run measures, by which numbers, and where it declares to fall short."""

from bmwg.methodology.profiles.profile import (
    Deviation,
    LatencySettings,
    PathPlan,
    Profile,
    SearchSettings,
)
from bmwg.methodology.profiles.reading import builtin_names, load_profile, parse_profile, profile_of

__all__ = [
    "Deviation",
    "LatencySettings",
    "PathPlan",
    "Profile",
    "SearchSettings",
    "builtin_names",
    "load_profile",
    "parse_profile",
    "profile_of",
]
