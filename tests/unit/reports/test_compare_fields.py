"""Confounders first: which fields of two runs differ, which of them lie on the path, which were set up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import BEGIN, FAST, SLOW, record, run_of, side, throughput_row
from made_parts import PROFILE, TESTBED, THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import OutcomeType
from bmwg.reports.compare import Comparison, Side, compare, comparison_page
from bmwg.reports.compare.field_rules import (
    OFF_PATH_RULES,
    ROLE_RULES,
    OffPathRule,
    Place,
    Role,
    RoleRule,
    place_of,
    role_of,
)
from bmwg.reports.compare.screen import COLUMNS, comparison_screen
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import RunStore, read_run


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"platform": record(release="6.18.0")}, "platform/kernel/release"),
        ({"platform": record(release=None)}, "platform/kernel/release"),
        ({"toolkit_commit": "f" * 40}, "toolkit/commit"),
        ({"profile": {**PROFILE, "trial": {"duration_s": 2}}}, "profile/trial/duration_s"),
        ({"testbed": {**TESTBED, "tester": {"driver": "embedded", "io": "af_packet"}}}, "testbed/tester/io"),
        ({"simulated": True}, "simulated"),
    ],
)
def test_a_confounder_withholds_every_verdict(tmp_path: Path, changes: dict[str, Any], path: str) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, FAST, **changes)])
    assert path in {one.path for one in made.open_confounders}
    assert not any(row.shows or row.ratio or row.p_value for row in made.rows)
    assert all("on the compared path differ" in row.verdict for row in made.rows)
    assert bool(made.rows) == (path != "simulated")
    page, screen = page_of(made), comparison_screen(made)
    for told, numbers in ((page, "Numbers\n"), (screen, "numbers:" if path == "simulated" else "cell  ")):
        assert told.index("Not a fair comparison") < told.index(numbers)
        assert path in told
        assert "is higher than" not in told
    if path == "simulated":
        assert "110" not in page.split("Numbers\n")[1]


def page_of(made: Comparison) -> str:
    return restructured(comparison_page(made)).replace("\\", "")


def test_two_runs_of_one_configuration_compare_without_a_waiver_on_one_screen(tmp_path: Path) -> None:
    def evidence(token: str, turn: int, ms: float, pid: int) -> dict[str, Any]:
        pod = f"bmwg-{token}-{turn}-0"
        return {
            "plugin": {"name": "bridge", "executions": [{"command": "ADD", "wall_time_ms": ms}]},
            "pod": {
                "cgroup": f"/bmwg-{pod}",
                "pid": pid,
                "reason": f"/sys/fs/cgroup/{pod}/x: No such file or directory",
            },
            "hops": [{"at": f"{pod}/net0"}],
            "start_ns": [pid * 1000],
            "hosting": {"machine": {"boot_s": ms}},
            "chain": {"activation_s": ms, "vswitch_start_s": ms},
            "start_s": ms,
            "boots_or_unpacks": {"parts": {"kernel": {"length_octets": 7, "allocated_octets": pid * 512}}},
        }

    first = run_of(tmp_path, "first", 100_000, evidence=evidence("49c6e4", 6, 13.6, 17))
    second = run_of(tmp_path, "second", 101_000, hour=1, evidence=evidence("805d6c", 8, 12.5, 18))
    made = compare([Side(name="A", runs=(first,)), Side(name="B", runs=(second,))])
    assert (made.confounders, made.under_test) == ((), ())
    assert {one.path.rsplit("/", 1)[-1] for one in made.passing} == {
        "wall_time_ms",
        "pid",
        "start_ns",
        "boot_s",
        "activation_s",
        "vswitch_start_s",
        "start_s",
        "allocated_octets",
    }
    assert all(one.reason for one in made.passing)
    screen = comparison_screen(made)
    lines = screen.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= COLUMNS
    assert screen.isascii()
    assert next(number for number, line in enumerate(lines) if "100,000" in line) < 10  # numbers first
    assert "no field of configuration differs" in screen
    assert "complete, indicative" in lines[0]
    assert "complete, indicative" in page_of(made)


def test_a_long_value_is_held_to_its_end(tmp_path: Path) -> None:
    """Two command lines of a kernel that differ behind what is shown of them."""
    long = "BOOT_IMAGE=/vmlinuz " + "quiet " * 40
    pair = [
        Side(name=name, runs=(run_of(tmp_path, name, 1000, platform=record(boot_parameters=long + last)),))
        for name, last in (("A", "isolcpus=1"), ("B", "isolcpus=2"))
    ]
    (found,) = compare(pair).open_confounders
    assert found.path == "platform/kernel/boot_parameters"
    shown = {text for texts in found.values.values() for text in texts}
    assert len(shown) == 2
    assert not any("isolcpus" in text for text in shown)


def test_drivers_of_one_name_are_held_each(tmp_path: Path) -> None:
    first = {"name": "embedded", "version": "1", "declared": [], "probed": []}
    pair = [
        Side(name=name, runs=(run_of(tmp_path, name, 1000, drivers=drivers),))
        for name, drivers in (
            ("A", (first, {**first, "version": "2"})),
            ("B", ({**first, "version": "2"}, {**first, "version": "0"})),
        )
    ]
    found = {one.path: one.values for one in compare(pair).open_confounders}
    assert found == {"driver/embedded/version": {"A": ("1",), "B": ("0",)}}


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        ({"cgroup": "/bmwg-bmwg-49c6e4-1"}, {"cgroup": "/other-bmwg-805d6c-1"}, "cgroup"),
        ({"at": "bmwg-49c6e4-1/net0"}, {"at": "bmwg-805d6c-1/net1"}, "at"),
        ({"why": "/x/bmwg-49c6e4-1: denied"}, {"why": "/x/bmwg-805d6c-1: no such file"}, "why"),
        ({"bridge": "bmwg-br0"}, {"bridge": "bmwg-br1"}, "bridge"),
        ({"unheard_of_ms": 1.0}, {"unheard_of_ms": 2.0}, "unheard_of_ms"),
    ],
)
def test_a_name_of_the_run_hides_nothing_else_of_a_text(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], path: str
) -> None:
    made = compare(
        [
            Side(name=name, runs=(run_of(tmp_path, name, 1000, evidence={"pod": told}),))
            for name, told in (("A", first), ("B", second))
        ],
        under_test=[],
    )
    assert [one.path for one in made.open_confounders] == [f"deployment/pvp-bridge/pod/{path}"]


@pytest.mark.parametrize(
    "path",
    [
        "deployment/x/unknown_thing",
        "deployment/x/executions/0/wall_time",
        "platform/nobody/declared",
        "profile/trial/duration_s",
        "testbed/pods/memory",
        "start_ns",
        "deployment/x/attachments/0/interface/mtu_octets",
    ],
)
def test_a_field_that_no_rule_knows_is_configuration_on_the_path(path: str) -> None:
    assert role_of(path) == (Role.CONFIGURATION, "")
    assert place_of(path, "") == (Place.ON_PATH, "")


@pytest.mark.parametrize("rule", ROLE_RULES, ids=lambda rule: rule.path)
def test_each_role_rule_has_a_reason_and_meets_its_fields(rule: RoleRule) -> None:
    path = rule.path.replace("**/", "deep/er/", 1).replace("*", "0")
    path = f"deployment/{path}" if rule.path.startswith("**/") else path
    assert role_of(path) == (rule.role, rule.reason)
    assert rule.reason


def test_what_the_records_schema_declares_volatile_is_measured() -> None:
    assert role_of("platform/memory/available_octets")[0] is Role.MEASURED
    assert role_of("platform/memory/total_octets")[0] is Role.CONFIGURATION
    assert role_of("platform/nic/eth0/xdp/program")[0] is Role.MEASURED
    assert role_of("platform/nic/eth0/xdp/mode")[0] is Role.CONFIGURATION


@pytest.mark.parametrize("rule", OFF_PATH_RULES, ids=lambda rule: rule.path)
def test_a_part_is_off_the_path_until_something_set_up_names_it(rule: OffPathRule) -> None:
    path = rule.path.replace("*/**", "eth7/channels/rx_count")
    place, reason = place_of(path, "testbed/networks/bridge/driver cni\ndeployment/x/pod/runtime crun 1.8")
    assert (place, reason) == (Place.OFF_PATH, rule.reason)
    for word in rule.words:
        named = word.replace("{0}", "eth7")
        for text in (
            f"deployment/x/daemon {named}",
            f"testbed/networks/{named}_nat/driver x",
            f"a {named}-br0",
        ):
            assert place_of(path, text) == (Place.ON_PATH, "")


def test_packages_of_another_runtime_forbid_no_verdict_and_stay_on_the_page(tmp_path: Path) -> None:
    def packages(**versions: str) -> dict[str, Any]:
        made = record()
        fact = {
            "value": versions,
            "how": {"kind": "command", "from": "dpkg-query -W"},
            "at": "2026-01-31T08:00:00Z",
        }
        made["fields"]["system"] = {"packages": fact}
        return made

    plain, docker = packages(libc6="2.36"), packages(libc6="2.36", **{"docker.io": "20.10", "runc": "1.1"})
    made = compare([side("A", tmp_path, SLOW, platform=plain), side("B", tmp_path, FAST, platform=docker)])
    assert made.open_confounders == ()
    assert throughput_row(made).shows
    assert [one.path for one in made.off_path] == [
        "platform/system/packages/docker.io",
        "platform/system/packages/runc",
    ]
    for told in (page_of(made), comparison_screen(made)):
        assert "platform/system/packages/docker.io" in told
    newer = packages(libc6="2.40")
    made = compare([made.sides[0], side("C", tmp_path, FAST, platform=newer)])
    assert [one.path for one in made.open_confounders] == ["platform/system/packages/libc6"]
    used = side("D", tmp_path, FAST, platform=docker, evidence={"form": "docker_nat"})
    made = compare([made.sides[0], used])
    assert "platform/system/packages/docker.io" in {one.path for one in made.open_confounders}


def test_confounders_on_the_path_stand_before_the_others(tmp_path: Path) -> None:
    first, second = record(), record(release="6.18.0")
    for made, version in ((first, "1"), (second, "2")):
        fact = {
            "value": {"docker": version},
            "how": {"kind": "command", "from": "x"},
            "at": "2026-01-31T08:00:00Z",
        }
        made["fields"]["container"] = {"runtimes": fact}
    found = compare([side("A", tmp_path, SLOW, platform=first), side("B", tmp_path, FAST, platform=second)])
    assert [one.path for one in found.confounders] == [
        "platform/kernel/release",
        "platform/container/runtimes/docker",
    ]
    screen = comparison_screen(found)
    assert screen.index("kernel/release") < screen.index("runtimes/docker")


def test_what_is_attached_is_under_test_and_passing_names_are_no_difference(tmp_path: Path) -> None:
    passing = {"pid": 7, "sandbox": "/proc/7/ns/net", "comm": "napi/nic0-17"}
    later = {"pid": 8, "sandbox": "/proc/8/ns/net", "comm": "napi/nic0-18"}
    other = {
        "plugin": {"name": "bridge", "version": "1.2.0"},
        "mac": "02:00:00:00:00:99",
        "veth": "veth0a1b2c3d",
        "host_side": "bmwg79d44daf",
        "socket": "/run/bmwg-vswitch/sockets/net0-6df07bc7",
        "vswitch": {"add_s": 0.2, "memory": {"octets_by_node": {"0": 1}}},
        "pod": later,
    }
    first = {
        "plugin": {"name": "bridge", "version": "1.1.1"},
        "mac": "02:00:00:00:00:01",
        "veth": "vethffffffff",
        "host_side": "bmwgd6697068",
        "socket": "/run/bmwg-vswitch/sockets/net0-da54756d",
        "vswitch": {"add_s": 0.3, "memory": {"octets_by_node": {"0": 2}}},
        "pod": passing,
    }
    made = compare([side("A", tmp_path, SLOW, evidence=first), side("B", tmp_path, FAST, evidence=other)])
    assert [one.path for one in made.under_test] == ["deployment/pvp-bridge/plugin/version"]
    assert made.confounders == ()
    moved = compare(made.sides, under_test=[])
    assert [one.path for one in moved.confounders] == ["deployment/pvp-bridge/plugin/version"]


def test_a_platform_that_moved_during_a_run_confounds(tmp_path: Path) -> None:
    still = side("A", tmp_path, SLOW)
    one = cell("pvp", "bridge")
    with RunStore.create(tmp_path, "moved", header(), clock=lambda: BEGIN) as store:
        store.set_platform(before=record())
        Maker(store).outcome(one, THROUGHPUT, OutcomeType.NOT_ASSESSED, reason="made")
        store.set_platform(after=record(release="6.18.0"))
    made = compare([still, Side(name="B", runs=(read_run(store.folder),))])
    assert "platform-moved/kernel/release" in {found.path for found in made.open_confounders}


def test_fields_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    made = compare(
        [side(n, tmp_path, v, platform=record(version=None)) for n, v in (("A", SLOW), ("B", FAST))]
    )
    assert made.unknown == ("platform/kernel/version",)
    assert "1 field that no run knows" in page_of(made)


def test_a_deployment_that_a_run_has_not_is_one_difference(tmp_path: Path) -> None:
    whole, other = (side(name, tmp_path, SLOW) for name in "AB")
    lacking = Side(name="A", runs=(replace(whole.runs[0], deployments={}), *whole.runs[1:]))
    found = {one.path: one.values for one in compare([lacking, other]).under_test}
    assert found == {"deployment/pvp-bridge": {"A": ("(not in the run)", "made"), "B": ("made",)}}
    nowhere = Side(name="A", runs=tuple(replace(run, deployments={}) for run in whole.runs))
    found = {one.path: one.values for one in compare([nowhere, other]).under_test}
    assert found == {"deployment/pvp-bridge": {"A": ("(not in the run)",), "B": ("made",)}}
