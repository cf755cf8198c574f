"""The OCI runtime bundle of a pod: a pure function from what is wanted to config.json.

Written after the OCI runtime specification 1.0; nothing here touches the machine. Ids: POD-01.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports.sysctl import QUIET_IPV6
from bmwg.methodology.errors import ConfigError

# Sleeps for ever, ends on SIGTERM and, being process 1 of the pod, collects orphans.
SLEEPER = ("/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done")
CAPABILITIES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_IPC_LOCK",
    "CAP_KILL",
    "CAP_NET_ADMIN",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SYS_NICE",
)
HUGEPAGE_OCTETS, LARGE_PAGE_OCTETS = 2 << 20, 1 << 30
PERIOD_US = 100_000  # choice: the kernel's own, and Docker's
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """A pod as intended. `cpus` is a cpuset list (`"1"`, `"2-3,5"`); limits are octets, and pages
    of 2 MiB or of 1 GiB.

    `pod_id` must be unique on the machine and become part of a cgroup's name. `binds` are `(source,
    destination, writable)`; everything else of the host's root is there, read-only. `capabilities` are
    the fewest by which its program runs, as user 0 where `root`; crun adds CAPABILITIES unless it is `least`.
    `told_at_start`: it has no `arguments` yet. `endpoint`: its own program sleeps, and it holds its
    interfaces; `programs`: those of a workload are started in it, on its `cpus`. `sysctls` are of
    the pod's own namespaces (`net.*`). `cpu_limit` is CPU time per time on all of its CPUs together, 0:
    no quota. `netns` is the path of a network namespace that it joins as that is; without one it gets a
    new one.
    """

    pod_id: str
    cpus: str
    memory_octets: int
    hugepages_2mi: int = 0
    hugepages_1gi: int = 0
    arguments: tuple[str, ...] = SLEEPER
    environment: tuple[str, ...] = ()
    forwarding: bool = True
    sysctls: tuple[tuple[str, str], ...] = ()
    binds: tuple[tuple[str, str, bool], ...] = ()
    capabilities: tuple[str, ...] = ()
    cpu_limit: float = 0.0
    netns: str = ""
    told_at_start: bool = False
    root: bool = True
    least: bool = False
    endpoint: bool = False
    programs: bool = False

    def __post_init__(self) -> None:
        """Refuse what no runtime could run."""
        if not _NAME.fullmatch(self.pod_id):
            raise ConfigError("POD-01", "pod_id", expected=_NAME.pattern, found=repr(self.pod_id))
        if not _CPUSET.fullmatch(self.cpus):
            raise ConfigError(
                "POD-01",
                f"pod {self.pod_id}: cpus",
                expected='a list such as "1" or "2-3,5"',
                found=repr(self.cpus),
            )
        if self.memory_octets < 4 << 20:  # choice: below it not even a shell starts
            raise ConfigError(
                "POD-01",
                f"pod {self.pod_id}: memory_octets",
                expected="4 MiB at least",
                found=str(self.memory_octets),
            )
        if self.cpu_limit < 0:
            raise ConfigError(
                "POD-01",
                f"pod {self.pod_id}: cpu_limit",
                expected="0 or more CPUs",
                found=str(self.cpu_limit),
            )
        if self.hugepages_2mi < 0:
            raise ConfigError(
                "POD-01",
                f"pod {self.pod_id}: hugepages_2mi",
                expected="0 at least",
                found=str(self.hugepages_2mi),
            )
        if self.hugepages_1gi and (self.hugepages_1gi < 0 or self.hugepages_2mi):
            raise ConfigError(
                "POD-01",
                f"pod {self.pod_id}: hugepages_1gi",
                expected="0 or more, and no pages of 2 MiB beside them",
                found=f"{self.hugepages_1gi}, and {self.hugepages_2mi} of 2 MiB",
            )
        if not self.arguments and not self.told_at_start:
            raise ConfigError(
                "POD-01", f"pod {self.pod_id}: arguments", expected="a program", found="nothing"
            )
        for key, _ in self.sysctls:
            if not key.startswith("net."):
                raise ConfigError("POD-01", f"pod {self.pod_id}: sysctls", expected="net.*", found=key)

    def as_builtins(self) -> dict[str, JsonValue]:
        """The same as a dictionary, which `from_builtins` takes back: only builtins cross to a node."""
        return asdict(self)

    @classmethod
    def from_builtins(cls, fields: dict[str, JsonValue]) -> PodSpec:
        """Rebuild on the node what `as_builtins` made."""
        rebuilt: dict[str, Any] = dict(fields)
        for key in ("arguments", "environment", "capabilities"):
            rebuilt[key] = tuple(rebuilt[key])
        for key in ("sysctls", "binds"):
            rebuilt[key] = tuple(tuple(item) for item in rebuilt[key])
        return cls(**rebuilt)


def config(
    spec: PodSpec, *, rootfs: str, cgroup: str, cpuset_mems: str, hugetlb: bool
) -> dict[str, JsonValue]:
    """Render config.json. `rootfs` is already read-only; `hugetlb` says whether that limit can be set."""
    capabilities = sorted({*(() if spec.least else CAPABILITIES), *spec.capabilities})
    return {
        "ociVersion": "1.0.2",
        "hostname": spec.pod_id,
        "root": {"path": rootfs, "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "args": list(spec.arguments),
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *spec.environment],
            "noNewPrivileges": True,
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities),
        },
        "mounts": _mounts(spec),
        "linux": {
            "cgroupsPath": cgroup,
            "namespaces": [
                {"type": kind, "path": spec.netns} if kind == "network" and spec.netns else {"type": kind}
                for kind in ("pid", "network", "ipc", "uts", "mount")
            ],
            "sysctl": {} if spec.netns else sysctls(spec),  # whoever made the namespace has set them
            "resources": _resources(spec, cpuset_mems, hugetlb),
            "maskedPaths": ["/proc/kcore", "/proc/keys"],
            "readonlyPaths": ["/proc/sysrq-trigger"],
        },
    }


def _mounts(spec: PodSpec) -> list[JsonValue]:
    def tmpfs(path: str, mode: str, size: str) -> JsonValue:
        options = ["nosuid", "nodev", f"mode={mode}", f"size={size}"]
        return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": options}

    quiet = ["nosuid", "noexec", "nodev"]
    dev_options = ["nosuid", "strictatime", "mode=755", "size=1m"]
    pts_options = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": quiet},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": dev_options},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": pts_options},
        tmpfs("/dev/shm", "1777", "64m"),
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": quiet},
        tmpfs("/run", "755", "64m"),
        tmpfs("/tmp", "1777", "256m"),
    ]
    for name, pages, octets in (
        ("2M", spec.hugepages_2mi, HUGEPAGE_OCTETS),
        ("1G", spec.hugepages_1gi, LARGE_PAGE_OCTETS),
    ):
        if pages:
            mounts.append(
                {
                    "destination": "/dev/hugepages",
                    "type": "hugetlbfs",
                    "source": "hugetlbfs",
                    "options": ["nosuid", "nodev", f"pagesize={name}", f"size={pages * octets}"],
                }
            )
    for source, destination, writable in spec.binds:
        options = ["rbind", "rw" if writable else "ro"]
        mounts.append({"destination": destination, "type": "bind", "source": source, "options": options})
    return mounts


def sysctls(spec: PodSpec) -> dict[str, str]:
    """Return the settings of a pod's own network namespace: quiet interfaces, and what forwarding takes."""
    quiet = {f"net.ipv6.conf.default.{key}": value for key, value in QUIET_IPV6.items()}
    return {**quiet, **forwarding(spec)}


def forwarding(spec: PodSpec) -> dict[str, str]:
    """Return what forwarding, or its absence, takes of these settings, and those that the pod has besides."""
    path = {
        "net.ipv4.conf.all.rp_filter": "0",
        "net.ipv4.conf.default.rp_filter": "0",
        "net.ipv4.conf.all.send_redirects": "0",
        "net.ipv4.conf.default.send_redirects": "0",
        "net.ipv4.ip_forward": str(int(spec.forwarding)),
        "net.ipv6.conf.all.forwarding": str(int(spec.forwarding)),
        "net.ipv6.conf.default.forwarding": str(int(spec.forwarding)),
    }
    return {**path, **dict(spec.sysctls)}


def _resources(spec: PodSpec, cpuset_mems: str, hugetlb: bool) -> dict[str, JsonValue]:
    resources: dict[str, JsonValue] = {
        "cpu": {"cpus": spec.cpus, "mems": cpuset_mems},
        "memory": {"limit": spec.memory_octets},
        "devices": [{"allow": True, "access": "rwm"}],
    }
    if spec.cpu_limit:
        resources["cpu"] |= {"quota": round(spec.cpu_limit * PERIOD_US), "period": PERIOD_US}
    if hugetlb:
        limits = [{"pageSize": "2MB", "limit": spec.hugepages_2mi * HUGEPAGE_OCTETS}]
        if spec.hugepages_1gi:  # a processor may have none of these
            limits.append({"pageSize": "1GB", "limit": spec.hugepages_1gi * LARGE_PAGE_OCTETS})
        resources["hugepageLimits"] = limits
    return resources
