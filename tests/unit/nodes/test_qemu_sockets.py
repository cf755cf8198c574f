"""A NIC at a vhost-user socket: the words by which QEMU makes it, and what QEMU says of it when it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bmwg.drivers.machines import qemu, qemu_place, qemu_sockets
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, Nic, NicModel
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import pages
from bmwg.methodology.errors import DriverError

SOCKET, MAC = "/run/bmwg-vswitch/sockets/net0-59b7e8b6", "02:00:00:00:00:01"
NIC = Nic(tap="", mac=MAC, socket=SOCKET)
SPEC = MachineSpec(
    name="vm0",
    cpus=1,
    memory_octets=768 << 20,
    accelerator=Accelerator.TCG,
    nics=(NIC,),
    process_cpus="2-3",
)
SAID = (  # by QEMU 7.2 of a NIC at a socket and of one on a tap
    "virtio-net-pci.0: index=0,type=nic,model=virtio-net-pci,macaddr=02:00:00:00:00:01\r\n"
    " \\ net0: index=0,type=vhost-user,vhost-user0 to switch-020000000001\r\n"
    "virtio-net-pci.1: index=0,type=nic,model=virtio-net-pci,macaddr=02:00:00:00:00:02\r\n"
    " \\ net1: index=0,type=tap,ifname=t0,script=no,downscript=no\r\n"
)


def words(spec: MachineSpec) -> list[str]:
    paths = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}
    return qemu.command(spec, **paths, channel_fd=7, monitor_fd=8)


def after(option: str, argv: list[str]) -> list[str]:
    return [argv[at + 1] for at, word in enumerate(argv) if word == option]


def test_the_nic_is_at_the_switch_s_socket_and_the_memory_is_the_switch_s_too() -> None:
    argv = words(SPEC)
    assert argv[:3] == ["taskset", "--cpu-list", "2-3"]
    assert f"socket,id={qemu.chardev(NIC)},path={SOCKET}" in after("-chardev", argv)
    assert f"vhost-user,chardev={qemu.chardev(NIC)},id=net0" in after("-netdev", argv)
    assert after("-object", argv) == [f"memory-backend-memfd,id=shared,size={768 << 20},share=on"]
    assert "memory-backend=shared" in after("-machine", argv)
    assert not [word for word in argv if word.startswith("tap,")]


def test_memory_in_hugepages_is_there_before_the_guest_boots() -> None:
    (memory,) = after("-object", words(replace(SPEC, hugepage_octets=2 << 20)))
    assert memory.endswith("share=on,hugetlb=on,hugetlbsize=2097152,prealloc=on")


def test_a_comma_in_a_socket_s_path_is_no_further_word() -> None:
    argv = words(replace(SPEC, nics=(replace(NIC, socket="/a,b"),)))
    assert any(word.endswith(",path=/a,,b") for word in after("-chardev", argv))


@pytest.mark.parametrize(
    ("accelerator", "interrupts"), [(Accelerator.TCG, "INTx"), (Accelerator.KVM, "MSI-X")]
)
def test_only_a_translated_guest_has_its_nic_interrupt_by_line_and_the_record_says_so(
    accelerator: Accelerator, interrupts: str
) -> None:
    spec = replace(SPEC, accelerator=accelerator)
    (device,) = [word for word in after("-device", words(spec)) if word.startswith(NicModel.VIRTIO)]
    assert (",vectors=0" in device) is (interrupts == "INTx")
    (told,) = qemu.describe(spec)["nics"]
    assert told == {
        "model": "virtio-net-pci",
        "backend": "vhost-user",
        "vhost": False,
        "interrupts": interrupts,
    }


def test_a_guest_on_a_tap_shares_no_memory_and_keeps_to_no_cpu() -> None:
    spec = replace(SPEC, nics=(Nic(tap="t0", mac=MAC),), process_cpus="")
    argv = words(spec)
    assert argv[0].endswith(qemu.PROGRAM)
    assert after("-object", argv) == []
    assert "vectors" not in " ".join(argv)
    assert not {"memory", "process_cpus"} & qemu.describe(spec).keys()


def test_a_guest_of_two_numa_nodes_shares_no_memory() -> None:
    with pytest.raises(ValueError, match="expected 1 NUMA node, found 2"):
        replace(SPEC, numa_nodes=2)


def test_the_kind_of_each_backend_is_read_by_its_name() -> None:
    assert qemu_sockets.kinds_of(SAID) == {"net0": "vhost-user", "net1": "tap"}
    assert qemu_sockets.kinds_of("") == {}


class Said:
    """A monitor of which it is known what it says."""

    def __init__(self, network: str, end: Mapping[str, Any]) -> None:
        self._network, self._end = network, end

    def execute(self, command: str, arguments: Mapping[str, Any]) -> Any:
        return self._network if command == "human-monitor-command" else self._end[arguments["property"]]


class Guest:
    """A machine with such a monitor."""

    def __init__(self, network: str = SAID, path: str = SOCKET, *, connected: bool = True) -> None:
        self.spec = SPEC
        self.monitor = Said(network, {"addr": {"type": "unix", "path": path}, "connected": connected})


def test_what_qemu_says_of_a_nic_is_told() -> None:
    assert qemu_sockets.told_nics(cast("Machine", Guest())) == [
        {"model": "virtio-net-pci", "backend": "vhost-user", "socket": SOCKET, "connected": True}
    ]


@pytest.mark.parametrize(
    ("guest", "found"),
    [
        (Guest(SAID.replace("type=vhost-user", "type=tap")), "tap, connected"),
        (Guest(""), "none, connected"),
        (Guest(path="/run/another"), "/run/another"),
        (Guest(connected=False), "not connected"),
    ],
)
def test_a_nic_that_is_another_one_is_no_vhost_user_nic(guest: Guest, found: str) -> None:
    with pytest.raises(DriverError, match=r"^VM-17 ") as caught:
        qemu_sockets.told_nics(cast("Machine", guest))
    assert found in caught.value.found
    assert SOCKET in caught.value.expected


@pytest.mark.parametrize(("option", "word"), qemu_sockets.WANTED)
def test_a_qemu_without_the_backend_or_shared_memory_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, word: str
) -> None:
    emulator = tmp_path / "qemu"
    others = "".join(f"{name}\n" for _, name in qemu_sockets.WANTED if name != word)
    emulator.write_text(f"#!/bin/sh\nprintf '{others}'\n")
    emulator.chmod(0o755)
    monkeypatch.setattr(qemu, "program", lambda: emulator)
    monkeypatch.setattr(qemu_place, "probe", lambda: None)
    lack = qemu_sockets.lacking(hugepage_octets=0, count=0)
    assert lack is not None
    assert lack["reason"] == f"`{option} help` of this QEMU names no {word}"


def test_hugepages_that_are_not_free_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu_place, "probe", lambda: None)
    monkeypatch.setattr(qemu_sockets, "WANTED", ())
    monkeypatch.setattr(pages, "free", {2048: 255, 1 << 20: 2}.__getitem__)
    lack = qemu_sockets.lacking(hugepage_octets=2 << 20, count=256)
    assert lack is not None
    assert (lack["what"], lack["reason"]) == ("256 hugepages of 2 MiB for a guest", "255 are free")
    assert qemu_sockets.lacking(hugepage_octets=1 << 30, count=2) is None
