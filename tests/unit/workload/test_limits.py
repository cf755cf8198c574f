"""A pod's limits and what it used of them, by the files of either version of cgroups."""

from __future__ import annotations

import pytest

from bmwg.drivers.containers import limits
from bmwg.drivers.nodes import cgroups

ONE = {
    ("cpu", "cpu.cfs_quota_us"): "5000",
    ("cpu", "cpu.cfs_period_us"): "100000",
    ("cpu", "cpu.stat"): "nr_periods 10\nnr_throttled 9\nthrottled_time 850123456",
    ("cpuacct", "cpuacct.usage"): "51234567",
    ("memory", "memory.limit_in_bytes"): "134217728",
    ("memory", "memory.usage_in_bytes"): "9000",
    ("memory", "memory.stat"): "cache 5000\nrss 4000\nmapped_file 0",
}
TWO = {
    ("", "cpu.max"): "5000 100000",
    ("", "cpu.stat"): "usage_usec 51234\nnr_periods 10\nnr_throttled 9\nthrottled_usec 850123",
    ("", "memory.max"): "134217728",
    ("", "memory.current"): "9000",
    ("", "memory.stat"): "anon 4000\nfile 5000",
}
CHANGES = {
    1: {("cpu", "cpu.cfs_quota_us"): "-1", ("memory", "memory.limit_in_bytes"): "9223372036854771712"},
    2: {("", "cpu.max"): "max 100000", ("", "memory.max"): "max"},
}
SLOW = {1: {("cpu", "cpu.cfs_period_us"): "50000"}, 2: {("", "cpu.max"): "5000 50000"}}


@pytest.fixture(params=[1, 2])
def files(request, monkeypatch) -> tuple[int, dict]:
    told = dict(ONE if request.param == 1 else TWO)
    monkeypatch.setattr(cgroups, "version", lambda: request.param)
    monkeypatch.setattr(limits, "_file", lambda pid, controller, name: told[controller, name])
    return request.param, told


def test_limits_and_use_are_one_whatever_the_version(files) -> None:
    assert limits.held(pid=1) == {"quota_us": 5000, "octets": 128 << 20}
    used = limits.used(pid=1)
    assert used.pop("at_ns") > 0
    assert used == {
        "cpu_us": 51234,
        "throttled_periods": 9,
        "throttled_us": 850123,
        "octets": 9000,
        "kept_octets": 4000,
    }


def test_no_limit_is_0_and_another_period_is_told_of_100_ms(files) -> None:
    version, told = files
    told |= SLOW[version]
    assert limits.held(pid=1)["quota_us"] == 10_000
    told |= CHANGES[version]
    assert limits.held(pid=1) == {"quota_us": 0, "octets": 0}


def test_a_process_without_a_cgroup_of_that_controller_is_named() -> None:
    with pytest.raises(OSError, match="no cgroup of controller no_such"):
        limits._file(1, "no_such", "x")
