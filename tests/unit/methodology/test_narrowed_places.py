"""A profile of paths with network options is narrowed as one of frames is."""

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.repeated.narrowed import narrowed
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.profiles.narrowed import Narrowing

OPTIONS = ("bridge", "macvlan", "own")


def places(kind, **wanted):
    """Return the paths and networks of `quick` when it is narrowed; its content keeps to the schema."""
    data = narrowed(kind.profiles.load("quick").data, Narrowing(**wanted), OPTIONS)
    assert kind.profiles.wrong(data) == ""
    assert data["narrowed"] == Narrowing(**wanted).as_builtins()
    return {(one.cell.path, one.cell.network) for one in kind.profiles.of(data).plan()}


def test_nothing_asked_leaves_the_profile():
    data = STREAMS.profiles.load("quick").data
    assert narrowed(data, Narrowing(), OPTIONS) is data


def test_a_network_is_measured_where_the_profile_has_it():
    assert places(STREAMS, networks=("macvlan",)) == {("p2p", "macvlan")}
    assert places(ACTS, networks=("bridge",)) >= {("pvp", "bridge")}


def test_a_path_that_is_named_takes_any_network():
    assert places(STREAMS, networks=("own",), paths=("p2p",)) == {("p2p", "own")}
    assert places(ACTS, networks=("own", "bridge"), paths=("pvp",)) == {("pvp", "own"), ("pvp", "bridge")}


def test_a_path_without_a_network_stays_where_it_is_named():
    assert places(STREAMS, paths=("c2c",)) == {("c2c", "none")}
    assert places(STREAMS, networks=("own",), paths=("c2c", "p2p")) == {("c2c", "none"), ("p2p", "own")}


@pytest.mark.parametrize(
    ("kind", "wanted", "found"),
    [
        (STREAMS, {"networks": ("ownn",)}, "own"),
        (STREAMS, {"paths": ("p2pp",)}, "p2p"),
        (STREAMS, {"networks": ("own",)}, "frame sizes are of frames alone"),
        (STREAMS, {"frame_octets": (64,)}, "frame sizes are of frames alone"),
        (JOBS, {"networks": ("bridge",)}, "frame sizes are of frames alone"),
    ],
)
def test_what_leaves_nothing_is_refused_by_name(kind, wanted, found):
    with pytest.raises(ConfigError, match=r"^PRF-11 ") as raised:
        narrowed(kind.profiles.load("quick").data, Narrowing(**wanted), OPTIONS)
    assert found in str(raised.value)
