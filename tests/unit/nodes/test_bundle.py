import json
from typing import Any

import pytest

from bmwg.drivers.containers import bundle
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.methodology.errors import ConfigError

GOOD: dict[str, object] = {"pod_id": "p1", "cpus": "1-2,4", "memory_octets": 256 << 20}


def test_a_spec_survives_the_channel() -> None:
    spec = PodSpec(**GOOD, sysctls=(("net.core.x", "1"),), binds=(("/a", "/b", True),))  # type: ignore[arg-type]
    crossed = json.loads(json.dumps(spec.as_builtins()))
    assert PodSpec.from_builtins(crossed) == spec


@pytest.mark.parametrize(
    "change",
    [
        {"pod_id": "../x"},
        {"pod_id": ""},
        {"pod_id": "x" * 64},
        {"cpus": ""},
        {"cpus": "1-"},
        {"cpus": "1 2"},
        {"memory_octets": 0},
        {"memory_octets": 1 << 20},
        {"hugepages_2mi": -1},
        {"cpu_limit": -0.5},
        {"arguments": ()},
        {"sysctls": (("kernel.panic", "1"),)},
    ],
)
def test_what_no_runtime_could_run_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"^POD-01 "):
        PodSpec(**{**GOOD, **change})  # type: ignore[arg-type]


def rendered(hugetlb: bool, **changes: object) -> dict[str, object]:
    spec = PodSpec(**{**GOOD, **changes})  # type: ignore[arg-type]
    return bundle.config(spec, rootfs="/r", cgroup="/bmwg-p1", cpuset_mems="0", hugetlb=hugetlb)


def test_the_host_root_is_read_only_and_all_namespaces_are_new() -> None:
    document = rendered(False)
    assert document["root"] == {"path": "/r", "readonly": True}
    kinds = [item["type"] for item in document["linux"]["namespaces"]]  # type: ignore[index]
    assert sorted(kinds) == ["ipc", "mount", "network", "pid", "uts"]
    assert all("path" not in item for item in document["linux"]["namespaces"])  # type: ignore[index]


def test_a_pod_that_joins_a_network_namespace_leaves_its_settings_alone() -> None:
    linux: Any = rendered(False, netns="/run/netns/p0")["linux"]
    assert {"type": "network", "path": "/run/netns/p0"} in linux["namespaces"]
    assert [item["type"] for item in linux["namespaces"] if "path" in item] == ["network"]
    assert linux["sysctl"] == {}


def test_a_limit_on_cpu_time_is_a_quota_beside_the_cpus() -> None:
    linux: Any = rendered(False, cpu_limit=2.5)["linux"]
    assert linux["resources"]["cpu"] == {"cpus": "1-2,4", "mems": "0", "quota": 250_000, "period": 100_000}


def test_limits_are_rendered_in_octets_and_pages() -> None:
    resources = rendered(True, hugepages_2mi=3)["linux"]["resources"]  # type: ignore[index]
    assert resources["cpu"] == {"cpus": "1-2,4", "mems": "0"}
    assert resources["memory"] == {"limit": 256 << 20}
    assert resources["hugepageLimits"] == [{"pageSize": "2MB", "limit": 3 * 2097152}]
    assert "hugepageLimits" not in rendered(False)["linux"]["resources"]  # type: ignore[index]


def test_no_interface_of_the_pod_speaks_unasked() -> None:
    sysctl = rendered(False)["linux"]["sysctl"]  # type: ignore[index]
    assert sysctl["net.ipv6.conf.default.router_solicitations"] == "0"
    assert sysctl["net.ipv6.conf.default.accept_dad"] == "0"
    assert sysctl["net.ipv4.ip_forward"] == "1"
    assert rendered(False, forwarding=False)["linux"]["sysctl"]["net.ipv4.ip_forward"] == "0"  # type: ignore[index]
