"""What a pod on the user's cluster is refused for before anything is attached to it."""

import os
from types import SimpleNamespace

import pytest

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import pods, users_node
from bmwg.drivers.kubernetes.users_pod import UsersPod
from bmwg.methodology.errors import DriverError, TestbedError

SPEC = PodSpec(pod_id="p-1", cpus="2-3", memory_octets=64 << 20)
FOUND = {
    "metadata": {"uid": "u", "annotations": {}},
    "spec": {},
    "status": {"containerStatuses": [{"containerID": "containerd://3f3f", "state": {"running": {}}}]},
}


class Machine:
    """A node of the file whose agent sees a container, and the CPUs that the kubelet gave it."""

    name = "dut1"

    def __init__(self, given, process=True):
        self.given = given
        self.process = {"pid": 7, "start_ticks": 70, "cgroup": "/kubepods/u/3f3f"} if process else None
        self.told = []

    def call(self, function, **arguments):
        self.told.append(function)
        if function is users_node.first_process:
            assert arguments == {"container": "3f3f"}
            return self.process
        assert function is users_node.keep_to, function
        assert arguments == {"cgroup": "/kubepods/u/3f3f", "cpus": [2, 3]}
        return self.given


def pod(machine, found=FOUND):
    return UsersPod(SimpleNamespace(), machine, SPEC, {}, found, pods.Phases())


def test_a_pod_without_the_cpus_of_the_file_is_refused_with_those_that_it_has():
    with pytest.raises(TestbedError, match="KUBE-14") as refused:
        pod(Machine([1, 2])).found()
    assert refused.value.found == "the kubelet gave it 1,2"
    assert "pods.cpus" in refused.value.hint


def test_a_pod_that_has_more_cpus_keeps_to_those_of_the_file():
    made = pod(Machine([0, 1, 2, 3]))
    made.found()
    assert (made.pid, made.start_ticks) == (7, 70)
    assert made.entry["pid"] == 7


def test_a_pod_in_the_network_of_its_machine_is_refused_before_anything_is_changed():
    machine = Machine([2, 3])
    found = {**FOUND, "spec": {"hostNetwork": True}}
    with pytest.raises(TestbedError, match="KUBE-15"), pod(machine, found).networked([]):
        pass
    assert users_node.require_own_namespace not in machine.told


def test_a_network_namespace_that_is_the_nodes_own_is_refused():
    with pytest.raises(TestbedError, match="KUBE-15"):
        users_node.require_own_namespace(pid=os.getpid())


def test_a_container_that_is_on_another_machine_is_named(monkeypatch):
    monkeypatch.setattr("bmwg.drivers.kubernetes.users_pod._POLL_S", 0.0)
    with pytest.raises(DriverError, match="KUBE-40") as refused:
        pod(Machine([2, 3], process=False))._process("3f3f", within_s=0.01)
    assert "machine of node dut1" in refused.value.expected
