"""A narrowed profile measures what is asked for, by the numbers of the whole one."""

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planning import Networks
from bmwg.methodology.profiles import load_profile, profile_of
from bmwg.methodology.profiles.narrowed import Narrowing, narrowed
from bmwg.methodology.suites import cases

OPTIONS = Networks.of({"bridge": {}, "macvlan": {}, "ovs-dpdk": {"model": "user-space"}})
TESTS = frozenset(one.test_id for one in cases() if one.suite in ("containerized", "user-space"))


def cells(**wanted):
    """Return the cells of `quick` when it is narrowed: path, function, network, octets."""
    made = narrowed(load_profile("quick"), Narrowing(**wanted), OPTIONS, OPTIONS.named_only)
    assert profile_of(made.data, source="test").paths == made.paths
    planned = planning.cells(made, OPTIONS, test_ids=TESTS)
    return {(one.cell.path, one.cell.function, one.cell.network, one.cell.frame_octets) for one in planned}


def test_nothing_asked_leaves_the_profile():
    profile = load_profile("quick")
    assert narrowed(profile, Narrowing(), OPTIONS) is profile


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"networks": ("macvlan",)}, {("pvp", "kernel-l3", "macvlan", 64)}),
        (
            {"networks": ("macvlan",), "paths": ("pvp", "p2p"), "frame_octets": (512,)},
            {("pvp", "kernel-l3", "macvlan", 512), ("p2p", "none", "macvlan", 512)},
        ),
        ({"paths": ("node",), "frame_octets": (9000,)}, {("node", "kernel-l3", "none", 9000)}),
        ({"networks": ("ovs-dpdk",), "paths": ("pvp",)}, {("pvp", "testpmd", "ovs-dpdk", 64)}),
    ],
)
def test_what_is_asked_for_is_measured_alone(wanted, found):
    assert cells(**wanted) == found


def test_numbers_stay_and_the_name_tells_it_apart():
    whole = load_profile("quick")
    part = narrowed(whole, Narrowing(paths=("node",)), OPTIONS)
    assert part.name == "quick-narrowed"
    assert part.data["narrowed"] == {"paths": ["node"]}
    assert (part.search, part.policy) == (whole.search, whole.policy)
    assert [one.requirement for one in part.deviations] == [one.requirement for one in whole.deviations]


@pytest.mark.parametrize(
    ("wanted", "near"),
    [({"networks": ("macvln",)}, "macvlan"), ({"paths": ("nod",)}, "node")],
)
def test_an_unknown_name_has_its_near_name(wanted, near):
    with pytest.raises(ConfigError, match=r"^PRF-11 ") as raised:
        narrowed(load_profile("quick"), Narrowing(**wanted), OPTIONS)
    assert near in raised.value.hint
