"""Jobs as they are planned and as they come out, for tests of the kind."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.kinds.jobs.kind import figures_of
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS, PROFILES
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec
from bmwg.methodology.records import BAREMETAL, POD

QUICK = PROFILES.load("quick")
PLAN = QUICK.plan()
S = 1_000_000_000
COUNTED = {"sysbench", "dd", "fio"}


def planned(experiment: str, hosting: str = BAREMETAL):
    return next(one for one in PLAN if (one.metric, one.cell.hosting) == (experiment, hosting))


CPU, POD_CPU = planned("sysbench_cpu"), planned("sysbench_cpu", POD)
STREAM = planned("stream")


def spec(one=CPU, number: int = 1) -> JobsSpec:
    return replace(one.spec, number=number)


def result(one=CPU, factor: float = 1.0, **changes) -> JobsResult:
    """An execution of a job that went well; `factor` times as fast as it might be."""
    asked = one.spec
    elapsed = int((asked.duration_s or 2) * S)
    names = figures_of(asked)
    counts, told = {}, {}
    if asked.workload == "dd":
        whole = asked.size_octets // asked.block_octets * asked.block_octets
        counts, elapsed = {names[0]: whole}, int(elapsed / factor)
    elif asked.job == "fileio":
        counts = {"operations": int(5000 * factor)}
        told = {"read": 1500.0 * factor * asked.block_octets, "written": 1000.0 * factor * asked.block_octets}
        elapsed = 2 * S
    elif asked.workload in COUNTED:
        counts = {name: int(700 * factor * (1 << 20)) for name in names}
    elif asked.job == "hpl":
        whole = 2 * asked.problem**3 / 3 + 3 * asked.problem**2 / 2
        elapsed = int(elapsed / factor)
        told = {"operations": whole * S / elapsed}
    else:
        told = dict.fromkeys(names, 1000000000.0 * factor)
    made = JobsResult(
        counts=counts,
        told=told,
        elapsed_ns=elapsed,
        process_ns=elapsed + S // 10,
        wall_ns=elapsed + S // 5 + int(factor * 1000),
        effective={"version": "as tried", "stream_vector_octets": 4 << 20, "last_cache_octets": 32 << 20},
    )
    return replace(made, **changes)


assert set(EXPERIMENTS) >= {one.metric for one in PLAN}
