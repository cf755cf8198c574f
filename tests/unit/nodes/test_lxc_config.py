"""The text of a container's configuration: what is asked for stands in it, for both versions of cgroups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bmwg.drivers.containers import lxc_config, lxc_pods
from bmwg.drivers.containers.bundle import PodSpec

AROUND = lxc_config.Around(
    root="/run/x/root",
    mount_point="/run/x/mount",
    output="/run/x/output",
    cgroup="/bmwg-p",
    monitor_cgroup="/bmwg-p-monitor",
    last_cgroup="/bmwg-p-last",
    system_call_filter="/filter",
    folders=frozenset({"/a folder"}),
    version=1,
    hugetlb=False,
)


def lines(around: lxc_config.Around = AROUND, **changes: Any) -> list[str]:
    settings: dict[str, Any] = {"pod_id": "p", "cpus": "1-2", "memory_octets": 64 << 20, **changes}
    return lxc_config.text(PodSpec(**settings), around).splitlines()


def test_limits_are_those_of_the_version_of_cgroups():
    first = lines(cpu_limit=1.5)
    assert "lxc.cgroup.cpuset.cpus = 1-2" in first
    assert "lxc.cgroup.memory.limit_in_bytes = 67108864" in first
    at = first.index("lxc.cgroup.cpu.cfs_period_us = 100000")
    assert first[at + 1] == "lxc.cgroup.cpu.cfs_quota_us = 150000"
    second = lines(replace(AROUND, version=2), cpu_limit=1.5)
    assert "lxc.cgroup2.cpuset.cpus = 1-2" in second
    assert "lxc.cgroup2.memory.max = 67108864" in second
    assert "lxc.cgroup2.cpu.max = 150000 100000" in second
    assert not any(line.startswith("lxc.cgroup.cpu") for line in second)
    assert not any("quota" in line or "cpu.max" in line for line in lines())


def test_hugepages_are_limited_where_the_kernel_can():
    able = replace(AROUND, hugetlb=True)
    assert "lxc.cgroup.hugetlb.2MB.limit_in_bytes = 0" in lines(able)
    assert "lxc.cgroup.hugetlb.2MB.limit_in_bytes = 4194304" in lines(able, hugepages_2mi=2)
    assert "lxc.cgroup.hugetlb.1GB.limit_in_bytes = 1073741824" in lines(able, hugepages_1gi=1)
    assert "lxc.cgroup2.hugetlb.2MB.max = 4194304" in lines(replace(able, version=2), hugepages_2mi=2)
    assert not any("hugetlb" in line for line in lines())


def test_capabilities_are_those_of_pods_or_the_least():
    kept = next(line for line in lines() if line.startswith("lxc.cap.keep"))
    assert "net_admin" in kept.split()
    assert "lxc.cap.keep = net_raw" in lines(least=True, capabilities=("CAP_NET_RAW",))
    assert "lxc.cap.keep = none" in lines(least=True), "an empty list would keep all"


def test_a_network_is_its_own_or_that_which_it_joins():
    assert "lxc.net.0.type = empty" in lines()
    joined = lines(netns="/run/netns/n")
    assert "lxc.namespace.share.net = /run/netns/n" in joined
    assert not any(line.startswith("lxc.net") for line in joined)


def test_binds_are_written_as_fstab_has_them():
    told = lines(binds=(("/a folder", "/run/a folder", True), ("/file", "/run/file", False)))
    assert "lxc.mount.entry = /a\\040folder run/a\\040folder none rbind,rw,create=dir 0 0" in told
    assert "lxc.mount.entry = /file run/file none rbind,ro,create=file 0 0" in told


def test_the_first_process_becomes_the_program():
    spec = PodSpec(pod_id="p", cpus="0", memory_octets=64 << 20, arguments=("squid", "-N"))
    assert lxc_config.command(spec)[-2:] == ("squid", "-N")
    assert 'exec "$@"' in lxc_config.command(spec)[2]


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("0::/init.scope\n", ""),
        ("0::/\n", ""),
        ("4:memory:/\n1:name=systemd:/init.scope\n0::/init.scope\n", ""),
        ("4:memory:/process_api/7\n1:cpu:/\n0::/\n", "/process_api/7"),
        ("0::/../user.slice\n", "/../user.slice"),
    ],
)
def test_a_cgroup_of_the_first_process_that_lxc_would_stay_below_is_named(text: str, below: str) -> None:
    assert lxc_pods._below(text) == below
