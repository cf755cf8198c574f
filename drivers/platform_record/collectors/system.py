"""Operating system, kernel, scheduling isolation and clocks."""

from __future__ import annotations

import re
import shlex
from typing import Any

from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Source,
    Unread,
    entries,
    key_values,
    line,
    number_list,
    processes,
    text_or_none,
)

_SECRET = re.compile(r"pass|secret|token|credential|auth|key|psk|cookie", re.IGNORECASE)
_SYSCTLS = (
    "kernel.sched_rt_runtime_us", "kernel.sched_rt_period_us", "kernel.sched_autogroup_enabled",
    "kernel.timer_migration", "kernel.numa_balancing", "kernel.nmi_watchdog", "kernel.watchdog",
    "kernel.perf_event_paranoid", "kernel.unprivileged_bpf_disabled", "vm.swappiness",
    "vm.nr_hugepages", "vm.nr_overcommit_hugepages", "vm.stat_interval", "vm.zone_reclaim_mode",
    "vm.dirty_ratio", "vm.dirty_background_ratio", "net.core.busy_poll", "net.core.busy_read",
    "net.core.netdev_budget", "net.core.netdev_budget_usecs", "net.core.netdev_max_backlog",
    "net.core.dev_weight", "net.core.default_qdisc", "net.core.rmem_max", "net.core.wmem_max",
    "net.core.rmem_default", "net.core.wmem_default", "net.core.optmem_max", "net.core.somaxconn",
    "net.core.bpf_jit_enable", "net.core.bpf_jit_harden", "net.core.rps_sock_flow_entries",
    "net.core.gro_normal_batch", "net.core.flow_limit_cpu_bitmap", "net.ipv4.ip_forward",
    "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter", "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_mtu_probing",
    "net.ipv4.ip_local_port_range", "net.ipv4.fib_multipath_hash_policy",
    "net.ipv4.neigh.default.gc_thresh1", "net.ipv4.neigh.default.gc_thresh2",
    "net.ipv4.neigh.default.gc_thresh3", "net.ipv6.conf.all.forwarding",
    "net.ipv6.conf.all.disable_ipv6", "net.ipv6.route.max_size", "net.bridge.bridge-nf-call-iptables",
    "net.bridge.bridge-nf-call-ip6tables", "net.netfilter.nf_conntrack_max",
)  # fmt: skip
_PODS = "bmwg-"  # how the cgroups of this toolkit's pods begin
_LIBRARIES = (
    "dpdk", "libdpdk-dev", "librte-eal23", "libbpf1", "libxdp1", "libibverbs1", "rdma-core",
    "openvswitch-switch", "openvswitch-switch-dpdk", "vpp", "crun", "runc", "containerd",
    "containerd.io", "podman", "lxc", "docker.io", "containernetworking-plugins", "qemu-system-x86",
    "iproute2", "ethtool", "meson", "libc6",
)  # fmt: skip


def system(group: Group) -> None:
    """Distribution, target and the packages that benchmarks depend on."""

    def release(key: str) -> Any:
        def parse(text: str) -> str:
            found = {name: shlex.split(value)[0] for name, value in key_values(text, "=").items() if value}
            return found[key]

        return parse

    group.file("name", "/etc/os-release", release("ID"))
    group.file("version", "/etc/os-release", release("PRETTY_NAME"))
    group.take("first_process", "file", "/proc/1/comm", lambda: line(group.source.read_file("/proc/1/comm")))
    group.take("run_level", "command", "systemctl get-default", lambda: _run_level(group))
    group.take("packages", "command", "dpkg-query -W", lambda: packages(group.source))


def packages(source: Source) -> dict[str, str]:
    """Versions of the packages that matter, of those that are installed."""
    # names that are not installed make the command fail after it has printed the others
    asked = ["-W", "-f", "${Package} ${Version} ${db:Status-Status}\\n", *_LIBRARIES]
    rows = source.run(["sh", "-c", 'dpkg-query "$@" 2>/dev/null || [ $? = 1 ]', "sh", *asked]).splitlines()
    fields = [row.split(" ") for row in rows]
    found = {row[0]: row[1] for row in fields if len(row) == 3 and row[2] == "installed"}
    if not found:
        raise Unread("none of the packages that matter is known to the package manager")
    return found


def _run_level(group: Group) -> str:
    if (first := line(group.source.read_file("/proc/1/comm"))) != "systemd":
        raise NotApplicable(f"no service manager with run levels: process 1 is {first}")
    return line(group.source.run(["systemctl", "get-default"]))


def without_secrets(command_line: str) -> str:
    """A command line without the values of arguments whose names sound like credentials."""
    words: list[str] = []
    for word in command_line.split():
        name, equals, _ = word.partition("=")
        before = words[-1] if words else ""
        if equals and _SECRET.search(name):
            words.append(f"{name}=(left out)")
        elif (
            before.startswith("--")
            and "=" not in before
            and not word.startswith("-")
            and _SECRET.search(before)
        ):
            words.append("(left out)")
        else:
            words.append(word)
    return " ".join(words)


def _boot_parameters(text: str) -> str:
    """The kernel's own parameters; what follows ` -- ` goes to process 1 and is none of ours."""
    kernel, mark, _ = line(text).partition(" -- ")
    return without_secrets(kernel) + (" -- (arguments of process 1 left out)" if mark else "")


def kernel(group: Group) -> None:
    """Version, boot parameters, settings, modules, security modules and preemption model."""
    group.file("release", "/proc/sys/kernel/osrelease")
    group.file("version", "/proc/sys/kernel/version")
    group.file("boot_parameters", "/proc/cmdline", _boot_parameters)
    group.take("settings", "file", "/proc/sys", lambda: _settings(group))
    group.file(
        "modules",
        "/proc/modules",
        lambda text: sorted(row.split()[0] for row in text.splitlines() if row),
        absent="the kernel has no modules",
    )
    group.file(
        "security_modules",
        "/sys/kernel/security/lsm",
        absent="securityfs is not mounted or the kernel has no security modules",
    )

    def preemption() -> str:
        version = group.source.read_file("/proc/sys/kernel/version")
        for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"):
            if word in version:
                return word
        return "PREEMPT_NONE or PREEMPT_VOLUNTARY"

    group.take("preemption", "file", "/proc/sys/kernel/version", preemption)


def _settings(group: Group) -> dict[str, str]:
    found = {}
    for name in _SYSCTLS:
        text = text_or_none(group.source, "/proc/sys/" + name.replace(".", "/"))
        if text is not None:
            found[name] = " ".join(text.split())
    if not found:
        raise Unread("no setting is readable")
    return found


def isolation(group: Group) -> None:
    """Which CPUs the kernel keeps off, how real-time work is limited, and where interrupts go by default."""

    def parameter(name: str) -> Any:
        match = re.search(rf"(?:^|\s){name}=(\S+)", group.source.read_file("/proc/cmdline"))
        return match[1] if match else "none"

    for field, name in (("isolcpus", "isolcpus"), ("nohz_full", "nohz_full"), ("rcu_nocbs", "rcu_nocbs")):
        group.take(field, "file", "/proc/cmdline", lambda name=name: parameter(name))  # type: ignore[misc]
    base = "/sys/devices/system/cpu"
    group.file("isolated_cpus", f"{base}/isolated", number_list, absent="the kernel is too old to show it")
    group.file(
        "default_irq_affinity", "/proc/irq/default_smp_affinity", absent="no interrupt controller is shown"
    )
    group.take("cgroup_version", "file", "/proc/self/mounts", lambda: cgroup_version(group))
    group.take("cgroup_cpusets", "file", "/sys/fs/cgroup", lambda: _cpusets(group))

    def balancer() -> str:
        return "running" if "irqbalance" in processes(group).values() else "not running"

    group.take("irqbalance", "file", "/proc/*/comm", balancer)

    def level() -> str:
        # a kernel may be built without what a parameter asks of it, and says so by the CPUs that it shows
        shown = {"isolcpus": f"{base}/isolated", "nohz_full": f"{base}/nohz_full", "rcu_nocbs": ""}
        named = [
            name
            for name, file in shown.items()
            if parameter(name) != "none"
            and (not file or re.search(r"\d", text_or_none(group.source, file) or ""))
        ]
        return " + ".join(named) if named else "none: every CPU takes the kernel's general work"

    group.take("level", "computed", "isolcpus, nohz_full, rcu_nocbs, and what the kernel shows", level)


def cgroup_version(group: Group) -> str:
    """`v1`, `v2` or `v1 with v2 beside it` by what is mounted."""
    kinds = {
        row.split(" ")[2]
        for row in group.source.read_file("/proc/self/mounts").splitlines()
        if row.count(" ") > 2
    }
    if "cgroup" in kinds:
        return "v1 with v2 beside it" if "cgroup2" in kinds else "v1"
    if "cgroup2" in kinds:
        return "v2"
    raise NotApplicable("no cgroup file system is mounted")


def _cpusets(group: Group) -> dict[str, str]:
    """CPU sets of the top groups, that is how the machine is divided before a workload is deployed."""
    root = "/sys/fs/cgroup"
    for base, file in ((f"{root}/cpuset", "cpuset.cpus"), (root, "cpuset.cpus.effective")):
        text = text_or_none(group.source, f"{base}/{file}")
        if text is not None:
            found = {"/": text}
            for name in entries(group.source, base):
                if name.startswith(_PODS):
                    continue  # a run's pods are recorded as workloads, and come and go with its deployments
                if (own := text_or_none(group.source, f"{base}/{name}/{file}")) and own != text:
                    found[f"/{name}"] = own
            return found
    raise NotApplicable("no cpuset controller is visible")


def clock(group: Group) -> None:
    """Clock source, and whether something disciplines the system clock."""
    base = "/sys/devices/system/clocksource/clocksource0"
    group.file("source", f"{base}/current_clocksource")
    group.file("available", f"{base}/available_clocksource", lambda text: sorted(line(text).split()))
    group.file(
        "timer_events",
        "/sys/devices/system/clockevents/clockevent0/current_device",
        absent="the kernel does not show it",
    )

    def daemon() -> str:
        known = {"chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys"}
        return ", ".join(sorted(known & set(processes(group).values()))) or "none"

    group.take("discipline", "file", "/proc/*/comm", daemon)
