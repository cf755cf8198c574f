"""Two runners, each with results of its own, and a testbed's Lease in a real cluster between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet import made

from bmwg.cli import exits

pytestmark = [pytest.mark.root, pytest.mark.slow]

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/bmwg-testbed-first"
DURATION_S = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Runners:
    """Programs of shards that reach the cluster's API, as they would on machines of their own."""

    api: Any
    node: Any
    at: Path
    plan: Path

    def begin(self, name: str, shard: int) -> subprocess.Popen[bytes]:
        words = ("fleet", "shard", self.plan, shard, "--testbed", self.at / "first.yaml")
        words += ("--results", self.at / name, "--lease", "default", "--lease-duration", DURATION_S)
        with (self.at / f"{name}.log").open("ab") as said:
            return subprocess.Popen(
                ["nsenter", f"--net=/proc/{self.node.pid}/ns/net", *made.command(*words)],
                cwd=self.at,
                env=made.environment() | {"KUBECONFIG": self.api.access.kubeconfig},
                stdout=said,
                stderr=said,
            )

    def end(self, name: str, shard: int, status: int) -> None:
        program = self.begin(name, shard)
        assert program.wait(made.DEADLINE_S) == status, self.said(name)

    def said(self, name: str) -> str:
        return (self.at / f"{name}.log").read_text("utf-8", errors="replace")

    def run(self, name: str) -> dict[str, Any]:
        return made.runs(self.at / name)[-1]

    def trials(self, name: str) -> int:
        return sum(one.read_bytes().count(b"\n") for one in (self.at / name).glob("*/trials.jsonl"))


@pytest.fixture
def runners(runtime: Any, node: Any, tmp_path: Path) -> Runners:
    bed = made.testbed(tmp_path, "first")
    runtime.api.delete(LEASE)
    return Runners(api=runtime.api, node=node, at=tmp_path, plan=made.plan(tmp_path, bed, shards=2))


def wait_for(what: Callable[[], object], said: Callable[[], str]) -> None:
    ends_s = time.monotonic() + 120
    while not what():
        assert time.monotonic() < ends_s, said()
        time.sleep(0.02)


def test_each_that_has_the_testbed_has_a_number_and_gives_it_back(runners: Runners) -> None:
    for number, name in enumerate(("one", "two")):
        runners.end(name, number + 1, exits.SHARD_COMPLETE)
        assert runners.run(name)["fleet"]["lease"] == number
    assert not runners.api.get(LEASE)["spec"].get("holderIdentity")


def test_a_living_holder_keeps_the_testbed_and_a_dead_one_is_named(runners: Runners) -> None:
    program = runners.begin("one", 1)
    try:
        wait_for(lambda: runners.trials("one"), lambda: runners.said("one"))
        runners.end("two", 2, exits.SHARD_TAKEN)
        assert "LEASE-01" in runners.said("two")
        assert not made.runs(runners.at / "two")
        program.kill()
    finally:
        program.kill()
        program.wait()
    runners.end("two", 2, exits.SHARD_COMPLETE)
    assert "did not renew it: dead, frozen or cut off" in runners.said("two")
    assert runners.run("two")["fleet"]["lease"] == 1
    (events,) = (runners.at / "two").glob("fleet-*/events.jsonl")
    told = [json.loads(line) for line in events.read_text("ascii").splitlines()]
    assert "transition 1; " in next(one["why"] for one in told if one["event"] == "lease")


def test_a_frozen_holder_that_wakes_records_nothing_more_and_says_why(runners: Runners) -> None:
    program = runners.begin("one", 1)
    try:
        wait_for(lambda: runners.trials("one"), lambda: runners.said("one"))
        os.kill(program.pid, signal.SIGSTOP)
        before = runners.trials("one")
        runners.end("two", 2, exits.SHARD_COMPLETE)
        os.kill(program.pid, signal.SIGCONT)
        assert program.wait(made.DEADLINE_S) == exits.SHARD_OPEN, runners.said("one")
    finally:
        program.kill()
        program.wait()
    assert runners.trials("one") == before
    assert "LEASE-02" in runners.said("one")
    assert runners.run("one")["status"] == "interrupted"
    runners.end("one", 1, exits.SHARD_COMPLETE)  # it goes on as the same run, or by another attempt
    assert made.runs(runners.at / "one")[-1]["status"] == "complete"
