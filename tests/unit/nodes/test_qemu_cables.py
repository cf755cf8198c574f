"""A guest's cables on QEMU's command line: pairs of NICs on a hub each, functions behind an IOMMU."""

from __future__ import annotations

from pathlib import Path

from bmwg.drivers.machines import qemu
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, NicModel
from bmwg.drivers.testbed.file import load_testbed
from bmwg.resources.run.in_guest import cables_of

ROOT = Path(__file__).parents[3]


def argv(*cables: tuple[NicModel, NicModel]) -> list[str]:
    spec = MachineSpec(name="g", cpus=2, memory_octets=1 << 30, accelerator=Accelerator.TCG, cables=cables)
    files = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}
    return qemu.command(spec, channel_fd=3, monitor_fd=4, **files)


def devices(words: list[str]) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words) if word == "-device"]


def test_a_guest_without_cables_is_the_machine_that_it_was():
    words = argv()
    assert "pc,accel=tcg" in words
    assert not any("iommu" in word or "hubport" in word for word in words)


def test_both_ends_of_a_cable_are_on_one_hub_and_no_interface_of_the_host():
    words = argv((NicModel.VIRTIO, NicModel.IGB), (NicModel.VIRTIO, NicModel.VIRTIO))
    backends = [words[place + 1] for place, word in enumerate(words) if word == "-netdev"]
    assert [one.rpartition("hubid=")[2] for one in backends] == ["0", "0", "1", "1"]
    assert all(one.startswith("hubport,") for one in backends)


def test_the_iommu_comes_before_every_nic_and_each_igb_has_a_bus_of_its_own():
    words = argv((NicModel.VIRTIO, NicModel.IGB), (NicModel.VIRTIO, NicModel.IGB))
    made = devices(words)
    assert made[0].startswith("intel-iommu,")
    ports = [one for one in made if one.startswith("pcie-root-port")]
    functions = [one for one in made if one.startswith("igb")]
    assert len(ports) == len(functions) == len({one.rpartition("bus=")[2] for one in functions}) == 2
    line = words[words.index("-append") + 1].split()
    assert {"intel_iommu=on", "iommu=pt"} <= set(line)
    assert "aw-bits=48" in made[0]
    macs = [word.partition("mac=")[2][:17] for word in made if "mac=" in word]
    assert len(set(macs)) == len(macs) == 4


def test_the_shipped_testbed_has_functions_at_the_devices_ends_and_a_wire_for_the_tester():
    testbed = load_testbed(ROOT / "testbeds" / "guest-sriov.yaml")
    assert list(cables_of(testbed)) == [
        (NicModel.VIRTIO, NicModel.IGB),
        (NicModel.VIRTIO, NicModel.IGB),
        (NicModel.VIRTIO, NicModel.VIRTIO),
    ]


def test_a_tester_that_opens_its_nics_has_those_of_a_pci_bus_at_its_ends():
    testbed = load_testbed(ROOT / "testbeds" / "guest-pci.yaml")
    assert list(cables_of(testbed)) == [
        (NicModel.IGB, NicModel.VIRTIO),
        (NicModel.IGB, NicModel.VIRTIO),
        (NicModel.IGB, NicModel.IGB),
    ]
