"""Virtual functions under VFIO and beside a vSwitch: files of a PCI device, and an option of two halves."""

import os
from pathlib import Path

import pytest

from bmwg.drivers.api.protocols import Attached, Attachment
from bmwg.drivers.function import testpmd
from bmwg.drivers.network.combination import CombinedNetwork
from bmwg.drivers.network.handover import NETDEV, undriven
from bmwg.drivers.network.sriov_vfio import SriovVfioNetwork
from bmwg.drivers.ports import vfio, virtual_functions
from bmwg.drivers.testbed.file import network_spec
from bmwg.methodology.errors import ConfigError, TestbedError

GROUP = 11


def made(kind, driver, options, model="sr-iov"):
    spec = network_spec("one", {"driver": driver, "options": options, "model": model}, (1, 2))
    return kind(spec, run_dir=Path("/run/x"), undo=None)


@pytest.fixture
def function(tmp_path, monkeypatch):
    """A function whose driver is igbvf; the kernel's answer to a probe is that of the driver named."""
    pci, drivers, groups = tmp_path / "pci", tmp_path / "drivers", tmp_path / "vfio"
    device = pci / "0000:01:10.0"
    device.mkdir(parents=True)
    for name in ("igbvf", "vfio-pci"):
        (drivers / name).mkdir(parents=True)
    (tmp_path / "groups" / str(GROUP)).mkdir(parents=True)
    (device / "iommu_group").symlink_to(tmp_path / "groups" / str(GROUP))
    groups.mkdir()
    monkeypatch.setattr(vfio, "PCI", pci)
    monkeypatch.setattr(vfio, "_DRIVERS", drivers)
    monkeypatch.setattr(vfio, "_IOMMUS", tmp_path / "iommus")
    monkeypatch.setattr(vfio, "_PROBE", tmp_path / "probe")
    monkeypatch.setattr(vfio, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(vfio, "VFIO_FOLDER", groups)
    return device


def test_a_function_goes_to_vfio_by_its_override(function, tmp_path):
    (function / "driver").symlink_to(tmp_path / "drivers" / "vfio-pci")  # as after the kernel's probe
    (tmp_path / "vfio" / str(GROUP)).touch()
    found = virtual_functions.to_vfio(address=function.name)
    assert found == {"address": function.name, "driver": "vfio-pci", "iommu_group": GROUP}
    assert (function / "driver_override").read_text() == "vfio-pci"
    assert (tmp_path / "drivers" / "vfio-pci" / "unbind").read_text() == function.name
    assert (tmp_path / "probe").read_text() == function.name


@pytest.mark.parametrize(("driver", "group_file"), [("igbvf", True), ("vfio-pci", False)])
def test_a_function_that_vfio_does_not_take_is_named(function, tmp_path, driver, group_file):
    (function / "driver").symlink_to(tmp_path / "drivers" / driver)
    if group_file:
        (tmp_path / "vfio" / str(GROUP)).touch()
    with pytest.raises(TestbedError, match="VF-04") as caught:
        virtual_functions.to_vfio(address=function.name)
    assert caught.value.found == f"driver {driver}, group {GROUP}"


def test_whoever_has_a_group_open_is_found(function, tmp_path):
    for pid, target in ((12, tmp_path / "vfio" / str(GROUP)), (13, tmp_path / "vfio" / "9")):
        (tmp_path / "proc" / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "fd" / "5").symlink_to(target)
    assert vfio.holders(group=GROUP) == [12]


def test_functions_are_taken_back_only_when_nobody_has_them_open(function, tmp_path, monkeypatch):
    nic = tmp_path / "pci" / "0000:01:00.0"
    nic.mkdir()
    (nic / "sriov_numvfs").write_text("1")
    (nic / "virtfn0").symlink_to(function)
    fd = tmp_path / "proc" / "12" / "fd"
    fd.mkdir(parents=True)
    (fd / "5").symlink_to(tmp_path / "vfio" / str(GROUP))
    ended = []

    def kill(pid, signal):
        ended.append(pid)
        (fd / "5").unlink()

    monkeypatch.setattr(os, "kill", kill)
    virtual_functions.remove(address=nic.name)
    assert ended == [12]
    assert (nic / "sriov_numvfs").read_text() == "0"


def test_a_program_that_keeps_its_function_is_named_and_the_function_stays(function, tmp_path, monkeypatch):
    nic = tmp_path / "pci" / "0000:01:00.0"
    nic.mkdir()
    (nic / "sriov_numvfs").write_text("1")
    (nic / "virtfn0").symlink_to(function)
    (tmp_path / "proc" / "12" / "fd").mkdir(parents=True)
    (tmp_path / "proc" / "12" / "fd" / "5").symlink_to(tmp_path / "vfio" / str(GROUP))
    monkeypatch.setattr(os, "kill", lambda pid, signal: None)
    monkeypatch.setattr(vfio, "_RELEASE_S", 0.1)
    with pytest.raises(TestbedError, match="VF-05") as caught:
        virtual_functions.remove(address=nic.name)
    assert caught.value.found == "processes 12"
    assert (nic / "sriov_numvfs").read_text() == "1"


def test_a_machine_without_an_iommu_or_the_driver_lacks_it_by_name(function, tmp_path):
    assert vfio.no_vfio()["what"] == "an IOMMU"
    (tmp_path / "iommus" / "dmar0").mkdir(parents=True)
    assert vfio.no_vfio() is None
    (tmp_path / "drivers" / "vfio-pci").rmdir()
    assert vfio.no_vfio()["what"] == "driver vfio-pci"


def test_interrupts_of_a_function_are_placed_and_told_as_the_kernel_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(vfio, "PCI", tmp_path / "pci")
    monkeypatch.setattr(virtual_functions, "_INTERRUPTS", tmp_path / "irq")
    (tmp_path / "pci" / "0000:01:10.0" / "msi_irqs").mkdir(parents=True)
    for number in (9, 10):
        (tmp_path / "pci" / "0000:01:10.0" / "msi_irqs" / str(number)).touch()
        (tmp_path / "irq" / str(number)).mkdir(parents=True)
        (tmp_path / "irq" / str(number) / "smp_affinity_list").write_text("0-1\n")
    found = virtual_functions.place_interrupts(address="0000:01:10.0", cpus=[1])
    assert found == [{"interrupt": 9, "cpus": "1"}, {"interrupt": 10, "cpus": "1"}]


def test_only_a_program_in_user_space_can_have_a_function_by_vfio():
    network = made(SriovVfioNetwork, "sriov-vfio", {})
    assert undriven(network, "function testpmd", testpmd.Testpmd.drives) is None
    assert "hands over vfio" in undriven(network, "function kernel-l3", frozenset({NETDEV})).reason


def test_ports_are_numbered_as_eal_does_pci_devices_first():
    line = testpmd.arguments(
        devices=("virtio_user0,path=/x", "0000:02:10.0"),
        neighbours=("02:00:00:00:00:01", "02:00:00:00:00:02"),
        cpu=1,
    )
    assert "--no-pci" not in line
    assert "--iova-mode=va" in line
    assert [word for word in line if word.startswith(("--allow", "--vdev", "--eth-peer"))] == [
        "--allow=0000:02:10.0",
        "--vdev=virtio_user0,path=/x",
        "--eth-peer=0,02:00:00:00:00:02",
        "--eth-peer=1,02:00:00:00:00:01",
    ]
    plain = testpmd.arguments(devices=("net_a0,x", "net_a1,x"), neighbours=("m0", "m1"), cpu=1)
    assert "--no-pci" in plain
    assert [word for word in plain if word.startswith("--eth-peer")] == ["--eth-peer=0,m0", "--eth-peer=1,m1"]


class Half:
    """One half of a combination that says what it was asked for."""

    def __init__(self, name):
        self.name = name
        self.spec = network_spec(name, {"driver": name, "model": name})

    def settled(self, node, attached, *, pod_id, pod_pid):
        return {"settled by": self.name}

    def uses(self, node):
        return {f"process of {self.name}": {}}


def attached_by(uplink):
    wanted = Attachment(network="one", interface="net0", side=0, addresses=(), uplink=uplink)
    return Attached(
        attachment=wanted,
        link_kind="",
        mac="",
        mtu_octets=1500,
        addresses=(),
        host_interface=None,
        host_mac=None,
        took_nic=False,
        evidence={},
    )


def test_what_reaches_a_nic_is_north_south_and_what_reaches_a_pod_is_east_west():
    network = made(CombinedNetwork, "combination", {}, model="combination")
    assert [half.spec.driver for half in network._halves.values()] == ["sriov-vfio", "ovs-dpdk"]
    assert [half.spec.model for half in network._halves.values()] == ["sr-iov", "user-space"]
    network._halves = {axis: Half(axis) for axis in network._halves}
    told = [
        network.settled(None, attached_by(uplink), pod_id="p", pod_pid=1)["settled by"]
        for uplink in ("nic0", None)
    ]
    assert told == ["north-south", "east-west"]
    assert list(network.uses(None)) == ["process of north-south", "process of east-west"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"north_south": "ovs-dpdk"}, "ovs-dpdk"),
        ({"east_west": "bridge"}, "bridge"),
        ({"east_west_options": {"pmd_cpus": "0"}}, "none of the DUT's"),
        ({"north_south_options": {"virtual_functions": 0}}, "0"),
        ({"east_west_options": 3}, "3"),
        ({"colour": "blue"}, "colour"),
    ],
)
def test_each_wrong_option_of_a_half_is_refused_before_anything_is_made(options, said):
    with pytest.raises(ConfigError, match=r"^NET-04 ") as caught:
        made(CombinedNetwork, "combination", options, model="combination")
    assert said in caught.value.found
