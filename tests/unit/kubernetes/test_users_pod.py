"""What a pod on the user's cluster is refused for before anything is attached to it."""

import os
import subprocess
from types import SimpleNamespace

import pytest

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import pods, users_node
from bmwg.drivers.kubernetes.users_pod import UsersPod
from bmwg.drivers.nodes import process
from bmwg.drivers.watch.liveness import Liveness
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

    def __init__(self, given, process=True, in_machines_network=False):
        self.given = given
        self.in_machines_network = in_machines_network
        self.process = {"pid": 7, "start_ticks": 70, "cgroup": "/kubepods/u/3f3f"} if process else None
        self.told = []

    def call(self, function, **arguments):
        self.told.append(function)
        if function is users_node.first_process:
            assert arguments == {"container": "3f3f"}
            return self.process
        if function is users_node.require_own_namespace:
            assert self.in_machines_network
            users_node.require_own_namespace(pid=os.getpid())
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
    assert machine.told == []


def test_a_pod_that_turns_out_to_be_in_the_network_of_its_machine_keeps_its_cpus_as_they_were():
    machine = Machine([0, 1, 2, 3], in_machines_network=True)
    with pytest.raises(TestbedError, match=r"KUBE-15 .*nothing was changed"), pod(machine).networked([]):
        pass
    assert machine.told == [users_node.first_process, users_node.require_own_namespace]


def test_a_restarted_pod_whose_program_uses_fewer_of_its_cpus_is_not_refused():
    machine = Machine([2])
    with pytest.raises(TestbedError, match="KUBE-14"):
        pod(machine).found()
    made = pod(machine)
    made._seek()
    made._keep(again=True)
    made.node.given = [0, 2]
    with pytest.raises(TestbedError, match="KUBE-14"):
        made._keep(again=True)


def test_a_network_namespace_that_is_the_nodes_own_is_refused():
    with pytest.raises(TestbedError, match="KUBE-15"):
        users_node.require_own_namespace(pid=os.getpid())


def test_a_container_that_is_on_another_machine_is_named(monkeypatch):
    monkeypatch.setattr("bmwg.drivers.kubernetes.users_pod._POLL_S", 0.0)
    with pytest.raises(DriverError, match="KUBE-40") as refused:
        pod(Machine([2, 3], process=False))._process("3f3f", within_s=0.01)
    assert "machine of node dut1" in refused.value.expected


@pytest.fixture
def sleeper():
    """Yield a process that may run on two CPUs of this machine, and these."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    with subprocess.Popen(["sleep", "600"]) as child:
        os.sched_setaffinity(child.pid, cpus[:2])
        yield child.pid, cpus[:2]
        child.kill()


def test_a_thread_that_a_program_has_put_on_one_of_the_pods_cpus_stays_there(sleeper, monkeypatch):
    pid, (first, second) = sleeper
    monkeypatch.setattr(users_node.cgroups, "members", lambda _: {pid})
    assert users_node.keep_to(cgroup="c", cpus=[first, second]) == [first, second]
    assert users_node.keep_to(cgroup="c", cpus=[first, 1000]) == [first, second]
    assert os.sched_getaffinity(pid) == {first, second}  # not all of these were given
    assert users_node.keep_to(cgroup="c", cpus=[second]) == [first, second]
    assert users_node.keep_to(cgroup="c", cpus=[second]) == [second]
    assert os.sched_getaffinity(pid) == {second}


class Here:
    """A node of the file that is this machine."""

    name = "dut1"

    def call(self, function, **arguments):
        return function(**arguments)


@pytest.mark.parametrize("kept", [True, False])
def test_a_pod_whose_cpus_somebody_else_widens_is_a_fault_of_the_trial(sleeper, kept):
    """A kubelet that rewrites a cpuset changes the affinity of each thread in it."""
    pid, (first, second) = sleeper
    os.sched_setaffinity(pid, [second])
    own = (second,) if kept else ()
    one = SimpleNamespace(pid=pid, start_ticks=process.start_ticks(pid), node=Here(), kept_to=own)
    bed = SimpleNamespace(
        nodes={"dut1": Here()},
        host=lambda name: Here(),
        pods={"p-1": one},
        programs={},
        testbed=SimpleNamespace(tester=SimpleNamespace(driver="embedded"), links=()),
    )
    liveness = Liveness(bed)
    assert liveness.fault() is None
    os.sched_setaffinity(pid, [first, second])
    assert liveness.fault() == (
        f"threads of pod p-1 on node dut1 may run on CPUs that are not its own: {first}"
    )
    if kept:  # widened before the deployment was ready, and so before anything was seen of it
        assert "may run on CPUs" in Liveness(bed).fault()
