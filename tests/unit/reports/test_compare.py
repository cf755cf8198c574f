"""Comparisons: confounders first, differences only where repeats carry them, and where a trend changed."""

from __future__ import annotations

import itertools
import json
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from made_parts import ENVELOPE, LATENCY, PROFILE, TESTBED, THROUGHPUT, Maker, cell, header

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Bound, OutcomeType, Quantity
from bmwg.reports.compare import Side, compare, comparison_page, read_side, trend, trend_page
from bmwg.reports.compare.comparison import _check_under_test
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
from bmwg.reports.compare.screen import COLUMNS, _fitted, comparison_screen
from bmwg.reports.compare.statistics import change_points, difference_p, least_p, shown
from bmwg.reports.render.text import esc
from bmwg.reports.store import Run, RunStore, read_run

_BEGIN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


def record(**values: Any) -> dict[str, Any]:
    """Return a record of the real form with some facts."""
    how = {"kind": "file", "from": "/proc/version"}
    at = "2026-01-31T08:00:00.000000Z"
    facts = {"release": "6.1.0", **values}
    fields = {
        "kernel": {
            name: (
                {"unknown": "not root", "how": how, "at": at}
                if value is None
                else {"value": value, "how": how, "at": at}
            )
            for name, value in facts.items()
        }
    }
    return {"schema": "record/1.0", "scope": "machine", "taken_at": at, "took_ms": 1, "fields": fields}


def run_of(
    results: Path,
    name: str,
    fps: int,
    *,
    hour: float = 0.0,
    p50_ns: int = 12_000,
    load: int | None = None,
    **how: Any,
) -> Run:
    """Write a run of one cell; `how` goes to the header, `platform` and `bad` apart."""
    platform = how.pop("platform", record())
    evidence = how.pop(
        "evidence", {"plugin": {"name": "bridge", "version": "1.1.1"}, "mac": "02:00:00:00:00:01"}
    )
    bad = how.pop("bad", None)
    one = cell("pvp", "bridge")
    moment = _BEGIN + timedelta(hours=hour)
    with RunStore.create(results, name, header(**how), clock=lambda: moment) as store:
        maker = Maker(store)
        store.set_platform(before=platform)
        store.add_deployment(f"pvp-bridge-{int(hour) + 1}", evidence)
        seq = maker.trial(one, load or fps)
        if bad:
            maker.outcome(one, THROUGHPUT, bad, trials=(seq,), reason="made")
        else:
            value = Quantity(metric=THROUGHPUT, number=fps, unit="frames/s")
            maker.outcome(one, THROUGHPUT, OutcomeType.MEASURED, trials=(seq,), values=(value,))
            median = Quantity(metric=f"{LATENCY}.p50", number=p50_ns, unit="ns")
            maker.outcome(one, LATENCY, OutcomeType.MEASURED, trials=(seq,), values=(median,))
        store.set_platform(after=how.pop("platform_after", platform))
    return read_run(store.folder)


def side(name: str, results: Path, numbers: list[int], **how: Any) -> Side:
    runs = [
        run_of(results, f"{name}{number}", fps, hour=2 * number + (name == "B"), **how)
        for number, fps in enumerate(numbers)
    ]
    return Side(name=name, runs=tuple(runs))


SLOW = [100_000, 101_000, 99_000, 100_500]
FAST = [110_000, 111_000, 109_500, 110_200]


def throughput_row(made: Any) -> Any:
    return next(row for row in made.rows if row.metric == THROUGHPUT)


def test_equal_platforms_show_a_difference_that_repeats_carry(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, FAST)])
    assert made.confounders == ()
    row = throughput_row(made)
    assert row.p_value == pytest.approx(2 / 70)
    assert row.ratio == pytest.approx(110_100 / 100_250)
    assert row.verdict == "B is higher than A (p = 0.0286)"
    assert made.order == ()
    page = comparison_page(made)
    assert "+9.83" in page
    assert "exact permutation test" in page


def test_one_run_a_side_shows_numbers_and_no_difference(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, [100_000]), side("B", tmp_path, [900_000])])
    row = throughput_row(made)
    assert row.ratio is None
    assert row.verdict.startswith("no difference shown: too few repeats (1 and 1")
    assert made.order == ("All runs of A began before all runs of B.",)


def test_three_repeats_a_side_are_too_few_and_the_page_says_so(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW[:3]), side("B", tmp_path, FAST[:3])])
    assert "too few repeats (3 and 3" in comparison_page(made)


def test_overlapping_repeats_show_no_difference(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, [100_100, 99_500, 101_500, 100_000])])
    assert throughput_row(made).verdict.startswith("no difference shown (p = ")


def test_an_answer_that_is_no_number_is_not_left_out_of_the_repeats(tmp_path: Path) -> None:
    slow = side("A", tmp_path, SLOW)
    fast = side("B", tmp_path, FAST)
    odd = run_of(tmp_path, "odd", 1, hour=20, bad=OutcomeType.UNSTABLE)
    made = compare([slow, Side(name="B", runs=(*fast.runs, odd))])
    row = throughput_row(made)
    assert row.verdict == "no difference shown: 1 of 5 of B: unstable"
    latency = next(row for row in made.rows if row.metric == f"{LATENCY}.p50")
    assert latency.samples["B"].others == ("not reached",)


def test_latencies_at_different_loads_are_not_compared(tmp_path: Path) -> None:
    slow = side("A", tmp_path, SLOW)
    fast = side("B", tmp_path, FAST, p50_ns=24_000)
    row = next(row for row in compare([slow, fast]).rows if row.metric == f"{LATENCY}.p50")
    assert "taken at different loads (100250 and 110100 frames/s)" in row.verdict
    (tmp_path / "same").mkdir()
    slow = side("A", tmp_path / "same", SLOW, load=50_000)
    fast = side("B", tmp_path / "same", FAST, p50_ns=24_000, load=50_000)
    row = next(row for row in compare([slow, fast]).rows if row.metric == f"{LATENCY}.p50")
    assert row.verdict.startswith("B is higher than A")


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
    page, screen = comparison_page(made), comparison_screen(made)
    for told, numbers in ((page, "Numbers\n"), (screen, "numbers:" if path == "simulated" else "cell  ")):
        assert told.index("Not a fair comparison") < told.index(numbers)
        assert path in told or esc(path) in told
        assert "is higher than" not in told
    if path == "simulated":
        assert "110" not in page.split("Numbers\n")[1]


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
    }
    assert all(one.reason for one in made.passing)
    screen = comparison_screen(made)
    lines = screen.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= COLUMNS
    assert screen.isascii()
    assert next(number for number, line in enumerate(lines) if "100,000" in line) < 10  # numbers first
    assert "no field of configuration differs" in screen


def test_names_of_cells_stay_whole_where_repeats_have_ranges(tmp_path: Path) -> None:
    long = [600_000, 610_000, 700_000, 650_000]
    screen = comparison_screen(compare([side("A", tmp_path, long), side("B", tmp_path, SLOW)]))
    assert "pvp bridge 64  " in screen
    assert (_fitted("pvp bridge 1518", 15), _fitted("pvp bridge 1518", 14)) == (
        "pvp bridge 1518",
        "pvp bridge 1..",
    )
    assert max(map(len, screen.splitlines())) <= COLUMNS


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
    path = path if path.startswith("deployment/") else f"deployment/{path}"
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
    for told in (comparison_page(made), comparison_screen(made)):
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


def test_the_number_of_a_wide_interval_is_never_told_alone_and_gives_no_ratio(tmp_path: Path) -> None:
    def wide(name: str, numbers: list[int], hour: float) -> Side:
        runs = []
        for number, fps in enumerate(numbers):
            moment = _BEGIN + timedelta(hours=hour + 2 * number)
            with RunStore.create(tmp_path, f"{name}{number}", header(), clock=lambda m=moment: m) as store:
                store.set_platform(before=record())
                maker, one = Maker(store), cell("pvp", "bridge")
                clean, lossy = maker.trial(one, fps), maker.trial(one, fps * 5 // 4)
                maker.outcome(
                    one,
                    THROUGHPUT,
                    OutcomeType.MEASURED,
                    values=(Quantity(metric=THROUGHPUT, number=fps, unit="frames/s"),),
                    lower=Bound(load_fps=fps, trials=(clean,)),
                    upper=Bound(load_fps=fps * 5 // 4, trials=(lossy,)),
                    trials=(clean, lossy),
                )
            runs.append(read_run(store.folder))
        return Side(name=name, runs=tuple(runs))

    made = compare([wide("A", SLOW, 0), wide("B", FAST, 1)])
    row = throughput_row(made)
    assert row.shows
    assert row.ratio is None
    assert "no ratio: 8 of these answers have a wide interval" in row.verdict
    assert row.samples["B"].wide_ends == tuple(fps * 5 // 4 for fps in FAST)
    screen = comparison_screen(made)
    assert "100,250 [99k-126k]" in screen
    single = [Side(name=one.name, runs=one.runs[:1]) for one in made.sides]
    assert "100,000..125,000" in comparison_screen(compare(single))
    assert "loss from 125" in comparison_page(compare(single))


def test_a_waived_confounder_lets_the_numbers_through_and_stays_on_the_page(tmp_path: Path) -> None:
    sides = [side("A", tmp_path, SLOW), side("B", tmp_path, FAST, platform=record(release="6.18.0"))]
    for name in ("platform/kernel/release", "platform/kernel"):
        made = compare(sides, waive=[name])
        assert throughput_row(made).ratio is not None
        assert [one.waived for one in made.confounders] == [True]
    assert "1 field that confounds was waived by name" in comparison_page(made)


def test_waivers_are_checked(tmp_path: Path) -> None:
    sides = [side("A", tmp_path, SLOW), side("B", tmp_path, FAST, platform=record(release="6.18.0"))]
    with pytest.raises(ConfigError) as caught:
        compare(sides, waive=["platform/kernel/releas"])
    assert caught.value.error_id == "CMP-03"
    assert "platform/kernel/release" in caught.value.hint
    with pytest.raises(ConfigError, match="CMP-04"):
        compare(sides, waive=["simulated"])
    with pytest.raises(ConfigError, match="CMP-01"):
        compare(sides[:1])
    with pytest.raises(ConfigError, match="CMP-02"):
        compare([sides[0], sides[0]])


def test_what_is_attached_is_under_test_and_passing_names_are_no_difference(tmp_path: Path) -> None:
    passing = {"pid": 7, "sandbox": "/proc/7/ns/net", "comm": "napi/nic0-17"}
    later = {"pid": 8, "sandbox": "/proc/8/ns/net", "comm": "napi/nic0-18"}
    other = {
        "plugin": {"name": "bridge", "version": "1.2.0"},
        "mac": "02:00:00:00:00:99",
        "veth": "veth0a1b2c3d",
        "pod": later,
    }
    first = {
        "plugin": {"name": "bridge", "version": "1.1.1"},
        "mac": "02:00:00:00:00:01",
        "veth": "vethffffffff",
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
    with RunStore.create(tmp_path, "moved", header(), clock=lambda: _BEGIN) as store:
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
    assert "1 field that no run knows" in comparison_page(made)


def test_the_test_is_exact_for_small_sides() -> None:
    assert difference_p([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]) == pytest.approx(2 / 20)
    assert difference_p([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert difference_p([], [1.0]) == 1.0
    assert least_p(3, 3) == pytest.approx(0.1)
    assert least_p(4, 4) == pytest.approx(2 / 70)
    with pytest.raises(ValueError, match="above 0"):
        difference_p([0.0], [1.0])


def test_the_test_shows_chance_no_more_often_than_it_says() -> None:
    dealer = random.Random(7)
    hits = 0
    for _ in range(400):
        numbers = [math.exp(dealer.gauss(0, 0.1)) for _ in range(10)]
        hits += difference_p(numbers[:5], numbers[5:]) <= 0.05
    assert hits <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


def test_large_sides_are_drawn_and_give_the_same_each_time() -> None:
    dealer = random.Random(7)
    first = [dealer.gauss(100, 1) for _ in range(15)]
    second = [dealer.gauss(103, 1) for _ in range(15)]
    assert difference_p(first, second) == difference_p(first, second) < 0.001


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([], []),
        ([0.05], [True]),
        ([0.03, 0.03], [True, True]),
        ([0.01, 0.9, 0.9, 0.9, 0.9, 0.9], [False] * 6),
        ([0.001, 0.02, 0.9], [True, True, False]),
    ],
)
def test_many_tests_are_held_to_the_share_of_chance(p_values: list[float], expected: list[bool]) -> None:
    assert list(shown(p_values)) == expected


def test_change_points_are_found_where_they_are() -> None:
    dealer = random.Random(3)
    series = [dealer.gauss(level, 1.0) for level in [100.0] * 12 + [110.0] * 9 + [95.0] * 10]
    assert change_points(series) == (12, 21)
    assert change_points(series) == change_points(series)
    assert change_points([5.0] * 30) == ()
    assert change_points([1.0, 1.0, 9.0, 9.0]) == ()


def test_a_steady_series_seldom_has_a_change_point() -> None:
    dealer = random.Random(11)
    found = sum(bool(change_points([dealer.gauss(100, 1) for _ in range(20)])) for _ in range(100))
    assert found <= 4  # 1 expected of 100; more than 4 has a chance below 0.4 %


def test_a_trend_names_the_run_and_the_fields_that_changed(tmp_path: Path) -> None:
    runs = []
    for number in range(16):
        late = number >= 8
        runs.append(
            run_of(
                tmp_path,
                f"run{number:02d}",
                (90_000 if late else 100_000) + 100 * (number % 3),
                hour=number,
                platform=record(release="6.18.0" if late else "6.1.0"),
            )
        )
    made = trend(list(reversed(runs)))
    series = next(one for one in made.series if one.metric == THROUGHPUT)
    (change,) = series.changes
    assert change.run_id == "run08"
    assert (change.before, change.after) == (100_100, 90_100)
    assert [field.path for field in change.fields] == ["platform/kernel/release"]
    page = trend_page(made)
    assert "platform/kernel/release" in page
    assert "run08" in page


def test_a_trend_of_two_testbeds_is_refused(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, "a", 1000), run_of(tmp_path, "b", 1000, testbed={"name": "lab"}, hour=1)]
    for wrong in (runs, runs[:1]):
        with pytest.raises(ConfigError, match="CMP-05"):
            trend(wrong)


def test_sides_are_folders_of_runs_or_lists(tmp_path: Path) -> None:
    for place, name in itertools.product(("x", "y"), ("r1", "r2")):
        run_of(tmp_path / place, name, 1000, hour=(place == "y") + 2 * (name == "r2"))
    (tmp_path / "x" / "robot").mkdir()
    assert [run.run_id for run in read_side("A", str(tmp_path / "x")).runs] == ["r1", "r2"]
    both = f"{tmp_path / 'x' / 'r1'},{tmp_path / 'y'}"
    assert len(read_side("A", both).runs) == 3
    for wrong in (str(tmp_path / "none"), f"{tmp_path / 'x'},{tmp_path / 'x' / 'r1'}"):
        with pytest.raises(ConfigError, match="CMP-02"):
            read_side("A", wrong)


def test_the_command_prints_writes_and_says_by_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side("A", tmp_path / "a", SLOW)
    side("B", tmp_path / "b", FAST, platform=record(release="6.18.0"))
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["compare", *names]) == 2  # made files: nothing follows from their trials
    assert "CMP-08" in capsys.readouterr().err
    assert main(["compare", "--unverified", *names]) == 1
    assert "Not a fair comparison" in capsys.readouterr().out
    waived = ["compare", "--unverified", *names, "--waive", "platform/kernel/release"]
    for form in ("screen", "text", "md", "rst", "html", "rfcxml", "json"):
        assert main([*waived, "--format", form, "--output", str(tmp_path / form)]) == 0
    data = json.loads((tmp_path / "json").read_text())
    assert next(row for row in data["rows"] if row["metric"] == THROUGHPUT)["ratio"] == pytest.approx(
        1.0983, abs=1e-4
    )
    assert "<script" not in (tmp_path / "html").read_text()
    assert main([*waived, "--output", str(tmp_path / "json")]) == 2
    assert "CMP-06" in capsys.readouterr().err
    assert main(["compare", "--unverified", "--trend", str(tmp_path / "a")]) == 0
    assert "0 of 2 series changed their level" in capsys.readouterr().out.replace("\n", " ")


def test_the_tester_itself_is_a_row(tmp_path: Path) -> None:
    runs = []
    for name in ("A", "B"):
        with RunStore.create(tmp_path, name, header(), clock=lambda: _BEGIN) as store:
            store.set_platform(before=record())
            Maker(store).measured(cell("wire"), 1_400_000 + len(runs), 1_600_000)
        runs.append(Side(name=name, runs=(read_run(store.folder),)))
    assert {row.metric for row in compare(runs).rows} >= {ENVELOPE, f"{LATENCY}.p99"}


def test_a_model_and_a_device_are_never_what_is_compared() -> None:
    with pytest.raises(ConfigError, match="CMP-04"):
        _check_under_test(("simulated",))
