"""The description of a guest for libvirt: what it says, and what is read back from a running one."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bmwg.drivers.machines import libvirt_domain, qemu
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, Nic, NicModel

NIC = Nic(tap="vmp0-abc", mac="02:00:00:00:00:01", address="198.18.19.2/30", gateway="198.18.19.1")
SPEC = MachineSpec(
    name="vmp0-abc",
    cpus=2,
    memory_octets=1 << 30,
    accelerator=Accelerator.TCG,
    nics=(NIC,),
    shares={"/r": "t"},
)
SOCKET, CONSOLE = Path("/run/x/agent"), Path("/run/x/console")


def written(spec: MachineSpec = SPEC, **more: object) -> ET.Element:
    given = {"owner": "", "confinements": ()} | more
    return ET.fromstring(
        libvirt_domain.write(
            spec,
            uuid="00000000-0000-4000-8000-000000000001",
            kernel=Path("/k"),
            modules=Path("/m"),
            initramfs=Path("/i"),
            emulator="/usr/bin/qemu-system-x86_64",
            channel=SOCKET,
            console=CONSOLE,
            **given,  # type: ignore[arg-type]
        )
    )


def test_the_guest_is_the_one_that_qemu_alone_would_start() -> None:
    domain = written()
    assert domain.get("type") == "qemu"
    assert [domain.findtext(tag) for tag in ("name", "memory", "vcpu")] == [SPEC.name, str(1 << 30), "2"]
    assert [domain.findtext(f"os/{tag}") for tag in ("kernel", "initrd")] == ["/k", "/i"]
    argv = qemu.command(
        SPEC, kernel=Path("/k"), modules=Path("/m"), initramfs=Path("/i"), channel_fd=3, monitor_fd=4
    )
    assert domain.findtext("os/cmdline") == argv[argv.index("-append") + 1]
    cpu = [domain.findtext("cpu/model"), *(part.get("name") for part in domain.findall("cpu/feature"))]
    assert ",+".join(map(str, cpu)) == argv[argv.index("-cpu") + 1]
    shares = [
        (share.find("source").get("dir"), share.find("target").get("dir"), share.find("readonly") is not None)
        for share in domain.findall("devices/filesystem")
    ]  # type: ignore[union-attr]
    assert shares == [("/", "bmwg-root", True), ("/m", "bmwg-modules", True), ("/r", "t", False)]


def test_the_nic_is_the_tap_that_we_made_and_libvirt_leaves_it_alone() -> None:
    (interface,) = written().findall("devices/interface")
    assert interface.get("type") == "ethernet"
    assert interface.find("target").attrib == {"dev": NIC.tap, "managed": "no"}  # type: ignore[union-attr]
    assert interface.find("source") is None
    assert interface.find("mac").get("address") == NIC.mac  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("model", "vhost", "word", "backend"),
    [
        (NicModel.E1000, False, "e1000", None),
        (NicModel.VIRTIO, False, "virtio", "qemu"),
        (NicModel.VIRTIO, True, "virtio", "vhost"),
    ],
)
def test_vhost_is_said_both_ways_and_only_where_there_is_such_a_thing(
    model: NicModel, vhost: bool, word: str, backend: str | None
) -> None:
    spec = replace(SPEC, nics=(replace(NIC, model=model, vhost=vhost),))
    (interface,) = written(spec).findall("devices/interface")
    assert interface.find("model").get("type") == word  # type: ignore[union-attr]
    driver = interface.find("driver")
    assert (driver.get("name") if driver is not None else None) == backend


def test_kvm_is_asked_for_by_type_and_cpu() -> None:
    domain = written(replace(SPEC, accelerator=Accelerator.KVM))
    assert domain.get("type") == "kvm"
    assert domain.find("cpu").get("mode") == "host-passthrough"  # type: ignore[union-attr]


def test_whatever_confines_guests_on_the_host_is_told_to_change_no_file() -> None:
    labels = {
        label.get("model"): label for label in written(confinements=["dac", "apparmor"]).iter("seclabel")
    }
    assert labels["dac"].get("relabel") == "no"
    assert labels["dac"].findtext("label") == "+0:+0"
    assert labels["apparmor"].get("type") == "none"
    host = (
        "<capabilities><host><secmodel><model>dac</model></secmodel><secmodel><model>none</model></secmodel>"
    )
    assert libvirt_domain.confinements(host + "</host></capabilities>") == ["dac"]


def test_texts_that_mean_something_in_xml_stay_texts() -> None:
    name = "a<b&\"c'"
    domain = written(replace(SPEC, name=name), owner="o&<")
    assert domain.findtext("name") == name
    assert [part.get("value") for part in domain.iter() if part.tag.endswith("}env")] == ["o&<"]


def test_what_runs_is_read_from_the_running_description() -> None:
    running = """<domain type='qemu' id='1'><devices><interface type='ethernet'><mac address='02:0:0:0:0:1'/>
        <target dev='vmp0-abc' managed='no'/><model type='virtio'/><driver name='qemu'/><alias name='net0'/>
        </interface></devices></domain>"""
    assert libvirt_domain.domain_type(running) == "qemu"
    assert libvirt_domain.nics(running) == [
        {"alias": "net0", "attached_by": "ethernet", "tap": "vmp0-abc", "model": "virtio"}
    ]
