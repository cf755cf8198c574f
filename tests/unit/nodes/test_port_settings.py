"""A borrowed interface has its offloads, threads, MTU and name again, also where the run was killed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.paths import queues
from bmwg.drivers.ports import device_queue, interfaces, lab_port, port_settings
from bmwg.methodology.errors import TestbedError

GRO, TSO = "rx-gro", "tx-tcp-segmentation"


class Machine:
    """A machine with one NIC, whose kernel and files this has in place of."""

    def __init__(self, folder: Path) -> None:
        self.net = folder / "net"
        (folder / "pci" / "0000:01:00.0").mkdir(parents=True)
        self.device = folder / "pci" / "0000:01:00.0"
        self.mtu_octets, self.flags, self.fixed = 9000, 1, set[str]()
        self.offloads = {name: name != "tx-checksum-ip-generic" for name in device_queue.CHANGED}
        self.acts: list[str] = []
        self.add("eth1")

    def add(self, name: str) -> None:
        (self.net / name).mkdir(parents=True)
        (self.net / name / "device").symlink_to(self.device)
        (self.net / name / "threaded").write_text("0\n")

    # ethtool's part

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def get_features(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(
            features={name: SimpleNamespace(enable=on) for name, on in self.offloads.items()}
        )

    def set_features(self, _: str, found: SimpleNamespace) -> None:
        for name, one in found.features.items():
            if name not in self.fixed:
                self.offloads[name] = one.enable

    # netlink's

    def get_links(self, _: int) -> list[Machine]:
        return [self]

    def __getitem__(self, key: str) -> int:
        assert key == "flags"
        return self.flags

    def get_nested(self, *_: str) -> None:
        return None

    def get_attr(self, key: str) -> int:
        assert key == "IFLA_MTU"
        return self.mtu_octets

    def rename(self, *, interface: str, name: str) -> None:
        (self.net / interface).rename(self.net / name)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    for module in (lab_port, port_settings):
        monkeypatch.setattr(module, "_SYS_NET", made.net)
    for module in (device_queue, port_settings):
        monkeypatch.setattr(module, "Ethtool", lambda: made)
    monkeypatch.setattr(
        device_queue, "Path", lambda text: Path(str(text).replace("/sys/class/net", str(made.net)))
    )
    monkeypatch.setattr(interfaces, "rtnetlink", lambda act: made)
    monkeypatch.setattr(interfaces, "index", lambda kernel, interface: 7)
    monkeypatch.setattr(interfaces, "rename", made.rename)
    monkeypatch.setattr(interfaces, "mtu_octets", lambda interface: made.mtu_octets)
    monkeypatch.setattr(
        interfaces, "set_mtu", lambda interface, mtu_octets: setattr(made, "mtu_octets", mtu_octets)
    )
    for name in ("up", "down", "release"):
        monkeypatch.setattr(interfaces, name, lambda interface, name=name: made.acts.append(name))
    return made


def changed(machine: Machine) -> None:
    """What a deployment does to a NIC, and a killed one leaves."""
    machine.offloads = dict.fromkeys(machine.offloads, False)
    machine.mtu_octets = 1500
    (machine.net / "eth1" / "threaded").write_text("1\n")


def test_a_borrowed_port_is_as_it_was(machine: Machine) -> None:
    before, was = dict(machine.offloads), port_settings.read(interface="eth1")
    changed(machine)
    for _ in range(2):  # idempotent
        lab_port.require_returned(interface="eth1", up=True, was=was)
        assert machine.offloads == before
        assert machine.mtu_octets == 9000
        assert (machine.net / "eth1" / "threaded").read_text().strip() == "0"
        assert machine.acts == ["up", "release"]
        machine.acts.clear()


def test_a_device_that_a_plugin_had_renamed_is_found_by_its_place(machine: Machine) -> None:
    """As the pod's `net0`: a namespace that ends gives it back by that name."""
    was = port_settings.read(interface="eth1")
    machine.rename(interface="eth1", name="net0")
    lab_port.require_returned(interface="eth1", up=False, was=was)
    assert [one.name for one in machine.net.iterdir()] == ["eth1"]
    machine.rename(interface="eth1", name="net0")
    with pytest.raises(TestbedError, match="PORT-03"):  # nothing is known of it
        lab_port.require_returned(interface="eth1", up=False, within_s=0.1)


def test_promiscuous_mode_of_the_host_s_own_stays(machine: Machine) -> None:
    machine.flags = 0x101
    was = port_settings.read(interface="eth1")
    lab_port.require_returned(interface="eth1", up=True, was=was)
    assert machine.acts == ["up"]


def test_an_offload_that_does_not_come_back_is_named(machine: Machine) -> None:
    was = port_settings.read(interface="eth1")
    changed(machine)
    machine.fixed = {TSO}
    with pytest.raises(TestbedError, match=rf"PORT-03(?s:.*){TSO}: off"):
        lab_port.require_returned(interface="eth1", up=True, was=was)


@pytest.mark.parametrize("merged", [True, False])
def test_a_deployment_leaves_its_nic_merging_frames_as_before(machine: Machine, merged: bool) -> None:
    """A NIC merges frames (GRO) from the beginning, a veth pair does not: the next one finds the same."""
    machine.offloads[GRO] = merged
    bed = SimpleNamespace(testbed=SimpleNamespace(dut=SimpleNamespace(device_queue="threaded")))
    node = SimpleNamespace(call=lambda function, **named: function(**named))
    with (
        queues.released(bed, node, ["eth1"]),  # type: ignore[arg-type]
        queues.tags_in_frames(node, ("eth1",)),  # type: ignore[arg-type]
    ):
        assert machine.offloads["tx-vlan-hw-insert"] is False
        machine.offloads[GRO] = True  # by `isolate`
    assert machine.offloads[GRO] is merged
    assert machine.offloads["tx-vlan-hw-insert"] is True
