"""`bmwg run --challenge`: the run is what the body asked for, or nothing starts; on a simulated bed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import parties
import pytest
from tests.unit.checker.runs import machine

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.reports.submissions.challenge import challenge_of
from bmwg.resources.run import open_run, preflight
from bmwg.resources.run.challenged import planned_sha256
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"
TESTS = {"CN-TPUT-1.1", "CN-TPUT-1.2"}


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def asked(world: parties.World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what makes a challenge of these days, of the plan of TESTS, with changes."""
    monkeypatch.setattr(open_run, "machine_record", lambda *_: machine())
    now = datetime.now(UTC)
    told = {
        "from": text(now - timedelta(days=1)),
        "until": text(now + timedelta(days=1)),
        "plan_sha256": planned_sha256(Settings(testbed=TESTBED), TESTS),
        "order_seed": 5,
    }
    return lambda **changes: world.challenge("run", **(told | changes))


def settings(folder: Path, challenge: Path, **changes: Any) -> Settings:
    return Settings(
        **{"testbed": TESTBED, "results": folder, "run_id": "r", "challenge": challenge, **changes}
    )


def test_a_run_takes_its_order_from_the_challenge_and_is_bound_to_it(asked, tmp_path):
    challenge = asked()
    preflight.check(settings(tmp_path, challenge), TESTS)
    run = open_run.open_run(settings(tmp_path, challenge), TESTS)
    run.close()
    header = json.loads((tmp_path / "r" / "run.json").read_text("ascii"))
    assert header["challenge_sha256"] == challenge_of(challenge).sha256
    assert header["order_seed"] == 5
    assert (tmp_path / "r" / "challenge.json").read_bytes() == challenge.read_bytes()


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"plan_sha256": "7" * 64}, {}),
        ({"profile": "rfc2544"}, {}),
        ({"from": "2020-01-01T00:00:00Z", "until": "2020-02-01T00:00:00Z"}, {}),
        ({"from": "2120-01-01T00:00:00Z", "until": "2120-02-01T00:00:00Z"}, {}),
        ({}, {"order_seed": 6}),
    ],
)
def test_what_the_body_did_not_ask_for_starts_nothing(asked, tmp_path, changes, options):
    told = settings(tmp_path, asked(**changes), **options)
    for start in (preflight.check, open_run.open_run):
        with pytest.raises(ConfigError, match="CHAL-03"):
            start(told, TESTS)
    assert not list(tmp_path.glob("r"))


def test_the_plan_has_one_hash_whatever_its_order(capsys, monkeypatch):
    monkeypatch.delenv("BMWG_TESTBED", raising=False)
    words = ["plan", "--testbed", str(TESTBED), "--hash", "--test", "CN-TPUT-1.1", "--test", "CN-TPUT-1.2"]
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == planned_sha256(Settings(testbed=TESTBED, order_seed=9), TESTS)
    assert planned_sha256(Settings(testbed=TESTBED), {"CN-TPUT-1.1"}) != planned_sha256(
        Settings(testbed=TESTBED), TESTS
    )
