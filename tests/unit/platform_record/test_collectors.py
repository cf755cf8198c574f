"""Collectors on made samples of three differing machines, on garbage and on what is missing."""

from __future__ import annotations

import copy
import json
import random

import pytest

from bmwg.drivers.platform_record import source as of_machine
from bmwg.drivers.platform_record.collect import assemble
from bmwg.drivers.platform_record.collectors.hardware import express
from bmwg.drivers.platform_record.collectors.memory import memory_modules
from bmwg.drivers.platform_record.collectors.system import without_secrets
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import NotApplicable, Unread
from bmwg.drivers.watch.awake import kept_awake
from bmwg.methodology.record.coverage import Answer, coverage
from bmwg.methodology.record.drift import drift
from bmwg.methodology.record.facts import declaration, declared, facts
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.schemas.validation import problems

CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"


def _record(sample_source, name, **options):
    return assemble(sample_source(name, **options), "machine")


def _value(record, path):
    found = dict(facts(record["fields"]))[path]
    assert "value" in found, f"{path}: {found}"
    return found["value"]


def _not_value(record, path, kind):
    found = dict(facts(record["fields"]))[path]
    assert kind in found, f"{path}: {found}"
    return found[kind]


def test_every_sample_gives_a_record_after_the_schema(sample_source, each_sample):
    record = _record(sample_source, each_sample)
    assert problems(record, "record") == []
    assert all(declaration(path) for path, _ in facts(record["fields"]))


@pytest.mark.parametrize(
    ("name", "least"),
    [("bare-metal-two-sockets", 0.9), ("virtual-machine", 0.9), ("container", 0.9)],
)
def test_share_of_rows_that_a_sample_answers(sample_source, name, least):
    score = coverage([_record(sample_source, name)])
    missing = [f"{row.row}: {row.gaps}" for row in score.rows if row.answer is Answer.MISSING]
    assert least <= score.ratio < 1, missing


def test_bare_metal(sample_source):
    record = _record(sample_source, "bare-metal-two-sockets")
    expected = {
        "virtualization/kind": "bare metal",
        "cpu/smt": "on",
        "cpu/microcode": "0xd0003b9",
        "bios/date": "2024-03-27",
        "power/turbo": "off",
        "power/idle_governor": "menu",
        "isolation/isolated_cpus": [2, 3, 6, 7],
        "isolation/nohz_full": "2-3,6-7",
        "isolation/level": "isolcpus + nohz_full + rcu_nocbs",
        "memory/type": ["DDR4"],
        "memory/channels": {
            "filled_banks": ["NODE 0 CHANNEL 0", "NODE 0 CHANNEL 1", "NODE 1 CHANNEL 0"],
            "count": 3,
        },
        "memory/hugepages": {"1048576KiB": {"all": 16, "node0": 16, "node1": 0}},
        "memory/usage_octets": {
            "free": 1_000 << 10,
            "active": 600 << 10,
            "inactive": 400 << 10,
            "buffers": 10 << 10,
            "cached": 2_000 << 10,
            "swap_cached": 0,
            "swap_free": 0,
            "used": 11_072_000 << 10,
            "swap_used": 0,
        },
        "nic/ens1f0/driver": "ice",
        "nic/ens1f0/firmware": "4.40 0x8001c7d4 1.3534.0",
        "nic/ens1f0/sriov": {"total": 128, "configured": 2},
        "nic/ens1f0/irq_affinity": {"ice-ens1f0-TxRx-0": [1], "ice-ens1f0-TxRx-1": [3]},
        "nic/ens1f0/pause": {"autonegotiate": True, "rx": True, "tx": False},
        "nic/ens1f0/speed_mbps": 25000,
        "system/run_level": "multi-user.target",
        "virtualization/iommu": ["dmar0", "dmar1"],
    }
    for path, value in expected.items():
        assert _value(record, path) == value, path
    pairs = ["0,4", "1,5", "2,6", "3,7"]
    counted = {"sockets": 2, "cores": 4, "threads": 8, "thread_siblings": pairs}
    assert _value(record, "cpu/topology") == counted
    assert _value(record, "power/frequency_policy")["governor"] == ["performance", "powersave"]
    assert _value(record, "pci/0000:31:00.0/express") == {
        "max_payload_octets": 256,
        "max_read_request_octets": 4096,
        "relaxed_ordering": True,
        "extended_tag": True,
        "no_snoop": False,
    }
    assert _value(record, "storage/devices")["nvme0n1"]["media"] == "solid state"
    assert [module["size_mib"] for module in _value(record, "memory/modules")] == [32768, 0, 65536, 32768]
    assert "declare" in _not_value(record, "bios/changes", "unknown")


def test_virtual_machine(sample_source):
    record = _record(sample_source, "virtual-machine")
    expected = {
        "virtualization/kind": "virtual machine",
        "virtualization/hypervisor": "KVM (QEMU)",
        "virtualization/steal": "accounted",
        "vswitch/version": "3.1.0",
        "vswitch/dpdk_version": "DPDK 22.11.1",
        "vswitch/datapath": ["netdev"],
        "vswitch/pmd_cores": "0x2",
        "vswitch/flow_timeout_ms": 30000,
        "vswitch/memory": {"hugetlb_kib": 1048576, "locked_kib": 1024},
        "datapath/bridges": {"br0": ["veth1"]},
        "nic/veth1/master": "br0",
        "nic/ens3/irq_affinity": {"virtio0-input.0": [0, 1]},
    }
    for path, value in expected.items():
        assert _value(record, path) == value, path
    assert _value(record, "storage/devices")["vda"]["media"] == "virtual"
    assert _value(record, "datapath/filters")[0]["bpf_program"] == 42
    assert "pmd usage" not in "".join(_value(record, "vswitch/queue_affinity"))
    assert "no end after" in _not_value(record, "system/run_level", "unknown")
    assert "hypervisor" in _not_value(record, "memory/modules", "not_applicable")
    assert "hunter2" not in str(record)


def test_container(sample_source):
    record = _record(sample_source, "container")
    assert _value(record, "virtualization/kind") == "container"
    assert _value(record, "system/version") == "Alpine Linux v3.19"
    assert _value(record, "storage/root_file_system")["file_system"] == "overlay"
    assert _not_value(record, "host/serial", "unknown").endswith("product_serial: Permission denied")
    assert "not installed" in _not_value(record, "datapath/firewall", "unknown")
    assert _not_value(record, "nic/eth0/rings", "not_applicable") == "the driver does not support it"


GARBAGE = (
    "", "\0\0\0", "{", "[[[[", "null", "-1", "9" * 400, "a: b\nc", "processor : x\n\n", "\ud7ff\n" * 50,
    "0-65536",
)  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_costs_fields_and_never_the_record(sample_source, each_sample, garbage):
    record = _record(sample_source, each_sample, garbage=garbage)
    assert problems(record, "record") == []
    assert "unknown" in dict(facts(record["fields"]))["numa/shared_resources"]


def test_random_damage_of_one_file_costs_only_what_rests_on_it(sample_source, each_sample):
    whole = dict(facts(_record(sample_source, each_sample)["fields"]))
    dice = random.Random(8172)
    probe = sample_source(each_sample)
    for path in dice.sample(sorted(probe.data["files"]), 25):
        source = sample_source(each_sample)
        source.data["files"][path] = "".join(chr(dice.randrange(1, 0x250)) for _ in range(40))
        record = assemble(source, "machine")
        assert problems(record, "record") == []
        after = dict(facts(record["fields"]))
        same = sum(after.get(name, {}).get("value") == fact.get("value") for name, fact in whole.items())
        assert same >= len(whole) * 0.5, path


def test_a_bridge_has_a_mac_while_it_has_ports(sample_source):
    source = sample_source("virtual-machine")
    links = source.data["netlink"]["links"]
    port = next(link for link in links if link["name"] != "lo")
    links.append(
        {**port, "name": "br7", "kind": "bridge", "index": 7007, "master": None, "mac": "02:00:00:00:00:07"}
    )
    bare = assemble(source, "machine")
    assert "without ports" in _not_value(bare, "nic/br7/mac", "not_applicable")
    port["master"] = 7007
    assert _value(assemble(source, "machine"), "nic/br7/mac") == "02:00:00:00:00:07"


def test_vanished_file_is_unknown_with_its_path(sample_source):
    source = sample_source("bare-metal-two-sockets")
    del source.data["files"]["/proc/cpuinfo"]
    record = assemble(source, "machine")
    assert _not_value(record, "cpu/model", "unknown") == "/proc/cpuinfo: No such file or directory"
    assert _value(record, "memory/total_octets") == 131072000 * 1024


def test_two_records_of_one_sample_are_equal(sample_source, each_sample):
    assert drift(_record(sample_source, each_sample), _record(sample_source, each_sample)) == ()


def test_collectors_give_what_the_schema_declares_and_nothing_is_declared_that_none_gives(sample_source):
    given = set()
    for name in ("bare-metal-two-sockets", "virtual-machine", "container"):
        told = {"pod": {"pid": 812, "kind": "pod"}}
        record = assemble(sample_source(name), "machine", workloads=told, topology={}, tester={})
        given |= {declaration(path).path for path, _ in facts(record["fields"])}
    expected = {path for path in declared() if not path.endswith("/collector")} - {"pci/devices"}
    assert expected - given == set()


def test_workload_facts_are_told_or_unknown(sample_source):
    told = {"pod": {"kind": "pod", "function": "kernel-l3"}}
    record = assemble(sample_source("container"), "machine", workloads=told)
    assert _value(record, "workload/pod/function") == "kernel-l3"
    assert _not_value(record, "workload/pod/image", "unknown") == "the deployer of pod did not tell it"
    assert "no process" in _not_value(record, "workload/pod/cpuset", "not_applicable")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("root=/dev/vda quiet", "root=/dev/vda quiet"),
        ("ds.password=x quiet", "ds.password=(left out) quiet"),
        ("proxy --api-token abc --port 1", "proxy --api-token (left out) --port 1"),
        ("proxy --auth-required --port 1", "proxy --auth-required --port 1"),
    ],
)
def test_credentials_are_left_out(line, expected):
    assert without_secrets(line) == expected


def test_pci_configuration_space():
    with pytest.raises(Unread, match="64 octets"):
        express(bytes(64))
    with pytest.raises(NotApplicable):
        express(bytes(256))
    looped = bytearray(256)
    looped[6], looped[0x34], looped[0x40], looped[0x41] = 0x10, 0x40, 0x05, 0x40
    with pytest.raises(NotApplicable):
        express(bytes(looped))


@pytest.mark.parametrize("table", [b"\x11\x02\0\0", b"\x11\xff\0\0", bytes([17, 4, 0, 0]) + b"no end"])
def test_damaged_smbios_is_refused(table):
    with pytest.raises(ValueError, match="structure at octet"):
        memory_modules(table)


KUBELET = """
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
"""


def test_kubernetes_node(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {
        "/proc/900/comm": "kubelet\n",
        "/var/lib/kubelet/config.yaml": KUBELET,
        "/var/lib/kubelet/device-plugins/kubelet.sock": "",
        "/var/lib/kubelet/device-plugins/sriovdp.sock": "",
        "/etc/kubernetes/manifests/etcd.yaml": "kind: Pod\n",
        "/etc/cni/net.d/10-calico.conflist": '{"plugins": [{"type": "calico"}, {"type": "portmap"}]}',
        "/opt/cni/bin/calico": "a program",
    }
    answer = {"serverVersion": {"gitVersion": "v1.31.4+k3s1"}}
    source.data["commands"]["kubectl version -o json"] = {"stdout": json.dumps(answer)}
    record = assemble(source, "machine")
    assert problems(record, "record") == []
    assert _value(record, "kubernetes/version") == "v1.31.4+k3s1"
    assert _value(record, "kubernetes/distribution") == "k3s"
    assert _value(record, "kubernetes/cpu_policy") == "static"
    assert _value(record, "kubernetes/memory_policy") == "None"
    assert _value(record, "kubernetes/topology_policy") == "single-numa-node"
    assert _value(record, "kubernetes/device_plugins") == ["sriovdp.sock"]
    assert list(_value(record, "kubernetes/manifests")) == ["etcd.yaml"]
    assert _value(record, "cni/configurations")["10-calico.conflist"]["plugins"] == ["calico", "portmap"]
    assert len(_value(record, "cni/plugins")["/opt/cni/bin/calico"]["sha256"]) == 64
    assert "none of the reference plugins" in _not_value(record, "cni/version", "unknown")
    changed = sample_source("bare-metal-two-sockets")
    changed.data = copy.deepcopy(source.data)
    changed.data["files"]["/etc/cni/net.d/10-calico.conflist"] = '{"plugins": [{"type": "calico"}]}'
    paths = [change.path for change in drift(record, assemble(changed, "machine"))]
    assert paths == [
        "cni/configurations/10-calico.conflist/plugins",
        "cni/configurations/10-calico.conflist/sha256",
    ]


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
    assert _value(record, "vswitch/version") == "vpp v24.10-release"
    assert _value(record, "vswitch/pmd_cores") == ["ID Name", "0 vpp_main", "1 vpp_wk_0"]
    assert "not installed" in _not_value(record, "vswitch/queue_affinity", "unknown")
    assert "cached flows" in _not_value(record, "vswitch/flows", "not_applicable")


def test_cores_of_two_dies_are_two_though_they_have_one_number(sample_source):
    source = sample_source("bare-metal-two-sockets")
    for cpu in range(8):
        topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        source.data["files"][f"{topology}/physical_package_id"] = "0\n"
        source.data["files"][f"{topology}/core_id"] = f"{cpu % 2}\n"
    found = _value(assemble(source, "machine"), "cpu/topology")
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
        found.append(_value(assemble(source, "machine"), "vswitch/queue_affinity"))
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
    assert _value(record, "workload/dut/cpu_limit") == 1.0


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
    assert _value(record, "workload/dut/memory_limit_octets") == 1 << 30
    assert _value(record, "workload/dut/cpu_limit") == 1.5
    assert _value(record, "workload/dut/hugepage_limits_octets") == {"1GB": 2 << 30}
    assert _value(record, "workload/dut/cpuset") == [2, 6]
    assert _value(record, "workload/dut/memory_backing") == {"hugepages_kib": 1048576}
    assert _value(record, "workload/dut/scheduling").startswith("fifo, priority 50")
    assert [thread["cpus"] for thread in _value(record, "workload/dut/threads")] == [[2], [6]]
    assert _value(record, "workload/dut/storage") == {"file_system": "overlay", "read_only": True}


@pytest.mark.parametrize(
    ("clocks", "told"),
    [("kvm-clock tsc acpi_pm\n", "KVM (QEMU)"), ("tsc hpet acpi_pm\n", "no sign of KVM")],
)
def test_a_machine_of_qemu_without_a_clock_of_kvm_is_not_called_kvm(sample_source, clocks, told):
    source = sample_source("virtual-machine")
    source.data["files"][CLOCKS] = clocks
    assert told in _value(assemble(source, "machine"), "virtualization/hypervisor")


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

    assert _value(with_limit("           0\n"), "power/cpu_latency_limit_us") == 0
    assert "no process asks" in _not_value(
        with_limit(" 2000000000\n"), "power/cpu_latency_limit_us", "not_applicable"
    )
    bare = _record(sample_source, "bare-metal-two-sockets")
    assert "does not exist" in _not_value(bare, "power/cpu_latency_limit_us", "not_applicable")


def test_what_this_process_holds_is_told_and_nothing_where_it_was_not_asked(sample_source):
    with kept_awake(KeepAwake.NONE, (0,)):
        told = _value(_record(sample_source, "container"), "power/kept_awake")
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
