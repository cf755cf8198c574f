"""What a run measures by when its command narrows it: the profile of frames, and the tests that are left."""

from __future__ import annotations

from collections.abc import Collection

from bmwg.drivers import registry
from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.narrowed import NOTHING_LEFT, Narrowing, narrowed, nothing_left, require_known
from bmwg.resources import rooms
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.run.settings import Settings


def profile_for(name: str, testbed: Testbed, narrowing: Narrowing) -> Profile:
    """Return a profile by name, narrowed to what is asked for. Raises what reading and narrowing raise."""
    networks = planning.Networks.of(testbed.data["networks"])
    return narrowed(load_profile(name, paths=registry.paths()), narrowing, networks, networks.named_only)


def narrowed_tests(settings: Settings, selected: Collection[str]) -> frozenset[str]:
    """Return those of the selected tests, of every kind, that are left of narrowed profiles.

    Raises ConfigError PRF-11 for none: of the kind that was asked first.
    """
    for path in settings.narrowing.paths:
        require_known("path", path, registry.paths(), "paths")
    asked = PlanAsked(
        testbed=settings.testbed, profile=settings.profile, seed=0, narrowing=settings.narrowing
    )
    left: set[str] = set()
    refused: list[ConfigError] = []
    for room, mine in rooms.asked(selected).values():
        try:
            left |= {cell.test_id for cell in room.schedule(asked, mine).cells}
        except ConfigError as error:
            if error.error_id != NOTHING_LEFT:
                raise
            refused.append(error)
    if left:
        return frozenset(left)
    raise refused[0] if refused else nothing_left(settings.profile, settings.narrowing)
