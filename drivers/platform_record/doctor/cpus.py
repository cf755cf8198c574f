"""Who shares a CPU with whom, and how fast it runs."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.drivers.platform_record.doctor.scene import Scene
from bmwg.drivers.platform_record.values import number_list
from bmwg.methodology.record.findings import Finding, Weight


def _text(cpus: set[int]) -> str:
    return ", ".join(str(cpu) for cpu in sorted(cpus))


def shared_cpu(scene: Scene) -> Iterator[Finding]:
    """DOC-01: the tester and the DUT are given one CPU."""
    if scene.testbed is None:
        return
    tester, dut = set(scene.testbed.tester.cpus), set(scene.testbed.dut_cpus_here)
    if both := tester & dut:
        yield Finding(
            finding_id="DOC-01",
            weight=Weight.DISTORTS,
            what=f"tester and DUT share CPU {_text(both)}",
            breaks="the faster the tester sends, the less CPU the DUT has; overload shows as frames not sent",
            mend="give `tester.cpus` and `dut.cpus`, `pods.cpus` different CPUs in the testbed file",
        )


def shared_core(scene: Scene) -> Iterator[Finding]:
    """DOC-02: the tester and the DUT are on two threads of one core."""
    topology = scene.value("cpu/topology")
    if scene.testbed is None or not topology:
        return
    tester, dut = set(scene.testbed.tester.cpus), set(scene.testbed.dut_cpus_here)
    for siblings in topology["thread_siblings"]:
        core = set(number_list(siblings))
        if tester & core and dut & core and not tester & dut:
            yield Finding(
                finding_id="DOC-02",
                weight=Weight.DISTORTS,
                what=f"tester and DUT are on threads of one core: CPUs {_text(core)}",
                breaks="each takes execution units and first-level cache from the other (RFC 8172 "
                "section 3.4)",
                mend="choose CPUs of different cores, or `echo off > /sys/devices/system/cpu/smt/control`",
            )


def absent_cpu(scene: Scene) -> Iterator[Finding]:
    """DOC-03: the testbed file names a CPU that is not on."""
    online = scene.value("cpu/online")
    if scene.testbed is None or not online:
        return
    here = bool(scene.testbed.dut_cpus_here)
    named = {
        "tester.cpus": scene.testbed.tester.cpus,
        "dut.cpus": scene.testbed.dut.cpus if here else (),
        "pods.cpus": scene.testbed.pods.cpus if here else (),
    }
    for key, cpus in named.items():
        if gone := set(cpus) - set(online):
            yield Finding(
                finding_id="DOC-03",
                weight=Weight.BLOCKS,
                what=f"{key} names CPU {_text(gone)}; on are {_text(set(online))}",
                breaks="the process cannot be placed",
                mend=f"correct {key} in {scene.testbed.file}",
            )


def governor(scene: Scene) -> Iterator[Finding]:
    """DOC-04: the frequency policy may slow CPUs down."""
    policy = scene.value("power/frequency_policy") or {}
    said = policy.get("governor")
    chosen = {said} if isinstance(said, str) else set(said or ())
    if chosen - {"performance"}:
        yield Finding(
            finding_id="DOC-04",
            weight=Weight.DISTORTS,
            what=f"frequency governor is {', '.join(sorted(chosen))}",
            breaks="the CPU speeds up only after load was offered: short trials measure a slower machine",
            mend="cpupower frequency-set -g performance",
        )


def turbo(scene: Scene) -> Iterator[Finding]:
    """DOC-05: the frequency depends on heat and on the neighbours."""
    if scene.value("power/turbo") == "on":
        yield Finding(
            finding_id="DOC-05",
            weight=Weight.NOTE,
            what="turbo is on",
            breaks="the frequency of a core depends on temperature and on how many others work: "
            "results drift",
            mend="echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo (or 0 > cpufreq/boost), or "
            "keep it and say so",
        )


def balancer(scene: Scene) -> Iterator[Finding]:
    """DOC-06: interrupts are moved between CPUs while trials run."""
    if scene.value("isolation/irqbalance") == "running":
        yield Finding(
            finding_id="DOC-06",
            weight=Weight.DISTORTS,
            what="irqbalance runs",
            breaks="interrupts move to the CPUs of tester or DUT in the middle of a trial",
            mend="systemctl stop irqbalance",
        )


def isolation(scene: Scene) -> Iterator[Finding]:
    """DOC-07: no CPU is kept free of the kernel's general work."""
    if scene.value("isolation/isolated_cpus") == []:
        yield Finding(
            finding_id="DOC-07",
            weight=Weight.NOTE,
            what="no CPU is isolated",
            breaks="other processes and kernel threads interrupt tester and DUT: latency has a tail "
            "that is not the DUT's",
            mend="boot with isolcpus=, nohz_full= and rcu_nocbs= for the CPUs of tester and DUT",
        )


def steal(scene: Scene) -> Iterator[Finding]:
    """DOC-08: the hypervisor takes CPUs away."""
    if scene.value("virtualization/steal") == "accounted":
        yield Finding(
            finding_id="DOC-08",
            weight=Weight.DISTORTS,
            what="the hypervisor has taken CPU time from this machine since it started",
            breaks="a stall of milliseconds overflows a finite queue whatever the DUT is worth",
            mend="pin the virtual CPUs on the hypervisor, or read each trial's disturbance beside its loss",
        )


def realtime(scene: Scene) -> Iterator[Finding]:
    """DOC-09: the kernel stops a real-time tester."""
    settings = scene.value("kernel/settings") or {}
    options = scene.testbed.tester.options if scene.testbed else {}
    limit = settings.get("kernel.sched_rt_runtime_us")
    if limit not in (None, "-1") and str(options.get("scheduling", "")).startswith("fifo"):
        yield Finding(
            finding_id="DOC-09",
            weight=Weight.DISTORTS,
            what=f"kernel.sched_rt_runtime_us is {limit} and the tester asks for SCHED_FIFO",
            breaks="the kernel stops the tester for 50 ms in each second",
            mend="sysctl kernel.sched_rt_runtime_us=-1 for the time of the run",
        )


def clock(scene: Scene) -> Iterator[Finding]:
    """DOC-10: reading the time costs a system call."""
    source = scene.value("clock/source")
    if (
        source
        and scene.value("host/architecture") in ("x86_64", None)
        and source not in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page")
    ):
        yield Finding(
            finding_id="DOC-10",
            weight=Weight.DISTORTS,
            what=f"clock source is {source}",
            breaks="each time stamp is slow and coarse: latency carries it",
            mend="boot with tsc=reliable where the hardware is sound, or find in the kernel log why "
            "tsc was given up",
        )


CHECKS = (shared_cpu, shared_core, absent_cpu, governor, turbo, balancer, isolation, steal, realtime, clock)
