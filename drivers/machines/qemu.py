"""QEMU's command line from a description of the machine, and which accelerator this host really has.

KVM is used where the CPU has hardware virtualization and /dev/kvm can be opened; everything else runs under
TCG, an interpreter by translation whose figures say nothing of KVM. What ran is asked of QEMU itself, never
concluded from what was wanted. The disk with a guest's root is attached for reading alone. Ids: VM-04 no
QEMU.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines.architecture import AMD64, Architecture, own
from bmwg.drivers.machines.guest_image import Format
from bmwg.drivers.machines.guest_initramfs import CHANNEL, MODULES_TAG, ROOT_TAG
from bmwg.methodology.record.booted import Counted

PROGRAM, QEMU_LINE = own().program, own().emulator_line  # of guests of this host's architecture
UNPACKED = Path("/var/cache/bmwg/qemu/root")  # a QEMU whose igb has virtual functions, by setup/sriov.sh
SRIOV_LINE = "sh setup/sriov.sh"
USER_NETWORK = "user-mode network"  # QEMU's own, without a tap
VHOST_USER = "vhost-user"  # a socket by which a switch is told where the guest's memory lies
OWN_DISK = "bmwg-own"  # its serial number, by which the guest finds it
_CPU_FLAGS = re.compile(r"^flags\s*:.*\b(vmx|svm)\b", re.MULTILINE)


class Accelerator(StrEnum):
    """How the guest's instructions run: by the CPU itself, or translated."""

    KVM = "kvm"
    TCG = "tcg"


class NicModel(StrEnum):
    """The guest's NIC: one that exists as hardware (full virtualization), or one made for guests.

    IGB has virtual functions (SR-IOV).
    """

    E1000 = "e1000"
    IGB = "igb"
    VIRTIO = "virtio-net-pci"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One NIC of the guest and its other end, a tap interface that QEMU makes and that goes with it.

    With `redirected` there is no tap, nor with `socket`, the path of a vhost-user socket that a switch
    serves. `address` (in prefix notation) and `gateway` are set before anything else runs in the guest.
    """

    tap: str
    mac: str
    address: str | None = None
    gateway: str | None = None
    model: NicModel = NicModel.VIRTIO
    vhost: bool = False
    redirected: Redirected | None = None
    socket: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The guest's only disk, with its root; `path` is where QEMU finds the image, `file` the image's name.

    `octets` are those of the image's file, by what was counted.
    """

    file: str
    path: str
    format: Format
    octets: Mapping[Counted, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpec:
    """A guest as wanted. `shares` maps a host folder to the 9p tag under which the guest may write it,
    `views` one that the guest only reads: it keeps in its memory what it has read, so nobody may change the
    folder meanwhile.

    Its root is on `disk`, or the host's. `own_disk` is a file of the host that is a further disk of its own,
    empty at first, which it may write, past the host's page cache. `cables` are pairs of NICs within the
    guest, each pair joined by a cable that ends at no interface of the host; the guest then has an IOMMU of
    its own, behind which the virtual functions of an igb stand. CPUs and memory are shared out evenly to
    `numa_nodes`, in order; pages of 1 GiB are set aside when it boots.

    Of another `architecture` than its host's it has a root of that one instead of the host's. With a NIC at a
    socket its memory is shared with the switch, in pages of `hugepage_octets` (0: ordinary ones). Its process
    keeps to `process_cpus` (a list such as `2-3`; empty: to none).
    """

    name: str
    cpus: int
    memory_octets: int
    accelerator: Accelerator
    nics: tuple[Nic, ...] = ()
    shares: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    disk: Disk | None = None
    own_disk: str = ""
    cables: tuple[tuple[NicModel, NicModel], ...] = ()
    numa_nodes: int = 1
    hugepages_1gi: int = 0
    architecture: Architecture = field(default_factory=own)
    hugepage_octets: int = 0
    process_cpus: str = ""

    def __post_init__(self) -> None:
        if self.numa_nodes > 1 and self.shared:
            raise ValueError(f"NICs at sockets: expected 1 NUMA node, found {self.numa_nodes}")

    @property
    def shared(self) -> bool:
        """Whether its memory is another process's as well."""
        return any(nic.socket for nic in self.nics)


def probe_accelerator(architecture: Architecture | None = None) -> tuple[Accelerator, str]:
    """Tell which accelerator can run a guest (of this host's architecture, unless told) here, and why.

    /dev/kvm alone proves nothing: without hardware virtualization beneath, it opens, makes a virtual machine
    and never runs an instruction of it.
    """
    wanted = architecture or own()
    if not wanted.native:
        return Accelerator.TCG, f"the guest is {wanted.kernel}, this host {platform.machine()}"
    if wanted is AMD64 and not _CPU_FLAGS.search(Path("/proc/cpuinfo").read_text()):
        return Accelerator.TCG, "the CPU shows neither vmx nor svm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return Accelerator.TCG, "/dev/kvm cannot be opened"
    return Accelerator.KVM, "the CPU has hardware virtualization and /dev/kvm opens"


def probe_vhost() -> tuple[bool, str]:
    """Tell whether the host's kernel can carry a virtio NIC's frames itself (vhost-net), and why."""
    usable = os.access("/dev/vhost-net", os.R_OK | os.W_OK)
    return usable, "/dev/vhost-net opens" if usable else "/dev/vhost-net cannot be opened"


def program(architecture: Architecture | None = None, *, with_functions: bool = False) -> Path | None:
    """Return QEMU's program: with virtual functions the unpacked one, else one in PATH where there is one."""
    name = (architecture or own()).program
    unpacked = UNPACKED / "usr" / "bin" / name
    found = None if with_functions else shutil.which(name)
    return Path(found) if found else unpacked if unpacked.is_file() else None


def probe_program(
    architecture: Architecture | None = None, *, with_functions: bool = False
) -> Missing | None:
    """Return what is missing when this host has no QEMU for the guest, or cannot make tap interfaces."""
    wanted = architecture or own()
    if with_functions and program(wanted, with_functions=True) is None:
        reason = f"no {wanted.program} below {UNPACKED}"
        return Missing(what="QEMU with virtual functions", reason=reason, mend=SRIOV_LINE)
    if program(wanted) is None:
        return Missing(what="QEMU", reason=f"no {wanted.program} in PATH", mend=wanted.emulator_line)
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return Missing(what="tap interfaces", reason="/dev/net/tun cannot be opened", mend="modprobe tun")
    return None


def bare(found: Path, name: str) -> list[str]:
    """Return the first words of every machine: no defaults of QEMU's, no settings of a user's, no screen."""
    words = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    return [str(found), "-name", name, *words]


def command(
    spec: MachineSpec,
    *,
    kernel: Path,
    modules: Path,
    initramfs: Path,
    channel_fd: int,
    monitor_fd: int,
) -> list[str]:
    """Build QEMU's argument vector. Both descriptors are connected sockets that QEMU inherits.

    The guest's console is QEMU's standard output.
    """
    wanted = spec.architecture
    found = program(wanted, with_functions=bool(spec.cables)) or Path(wanted.program)
    kept = ["taskset", "--cpu-list", spec.process_cpus] if spec.process_cpus else []
    argv = [*kept, *bare(found, spec.name)]
    if found.is_relative_to(UNPACKED):
        for folder in ("qemu", "seabios"):
            argv += ["-L", str(UNPACKED / "usr" / "share" / folder)]
    # choice: without cables no ACPI table of q35 is needed, and `pc` boots faster
    machine = "q35,kernel-irqchip=split" if spec.cables else wanted.machine
    argv += ["-machine", f"{machine},accel={spec.accelerator}"]
    # before every device that is to stand behind it; 48 bits, as addresses of programs have 47
    if spec.cables:
        argv += ["-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48"]
    argv += ["-cpu", cpu(spec, *(("pdpe1gb",) if spec.hugepages_1gi else ()))]
    argv += ["-smp", str(spec.cpus), "-m", f"{spec.memory_octets >> 20}M", *_numa(spec), *_shared(spec)]
    argv += ["-kernel", str(kernel), "-initrd", str(initramfs)]
    argv += ["-append", kernel_line(spec)]
    argv += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=monitor,fd={monitor_fd}", "-mon", "chardev=monitor,mode=control"]
    argv += ["-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={channel_fd}"]
    argv += ["-device", f"virtserialport,chardev=agent,name={CHANNEL}"]
    argv += _share("root", wanted.root, ROOT_TAG, writable=False)
    argv += _share("modules", modules, MODULES_TAG, writable=False)
    for number, (folder, tag) in enumerate(sorted(spec.shares.items())):
        argv += _share(f"share{number}", Path(folder), tag, writable=True)
    for number, (folder, tag) in enumerate(sorted(spec.views.items())):
        argv += _share(f"view{number}", Path(folder), tag, writable=False)
    if spec.disk is not None:
        argv += _disk(spec.disk)
    argv += _own_disk(spec.own_disk) if spec.own_disk else []
    for number, nic in enumerate(spec.nics):
        if nic.socket:
            argv += ["-chardev", f"socket,id={chardev(nic)},path={nic.socket.replace(',', ',,')}"]
        argv += ["-netdev", f"{backend(nic)},id=net{number}"]
        words = f"netdev=net{number},mac={nic.mac}{_vectors(spec, nic)}"
        argv += _nic(nic.model, words, 2 * len(spec.cables) + number + 1)
    return argv + _cables(spec.cables)


def _vectors(spec: MachineSpec, nic: Nic) -> str:
    """Have a translated guest's NIC at a socket interrupt by INTx: by MSI-X QEMU 7.2 ends with signal 11."""
    return ",vectors=0" if _by_line(spec, nic) else ""


def _by_line(spec: MachineSpec, nic: Nic) -> bool:
    return bool(nic.socket) and spec.accelerator is Accelerator.TCG


def backend(nic: Nic) -> str:
    """Return where a NIC's frames go: a socket, a tap, or QEMU's own network with its redirected ports."""
    if nic.socket:
        return f"vhost-user,chardev={chardev(nic)}"
    if nic.redirected is None:
        return f"tap,ifname={nic.tap},script=no,downscript=no,vhost={'on' if nic.vhost else 'off'}"
    outside, inside = nic.redirected.address, nic.redirected.inside or nic.redirected.address
    ways = [f"{outside}:{port}-{inside}:{port}" for port in nic.redirected.ports]
    return ",".join(("user,ipv6=off", *(f"hostfwd={kind}:{way}" for kind in ("tcp", "udp") for way in ways)))


def chardev(nic: Nic) -> str:
    """Return QEMU's name for its end of the socket that a NIC is at."""
    return f"switch-{nic.mac.replace(':', '')}"


def cpu(spec: MachineSpec, *further: str) -> str:
    """Return the guest's CPU: the host's own, or a translated one with these `further` features."""
    if spec.accelerator is Accelerator.KVM:
        return "host"
    return ",+".join((spec.architecture.model, *spec.architecture.features, *further))


def _nic(model: NicModel, words: str, slot: int) -> list[str]:
    """Return a NIC; one with virtual functions is on a bus of its own, which they need."""
    if model is not NicModel.IGB:
        return ["-device", f"{model},{words},romfile="]
    port = ["-device", f"pcie-root-port,id=slot{slot},chassis={slot},slot={slot}"]
    return [*port, "-device", f"{model},{words},romfile=,bus=slot{slot}"]


def _numa(spec: MachineSpec) -> list[str]:
    """Memory and CPUs of each NUMA node; none for a machine of one."""
    if spec.numa_nodes < 2:
        return []
    argv = []
    for node in range(spec.numa_nodes):
        first, after = (spec.cpus * one // spec.numa_nodes for one in (node, node + 1))
        octets = (spec.memory_octets >> 20) // spec.numa_nodes
        argv += ["-object", f"memory-backend-ram,id=node{node},size={octets}M"]
        argv += ["-numa", f"node,nodeid={node},cpus={first}-{after - 1},memdev=node{node}"]
    return argv


def _shared(spec: MachineSpec) -> list[str]:
    """Memory that QEMU shares by a file without a name; none where nobody else takes frames from it."""
    if not spec.shared:
        return []
    pages = f",hugetlb=on,hugetlbsize={spec.hugepage_octets},prealloc=on" if spec.hugepage_octets else ""
    octets = spec.memory_octets >> 20 << 20
    return [
        *("-object", f"memory-backend-memfd,id=shared,size={octets},share=on{pages}"),
        *("-machine", "memory-backend=shared"),
    ]


def _cables(cables: tuple[tuple[NicModel, NicModel], ...]) -> list[str]:
    """Each cable is a hub of QEMU's with two ports.

    In the guest the NICs of virtio have the first names (eth0 ...) and the igb ones those after, in order.
    """
    argv: list[str] = []
    for number, models in enumerate(cables):
        for end, model in enumerate(models):
            argv += ["-netdev", f"hubport,id=cable{number}-{end},hubid={number}"]
            mac = f"02:00:00:00:{end:02x}:{number:02x}"
            argv += _nic(model, f"netdev=cable{number}-{end},mac={mac}", 2 * number + end + 1)
    return argv


def kernel_line(spec: MachineSpec) -> str:
    """Return the guest kernel's command line, which carries the addresses of its NICs too."""
    network = [
        f"bmwg.net=eth{number},{nic.address},{nic.gateway or ''}"
        for number, nic in enumerate(spec.nics)
        if nic.address is not None
    ]
    # the kernel's own drivers go past the IOMMU: each frame would cost them two commands to it, and a
    # translated guest takes milliseconds for those. A function bound to VFIO has its own tables all the same
    iommu = ["intel_iommu=on", "iommu=pt"] if spec.cables else []
    pages = ["hugepagesz=1G", f"hugepages={spec.hugepages_1gi}"] if spec.hugepages_1gi else []
    balanced = ["numa_balancing=disable"] if spec.numa_nodes > 1 else []  # or pages move amid trials
    return " ".join([usual_words(spec), "cgroup_no_v1=all", *iommu, *pages, *balanced, *network])


def usual_words(spec: MachineSpec) -> str:
    """Return what every guest's kernel is told."""
    told = spec.architecture
    translated = told.translated_words if spec.accelerator is Accelerator.TCG else ()
    words = [f"console={told.console}", "panic=-1", "quiet", *told.kernel_words, *translated]
    return " ".join([*words, "mitigations=off", "net.ifnames=0"])


def _disk(disk: Disk) -> list[str]:
    file = {"driver": "file", "filename": disk.path, "read-only": True}
    block: dict[str, JsonValue] = {"driver": disk.format.value, "node-name": "root", "read-only": True}
    block["file"] = file
    if disk.format is Format.QCOW2:
        block["backing"] = None  # whatever its header says by now
    return ["-blockdev", json.dumps(block), "-device", "virtio-blk-pci,drive=root"]


def _own_disk(path: str) -> list[str]:
    file = {"driver": "file", "filename": path, "cache": {"direct": True}}
    block = {"driver": "raw", "node-name": "own", "file": file, "cache": {"direct": True}}
    return ["-blockdev", json.dumps(block), "-device", f"virtio-blk-pci,drive=own,serial={OWN_DISK}"]


def _share(name: str, folder: Path, tag: str, *, writable: bool) -> list[str]:
    readonly = "off" if writable else "on"
    folder_text = _escaped(folder)
    return [
        "-fsdev",
        f"local,id={name},path={folder_text},security_model=none,readonly={readonly},multidevs=remap",
        "-device",
        f"virtio-9p-pci,fsdev={name},mount_tag={tag}",
    ]


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")


def describe(spec: MachineSpec) -> dict[str, JsonValue]:
    """Return the description as data, for the record. An architecture is told where it is not the host's."""
    return {
        "cpus": spec.cpus,
        "memory_octets": spec.memory_octets,
        "accelerator_wanted": spec.accelerator.value,
        "nics": [_nic_described(spec, nic) for nic in spec.nics],
        **({} if spec.architecture.native else {"architecture": spec.architecture.name}),
        **({"own_disk": "raw, past the host's page cache"} if spec.own_disk else {}),
        **({"cables": [[model.value for model in pair] for pair in spec.cables]} if spec.cables else {}),
        **({"numa_nodes": spec.numa_nodes} if spec.numa_nodes > 1 else {}),
        **({"hugepages_1gi": spec.hugepages_1gi} if spec.hugepages_1gi else {}),
        **({"memory": _memory_words(spec)} if spec.shared else {}),
        **({"process_cpus": spec.process_cpus} if spec.process_cpus else {}),
    }


def _memory_words(spec: MachineSpec) -> str:
    pages = f"hugepages of {spec.hugepage_octets >> 20} MiB" if spec.hugepage_octets else "ordinary pages"
    return f"shared with the switch, in {pages}"


def _nic_described(spec: MachineSpec, nic: Nic) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"model": nic.model.value, "backend": "tap", "vhost": nic.vhost}
    if nic.socket:
        return {**told, "backend": VHOST_USER, "interrupts": "INTx" if _by_line(spec, nic) else "MSI-X"}
    if nic.redirected is None:
        return told
    return {**told, "backend": USER_NETWORK, "redirected_ports": list(nic.redirected.ports)}
