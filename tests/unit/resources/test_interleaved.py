"""Options take turns in randomized blocks, whose seed and order a run records and goes on by."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest
import yaml

from bmwg.drivers.platform_record.collect import collect
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan import planning, turns
from bmwg.methodology.profiles import load_profile
from bmwg.reports.store import read_run
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

SIMULATED = Path(__file__).parents[3] / "testbeds" / "simulated.yaml"
NETWORKS = {"bridge": None, "ptp": None}
TESTS = frozenset({"R2544-TPUT-1.1", "R2544-LAT-1.1"})
SIZES = (64, 128, 256, 512, 1024, 1280, 1518)


def profile(folder: Path, sizes: tuple[int, ...] = SIZES) -> Path:
    data = dict(load_profile("quick").data)
    data["trial"] = data["trial"] | {
        "duration_s": 0.2,
        "settle_s": 0,
        "learning_wait_s": 0,
        "drain_s": 0,
        "restabilize_s": 0,
    }
    data["latency"] = {"duration_s": 0.2, "frame_octets": [64, 128]}
    data["search"] = data["search"] | {"relative_width": 0.2, "state_checks": 0}
    data["paths"] = [
        {"path": "wire", "hosting": "none", "function": "none", "networks": "none", "frame_octets": [64]},
        {
            "path": "pvp",
            "hosting": "pod",
            "function": "kernel-l3",
            "networks": "all",
            "frame_octets": list(sizes),
        },
    ]
    data.pop("suites", None)
    file = folder / "profile.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return file


def options(plan: tuple[planning.PlannedAnswer, ...]) -> list[tuple[int, str]]:
    """Return size and option of each stretch of a plan that one deployment of a block makes."""
    return [key for key, _ in groupby((one.cell.frame_octets, one.cell.network) for one in plan)]


def test_each_block_has_every_option_once_in_an_order_of_its_own(tmp_path):
    plan = planning.cells(load_profile(str(profile(tmp_path))), NETWORKS, test_ids=TESTS)
    assert [size for size, _ in options(plan)] == [*SIZES, *SIZES]  # one option after the other
    orders = set()
    for seed in range(5):
        mixed = turns.interleaved(plan, seed)
        assert mixed == turns.interleaved(plan, seed)
        assert sorted(one.key for one in mixed) == sorted(one.key for one in plan)
        assert [size for size, _ in options(mixed)] == [size for size in SIZES for _ in NETWORKS]
        orders.add(tuple(name for _, name in options(mixed)))
        first = [tuple(name for _, name in pair) for _, pair in groupby(options(mixed), lambda one: one[0])]
        assert {frozenset(pair) for pair in first} == {frozenset(NETWORKS)}
    assert len(orders) > 1


def test_an_option_with_a_tag_takes_its_turn_with_the_others(tmp_path):
    plan = planning.cells(load_profile(str(profile(tmp_path))), {"bridge": None, "vlan": 100}, test_ids=TESTS)
    orders = {tuple(options(turns.interleaved(plan, seed))) for seed in range(5)}
    assert {tuple(size for size, _ in order) for order in orders} == {tuple(s for s in SIZES for _ in "ab")}
    assert len(orders) > 1


def test_a_run_measures_in_the_order_that_it_recorded_and_goes_on_in_it(tmp_path, monkeypatch):
    machine = dict(collect())  # once: what else starts on this machine is no part of the test
    monkeypatch.setattr(open_run, "machine_record", lambda *_: machine)
    chosen = {"testbed": SIMULATED, "profile": str(profile(tmp_path, (64, 128, 256))), "results": tmp_path}
    bench = Bench.open(Settings(**chosen, run_id="made", order_seed=3), TESTS)
    planned = [one.key for one in bench._session.plan]
    assert planned != [one.key for one in turns.interleaved(bench._session.plan, 4)]
    visited = bench._session.plan[0]
    bench._ensure(visited)
    bench.close()
    run = json.loads((tmp_path / "made" / "run.json").read_text())
    assert run["order_seed"] == 3
    going_on = Bench.open(Settings(**chosen, continue_run="made", order_seed=99), TESTS)
    assert [one.key for one in going_on._session.plan] == planned
    for test in sorted(TESTS):
        going_on.outcomes(test)
    going_on.close()
    told = read_run(tmp_path / "made")
    assert told.order_seed == 3
    assert [(one.metric, one.cell.cell_id) for one in told.plan] == planned
    assert len(told.outcomes) >= len(planned)
    taken = [trial.cell_id for trial in told.trials if not trial.cell_id.startswith("wire")]
    cells = [cell_id for cell_id, _ in groupby(taken)]
    assert cells == [cell_id for cell_id, _ in groupby(key[1] for key in planned)]
    report = (tmp_path / "made" / "report.rst").read_text(encoding="utf-8")
    assert "Within each test, hosting forms, functions and network options take turns in" in report
    assert "randomized blocks, seed 3." in report


@pytest.mark.parametrize("found", ["-1", "x", str(2**32)])
def test_a_seed_that_is_none_is_refused(found):
    with pytest.raises(ConfigError, match=r"^SET-02 "):
        Settings.from_environment({"BMWG_ORDER_SEED": found})
