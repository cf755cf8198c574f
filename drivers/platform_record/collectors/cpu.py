"""Processors, their power management and NUMA."""

from __future__ import annotations

import re
from typing import Any

from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Unread,
    entries,
    integer,
    key_values,
    line,
    number_list,
    text_or_none,
)
from bmwg.drivers.watch import awake

_CPUS = "/sys/devices/system/cpu"
_GUEST = "a guest sees no {}: the hypervisor keeps it"
_VIRT_FLAGS = ("vmx", "svm", "ept", "npt", "vpid", "hypervisor")


def _blocks(text: str) -> list[dict[str, str]]:
    """/proc/cpuinfo as one table a processor."""
    blocks = [key_values(block) for block in re.split(r"\n\s*\n", text.strip())]
    found = [block for block in blocks if "processor" in block]
    if not found:
        raise ValueError("no processor is listed")
    return found


def _all(blocks: list[dict[str, str]], *keys: str) -> str:
    """What all processors say of themselves, all differing answers joined."""
    said = sorted({block[key] for block in blocks for key in keys if key in block})
    if not said:
        raise Unread("/proc/cpuinfo does not say it on this architecture")
    return " + ".join(said)


def flags(group: Group) -> set[str]:
    """CPU flags that every processor has; empty when they cannot be read."""
    found = re.search(
        r"^(?:flags|Features)\s*:(.*)$", text_or_none(group.source, "/proc/cpuinfo") or "", re.M
    )
    return set(found[1].split()) if found else set()


def cpu(group: Group) -> None:
    """Identity, counts, caches, frequency limits, SMT and mitigations."""
    info = "/proc/cpuinfo"
    group.file("model", info, lambda text: _all(_blocks(text), "model name", "CPU part"))
    group.file("vendor", info, lambda text: _all(_blocks(text), "vendor_id", "CPU implementer"))
    group.file(
        "stepping",
        info,
        lambda text: "/".join(
            _all(_blocks(text), *keys)
            for keys in (
                ("cpu family", "CPU architecture"),
                ("model", "CPU variant"),
                ("stepping", "CPU revision"),
            )
        ),
    )
    group.file("microcode", info, lambda text: _all(_blocks(text), "microcode"))
    group.file("flags", info, lambda _: sorted(flags(group)) or _refuse("no flags are listed"))
    group.file("virtualization_flags", info, lambda _: sorted(flags(group) & set(_VIRT_FLAGS)))
    group.file("online", f"{_CPUS}/online", lambda text: number_list(text) or _refuse("no CPU is online"))
    group.file("present", f"{_CPUS}/present", number_list)
    group.take("topology", "file", f"{_CPUS}/cpu*/topology", lambda: _topology(group))
    group.take("caches", "file", f"{_CPUS}/cpu*/cache", lambda: _caches(group))
    group.file("smt", f"{_CPUS}/smt/control", absent="the kernel has no SMT control")
    group.take("mitigations", "file", f"{_CPUS}/vulnerabilities", lambda: _mitigations(group))
    group.take("frequency_limits", "file", f"{_CPUS}/cpu*/cpufreq", lambda: _policy(group, _LIMITS, integer))
    group.file("frequency_mhz", info, lambda text: [float(block["cpu MHz"]) for block in _blocks(text)])
    group.take("cache_partition", "file", "/sys/fs/resctrl", lambda: _partition(group))


def _refuse(why: str) -> Any:
    raise Unread(why)


def _numbers(group: Group) -> list[int]:
    return number_list(group.source.read_file(f"{_CPUS}/online"))


def _topology(group: Group) -> dict[str, Any]:
    packages: set[str] = set()
    siblings: set[str] = set()  # of one core each; a core's number is its own within its die alone
    for number in _numbers(group):
        path = f"{_CPUS}/cpu{number}/topology"
        packages.add(line(group.source.read_file(f"{path}/physical_package_id")))
        siblings.add(line(group.source.read_file(f"{path}/thread_siblings_list")))
    if not packages:
        raise Unread("no CPU is online")
    return {
        "sockets": len(packages),
        "cores": len(siblings),
        "threads": len(_numbers(group)),
        "thread_siblings": sorted(siblings, key=lambda text: number_list(text)[0]),
    }


def _caches(group: Group) -> list[dict[str, Any]]:
    """Every distinct cache once a size, with how many there are and which CPUs share each."""
    shared: dict[tuple[str, str, str], set[str]] = {}
    for number in _numbers(group):
        path = f"{_CPUS}/cpu{number}/cache"
        for index in entries(group.source, path):
            if index.startswith("index"):
                level, kind, size, cpus = (
                    line(group.source.read_file(f"{path}/{index}/{name}"))
                    for name in ("level", "type", "size", "shared_cpu_list")
                )
                shared.setdefault((level, kind, size), set()).add(cpus)
    if not shared:
        raise Unread("the kernel shows no cache")
    return [
        {
            "level": int(level),
            "type": kind.lower(),
            "size_kib": int(size.removesuffix("K")),
            "count": len(cpus),
            "shared_by": sorted(cpus, key=lambda text: number_list(text)[0]),
        }
        for (level, kind, size), cpus in sorted(shared.items())
    ]


def _mitigations(group: Group) -> dict[str, str]:
    path = f"{_CPUS}/vulnerabilities"
    return {
        name: (text_or_none(group.source, f"{path}/{name}") or "not readable")
        for name in group.source.list_dir(path)
        if name not in ("power", "uevent")
    }


_LIMITS = {
    "minimum_khz": "scaling_min_freq",
    "maximum_khz": "scaling_max_freq",
    "hardware_minimum_khz": "cpuinfo_min_freq",
    "hardware_maximum_khz": "cpuinfo_max_freq",
    "base_khz": "base_frequency",
}


def _policy(group: Group, names: dict[str, str], parse: Any) -> dict[str, Any]:
    """A cpufreq setting over all CPUs: the one value, or the list of values where they differ."""
    found: dict[str, Any] = {}
    for key, name in names.items():
        said = {
            text
            for number in _numbers(group)
            if (text := text_or_none(group.source, f"{_CPUS}/cpu{number}/cpufreq/{name}"))
        }
        if said:
            values = sorted(parse(text) for text in said)
            found[key] = values[0] if len(values) == 1 else values
    if not found:
        if "hypervisor" in flags(group):
            raise NotApplicable(_GUEST.format("frequency scaling"))
        raise Unread("no cpufreq driver is loaded")
    return found


def _partition(group: Group) -> dict[str, str]:
    text = text_or_none(group.source, "/sys/fs/resctrl/schemata")
    if text is None:
        raise NotApplicable("no cache or memory bandwidth partition: resctrl is not mounted")
    groups = [
        name
        for name in entries(group.source, "/sys/fs/resctrl")
        if text_or_none(group.source, f"/sys/fs/resctrl/{name}/schemata") is not None
    ]
    return {"default": text} | {
        name: text_or_none(group.source, f"/sys/fs/resctrl/{name}/schemata") or "" for name in groups
    }


def power(group: Group) -> None:
    """Power management of every layer: ACPI and CPU idle states, frequency policy, turbo, and energy
    meters.
    """
    idle = f"{_CPUS}/cpuidle"
    group.file("idle_driver", f"{idle}/current_driver", absent="the kernel has no cpuidle")
    group.take("idle_governor", "file", f"{idle}/current_governor*", lambda: _idle_governor(group))
    group.take("idle_states", "file", f"{_CPUS}/cpu*/cpuidle", lambda: _idle_states(group))
    names = {
        "driver": "scaling_driver",
        "governor": "scaling_governor",
        "preference": "energy_performance_preference",
    }
    group.take("frequency_policy", "file", f"{_CPUS}/cpu*/cpufreq", lambda: _policy(group, names, line))
    group.take("turbo", "file", f"{_CPUS}/intel_pstate/no_turbo, cpufreq/boost", lambda: _turbo(group))

    def profile() -> str:
        if (text := text_or_none(group.source, "/sys/firmware/acpi/platform_profile")) is None:
            raise NotApplicable("the firmware offers no platform profile")
        return text

    group.take("platform_profile", "file", "/sys/firmware/acpi/platform_profile", profile)

    def meters() -> list[str]:
        zones = [name for name in entries(group.source, "/sys/class/powercap") if ":" in name]
        if not zones:
            raise NotApplicable("the machine shows no energy meter (RAPL)")
        return [
            f"{name} {text_or_none(group.source, f'/sys/class/powercap/{name}/name') or ''}".strip()
            for name in zones
        ]

    group.take("energy_meters", "file", "/sys/class/powercap", meters)
    read = ["od", "-An", "-N4", "-td4", str(awake.DEVICE)]
    group.take("cpu_latency_limit_us", "command", " ".join(read), lambda: _latency_limit(group, read))
    group.take("kept_awake", "computed", "what this process holds", _kept_awake)


def _latency_limit(group: Group, read: list[str]) -> int:
    """The limit that all requests together make; not applicable while there is none."""
    if awake.DEVICE.name not in entries(group.source, str(awake.DEVICE.parent)):
        raise NotApplicable(f"{awake.DEVICE} does not exist: nobody can ask for a limit")
    limit_us = integer(group.source.run(read))
    if limit_us >= awake.NO_REQUEST_US:
        raise NotApplicable("no process asks for a limit")
    return limit_us


def _kept_awake() -> dict[str, Any]:
    if (held := awake.current()) is None:
        raise NotApplicable("this process keeps no CPU from halting")
    return held.as_json()


def _idle_governor(group: Group) -> str:
    for name in ("current_governor", "current_governor_ro"):
        if text := text_or_none(group.source, f"{_CPUS}/cpuidle/{name}"):
            return text
    raise NotApplicable("the kernel has no cpuidle governor")


def _idle_states(group: Group) -> dict[str, Any]:
    """Each state with its exit latency and on how many online CPUs it is disabled."""
    states: dict[str, Any] = {}
    for number in _numbers(group):
        path = f"{_CPUS}/cpu{number}/cpuidle"
        for state in entries(group.source, path):
            if name := text_or_none(group.source, f"{path}/{state}/name"):
                latency = text_or_none(group.source, f"{path}/{state}/latency")
                kept = states.setdefault(
                    f"{state} {name}",
                    {"exit_latency_us": int(latency) if latency else None, "disabled_on_cpus": 0},
                )
                kept["disabled_on_cpus"] += (
                    text_or_none(group.source, f"{path}/{state}/disable") or "0"
                ) != "0"
    if not states:
        raise NotApplicable("the kernel offers no idle state")
    return states


def _turbo(group: Group) -> str:
    if (text := text_or_none(group.source, f"{_CPUS}/intel_pstate/no_turbo")) is not None:
        return "off" if integer(text) else "on"
    if (text := text_or_none(group.source, f"{_CPUS}/cpufreq/boost")) is not None:
        return "on" if integer(text) else "off"
    if "hypervisor" in flags(group):
        raise NotApplicable(_GUEST.format("turbo setting"))
    raise Unread("the frequency driver shows no turbo setting")


def numa(group: Group) -> None:
    """Nodes with their CPUs and distances, the memory policy, and what CPUs share."""
    base = "/sys/devices/system/node"

    def nodes() -> dict[str, Any]:
        found = {}
        for name in group.source.list_dir(base):
            if re.fullmatch(r"node\d+", name):
                found[name] = {
                    "cpus": number_list(group.source.read_file(f"{base}/{name}/cpulist")),
                    "distances": [
                        int(part) for part in group.source.read_file(f"{base}/{name}/distance").split()
                    ],
                }
        if not found:
            raise Unread("no node is listed")
        return found

    group.take("nodes", "file", base, nodes)
    group.file(
        "balancing", "/proc/sys/kernel/numa_balancing", integer, absent="the kernel has no NUMA balancing"
    )

    def shared() -> dict[str, Any]:
        caches = _caches(group)
        last = max(cache["level"] for cache in caches)
        return {
            "last_level_cache": sorted(  # which may be of several sizes
                {cpus for cache in caches if cache["level"] == last for cpus in cache["shared_by"]},
                key=lambda text: number_list(text)[0],
            ),
            "core": _topology(group)["thread_siblings"],
            "memory": [node["cpus"] for node in nodes().values()],
        }

    group.take("shared_resources", "computed", "caches, thread siblings and nodes", shared)
