"""What is told of a machine's daemons, switches, clusters and workloads, and of what only looks like one."""

from __future__ import annotations

import copy

import pytest
from tests.unit.platform_record.collected import not_value, record_of, value_of

from bmwg.drivers.platform_record import source as of_machine
from bmwg.drivers.platform_record.collect import assemble
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import Unread
from bmwg.drivers.watch.awake import kept_awake
from bmwg.methodology.record.drift import drift
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.schemas.validation import problems

CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
KUBELET = """
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
"""


def test_kubernetes_node(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {
        "/proc/900/comm": "kubelet\n",
        "/proc/900/cmdline": "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0",
        "/var/lib/kubelet/config.yaml": KUBELET,
        "/var/lib/kubelet/device-plugins/kubelet.sock": "",
        "/var/lib/kubelet/device-plugins/sriovdp.sock": "",
        "/etc/kubernetes/manifests/etcd.yaml": "kind: Pod\n",
        "/etc/cni/net.d/10-calico.conflist": '{"plugins": [{"type": "calico"}, {"type": "portmap"}]}',
        "/opt/cni/bin/calico": "a program",
    }
    source.data["commands"]["kubelet --version"] = {"stdout": "Kubernetes v1.31.4+k3s1\n"}
    record = assemble(source, "machine")
    assert problems(record, "record") == []
    assert value_of(record, "kubernetes/version") == "v1.31.4+k3s1"
    assert value_of(record, "kubernetes/distribution") == "k3s"
    assert value_of(record, "kubernetes/cpu_policy") == "static"
    assert value_of(record, "kubernetes/memory_policy") == "None"
    assert value_of(record, "kubernetes/topology_policy") == "single-numa-node"
    assert value_of(record, "kubernetes/device_plugins") == ["sriovdp.sock"]
    assert list(value_of(record, "kubernetes/manifests")) == ["etcd.yaml"]
    assert value_of(record, "cni/configurations")["10-calico.conflist"]["plugins"] == ["calico", "portmap"]
    assert len(value_of(record, "cni/plugins")["/opt/cni/bin/calico"]["sha256"]) == 64
    assert "none of the reference plugins" in not_value(record, "cni/version", "unknown")
    changed = sample_source("bare-metal-two-sockets")
    changed.data = copy.deepcopy(source.data)
    changed.data["files"]["/etc/cni/net.d/10-calico.conflist"] = '{"plugins": [{"type": "calico"}]}'
    paths = [change.path for change in drift(record, assemble(changed, "machine"))]
    assert paths == [
        "cni/configurations/10-calico.conflist/plugins",
        "cni/configurations/10-calico.conflist/sha256",
    ]


@pytest.mark.parametrize(
    ("words", "policy"),
    [
        ("--config=/etc/k.yaml", "static"),
        ("--config\0/etc/k.yaml", "static"),
        ("--config=/etc/k.yaml\0--config-dir=/etc/k.d", "later"),
        ("--config=/etc/k.yaml\0--config-dir=/etc/k.d\0--cpu-manager-policy=none", "none"),
        ("--cpu-manager-policy\0static", "static"),
        ("--v=2", "none"),
    ],
)
def test_a_kubelet_has_its_policy_of_its_words_and_of_the_files_that_they_name(sample_source, words, policy):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {
        "/proc/900/comm": "kubelet\n",
        "/proc/900/cmdline": f"/usr/bin/kubelet\0{words}\0",
        "/etc/k.yaml": KUBELET,
        "/etc/k.d/10-cpus.conf": "cpuManagerPolicy: early",
        "/etc/k.d/20-cpus.conf": "cpuManagerPolicy: later",
        "/etc/k.d/30-cpus.yaml": "cpuManagerPolicy: not read",
        "/var/lib/kubelet/config.yaml": "cpuManagerPolicy: of another kubelet",
    }
    assert value_of(assemble(source, "machine"), "kubernetes/cpu_policy") == policy


def test_a_program_with_a_kubelet_in_it_tells_its_version_and_no_policy(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {
        "/proc/900/comm": "k3s-server\n",
        "/proc/900/cmdline": "/usr/local/bin/k3s server\0",
        "/var/lib/kubelet/config.yaml": KUBELET,
    }
    said = "k3s version v1.31.4+k3s1 (a562d090)\ngo version go1.22.9\n"
    source.data["commands"]["k3s --version"] = {"stdout": said}
    record = assemble(source, "machine")
    assert value_of(record, "kubernetes/version") == "v1.31.4+k3s1"
    assert value_of(record, "kubernetes/distribution") == "k3s"
    assert "part of another program" in not_value(record, "kubernetes/cpu_policy", "unknown")


def test_a_process_that_only_tells_its_version_is_no_daemon(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {
        "/proc/900/comm": "dockerd\n",
        "/proc/900/cmdline": "dockerd\0--version\0",
    }
    before = assemble(sample_source("bare-metal-two-sockets"), "machine")
    assert drift(before, assemble(source, "machine")) == ()
    source.data["files"]["/proc/900/cmdline"] = ""  # so for a moment after its exec and before its end
    assert drift(before, assemble(source, "machine")) == ()
    source.data["files"]["/proc/900/cmdline"] = "dockerd\0--data-root\0/var/lib/docker\0"
    (change,) = drift(before, assemble(source, "machine"))
    assert (change.path, change.after) == ("container/daemons", '["dockerd"]')


def test_a_kubelet_in_a_network_of_its_own_is_none_of_the_machine(sample_source):
    before, source = (sample_source("bare-metal-two-sockets") for _ in range(2))
    for one in (before, source):
        one.data["links"]["/proc/self/ns/net"] = "net:[4026531840]"
    source.data["files"] |= {"/proc/900/comm": "kubelet\n", "/proc/900/cmdline": "kubelet\0"}
    source.data["links"]["/proc/900/ns/net"] = "net:[4026532911]"
    assert drift(assemble(before, "machine"), assemble(source, "machine")) == ()
    source.data["links"]["/proc/900/ns/net"] = "net:[4026531840]"
    found = [change.path for change in drift(assemble(before, "machine"), assemble(source, "machine"))]
    assert "container/daemons" in found


def test_a_process_that_ended_and_was_not_collected_yet_is_no_daemon(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {"/proc/900/comm": "dockerd\n", "/proc/900/stat": "900 (dockerd) Z 1 900 900 0"}
    before = assemble(sample_source("bare-metal-two-sockets"), "machine")
    assert drift(before, assemble(source, "machine")) == ()
    source.data["files"]["/proc/900/stat"] = "900 (dockerd) S 1 900 900 0"
    assert len(drift(before, assemble(source, "machine"))) == 1


def test_vpp_node(sample_source):
    source = sample_source("virtual-machine")
    source.data["files"]["/proc/812/comm"] = "vpp_main\n"
    source.data["commands"] |= {
        "vppctl show version": {"stdout": "vpp v24.10-release\n"},
        "vppctl show threads": {"stdout": "ID Name\n0 vpp_main\n1 vpp_wk_0\n"},
    }
    record = assemble(source, "machine")
    assert problems(record, "record") == []
    assert value_of(record, "vswitch/version") == "vpp v24.10-release"
    assert value_of(record, "vswitch/pmd_cores") == ["ID Name", "0 vpp_main", "1 vpp_wk_0"]
    assert "not installed" in not_value(record, "vswitch/queue_affinity", "unknown")
    assert "cached flows" in not_value(record, "vswitch/flows", "not_applicable")


def test_cores_of_two_dies_are_two_though_they_have_one_number(sample_source):
    source = sample_source("bare-metal-two-sockets")
    for cpu in range(8):
        topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        source.data["files"][f"{topology}/physical_package_id"] = "0\n"
        source.data["files"][f"{topology}/core_id"] = f"{cpu % 2}\n"
    found = value_of(assemble(source, "machine"), "cpu/topology")
    assert (found["sockets"], found["cores"], found["threads"]) == (1, 4, 8)


def test_what_a_switch_has_measured_of_itself_is_none_of_its_settings(sample_source):
    source = sample_source("virtual-machine")
    told = (
        "Displaying last 60 seconds pmd usage %\npmd thread numa_id 0 core_id 1:\n  isolated : false\n"
        "  port: p0  queue-id: 0 (enabled)   pmd usage: {use} %\n  overhead: {over} %\n"
    )
    found = []
    for use, over in ((0, 0), (95, 4)):
        said = {"stdout": told.format(use=use, over=over)}
        source.data["commands"]["ovs-appctl -T 2 dpif-netdev/pmd-rxq-show"] = said
        found.append(value_of(assemble(source, "machine"), "vswitch/queue_affinity"))
    assert found[0] == found[1]
    assert "port: p0  queue-id: 0 (enabled)" in found[0]


def test_the_tightest_quota_binds_a_workload(sample_source):
    source = sample_source("bare-metal-two-sockets")
    slice_, pod = "/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/kubepods/pod1"
    source.data["files"] |= {
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory hugetlb pids\n",
        f"{slice_}/cpu.max": "100000 100000\n",
        f"{pod}/cpu.max": "150000 100000\n",
        "/proc/77/cgroup": "0::/kubepods/pod1\n",
    }
    record = assemble(source, "machine", workloads={"dut": {"pid": 77, "kind": "pod"}})
    assert value_of(record, "workload/dut/cpu_limit") == 1.0


def test_workload_under_cgroup_v2(sample_source):
    source = sample_source("bare-metal-two-sockets")
    slice_, pod = "/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/kubepods/pod1"
    source.data["files"] |= {
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory hugetlb pids\n",
        f"{slice_}/memory.max": "1073741824\n",
        f"{pod}/memory.max": "max\n",
        f"{pod}/cpu.max": "150000 100000\n",
        f"{pod}/hugetlb.1GB.max": "2147483648\n",
        f"{pod}/hugetlb.2MB.max": "max\n",
        "/proc/77/cgroup": "0::/kubepods/pod1\n",
        "/proc/77/status": "Name:\ttestpmd\nCpus_allowed_list:\t2,6\n"
        "Mems_allowed_list:\t0\nHugetlbPages:\t1048576 kB\n",
        "/proc/77/stat": "77 (a ) b) S " + " ".join(["0"] * 36) + " 50 1 0 0\n",
        "/proc/77/task/77/status": "Name:\ttestpmd\nCpus_allowed_list:\t2\n",
        "/proc/77/task/78/status": "Name:\tlcore-worker-6\nCpus_allowed_list:\t6\n",
        "/proc/77/mounts": "overlay / overlay ro,relatime 0 0\n",
    }
    record = assemble(source, "machine", workloads={"dut": {"pid": 77, "kind": "pod"}})
    assert problems(record, "record") == []
    assert value_of(record, "workload/dut/memory_limit_octets") == 1 << 30
    assert value_of(record, "workload/dut/cpu_limit") == 1.5
    assert value_of(record, "workload/dut/hugepage_limits_octets") == {"1GB": 2 << 30}
    assert value_of(record, "workload/dut/cpuset") == [2, 6]
    assert value_of(record, "workload/dut/memory_backing") == {"hugepages_kib": 1048576}
    assert value_of(record, "workload/dut/scheduling").startswith("fifo, priority 50")
    assert [thread["cpus"] for thread in value_of(record, "workload/dut/threads")] == [[2], [6]]
    assert value_of(record, "workload/dut/storage") == {"file_system": "overlay", "read_only": True}


@pytest.mark.parametrize(
    ("clocks", "told"),
    [("kvm-clock tsc acpi_pm\n", "KVM (QEMU)"), ("tsc hpet acpi_pm\n", "no sign of KVM")],
)
def test_a_machine_of_qemu_without_a_clock_of_kvm_is_not_called_kvm(sample_source, clocks, told):
    source = sample_source("virtual-machine")
    source.data["files"][CLOCKS] = clocks
    assert told in value_of(assemble(source, "machine"), "virtualization/hypervisor")


def test_only_a_machine_that_may_be_translated_gives_a_command_more_time(monkeypatch):
    slow = ["sleep", "0.5"]
    monkeypatch.setattr(of_machine, "_SLOWNESS", 300.0)
    monkeypatch.setattr(of_machine, "maybe_translated", lambda source: False)
    with pytest.raises(Unread, match="no end after"):
        LocalSource(budget_s=60.0).run(slow, timeout_s=0.1)
    monkeypatch.setattr(of_machine, "maybe_translated", lambda source: True)
    assert LocalSource(budget_s=60.0).run(slow, timeout_s=0.1) == ""


def test_a_limit_that_somebody_asked_for_is_told_and_the_kernels_own_number_is_none(sample_source):
    def with_limit(said):
        source = sample_source("bare-metal-two-sockets")
        listed, ran = source.list_dir, source.run
        source.list_dir = lambda path: ["cpu_dma_latency"] if path == "/dev" else listed(path)
        source.run = lambda argv, **more: said if argv[0] == "od" else ran(argv, **more)
        return assemble(source, "machine")

    assert value_of(with_limit("           0\n"), "power/cpu_latency_limit_us") == 0
    assert "no process asks" in not_value(
        with_limit(" 2000000000\n"), "power/cpu_latency_limit_us", "not_applicable"
    )
    bare = record_of(sample_source, "bare-metal-two-sockets")
    assert "does not exist" in not_value(bare, "power/cpu_latency_limit_us", "not_applicable")


def test_what_this_process_holds_is_told_and_nothing_where_it_was_not_asked(sample_source):
    with kept_awake(KeepAwake.NONE, (0,)):
        told = value_of(record_of(sample_source, "container"), "power/kept_awake")
    assert told == {"asked": "none", "held": "none", "reason": "", "cpus": []}


def test_a_switch_that_has_ended_is_none_of_the_machine(sample_source):
    """So for a moment after a run was killed: what is left of its switch is no switch of the machine."""
    before = assemble(sample_source("bare-metal-two-sockets"), "machine")
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {"/proc/900/comm": "ovs-vswitchd\n", "/proc/900/cmdline": ""}
    assert drift(before, assemble(source, "machine")) == ()
    source.data["files"]["/proc/900/cmdline"] = "ovs-vswitchd\0"
    source.data["files"]["/proc/900/stat"] = "900 (ovs-vswitchd) Z 1 900 900 0"
    assert drift(before, assemble(source, "machine")) == ()
    source.data["files"]["/proc/900/stat"] = "900 (ovs-vswitchd) S 1 900 900 0"
    assert "vswitch/name" in {change.path for change in drift(before, assemble(source, "machine"))}


@pytest.mark.parametrize(
    ("words", "network", "told"),
    [
        (
            "ovs-vswitchd\0unix:/run/bmwg-vswitch/db.sock\0",
            "net:[4026532911]",
            False,
        ),
        ("ovs-vswitchd\0unix:/run/bmwg-vswitch/db.sock\0", "net:[4026531840]", True),  # of who asks
        ("ovs-vswitchd\0unix:/run/openvswitch/db.sock\0", "net:[4026532911]", True),  # somebody's own
    ],
)
def test_a_switch_of_a_run_beside_this_one_is_none_of_the_machine(sample_source, words, network, told):
    before = assemble(sample_source("bare-metal-two-sockets"), "machine")
    source = sample_source("bare-metal-two-sockets")
    source.data["links"] |= {"/proc/self/ns/net": "net:[4026531840]", "/proc/900/ns/net": network}
    source.data["files"] |= {"/proc/900/comm": "ovs-vswitchd\n", "/proc/900/cmdline": words}
    changed = {change.path for change in drift(before, assemble(source, "machine"))}
    assert ("vswitch/name" in changed) is told
