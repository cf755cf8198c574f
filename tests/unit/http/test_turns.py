"""Hosting forms take turns in randomized blocks, whose seed and order a run records and goes on by."""

from __future__ import annotations

import json
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.drivers.undo import locks
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.requests.profile import load
from bmwg.methodology.kinds.requests.records import RequestsSpec
from bmwg.methodology.plan import turns
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

FORMS = ("native", "docker_routed", "docker_nat")
EXPERIMENTS = {"one_client": "HP-ONE", "one_client_cached": "HP-CACHED", "hundred_clients": "HP-HUNDRED"}
TESTS = frozenset(f"{name}-{number}" for name in EXPERIMENTS.values() for number in (1, 2, 3))


def planned() -> list[Planned[RequestsSpec]]:
    return [one for one in load("quick").plan() if one.test_id in TESTS]


def stretches(plan: Any) -> list[tuple[str, str]]:
    """Return experiment and form of each stretch of a plan."""
    return [key for key, _ in groupby((one.spec.experiment, one.spec.form) for one in plan)]


def test_each_experiment_has_every_form_once_in_an_order_of_its_own() -> None:
    orders = set()
    for seed in range(5):
        mixed = turns.interleaved(planned(), seed)
        assert sorted(one.key for one in mixed) == sorted(one.key for one in planned())
        assert [name for name, _ in groupby(one.spec.experiment for one in mixed)] == [
            "one_client",
            "hundred_clients",
            "one_client_cached",
        ]
        for _, block in groupby(stretches(mixed), lambda one: one[0]):
            forms = tuple(form for _, form in block)
            assert sorted(forms) == sorted(FORMS)
            orders.add(forms)
    assert len(orders) > 2


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bench that answers each cell without a node, with locks of its own; other networks than pods."""
    places = {"lock_dir": tmp_path / "locks", "index_dir": tmp_path / "index"}
    monkeypatch.setattr(open_run, "reserve_claims", partial(locks.reserve_claims, **places))

    def group_measured(self: RequestsBench, group: list[Planned[RequestsSpec]]) -> None:
        deployment = self.new_deployment(group[0].spec.form)
        self.run.store.add_deployment(deployment, {})
        for one in group:
            told = [
                made.record(
                    self.run.store,
                    one,
                    number,
                    made.result(one.spec, 1_000_000 + 1000 * number),
                    deployment,
                )
                for number in range(1, one.asked.wanted + 1)
            ]
            self.answers.keep(self.kind.answered(one, told))

    monkeypatch.setattr(RequestsBench, "measure", group_measured)
    return tmp_path


def first_trials(folder: Path) -> list[str]:
    lines = (json.loads(line) for line in (folder / "trials.jsonl").read_bytes().splitlines())
    return list(dict.fromkeys(line["cell"] for line in lines))


def test_a_run_measures_in_the_order_that_it_recorded_and_goes_on_in_it(here: Path) -> None:
    bench = made.opened(Settings(results=here, run_id="made", order_seed=3), TESTS)
    order = [one.key for one in bench.whole_plan]
    assert order == [one.key for one in turns.interleaved(planned(), 3)]
    assert order != [one.key for one in turns.interleaved(planned(), 4)]
    bench.outcomes("HP-HUNDRED-3")
    bench.run.close()
    assert json.loads((here / "made" / "run.json").read_text())["order_seed"] == 3
    going_on = made.opened(Settings(results=here, continue_run="made", order_seed=99), TESTS)
    assert [one.key for one in going_on.whole_plan] == order
    for test_id in sorted(TESTS):
        going_on.outcomes(test_id)
    going_on.run.close()
    told = read_run(here / "made")
    assert told.order_seed == 3
    assert sorted(first_trials(told.folder)) == sorted(order)
    for experiment in EXPERIMENTS:
        mine = [key for key in order if key.startswith(f"{experiment}/")]
        assert [key for key in first_trials(told.folder) if key.startswith(f"{experiment}/")] == mine
    report = " ".join((told.folder / "report.rst").read_text(encoding="utf-8").split())
    assert "Within each experiment, hosting forms and network options take turns in" in report
    rules = {finding.rule_id for finding in verify_folder(told.folder).findings}
    assert not rules & {"VER-17", "VER-18", "VER-40"}


def test_the_order_of_a_run_is_held_against_its_seed_and_its_trials(here: Path) -> None:
    bench = made.opened(Settings(results=here, run_id="made", order_seed=3), TESTS)
    for number in (1, 2, 3):
        bench.outcomes(f"HP-ONE-{number}")
    bench.run.close()
    file = here / "made" / "run.json"
    run = json.loads(file.read_text("ascii"))
    seeds = {
        seed for seed in range(20) if turns.interleaved(planned(), seed) != turns.interleaved(planned(), 3)
    }
    file.write_text(json.dumps(run | {"order_seed": min(seeds)}), encoding="ascii")
    assert "VER-40" in {finding.rule_id for finding in verify_folder(here / "made").findings}
    file.write_text(json.dumps(run), encoding="ascii")
    assert "VER-40" not in {finding.rule_id for finding in verify_folder(here / "made").findings}
