"""Hugepages and NUMA nodes: what the kernel says of a process, a guest's machine, a pod's limits."""

from pathlib import Path

import pytest
from tests.unit.nodes.test_bundle import rendered

from bmwg.drivers.containers import engine_pods
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.function.testpmd import lacking_large_pages
from bmwg.drivers.machines import qemu
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec
from bmwg.drivers.nodes import pages
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.guest import GuestSpec, guest_problems, guest_spec
from bmwg.methodology.errors import ConfigError

ROOT = Path(__file__).parents[3]
MAPS = """\
7f0000000000 default file=/run/bmwg-vswitch/hugepages/rtemap_0 huge dirty=3 N0=1 N1=2 kernelpagesize_kB=2048
7f0040000000 default file=/dev/hugepages/rtemap_1 huge dirty=1 N1=1 kernelpagesize_kB=1048576
55942ada0000 default file=/usr/bin/head mapped=2 N0=2 kernelpagesize_kB=4
55942adb0000 default heap
"""


def test_pages_of_a_process_are_told_by_size_and_by_node():
    found = pages.read_maps(MAPS)
    assert found["hugepages"] == {"2 MiB": 3, "1 GiB": 1}
    assert found["octets_by_node"] == {"0": (2 << 20) + 2 * 4096, "1": (4 << 20) + (1 << 30)}
    assert pages.read_maps("") == {"hugepages": {}, "octets_by_node": {}}


def words(*, accelerator=Accelerator.TCG, **settings):
    spec = MachineSpec(name="g", memory_octets=4 << 30, accelerator=accelerator, **settings)
    files = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}
    return qemu.command(spec, channel_fd=3, monitor_fd=4, **files)


def after(argv, option):
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def test_cpus_and_memory_of_a_guest_are_shared_out_to_its_nodes():
    argv = words(cpus=4, numa_nodes=2)
    assert after(argv, "-numa") == [
        "node,nodeid=0,cpus=0-1,memdev=node0",
        "node,nodeid=1,cpus=2-3,memdev=node1",
    ]
    assert after(argv, "-object") == [f"memory-backend-ram,id=node{node},size=2048M" for node in (0, 1)]
    assert "numa_balancing=disable" in after(argv, "-append")[0]
    alone = words(cpus=2)
    assert not after(alone, "-numa")
    assert "hugepages=" not in after(alone, "-append")[0]


def test_a_translated_guest_keeps_its_clock_and_one_on_the_cpu_itself_has_it_watched():
    assert "tsc=nowatchdog" in after(words(cpus=2), "-append")[0]
    assert "tsc=" not in after(words(cpus=2, accelerator=Accelerator.KVM), "-append")[0]


def test_pages_of_1_gib_are_set_aside_at_boot_by_a_processor_that_has_them():
    argv = words(cpus=2, hugepages_1gi=2)
    assert "hugepagesz=1G hugepages=2" in after(argv, "-append")[0]
    assert "+pdpe1gb" in after(argv, "-cpu")[0]


def test_the_shipped_testbed_describes_a_guest_of_two_nodes():
    told = load_testbed(ROOT / "testbeds" / "guest-factors.yaml").data
    guest = GuestSpec(cpus=4, memory_octets=6 << 30, numa_nodes=2, hugepages_2mi=768, hugepages_1gi=2)
    assert guest_spec(told) == guest
    assert not list(guest_problems(told))
    assert guest_spec(load_testbed(ROOT / "testbeds" / "guest.yaml").data) == GuestSpec()


@pytest.mark.parametrize(
    ("guest", "place"),
    [
        ({"cpus": 2, "numa_nodes": 3}, "numa_nodes"),
        ({"memory": "3GiB", "hugepages_1Gi": 3}, "memory"),
        ({"cpus": 1}, "cpus"),
    ],
)
def test_a_guest_that_cannot_be_is_refused_by_its_place(guest, place):
    data = {"tester": {"cpus": [0]}, "dut": {"cpus": [1]}, "guest": guest}
    assert [problem.location for problem in guest_problems(data)] == [("guest", place)]


def test_a_pods_pages_are_a_mount_and_a_limit_of_their_size():
    document = rendered(True, hugepages_1gi=1)
    (mount,) = (one for one in document["mounts"] if one["type"] == "hugetlbfs")
    assert {"pagesize=1G", f"size={1 << 30}"} <= set(mount["options"])
    limits = document["linux"]["resources"]["hugepageLimits"]
    assert limits == [{"pageSize": "2MB", "limit": 0}, {"pageSize": "1GB", "limit": 1 << 30}]
    with pytest.raises(ConfigError):
        PodSpec(pod_id="a", cpus="1", memory_octets=1 << 28, hugepages_2mi=64, hugepages_1gi=1)


def test_an_engines_pod_has_a_limit_for_each_size_of_pages(tmp_path, monkeypatch):
    cgroup = tmp_path / "docker-1.scope"
    cgroup.mkdir()
    limits = {
        cgroup / f"hugetlb.{size}.max": octets for size, octets in (("2MB", "0"), ("1GB", str(1 << 30)))
    }
    for limit in limits:
        limit.write_text("max")
    monkeypatch.setattr(engine_pods.cgroups, "folders", lambda name: [tmp_path / name])
    pod = PodSpec(pod_id="a", cpus="1", memory_octets=1 << 28, hugepages_1gi=1)
    engine_pods._limit_hugepages(cgroup.name, pod)
    assert {limit: limit.read_text() for limit in limits} == limits


def test_large_pages_of_a_pod_are_refused_by_name_where_there_are_none(tmp_path):
    assert lacking_large_pages(0, tmp_path / "none") is None
    assert "no pages of that size" in lacking_large_pages(1, tmp_path / "none").reason
    (tmp_path / "free_hugepages").write_text("1\n")
    assert lacking_large_pages(1, tmp_path) is None
    assert lacking_large_pages(2, tmp_path).reason == "1 are free"
