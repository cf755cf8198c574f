"""What hosts the workloads: hypervisor or bare metal, container runtimes, Kubernetes."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from bmwg.drivers.platform_record.collectors.cpu import flags
from bmwg.drivers.platform_record.translation import clocks, maybe_translated, vendor
from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Unread,
    entries,
    line,
    processes,
    text_or_none,
)

_RUNTIMES = ("crun", "runc", "containerd", "dockerd", "podman", "crio", "lxc-start")
_VERSION_S = 6.0  # choice: on a busy machine dockerd took more than two, and the run counted as drifted
_DAEMONS = ("containerd", "dockerd", "crio", "kubelet")
_FIRST_PID_NAMESPACE = "pid:[4026531836]"  # fixed in the kernel (PROC_PID_INIT_INO)
_ABSENT = "no kubelet runs on this machine"
_RUNS = "/run/bmwg-"  # folders of what runs start begin so
_DMI, _TREE = "/sys/class/dmi/id", "/proc/device-tree"
_HYPERVISORS = {  # by a word of the vendor's
    "QEMU": "KVM (QEMU)", "VMware": "VMware", "Microsoft": "Hyper-V", "Amazon EC2": "Nitro (KVM)",
    "Google": "KVM (Google)", "Xen": "Xen", "innotek": "VirtualBox", "OpenStack": "KVM (OpenStack)",
}  # fmt: skip
_OF_MACHINES_TOO = {"Microsoft": "Virtual Machine", "Google": "Google Compute Engine"}  # products of guests
_UNTOLD = "CPUs of this architecture tell no guest, and the firmware names no known hypervisor: declare it"


def ends(group: Group, pid: str) -> bool:
    """Whether a process begins or ends: it has no words, or only its parent has not collected it."""
    words = text_or_none(group.source, f"/proc/{pid}/cmdline")
    state = (text_or_none(group.source, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    return words == "" or state[:1] in (["Z"], ["X"])


def _of_this_network(group: Group, pid: str) -> bool:
    """Whether a process is in the network namespace of whoever asks, or nobody can tell.

    The programs of a run's own cluster are in those of its nodes: a part of the run, and none of the machine.
    """
    try:
        theirs = group.source.read_link(f"/proc/{pid}/ns/net")
        return theirs == group.source.read_link("/proc/self/ns/net")
    except (OSError, Unread):
        return True


def _tells(group: Group, pid: str) -> bool:
    """Whether a process only tells its version, as for another record that is taken at this moment."""
    words = text_or_none(group.source, f"/proc/{pid}/cmdline")
    return words is not None and "--version" in words.split("\0")


def of_a_run(group: Group, pid: str) -> bool:
    """Whether a process is a part of a run: in another network, with the folder of a run in its words.

    A switch of somebody's own in a network of its own is none of a run, and is told.
    """
    words = text_or_none(group.source, f"/proc/{pid}/cmdline") or ""
    return _RUNS in words and not _of_this_network(group, pid)


def is_guest(group: Group) -> bool | None:
    """Whether a hypervisor runs this machine; None where nothing tells.

    Of all CPUs those of x86 alone have a flag for it. Of others the device tree or the firmware may name the
    hypervisor; where neither does, that is no sign of bare metal.
    """
    source = group.source
    if re.search(r"^flags\s*:", text_or_none(source, "/proc/cpuinfo") or "", re.M):
        return "hypervisor" in flags(group)
    if any(name == "hypervisor" or name.startswith("fw-cfg") for name in entries(source, _TREE)):
        return True
    word = next((word for word in _HYPERVISORS if word in vendor(source)), None)
    product = text_or_none(source, f"{_DMI}/product_name") or ""
    if word == "Amazon EC2":
        return not product.endswith(".metal")
    return True if word is not None and _OF_MACHINES_TOO.get(word, "") in product else None


def virtualization(group: Group) -> None:
    """Bare metal, virtual machine or container; which hypervisor; IOMMU; nesting; steal accounting."""
    group.take("kind", "computed", "CPU flags, /proc/self/ns/pid", lambda: _kind(group))
    group.take(
        "hypervisor",
        "file",
        "/sys/hypervisor, /sys/class/dmi/id, available clocks, /proc/cpuinfo",
        lambda: _hypervisor(group),
    )

    def version() -> str:
        if _told(group):
            raise NotApplicable("a guest is not told its hypervisor's version")
        raise NotApplicable(
            "no hypervisor under this system; the virtual machines of a run carry their own record"
        )

    group.take("hypervisor_version", "computed", "CPU flags", version)

    def iommu() -> list[str]:
        groups = entries(group.source, "/sys/class/iommu")
        if not groups:
            raise NotApplicable(
                "no IOMMU is active (none shown, or not enabled by firmware or boot parameters)"
            )
        return groups

    group.take("iommu", "file", "/sys/class/iommu", iommu)

    def nested() -> str:
        for module in ("kvm_intel", "kvm_amd"):
            if text := text_or_none(group.source, f"/sys/module/{module}/parameters/nested"):
                return text
        raise NotApplicable("KVM is not loaded")

    group.take("nested", "file", "/sys/module/kvm_*/parameters/nested", nested)

    def steal() -> str:
        row = group.source.read_file("/proc/stat").splitlines()[0].split()
        if row[0] != "cpu" or len(row) < 9:
            raise ValueError("the first line of /proc/stat has no steal column")
        return "accounted" if int(row[8]) else "nothing accounted so far"

    group.take("steal", "file", "/proc/stat", steal)


def _kind(group: Group) -> str:
    try:
        inside = group.source.read_link("/proc/self/ns/pid") != _FIRST_PID_NAMESPACE
    except OSError:
        inside = "container=" in (text_or_none(group.source, "/proc/1/environ") or "")
    guest = _told(group)
    if inside:
        return "container in a virtual machine" if guest else "container"
    return "virtual machine" if guest else "bare metal"


def _told(group: Group) -> bool:
    """Whether it is a guest. Raises Unread where nothing tells."""
    if (guest := is_guest(group)) is None:
        raise Unread(_UNTOLD if flags(group) else "the CPU flags cannot be read")
    return guest


def _hypervisor(group: Group) -> str:
    if not _told(group):
        raise NotApplicable("bare metal")
    if text := text_or_none(group.source, "/sys/hypervisor/type"):
        return text
    if maybe_translated(group.source):
        return "QEMU (translated, or an accelerator that is not told; no sign of KVM)"
    told = vendor(group.source)
    for word, name in _HYPERVISORS.items():
        if word in told:
            return name
    sources = clocks(group.source)
    if "kvm-clock" in sources:
        # a process 1 that is told so on its command line is the only trace that Firecracker leaves
        trace = "firecracker" in (text_or_none(group.source, "/proc/cmdline") or "")
        return "KVM (Firecracker)" if trace else "KVM (virtual machine monitor not told)"
    if "hyperv" in sources:
        return "Hyper-V"
    raise Unread("a hypervisor is present and does not say which")


def container(group: Group) -> None:
    """Container runtimes on this machine with their versions, and which of their daemons run."""

    def runtimes() -> dict[str, str]:
        found = {}
        for name in _RUNTIMES:
            if any(
                name in entries(group.source, folder)
                for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
            ):
                try:
                    told = group.source.run([name, "--version"], timeout_s=_VERSION_S)
                    found[name] = line(told.splitlines()[0])
                except (Unread, IndexError) as reason:
                    found[name] = f"version not told: {reason}"
        if not found:
            raise NotApplicable("no container runtime is installed")
        return found

    group.take("runtimes", "command", f"{', '.join(_RUNTIMES)} --version", runtimes)

    def daemons() -> list[str]:
        named = [(pid, name) for pid, name in processes(group).items() if name in _DAEMONS]
        mine = [(pid, name) for pid, name in named if _of_this_network(group, pid)]
        return sorted({name for pid, name in mine if not (ends(group, pid) or _tells(group, pid))})

    group.take("daemons", "file", "/proc/*/comm", daemons)


def kubernetes(group: Group) -> None:
    """Distribution, version and the kubelet's policies; not applicable without a kubelet."""
    fields = (
        "version",
        "distribution",
        "cpu_policy",
        "memory_policy",
        "topology_policy",
        "device_plugins",
        "manifests",
    )
    found = {
        name: pid
        for pid, name in processes(group).items()
        if name in ("kubelet", "k3s", "k3s-server", "microk8s", "rke2") and _of_this_network(group, pid)
        if not _tells(group, pid)
    }
    if not found:
        for field in fields:
            group.not_applicable(field, _ABSENT, "/proc/*/comm")
        return
    # a kubectl would tell of the server in its user's settings, and finds none on most nodes without them
    program = next(iter(found)).removesuffix("-server")
    asked = f"{program} --version"
    group.take("version", "command", asked, lambda: _version(group, program))
    group.take("distribution", "command", asked, lambda: _distribution(_version(group, program)))
    for field, key, default in (
        ("cpu_policy", "cpuManagerPolicy", "none"),
        ("memory_policy", "memoryManagerPolicy", "None"),
        ("topology_policy", "topologyManagerPolicy", "none"),
    ):
        group.take(
            field,
            "file",
            "the kubelet's words in /proc/*/cmdline and the files that they name",
            partial(_policy, group, found.get("kubelet"), key, default),
        )
    group.take(
        "device_plugins",
        "file",
        "/var/lib/kubelet/device-plugins",
        lambda: [
            name
            for name in group.source.list_dir("/var/lib/kubelet/device-plugins")
            if name.endswith(".sock") and name != "kubelet.sock"
        ],
    )
    group.take(
        "manifests", "file", "/etc/kubernetes/manifests", lambda: digests(group, "/etc/kubernetes/manifests")
    )


def digests(group: Group, folder: str) -> dict[str, str]:
    """SHA-256 of each file of a folder by name."""
    import hashlib

    return {
        name: hashlib.sha256(group.source.read_bytes(f"{folder}/{name}")).hexdigest()
        for name in group.source.list_dir(folder)
    }


def _mapping(text: str) -> dict[str, Any]:
    import yaml  # a tenth of a second that only a Kubernetes node needs

    if not isinstance(found := yaml.safe_load(text), dict):
        raise ValueError("no mapping")
    return found


def _policy(group: Group, pid: str | None, key: str, default: str) -> str:
    """A policy of the kubelet: its words hold before the files that they name, a later file before others."""
    if pid is None:
        raise Unread("the kubelet is a part of another program here, which does not tell its settings")
    words = group.source.read_file(f"/proc/{pid}/cmdline")

    def told(flag: str) -> str:
        return next(reversed(re.findall(rf"\0--{flag}[=\0]([^\0]+)", words)), "")

    if by_words := told(re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", key)):
        return by_words
    files = [file] if (file := told("config")) else []
    if folder := told("config-dir"):
        files += [f"{folder}/{name}" for name in group.source.list_dir(folder) if name.endswith(".conf")]
    values = [_mapping(group.source.read_file(file)).get(key) for file in files]
    return str(next((value for value in reversed(values) if value), default))


def _version(group: Group, program: str) -> str:
    said = group.source.run([program, "--version"], timeout_s=_VERSION_S)
    if not (version := re.search(r"\bv\d+\.\d+\.\d+\S*", said)):
        raise Unread(f"{program} --version: no version of Kubernetes in {said.strip()[:80]!r}")
    return version[0]


def _distribution(version: str) -> str:
    for mark in ("k3s", "rke2", "eks", "gke", "vmware", "mirantis"):
        if mark in version:
            return mark
    return "upstream or not told by its version"
