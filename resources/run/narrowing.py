"""What a run measures by when its command narrows it: the profile of frames, and the tests that are left."""

from __future__ import annotations

from collections.abc import Collection

from bmwg.drivers import registry
from bmwg.drivers.testbed.file import Testbed, load_testbed
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.narrowed import Narrowing, narrowed, nothing_left
from bmwg.resources.kinds.frames.session import networks_of
from bmwg.resources.run.settings import Settings


def profile_for(name: str, testbed: Testbed, narrowing: Narrowing) -> Profile:
    """Return a profile by name, narrowed to what is asked for. Raises what reading and narrowing raise."""
    networks = networks_of(testbed)
    return narrowed(load_profile(name, paths=registry.paths()), narrowing, networks, networks.named_only)


def narrowed_tests(settings: Settings, selected: Collection[str]) -> frozenset[str]:
    """Return those of the selected tests that a narrowed profile has something to measure for.

    Raises ConfigError PRF-11 for none.
    """
    testbed = load_testbed(settings.testbed)
    profile = profile_for(settings.profile, testbed, settings.narrowing)
    plan = planning.cells(profile, networks_of(testbed), test_ids=selected)
    tests = frozenset(planned.test_id for planned in plan)
    if not tests:
        raise nothing_left(profile.name, settings.narrowing)
    return tests
