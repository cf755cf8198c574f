"""NICs that a run takes from their kernel driver: what is refused as it stands, and how one comes back.

The machine is a folder in the shape of sysfs, and its kernel binds as the real one does. A real kernel has
its turn in tests/rehearsal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bmwg.drivers.nodes import cables, pages
from bmwg.drivers.ports import interfaces, lab_port, pci_port, vfio
from bmwg.drivers.testbed.file import Endpoint
from bmwg.methodology.errors import ConfigError, TestbedError

NIC, OTHER, DISK = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"
MAC = "02:00:00:00:00:01"


class Machine:
    """Two NICs of driver igb, eth1 and eth2, each with an IOMMU group of its own, and a disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pci, self.net = folder / "pci", folder / "net"
        self.up: dict[str, bool] = {}
        self.next_name = "eth0"  # the kernel gives the lowest that is free
        (folder / "vfio").mkdir()
        (folder / "iommus" / "dmar0").mkdir(parents=True)
        for name in ("igb", "vfio-pci", "ahci"):
            (folder / "drivers" / name).mkdir(parents=True)
        self.net.mkdir()
        for number, (address, kind) in enumerate(
            ((NIC, "0x020000"), (OTHER, "0x020000"), (DISK, "0x010601"))
        ):
            device = self.pci / address
            device.mkdir(parents=True)
            for file, text in (("class", kind), ("numa_node", "0"), ("driver_override", "(null)\n")):
                (device / file).write_text(text)
            self.into_group(address, number)
            self.bind(address, "igb" if kind.startswith("0x02") else "ahci", f"eth{number + 1}")
        pool = folder / "nodes" / "node0" / "hugepages" / "hugepages-2048kB"
        pool.mkdir(parents=True)
        (pool / "free_hugepages").write_text("100")
        self.free_pages = pool / "free_hugepages"

    def into_group(self, address: str, number: int) -> None:
        group = self.folder / "groups" / str(number)
        (group / "devices" / address).mkdir(parents=True)
        (group / "devices" / address / "class").write_text((self.pci / address / "class").read_text())
        (self.pci / address / "iommu_group").unlink(missing_ok=True)
        (self.pci / address / "iommu_group").symlink_to(group)
        (self.folder / "vfio" / str(number)).touch()

    def bind(self, address: str, driver: str, name: str = "") -> None:
        (self.pci / address / "driver").symlink_to(self.folder / "drivers" / driver)
        if driver == "igb":
            (self.pci / address / "net" / name).mkdir(parents=True)
            (self.net / name).mkdir()
            (self.net / name / "device").symlink_to(self.pci / address)
            self.up[name] = False

    def unbind(self, address: str) -> None:
        (self.pci / address / "driver").unlink(missing_ok=True)
        for name in pci_port.interfaces_of(address):
            shutil.rmtree(self.net / name)
            del self.up[name]
        shutil.rmtree(self.pci / address / "net", ignore_errors=True)

    def probe(self, address: str) -> None:
        if (self.pci / address / "driver").exists():
            return
        override = (self.pci / address / "driver_override").read_text().strip()
        if override in ("", "(null)", "igb", "vfio-pci"):
            driver = "vfio-pci" if override == "vfio-pci" else "igb"
            self.bind(address, driver, self.next_name)

    def rename(self, *, interface: str, name: str) -> None:
        address = (self.net / interface / "device").resolve().name
        (self.net / interface).rename(self.net / name)
        (self.pci / address / "net" / interface).rename(self.pci / address / "net" / name)
        self.up[name] = self.up.pop(interface)

    def listing(self) -> list[dict[str, object]]:
        return [{"name": name, "mac": MAC, "mtu_octets": 1500, "up": up} for name, up in self.up.items()]

    def bare(self, *, interface: str) -> dict[str, object]:
        found = {one["name"]: one for one in self.listing()}[interface]
        return {"interface": interface, "mac": MAC, "mtu_octets": 1500, "up": found["up"], "kind": "device"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(vfio, "PCI", made.pci)
    monkeypatch.setattr(vfio, "_DRIVERS", tmp_path / "drivers")
    monkeypatch.setattr(vfio, "_IOMMUS", tmp_path / "iommus")
    monkeypatch.setattr(vfio, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(vfio, "VFIO_FOLDER", tmp_path / "vfio")
    monkeypatch.setattr(vfio, "unbind", made.unbind)
    monkeypatch.setattr(vfio, "probe", made.probe)
    monkeypatch.setattr(pci_port, "_NET", made.net)
    monkeypatch.setattr(pci_port, "_firmware", lambda interface: "1.2.3")
    monkeypatch.setattr(pages, "_NODES", tmp_path / "nodes")
    monkeypatch.setattr(lab_port, "require_bare", made.bare)
    monkeypatch.setattr(interfaces, "listing", made.listing)
    monkeypatch.setattr(interfaces, "rename", made.rename)
    monkeypatch.setattr(interfaces, "up", lambda interface: made.up.update({interface: True}))
    monkeypatch.setattr(interfaces, "down", lambda interface: made.up.update({interface: False}))
    return made


def state(machine: Machine) -> list[tuple[str, str, list[str], str]]:
    addresses = (NIC, OTHER, DISK)
    overrides = [(machine.pci / one / "driver_override").read_text().strip() for one in addresses]
    names = [pci_port.interfaces_of(one) for one in addresses]
    drivers = [vfio.driver_of(one) for one in addresses]
    return list(zip(addresses, drivers, names, overrides, strict=True))


@pytest.mark.parametrize("port", ["eth1", NIC, NIC.upper()])
def test_a_nic_is_told_by_either_name_while_its_driver_can_tell(machine: Machine, port: str) -> None:
    before = state(machine)
    found = pci_port.require_free(port=port, memory_mib=200)
    assert (found["address"], found["interface"], found["driver"]) == (NIC, "eth1", "igb")
    assert (found["firmware"], found["mac"], found["numa_node"]) == ("1.2.3", MAC, 0)
    assert (found["iommu_group"], found["bifurcated"], found["override"]) == (0, False, "")
    assert state(machine) == before
    assert set(pci_port.names_of(port=port)) == {port, NIC, "eth1"}


def without_iommu(machine: Machine) -> None:
    shutil.rmtree(machine.folder / "iommus")


def without_vfio(machine: Machine) -> None:
    shutil.rmtree(machine.folder / "drivers" / "vfio-pci")


def in_one_group(machine: Machine) -> None:
    (machine.folder / "groups" / "0" / "devices" / OTHER).mkdir()
    (machine.folder / "groups" / "0" / "devices" / OTHER / "class").write_text("0x020000")


def bound_by_hand(machine: Machine) -> None:
    machine.unbind(NIC)
    machine.bind(NIC, "vfio-pci")


def with_two_interfaces(machine: Machine) -> None:
    (machine.pci / NIC / "net" / "eth9").mkdir()


def without_pages(machine: Machine) -> None:
    machine.free_pages.write_text("79")


@pytest.mark.parametrize(
    ("spoil", "port", "error_id", "said"),
    [
        (None, "0000:01:00.1", "PCI-01", f"did you mean {NIC}?"),
        (None, DISK, "PCI-01", "a device that is no NIC"),
        (without_iommu, NIC, "PCI-02", "an IOMMU"),
        (without_vfio, NIC, "PCI-02", "modprobe vfio-pci"),
        (in_one_group, "eth1", "PCI-03", f"group 0 with {OTHER}"),
        (bound_by_hand, NIC, "PCI-04", "driver vfio-pci, interfaces: none"),
        (with_two_interfaces, NIC, "PCI-04", "interfaces: eth1, eth9"),
        (without_pages, "eth1", "PCI-07", "158 MiB"),
    ],
)
def test_what_a_run_cannot_take_is_named_and_nothing_is_bound(
    machine: Machine, spoil: object, port: str, error_id: str, said: str
) -> None:
    if callable(spoil):
        spoil(machine)
    before = state(machine)
    with pytest.raises(TestbedError, match=f"^{error_id} ") as caught:
        pci_port.require_free(port=port, memory_mib=160)
    assert port in str(caught.value)
    assert "nothing was bound" in str(caught.value)
    assert said in str(caught.value)
    assert state(machine) == before


def test_an_interface_without_a_device_is_no_pci_port(machine: Machine) -> None:
    (machine.net / "veth0").mkdir()
    with pytest.raises(TestbedError, match="PCI-01"):
        pci_port.address_of(port="veth0")
    with pytest.raises(TestbedError, match="LINK-01"):
        pci_port.address_of(port="no-such-nic")


def test_a_bridge_on_the_way_to_a_nic_may_be_in_its_group(machine: Machine) -> None:
    (machine.folder / "groups" / "0" / "devices" / "0000:00:1c.0").mkdir()
    (machine.folder / "groups" / "0" / "devices" / "0000:00:1c.0" / "class").write_text("0x060400")
    assert pci_port.require_free(port=NIC)["iommu_group"] == 0


def test_a_nic_in_use_is_refused_by_its_use(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(*, interface: str) -> dict[str, object]:
        raise TestbedError("PORT-01", f"interface {interface} is in use", found="the address 192.0.2.1/24")

    monkeypatch.setattr(lab_port, "require_bare", used)
    with pytest.raises(TestbedError, match="PORT-01"):
        pci_port.require_free(port=NIC)


def test_a_nic_of_a_bifurcated_driver_needs_no_iommu(machine: Machine) -> None:
    (machine.folder / "drivers" / "mlx5_core").mkdir()
    (machine.pci / NIC / "driver").unlink()
    (machine.pci / NIC / "driver").symlink_to(machine.folder / "drivers" / "mlx5_core")
    without_iommu(machine)
    assert pci_port.require_free(port=NIC)["bifurcated"] is True


def undo_of(found: dict[str, object]) -> dict[str, object]:
    return {key: found[key] for key in cables._UNDONE_BY}


@pytest.mark.parametrize("up", [True, False])
def test_a_nic_is_bound_and_comes_back_by_its_name_and_as_it_was(machine: Machine, up: bool) -> None:
    machine.up["eth1"] = up
    before, was_up = state(machine), dict(machine.up)
    found = pci_port.require_free(port="eth1")
    for _ in range(2):  # its undo is right whether it was taken or not
        pci_port.take(address=NIC)
        assert vfio.driver_of(NIC) == "vfio-pci"
        assert pci_port.interfaces_of(NIC) == []
        for _ in range(2):
            pci_port.give_back(**undo_of(found))
            assert [one[:3] for one in state(machine)] == [one[:3] for one in before]
            assert machine.up == was_up


def test_a_nic_that_vfio_does_not_take_is_named(machine: Machine) -> None:
    (machine.folder / "vfio" / "0").unlink()
    with pytest.raises(TestbedError, match="PCI-05"):
        pci_port.take(address=NIC)


def test_a_nic_that_does_not_come_back_is_named_with_its_port(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pci_port.require_free(port="eth1")
    machine.unbind(NIC)
    (machine.pci / NIC / "driver_override").write_text("nobody")
    monkeypatch.setattr(vfio, "probe", lambda address: None)
    with pytest.raises(TestbedError, match="PCI-06") as caught:
        pci_port.give_back(**undo_of(found), within_s=0.1)
    assert "eth1" in str(caught.value)
    shutil.rmtree(machine.pci / NIC)
    with pytest.raises(TestbedError, match="PCI-06"):
        pci_port.give_back(**undo_of(found), within_s=0.1)


def test_one_nic_by_two_names_is_refused(machine: Machine) -> None:
    ends = [Endpoint(node="tester", interface=name) for name in ("eth1", NIC)]
    with pytest.raises(ConfigError, match="LINK-05"):
        cables.looked_at(dict.fromkeys(ends, 0))
    two = [ends[0], Endpoint(node="tester", interface=OTHER)]
    assert len(cables.looked_at(dict.fromkeys(two, 0))) == 2
