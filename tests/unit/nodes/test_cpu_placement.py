"""On which CPUs a function's threads are, and what of cgroups is taken back: rules without a machine."""

import pytest

from bmwg.drivers.kubernetes.of_run import _others
from bmwg.drivers.nodes import cgroups, cpu_placement
from bmwg.methodology.errors import DriverError


def thread(name, *cpus):
    return {"name": name, "cpus": list(cpus), "threads": 1}


def test_threads_on_the_pods_own_cpus_are_fine():
    cpu_placement.require_on("pod p", [thread("testpmd", 1), thread("worker", 1, 2)], (1, 2))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([thread("testpmd", 0)], "testpmd on 0"),
        ([thread("testpmd", 1), thread("worker", 0, 1)], "worker on 0,1"),
        ([], "no thread"),
    ],
)
def test_threads_elsewhere_or_none_are_refused(found, words):
    with pytest.raises(DriverError, match=r"^POD-08 ") as refused:
        cpu_placement.require_on("pod p", found, (1,))
    assert refused.value.found == words


@pytest.mark.parametrize(
    ("online", "kept_off", "expected"),
    [
        ("0-1", [(1,)], "0"),
        ("0-1", [(1,), (1,), (0,)], "0"),  # the tester's gives way: no other is left
        ("0-3", [(1,), (2,), (0,)], "3"),
        ("0-3", [(0, 1), (2, 3)], "2,3"),
        ("0", [(0,)], "0"),
    ],
)
def test_programs_run_beside_device_and_tester_as_far_as_there_is_a_cpu(online, kept_off, expected):
    assert _others(online, kept_off) == expected


@pytest.fixture
def second_version(tmp_path, monkeypatch):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu memory\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    return tmp_path


def test_what_the_root_did_not_hand_down_is_taken_back(second_version):
    assert cgroups.held_back() == ["cpuset", "cpu"]
    cgroups.hand_down(folder=second_version)
    assert (second_version / "cgroup.subtree_control").read_text() == "+cpuset +cpu +memory"
    assert cgroups.hold_back(controllers=["cpuset"]) == []
    assert (second_version / "cgroup.subtree_control").read_text() == "-cpuset"


def test_controllers_stay_while_another_run_has_a_cgroup(second_version):
    (second_version / "bmwg-other-pod").mkdir()
    assert cgroups.hold_back(controllers=["cpuset"]) == ["cpuset"]
    assert (second_version / "cgroup.subtree_control").read_text() == "memory\n"


def test_the_first_version_hands_nothing_down(tmp_path, monkeypatch):
    (tmp_path / "cpuset").mkdir()
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    assert cgroups.held_back() == []
    assert cgroups.hold_back(controllers=["cpuset"]) == ["cpuset"]
