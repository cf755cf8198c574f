"""What a cgroup allows is what programs of jobs find: half of a CPU, so many octets a second of a disk."""

from __future__ import annotations

import os
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.streams_support import needs
from tests.needs import skip_for
from tests.unit.jobs.made import planned

from bmwg.drivers import registry
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.places.native import native_place
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.records import BAREMETAL
from bmwg.resources.kinds.jobs import places

pytestmark = [*needs("sysbench"), pytest.mark.slow]
MIB = 1 << 20
LIMIT_OCTETS_PER_S = 20 * MIB
TRIES = 3
BUSY = 1.5  # load average


def figure(bed, form, experiment: str, name: str, **changes) -> float:
    spec = replace(planned(experiment).spec, number=1, **changes)
    made = registry.workload(spec.workload, kind=JOBS.name)([bed.node("dut1")])
    skip_for(made.probe())
    made.attach((form,))
    result = made.run(spec)
    assert result.faults == ()
    return result.figure(name)


def test_a_quota_of_half_a_cpu_halves_sysbench(bed):
    """Within 3 %: the median ratio of so many pairs, tried again where the machine is not quiet."""
    node = bed.node("dut1")
    for _ in range(TRIES):
        with (
            places.form(bed, BAREMETAL) as whole,
            native_place(bed, node, number=1, cpus=bed.testbed.pods.cpus, cpu_limit=0.5) as limited,
        ):
            half = replace(whole, place=limited)
            ratios = []
            for _ in range(5):
                full = figure(bed, whole, "sysbench_cpu", "events", duration_s=2.0)
                ratios.append(figure(bed, half, "sysbench_cpu", "events", duration_s=2.0) / full)
        found = statistics.median(ratios)
        if abs(found / 0.5 - 1) <= 0.03:
            return
    _not_quiet(ratios)


@pytest.mark.parametrize(
    ("experiment", "name", "changes"),
    [
        ("dd_write", "written", {"size_octets": 40 * MIB}),
        ("dd_read", "read", {"size_octets": 40 * MIB}),
        ("fio_write", "written", {"size_octets": 40 * MIB, "duration_s": 3.0}),
        ("fio_read", "read", {"size_octets": 40 * MIB, "duration_s": 3.0, "block_octets": MIB}),
    ],
)
def test_a_throttle_is_what_dd_and_fio_find_with_direct_io(bed, experiment, name, changes):
    device = _device(bed.run_dir)
    ratios = []
    for _ in range(TRIES):
        with places.form(bed, BAREMETAL) as form:
            _throttle(form.place.cgroup, device)
            ratios.append(figure(bed, form, experiment, name, **changes) / LIMIT_OCTETS_PER_S)
        assert ratios[-1] <= 1.1  # a throttle lets what fits into its first slice of time pass at once
        if ratios[-1] >= 0.9:
            return
    _not_quiet(ratios)


def _not_quiet(ratios: list[float]) -> None:
    """Skip where others had the CPU, which a program needs between two reads; fail where nothing else ran."""
    told = ", ".join(f"{one:.3f}" for one in ratios)
    if os.getloadavg()[0] > BUSY:
        pytest.skip(f"the machine was not quiet: ratios {told}")
    pytest.fail(f"ratios {told}, and nothing else ran")


def _device(folder: Path) -> str:
    number = folder.stat().st_dev
    whole = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not whole.exists():
        pytest.skip(f"{folder} is on no block device")
    if (whole / "partition").exists():
        return (whole.resolve().parent / "dev").read_text().strip()
    return (whole / "dev").read_text().strip()


def _throttle(cgroup: str, device: str) -> None:
    name = cgroup.lstrip("/")
    if cgroups.version() == 2:
        file = cgroups.ROOT / name / "io.max"
        lines = [f"{device} rbps={LIMIT_OCTETS_PER_S} wbps={LIMIT_OCTETS_PER_S}"]
    else:
        file = cgroups.ROOT / "blkio" / name
        for way in ("read", "write"):
            throttle = file / f"blkio.throttle.{way}_bps_device"
            if not throttle.exists():
                pytest.skip(f"this kernel has no {throttle.name}")
            throttle.write_text(f"{device} {LIMIT_OCTETS_PER_S}")
        return
    if not file.exists():
        pytest.skip("this kernel has no io.max")
    file.write_text(lines[0])
