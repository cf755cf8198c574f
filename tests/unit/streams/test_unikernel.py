"""What a testbed file may say of a unikernel, how QEMU boots it, and how programs enter places."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.kubernetes.pod import KubernetesPod
from bmwg.drivers.kubernetes.pods import Phases
from bmwg.drivers.machines import unikernel
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, Nic
from bmwg.drivers.nodes import process
from bmwg.drivers.places import agentless
from bmwg.drivers.testbed.file import load_testbed, with_settings
from bmwg.methodology.errors import ConfigError

IMAGE = {"image": "small.raw", "serves": ["netperf"], "memory": "64MiB"}
KERNEL = {
    "kernel": "k",
    "initrd": "i",
    "command_line": "ip=${address}/${prefix} gw=${gateway} $other",
    "serves": ["netperf", "iperf3"],
    "memory": "1GiB",
    "cpus": 2,
    "boot_within_s": 9,
}


def written(told):
    return with_settings(load_testbed(), {("unikernel",): told}, "the test")


@pytest.mark.parametrize(
    "told",
    [
        {**IMAGE, "kernel": "k"},
        {name: value for name, value in IMAGE.items() if name != "image"},
        {**IMAGE, "initrd": "i"},
        {**IMAGE, "command_line": "x"},
        {**IMAGE, "serves": []},
        {**IMAGE, "serves": ["netprf"]},
        {**IMAGE, "memory": "64MB"},
        {**IMAGE, "boot_within_s": 0},
        {**IMAGE, "image": "folder/"},
        {**IMAGE, "agent": "none"},
        {**IMAGE, "redirected": "yes"},
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_made(told) -> None:
    with pytest.raises(ConfigError, match=r"CFG-03[\s\S]*unikernel"):
        written(told)


def test_an_image_is_found_from_the_testbed_files_folder() -> None:
    found = agentless.settings_of(SimpleNamespace(testbed=written(IMAGE)))
    assert found.boot == {"image": str(agentless.Path(load_testbed().file).resolve().parent / "small.raw")}
    assert (found.memory_octets, found.cpus, found.boot_within_s) == (64 << 20, 1, 60.0)


def test_a_command_line_gets_the_servers_address_and_keeps_what_it_does_not_know() -> None:
    found = agentless.settings_of(SimpleNamespace(testbed=written(KERNEL)))
    assert found.boot["command_line"] == "ip=198.18.0.3/24 gw=198.18.0.2 $other"
    assert (found.memory_octets, found.cpus, found.boot_within_s) == (1 << 30, 2, 9.0)


def test_one_behind_redirected_ports_is_told_the_address_that_qemu_gives_it() -> None:
    found = agentless.settings_of(SimpleNamespace(testbed=written({**KERNEL, "redirected": True})))
    assert found.boot["command_line"] == "ip=10.0.2.15/24 gw=10.0.2.2 $other"
    assert (found.redirected, found.address) == (True, "10.0.2.15")
    bridged = agentless.settings_of(SimpleNamespace(testbed=written(KERNEL)))
    assert (bridged.redirected, bridged.address) == (False, "198.18.0.3")


def test_a_testbed_that_says_nothing_has_none() -> None:
    assert agentless.settings_of(SimpleNamespace(testbed=load_testbed())) is None


TAP = Nic(tap="t0", mac="02:00:00:00:00:01")
WAYS = Redirected(address="198.18.0.3", ports=(5201, 11111), inside="10.0.2.15")


def argv(boot, what, nic=TAP) -> str:
    spec = MachineSpec(
        name="u",
        cpus=1,
        memory_octets=64 << 20,
        accelerator=Accelerator.TCG,
        nics=(nic,),
    )
    return " ".join(unikernel.command(spec, boot, what, monitor_fd=9))


def test_an_image_boots_from_a_disk_that_is_never_written() -> None:
    told = argv(unikernel.Boot(cpus="1", image="/a,b.qcow2"), {"image": {"format": "qcow2"}})
    assert "file=/a,,b.qcow2,format=qcow2,if=none,id=disk,snapshot=on" in told
    assert "-kernel" not in told
    assert "accel=tcg" in told


def test_a_kernel_boots_with_its_own_words_and_no_agent() -> None:
    boot = unikernel.Boot(cpus="1", kernel="/k", initrd="/i", command_line="--ip=x")
    told = argv(boot, {})
    assert "-kernel /k -append --ip=x -initrd /i" in told
    for ours in ("virtserialport", "virtio-9p", "-drive"):
        assert ours not in told


def test_redirected_ports_lead_to_the_machines_own_address_and_there_is_no_tap() -> None:
    told = argv(unikernel.Boot(cpus="1", kernel="/k"), {}, replace(TAP, redirected=WAYS))
    assert "-netdev user,ipv6=off,hostfwd=tcp:198.18.0.3:5201-10.0.2.15:5201," in told
    assert "hostfwd=udp:198.18.0.3:11111-10.0.2.15:11111,id=net0" in told
    assert "tap" not in told
    same = argv(unikernel.Boot(cpus="1", kernel="/k"), {}, replace(TAP, redirected=replace(WAYS, inside="")))
    assert "hostfwd=tcp:198.18.0.3:5201-198.18.0.3:5201," in same


USER_NETWORK = """Hub -1 (n):\r
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r
  TCP[{state}]      10      198.18.0.3  5201       10.0.2.15  5201     0     0\r
  TCP[HOST_FORWARD]   9      198.18.0.3  5201       10.0.2.15  5201     0     0\r
"""


@pytest.mark.parametrize(
    ("state", "port", "answers"),
    [
        ("ESTABLISHED", 5201, True),
        ("ESTABLISHED", 520, False),
        ("SYN_SENT", 5201, False),
        ("CLOSED", 5201, False),
    ],
)
def test_a_connection_that_qemu_took_alone_is_no_answer_of_the_machine(state, port, answers) -> None:
    assert unikernel.established(USER_NETWORK.format(state=state), port) is answers


def test_a_pod_whose_image_lacks_the_programs_is_entered_without_its_root() -> None:
    me = os.getpid()
    ticks = process.start_ticks(me)
    pod = KubernetesPod(
        SimpleNamespace(), SimpleNamespace(), SimpleNamespace(pod_id="p", programs=False), {}, {}, Phases()
    )
    pod._container = {"pid": me, "start_ticks": ticks}
    assert pod.entry == {"pid": me, "start_ticks": ticks, "programs_of_node": True}
    for of_node, roots in ((True, 0), (False, 1)):
        command = pod_programs._entering(me, ticks, ["true"], "", "", None, of_node)
        assert command.count("--mount") == roots
        assert command.count("--net") == 1
