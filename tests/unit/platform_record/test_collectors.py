"""Collectors on made samples of three differing machines, on garbage and on what is missing."""

from __future__ import annotations

import base64
import random

import pytest
from tests.unit.platform_record.collected import not_value, record_of, value_of

from bmwg.drivers.platform_record.collect import assemble
from bmwg.drivers.platform_record.collectors.hardware import express
from bmwg.drivers.platform_record.collectors.memory import memory_modules
from bmwg.drivers.platform_record.collectors.system import without_secrets
from bmwg.drivers.platform_record.values import NotApplicable, Unread
from bmwg.methodology.record.coverage import Answer, coverage
from bmwg.methodology.record.drift import drift
from bmwg.methodology.record.facts import declaration, declared, facts
from bmwg.schemas.validation import problems


def test_every_sample_gives_a_record_after_the_schema(sample_source, each_sample):
    record = record_of(sample_source, each_sample)
    assert problems(record, "record") == []
    assert all(declaration(path) for path, _ in facts(record["fields"]))


@pytest.mark.parametrize(
    ("name", "least"),
    [("bare-metal-two-sockets", 0.9), ("virtual-machine", 0.9), ("container", 0.9)],
)
def test_share_of_rows_that_a_sample_answers(sample_source, name, least):
    score = coverage([record_of(sample_source, name)])
    missing = [f"{row.row}: {row.gaps}" for row in score.rows if row.answer is Answer.MISSING]
    assert least <= score.ratio < 1, missing


@pytest.mark.parametrize(
    ("shown", "level"),
    [
        ({"isolated": "\n", "nohz_full": "(null)\n"}, "rcu_nocbs"),
        ({"nohz_full": None}, "isolcpus + rcu_nocbs"),
    ],
)
def test_a_parameter_that_the_kernel_does_not_follow_isolates_no_cpu(sample_source, shown, level):
    source = sample_source("bare-metal-two-sockets")
    for name, text in shown.items():
        if text is None:
            del source.data["files"][f"/sys/devices/system/cpu/{name}"]
        else:
            source.data["files"][f"/sys/devices/system/cpu/{name}"] = text
    record = assemble(source, "machine")
    assert value_of(record, "isolation/level") == level
    assert value_of(record, "isolation/nohz_full") == "2-3,6-7"


def test_last_level_caches_of_several_sizes_are_all_told(sample_source):
    source = sample_source("bare-metal-two-sockets")
    for cpu in (1, 3, 5, 7):
        source.data["files"][f"/sys/devices/system/cpu/cpu{cpu}/cache/index3/size"] = "98304K\n"
    shared = value_of(assemble(source, "machine"), "numa/shared_resources")
    assert shared["last_level_cache"] == ["0,2,4,6", "1,3,5,7"]


def test_bare_metal(sample_source):
    record = record_of(sample_source, "bare-metal-two-sockets")
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
        assert value_of(record, path) == value, path
    pairs = ["0,4", "1,5", "2,6", "3,7"]
    counted = {"sockets": 2, "cores": 4, "threads": 8, "thread_siblings": pairs}
    assert value_of(record, "cpu/topology") == counted
    assert value_of(record, "power/frequency_policy")["governor"] == ["performance", "powersave"]
    assert value_of(record, "pci/0000:31:00.0/express") == {
        "max_payload_octets": 256,
        "max_read_request_octets": 4096,
        "relaxed_ordering": True,
        "extended_tag": True,
        "no_snoop": False,
    }
    assert value_of(record, "storage/devices")["nvme0n1"]["media"] == "solid state"
    assert [module["size_mib"] for module in value_of(record, "memory/modules")] == [32768, 0, 65536, 32768]
    assert "declare" in not_value(record, "bios/changes", "unknown")


def test_virtual_machine(sample_source):
    record = record_of(sample_source, "virtual-machine")
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
        assert value_of(record, path) == value, path
    assert value_of(record, "storage/devices")["vda"]["media"] == "virtual"
    assert value_of(record, "datapath/filters")[0]["bpf_program"] == 42
    assert "pmd usage" not in "".join(value_of(record, "vswitch/queue_affinity"))
    assert "no end after" in not_value(record, "system/run_level", "unknown")
    assert "hypervisor" in not_value(record, "memory/modules", "not_applicable")
    assert "hunter2" not in str(record)


@pytest.mark.parametrize(
    ("model", "media"),
    [
        ("QEMU HARDDISK", "virtual"),
        ("VBOX HARDDISK", "virtual"),
        ("Virtual disk", "virtual"),
        ("ST4000NM0035", "rotating"),
    ],
)
def test_a_disk_of_a_hypervisor_rotates_by_its_default_alone(sample_source, model, media):
    source = sample_source("virtual-machine")
    told = {"size": "2048", "queue/rotational": "1", "device/model": f"{model}\n"}
    source.data["files"] |= {f"/sys/block/sda/{name}": text for name, text in told.items()}
    assert value_of(assemble(source, "machine"), "storage/devices")["sda"]["media"] == media


def test_an_empty_slot_has_no_type_of_memory(sample_source):
    source = sample_source("bare-metal-two-sockets")
    kinds = []
    for size, kind in ((0x8000 >> 1, 0x22), (0, 0x02)):  # 16 GiB of DDR5, and an empty slot
        body = bytearray(0x22)
        body[0], body[1], body[0x12] = 17, len(body), kind
        body[0x0C:0x0E] = size.to_bytes(2, "little")
        kinds.append(bytes(body) + b"\0\0")
    source.data["binary"]["/sys/firmware/dmi/tables/DMI"] = base64.b64encode(b"".join(kinds)).decode()
    record = assemble(source, "machine")
    assert value_of(record, "memory/type") == ["DDR5"]
    assert len(value_of(record, "memory/modules")) == 2


def test_container(sample_source):
    record = record_of(sample_source, "container")
    assert value_of(record, "virtualization/kind") == "container"
    assert value_of(record, "system/version") == "Alpine Linux v3.19"
    assert value_of(record, "storage/root_file_system")["file_system"] == "overlay"
    assert not_value(record, "host/serial", "unknown").endswith("product_serial: Permission denied")
    assert "not installed" in not_value(record, "datapath/firewall", "unknown")
    assert not_value(record, "nic/eth0/rings", "not_applicable") == "the driver does not support it"


_ARM = "processor\t: 0\nFeatures\t: fp asimd crc32\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),  # a server of a vendor that makes machines, or a guest whose hypervisor says nothing
        ({"sys_vendor": "QEMU", "product_name": "QEMU Virtual Machine"}, "virtual machine"),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.large"}, "virtual machine"),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"}, "bare metal"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Surface Pro X"}, None),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "virtual machine"),
    ],
)
def test_only_cpus_of_x86_show_by_a_flag_that_nothing_runs_them(sample_source, files, kind):
    source = sample_source("bare-metal-two-sockets")
    told = {"sys_vendor": "Ampere", "product_name": "Mt. Jade"} | files
    source.data["files"] |= {f"/sys/class/dmi/id/{name}": text for name, text in told.items()}
    assert value_of(assemble(source, "machine"), "virtualization/kind") == "bare metal"
    source = sample_source("bare-metal-two-sockets")
    source.data["files"] |= {f"/sys/class/dmi/id/{name}": text for name, text in told.items()}
    source.data["files"]["/proc/cpuinfo"] = _ARM
    record = assemble(source, "machine")
    if kind is None:
        for field in ("kind", "hypervisor", "hypervisor_version"):
            assert "declare it" in not_value(record, f"virtualization/{field}", "unknown")
    else:
        assert value_of(record, "virtualization/kind") == kind
        asked = "virtual" in kind
        assert ("value" in dict(facts(record["fields"]))["virtualization/hypervisor"]) == asked
    source.data["files"]["/proc/device-tree/hypervisor/compatible"] = "linux,kvm"
    assert value_of(assemble(source, "machine"), "virtualization/kind") == "virtual machine"


GARBAGE = (
    "", "\0\0\0", "{", "[[[[", "null", "-1", "9" * 400, "a: b\nc", "processor : x\n\n", "\ud7ff\n" * 50,
    "0-65536",
)  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_costs_fields_and_never_the_record(sample_source, each_sample, garbage):
    record = record_of(sample_source, each_sample, garbage=garbage)
    assert problems(record, "record") == []
    assert "unknown" in dict(facts(record["fields"]))["numa/shared_resources"]


def test_random_damage_of_one_file_costs_only_what_rests_on_it(sample_source, each_sample):
    whole = dict(facts(record_of(sample_source, each_sample)["fields"]))
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
    assert "without ports" in not_value(bare, "nic/br7/mac", "not_applicable")
    port["master"] = 7007
    assert value_of(assemble(source, "machine"), "nic/br7/mac") == "02:00:00:00:00:07"


def test_vanished_file_is_unknown_with_its_path(sample_source):
    source = sample_source("bare-metal-two-sockets")
    del source.data["files"]["/proc/cpuinfo"]
    record = assemble(source, "machine")
    assert not_value(record, "cpu/model", "unknown") == "/proc/cpuinfo: No such file or directory"
    assert value_of(record, "memory/total_octets") == 131072000 * 1024


def test_two_records_of_one_sample_are_equal(sample_source, each_sample):
    assert drift(record_of(sample_source, each_sample), record_of(sample_source, each_sample)) == ()


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
    assert value_of(record, "workload/pod/function") == "kernel-l3"
    assert not_value(record, "workload/pod/image", "unknown") == "the deployer of pod did not tell it"
    assert "no process" in not_value(record, "workload/pod/cpuset", "not_applicable")


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
