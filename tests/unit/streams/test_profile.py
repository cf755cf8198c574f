"""Profiles of the pod-to-pod suites, and the plan that follows from them."""

from __future__ import annotations

import copy

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.registry import kind
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import BAREMETAL, NOTHING, POD
from bmwg.resources.kinds.streams.bench import words_of

QUICK = profile.PROFILES.load("quick")


def data(**changes):
    made = copy.deepcopy(dict(QUICK.data))
    return {**made, **changes}


def test_every_profile_keeps_to_its_schema_and_plans_each_cell_once() -> None:
    for name in profile.PROFILES.names():
        plan = profile.PROFILES.load(name).plan()
        assert profile.PROFILES.wrong(profile.PROFILES.load(name).data) == ""
        ids = [one.cell.cell_id for one in plan]
        assert len(ids) == len(set(ids))
        assert {one.test_id for one in plan} <= set(profile.every_id())


def test_quick_measures_every_way_between_pods_in_less_than_ten_minutes() -> None:
    plan = [one for one in QUICK.plan() if one.test_id.startswith("PP-")]
    assert {one.cell.path for one in plan} == {"p2p", "p2p-underlay", "p2p-vxlan", "p2p-cluster", "c2c"}
    options = {"bridge", "ptp", "macvlan", "ovs-vlan", "ovs-vxlan", "flannel", "none"}
    assert {one.cell.network for one in plan} == options
    runs_here = [one for one in plan if one.cell.network != "flannel"]  # which is of a cluster alone
    seconds = sum((one.spec.duration_s + one.spec.omit_s) * one.asked.wanted for one in runs_here)
    assert seconds < 420  # the rest of ten minutes is for pods and programs


def test_quick_sweeps_every_form_by_the_same_sizes_and_native_first() -> None:
    plan = [one for one in QUICK.plan() if one.test_id.startswith("SK-")]
    forms = list(dict.fromkeys((one.cell.hosting, one.cell.network) for one in plan))
    assert forms[:2] == [(BAREMETAL, NOTHING), (POD, "bridge")]
    assert {(POD, "bridge"), ("docker", "bridge"), ("podman", "bridge"), ("kvm", NOTHING)} <= set(forms)
    specs = [[one.spec for one in plan if one.cell.hosting == hosting] for hosting, _ in forms]
    assert all(each == specs[0] for each in specs)
    runs_here = [one for one in plan if one.cell.hosting != "unikernel"]
    assert sum(one.spec.duration_s * one.asked.wanted for one in runs_here) <= 300


def test_cells_of_one_deployment_stand_together() -> None:
    places = [(one.cell.path, one.cell.hosting, one.cell.network, one.spec.pods) for one in QUICK.plan()]
    assert places == sorted(places, key=places.index)


def test_a_cell_is_read_back_from_its_axes() -> None:
    for one in QUICK.plan():
        cell = one.cell
        told = {"path": cell.path, "hosting": cell.hosting, "function": NOTHING, "network": cell.network}
        assert STREAMS.cell({**told, "axes": dict(cell.axes)}) == cell
    with pytest.raises(ValueError, match="axes"):
        STREAMS.cell({**told, "axes": {"way": "forward"}})


def test_the_kind_is_found_by_its_name_and_by_its_profiles() -> None:
    assert kind("streams", "here") is STREAMS
    assert STREAMS.profile_format == QUICK.data["schema"]


def test_an_unknown_profile_names_a_near_one() -> None:
    with pytest.raises(ConfigError, match="SPROF-01") as caught:
        profile.PROFILES.load("quik")
    assert "quick" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"paths": [{"path": "pvp", "networks": ["bridge"]}]}, "path"),
        ({"repetitions": 0}, "repetitions"),
        ({"more": 1}, "more"),
        ({"paths": [{"path": "p2p", "networks": ["a"]}, {"path": "p2p", "networks": ["a"]}]}, "twice"),
    ],
)
def test_a_profile_that_cannot_be_planned_by_is_told(change, found) -> None:
    assert found in profile.PROFILES.wrong(data(**change))


def test_a_profile_that_was_changed_in_place_is_judged_and_planned_anew() -> None:
    made = data()
    whole = STREAMS.planned_by(made)
    assert STREAMS.wrong_profile(made) == ""
    more = made["repetitions"] + 1
    made["repetitions"] = more
    assert {one.asked.wanted for one in STREAMS.planned_by(made).values()} >= {more}
    made["repetitions"] = True  # which is equal to 1
    assert "repetitions" in STREAMS.wrong_profile(made)
    assert STREAMS.planned_by(data()) == whole


def test_a_profile_is_planned_once_for_all_lines_of_a_journal(monkeypatch) -> None:
    cells, asked = profile.PROFILES._cells, []

    def counted(said):
        asked.append(said)
        return cells(said)

    monkeypatch.setattr(profile.PROFILES, "_cells", counted)
    made = data(name="mine")
    for cell_id in STREAMS.planned_by(made):
        assert STREAMS.planned_by(copy.deepcopy(made))[cell_id].cell.cell_id == cell_id
    assert len(asked) == 1


def test_an_id_stands_for_the_same_for_ever() -> None:
    assert profile.every_id() == (
        "PP-TCP-1",
        "PP-TCP-2",
        "PP-TCP-3",
        "PP-TCP-5",
        "PP-TCP-6",
        "PP-TCP-7",
        "PP-TCP-8",
        "PP-TCP-9",
        "PP-TCP-10",
        "PP-TCP-11",
        "PP-TCP-12",
        "PP-UDP-1",
        "PP-UDP-2",
        "PP-UDP-3",
        "PP-UDP-5",
        "PP-UDP-6",
        "PP-UDP-7",
        "PP-UDP-8",
        "PP-UDP-9",
        "PP-UDP-10",
        "PP-UDP-11",
        "PP-UDP-12",
        "PP-RTT-1",
        "PP-RTT-2",
        "PP-RTT-3",
        "PP-RTT-5",
        "PP-RTT-6",
        "PP-RTT-7",
        "PP-RTT-8",
        "PP-RTT-9",
        "PP-RTT-10",
        "PP-RTT-11",
        "PP-RTT-12",
        "SK-TCP-4",
        "SK-UDP-4",
        "SK-TCPT-4",
        "SK-UDPT-4",
        "PP-MPI-1",
        "PP-MPI-2",
        "PP-MPI-3",
        "PP-MPI-5",
        "PP-MPI-6",
        "PP-MPI-7",
        "PP-MPI-8",
        "PP-MPI-9",
        "PP-MPI-10",
        "PP-MPI-11",
        "PP-MPI-12",
        "SK-TCPRR-4",
        "SK-UDPRR-4",
    )
    made = profile.PROFILES.of(data())
    assert made.plan()[0].cell.cell_id == "p2p/bridge/tcp/forward/131072o/1s"


@pytest.mark.parametrize("name", ["quick", "dcn00-mpi"])
def test_pods_of_another_number_are_another_kind_of_deployment(name) -> None:
    """Else the second would be held against the first, and all of its cells were invalid."""
    made = profile.PROFILES.load(name)
    kinds = {}
    for one in made.plan():
        if one.cell.path != "client-server":  # whose forms are told apart by how they host
            kinds.setdefault(tuple(words_of(one.cell, made.data)), set()).add(one.spec.pods)
    assert {len(numbers) for numbers in kinds.values()} == {1}
    assert len({number for numbers in kinds.values() for number in numbers}) > 1


@pytest.mark.parametrize(
    ("name", "values"),
    [("ways", ["forward", "reverse"]), ("load_bps", [0, 1_000_000]), ("message_octets", [64, 131_072])],
)
def test_a_sweep_varies_nothing_beside_the_size_of_its_curve(name, values) -> None:
    """Its tables and areas know a point by form and size: the other value's would stand in its place."""
    data = copy.deepcopy(dict(profile.PROFILES.load("quick").data))
    next(one for one in data["experiments"] if one["id"] == "socket_sizes")[name] = values
    assert f"socket_sizes: {name}: expected one" in profile.PROFILES.wrong(data)


def test_an_experiment_stands_once_and_a_cell_of_round_trips_over_udp_says_so() -> None:
    data = copy.deepcopy(dict(profile.PROFILES.load("quick").data))
    trips = next(one for one in data["experiments"] if one["id"] == "round_trip")
    data["experiments"].append({**trips, "transport": "udp", "message_octets": [256]})
    assert "experiment round_trip stands 2 times" in profile.PROFILES.wrong(data)
    over = {
        name: {
            one.cell.cell_id for one in profile.PROFILES.load(name).plan() if one.metric == "round_trip_time"
        }
        for name in ("quick", "message-sizes")
    }
    assert over["quick"]
    assert not over["quick"] & over["message-sizes"], "one is of TCP, the other of UDP"
