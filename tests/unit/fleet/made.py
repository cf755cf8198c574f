"""Makes fleets of simulated testbeds whose trials hardly wait, and runs the command on them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bmwg.reports.fleet.attempts import attempts_in
from bmwg.reports.fleet.plan import Fleet, read_fleet
from bmwg.reports.verify.verify import verify_folder

ROOT = Path(__file__).resolve().parents[3]
TESTS = ("CN-TPUT-1.2", "CN-LAT-1.2", "CN-TPUT-1.3", "CN-LAT-1.3")
DEADLINE_S = 600


def environment() -> dict[str, str]:
    """The environment without settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "bmwg", *map(str, words)]


def bmwg(*words: object, at: Path, status: int | None = 0, **variables: str) -> str:
    """Run the command in a folder; what it says. `status` is what it has to end with."""
    done = subprocess.run(
        command(*words),
        cwd=at,
        env=environment() | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def profile(at: Path, **changes: Any) -> Path:
    """Write a profile of coarse answers that waits 0.02 s after each trial, so that a kill meets a run."""
    told = yaml.safe_load((ROOT / "methodology" / "profiles" / "quick.yaml").read_text("utf-8"))
    told["name"] = "unwaiting"
    told["trial"] |= {"learning_wait_s": 0.0, "drain_s": 0.0, "restabilize_s": 0.02}
    coarse = {"goal_duration_sum_s": 0.5, "goal_width": 0.2}
    told["search"] |= {"state_checks": 0, "goals": [one | coarse for one in told["search"]["goals"]]}
    told["latency"] |= {"streams": 3}
    told["paths"] = [
        one for one in told["paths"] if one["path"] in ("node", "pvp") and one["function"] != "testpmd"
    ]
    told["paths"] = [{**one, "frame_octets": [64]} for one in told["paths"]][:2]
    file = at / "profile.yaml"
    file.write_text(yaml.safe_dump(told | changes, sort_keys=False), encoding="utf-8")
    return file


def testbed(at: Path, name: str, **options: Any) -> Path:
    """Write a simulated testbed of this name whose tester never stalls."""
    told = yaml.safe_load((ROOT / "testbeds" / "simulated.yaml").read_text("utf-8"))
    told["name"] = name
    told["tester"]["options"] = {**told["tester"]["options"], "stall_ratio": 0.0, **options}
    file = at / f"{name}.yaml"
    file.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    return file


def plan(at: Path, bed: Path, *words: object, shards: int = 3, name: str = "fleet.json") -> Path:
    """Plan a fleet of four tests."""
    chosen = [word for test in TESTS for word in ("--test", test)]
    bmwg(
        *("fleet", "plan", "--testbed", bed, "--profile", profile(at), "--shards", shards),
        *(*chosen, *words, "--output", at / name),
        at=at,
    )
    return at / name


@cache
def worked_off(at: Path) -> Path:
    """Have two testbeds work off a fleet of two shards, once for all processes; its plan, beside `res`."""
    at.mkdir(exist_ok=True)
    with (at / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the session may need it too, and waits
        if not (at / "whole").exists():
            first, second = testbed(at, "first"), testbed(at, "second")
            made = plan(at, first, "--calibration", "always", shards=2)
            words = ("fleet", "run", made, "--testbed", first, "--testbed", second, "--results", at / "res")
            assert "2 of 2 shards are complete" in bmwg(*words, at=at)
            (at / "whole").touch()
    return at / "fleet.json"


def header(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "run.json").read_text("ascii"))
    return told


def runs(results: Path) -> list[dict[str, Any]]:
    """Return what the runs of a folder say, the first begun first."""
    return sorted(
        (header(one.parent) for one in results.glob("*/run.json")), key=lambda one: one["started_at"]
    )


def answers_of(fleet: Fleet, results: Path) -> Counter[tuple[str, str]]:
    """Count the answers of each shard's tests over all complete attempts."""
    counted: Counter[tuple[str, str]] = Counter()
    for one in attempts_in(results, fleet).attempts:
        if not one.counts:
            continue
        shard = fleet.shard(one.shard)
        counted.update(
            (told["metric"], told["cell"]["cell_id"])
            for told in header(one.place)["outcomes"]
            if told["id"].partition(":")[0] in shard.tests
        )
    return counted


def require_once(plan: Path, results: Path) -> None:
    """Each shard has one complete attempt; each planned answer stands once; every run verifies."""
    fleet = read_fleet(plan)
    found = attempts_in(results, fleet)
    assert [len(found.complete(one.number)) for one in fleet.shards] == [1] * len(fleet.shards)
    counted = answers_of(fleet, results)
    assert set(counted.values()) == {1}
    assert sum(counted.values()) == fleet.cells
    for one in found.attempts:
        assert not one.wrong
        if one.counts:
            assert verify_folder(one.place).findings == ()


def workers(results: Path) -> list[int]:
    """Return the programs that hold a shard now."""
    found = []
    for lock in results.glob("fleet-*/locks/shard-*.lock"):
        try:
            pid = int(json.loads(lock.read_text("ascii"))["pid"])
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if b"shard" in words and str(results).encode() in words:
            found.append(pid)
    return found
