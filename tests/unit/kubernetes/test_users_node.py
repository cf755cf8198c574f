"""Which nodes of a testbed file are nodes of the user's cluster, and which cgroup is a container's."""

import pytest

from bmwg.drivers.kubernetes import users_node

ID = "3f" * 32


class Machine:
    """A node of the file, on a machine whose kernel booted once."""

    def __init__(self, boot):
        self._boot = boot

    def call(self, function):
        assert function is users_node.boot_id
        return self._boot


class Api:
    """A cluster with these nodes: host name, boot id, a label."""

    def __init__(self, *nodes):
        self._items = [
            {
                "metadata": {"name": f"{host}.lab", "labels": {users_node.HOSTNAME: host, "kind": kind}},
                "status": {"nodeInfo": {"bootID": boot}},
            }
            for host, boot, kind in nodes
        ]

    def get(self, path):
        assert path == "/api/v1/nodes"
        return {"items": self._items}


def placed(api, selector=None, **machines):
    return users_node.places(api, {name: Machine(boot) for name, boot in machines.items()}, selector or {})


def test_a_node_is_known_by_the_boot_id_of_its_kernel():
    api = Api(("worker-2", "b2", "x"), ("worker-1", "b1", "x"))
    assert placed(api, dut1="b1", dut2="b2") == {"dut1": "worker-1", "dut2": "worker-2"}


def test_a_machine_outside_of_the_cluster_has_no_place():
    assert placed(Api(("worker-1", "b1", "x")), dut1="b9") == {}


def test_of_several_nodes_on_a_machine_the_one_of_the_same_name_counts_then_the_first():
    api = Api(("b", "b1", "x"), ("dut1", "b1", "x"), ("a", "b1", "x"))
    assert placed(api, dut1="b1", dut2="b1") == {"dut1": "dut1", "dut2": "a"}


def test_a_selector_leaves_other_nodes_out():
    api = Api(("a", "b1", "x"), ("b", "b1", "dut"))
    assert placed(api, {"kind": "dut"}, dut1="b1") == {"dut1": "b"}
    assert placed(api, {"kind": "none"}, dut1="b1") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n",
         f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"),
        (f"5:cpuset:/kubepods/pod1/{ID}\n0::/\n", f"/kubepods/pod1/{ID}"),
        (f"0::/system.slice/docker-77.scope/kubelet/pod1/{ID}/init.scope\n",
         f"/system.slice/docker-77.scope/kubelet/pod1/{ID}"),
        ("0::/kubepods/pod1/77\n", ""),
    ],
)  # fmt: skip
def test_a_containers_cgroup_ends_with_its_id(text, found):
    assert users_node._cgroup_of(text, ID) == found


def test_no_process_is_none():
    assert users_node.first_process(container=ID) is None
