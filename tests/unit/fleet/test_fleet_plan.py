"""`bmwg fleet plan`: the same words give the same file, and a file that was changed is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.reports.fleet.plan import read_fleet, sealed, text_of
from bmwg.resources.run.challenged import planned_sha256
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return what makes a plan of these words and returns its file."""
    for name in ("BMWG_TESTBED", "BMWG_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def make(*words: str, name: str = "fleet.json") -> Path:
        file = tmp_path / name
        assert (
            main(["fleet", "plan", "--testbed", str(TESTBED), *map(str, words), "--output", str(file)]) == 0
        )
        return file

    return make


def changed(file: Path, **changes: Any) -> Path:
    document = json.loads(file.read_text("ascii"))
    file.write_text(text_of({**document, **changes}))
    return file


def test_the_same_words_give_the_same_octets_and_another_seed_another_hash(planned) -> None:
    first, second = planned("--shards", "4"), planned("--shards", "4", name="again.json")
    assert first.read_bytes() == second.read_bytes()
    other = read_fleet(planned("--shards", "4", "--seed", "2", name="other.json"))
    assert other.sha256 != read_fleet(first).sha256
    assert [one.tests for one in other.shards] == [one.tests for one in read_fleet(first).shards]


def test_the_shards_are_together_what_one_run_plans(planned) -> None:
    fleet = read_fleet(planned("--shards", "4"))
    tests = [name for one in fleet.shards for name in one.tests]
    assert len(tests) == len(set(tests))
    assert planned_sha256(Settings(testbed=TESTBED), tests) == fleet.plan_sha256
    assert sum(one.cells for one in fleet.shards) == fleet.cells
    assert [one.estimate_s for one in fleet.shards] == sorted(
        (one.estimate_s for one in fleet.shards), reverse=True
    )
    for one in fleet.shards:
        assert planned_sha256(Settings(testbed=TESTBED), one.selected) == one.plan_sha256
        assert one.needs["simulated"] is True
    assert max(one.estimate_s for one in fleet.shards) < fleet.estimate_s


def test_calibration_is_asked_for_left_out_or_by_its_cost(planned) -> None:
    always = read_fleet(planned("--shards", "3", "--calibration", "always"))
    none = read_fleet(planned("--shards", "3", "--calibration", "none", name="none.json"))
    beside = [one for one in always.shards if one.calibration]
    (owner,) = [one for one in always.shards if "CN-TPUT-1.2" in one.tests]
    assert len(beside) == len(always.shards) - 1
    assert owner not in beside
    assert all(one.calibration == ("CN-TPUT-1.2",) and one.calibration_s > 0 for one in beside)
    assert not any(one.calibration for one in none.shards)
    auto = read_fleet(planned("--shards", "3", name="auto.json"))
    assert all(one.calibration_s <= 0.05 * one.estimate_s + 1 for one in auto.shards)


@pytest.mark.parametrize(("profile", "bounded"), [("quick", False), ("rfc2544", True)])
def test_a_test_that_bounds_the_fleet_is_named(planned, capsys, profile, bounded) -> None:
    suite = Path(__file__).resolve().parents[3] / "testcases" / "rfc2544"
    planned("--shards", "8", "--profile", profile, suite)
    assert ("leave R2544-B2B-1.1 out" in capsys.readouterr().err) == bounded


def test_a_narrowed_plan_says_so(planned) -> None:
    fleet = read_fleet(planned("--shards", "2", "--path", "node", "--frame-size", "512"))
    assert fleet.narrowing == {"paths": ["node"], "frame_octets": [512]}
    assert {name for one in fleet.shards for name in one.tests} == {"CN-TPUT-1.2", "CN-LAT-1.2"}


@pytest.mark.parametrize(
    ("words", "error_id"),
    [
        (["--shards", "0"], "FLEET-03"),
        (["--shards", "2", "--test", "CN-TPUT-6.1", "testcases/containerized"], "FLEET-03"),
        (["--shards", "2", "--profile", "quik"], "PRF-01"),
        (["--shards", "2", "--path", "pvpp"], "PRF-11"),
    ],
)
def test_what_cannot_be_planned_is_refused_and_nothing_written(words, error_id, tmp_path, capsys) -> None:
    file = tmp_path / "fleet.json"
    assert main(["fleet", "plan", "--testbed", str(TESTBED), *words, "--output", str(file)]) == 2
    assert error_id in capsys.readouterr().err
    assert not file.exists()


def test_a_changed_plan_is_refused(planned) -> None:
    with pytest.raises(ConfigError, match="FLEET-01"):
        read_fleet(changed(planned("--shards", "2"), order_seed=9))


@pytest.mark.parametrize(
    ("change", "error_id"),
    [
        (lambda told: {**told, "schema": "fleet/2.0"}, "STORE-03"),
        (lambda told: {**told, "more": 1}, "STORE-04"),
        (lambda told: {**told, "shards": []}, "STORE-04"),
        (lambda told: sealed({**told, "shards": told["shards"][::-1]}), "FLEET-01"),
        (lambda told: sealed({**told, "shards": _twice(told["shards"])}), "FLEET-01"),
    ],
)
def test_bad_plans_are_refused_by_name(planned, change, error_id) -> None:
    file = planned("--shards", "2")
    file.write_text(json.dumps(change(json.loads(file.read_text("ascii")))))
    with pytest.raises(ConfigError, match=error_id):
        read_fleet(file)


def _twice(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [shards[0], {**shards[1], "tests": shards[0]["tests"]}]


def test_a_number_that_no_shard_has_is_refused(planned) -> None:
    fleet = read_fleet(planned("--shards", "2"))
    with pytest.raises(ConfigError, match="FLEET-02"):
        fleet.shard(3)
