"""Two runners, each with results of its own, and a testbed's Lease between them: what must hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.fleet import made
from tests.waiting import eventually

from bmwg.cli import exits
from bmwg.drivers.kubernetes.lease import Lease, Leases

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/bmwg-testbed-first"
DURATION_S = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Runners:
    """Programs of shards that reach a cluster's API, as they would on machines of their own.

    `enter` are words before each command, `api` is what this program reaches it by.
    """

    kubeconfig: str
    enter: tuple[str, ...]
    api: Leases
    at: Path
    plan: Path

    def begin(self, name: str, shard: int) -> subprocess.Popen[bytes]:
        words = ("fleet", "shard", self.plan, shard, "--testbed", self.at / "first.yaml")
        words += ("--results", self.at / name, "--lease", "default", "--lease-duration", DURATION_S)
        with (self.at / f"{name}.log").open("ab") as said:
            return subprocess.Popen(
                [*self.enter, *made.command(*words)],
                cwd=self.at,
                env=made.environment() | {"KUBECONFIG": self.kubeconfig},
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


def wait_for(what: Callable[[], object], said: Callable[[], str]) -> None:
    assert eventually(what, 120), said()


def each_has_a_number_and_gives_it_back(runners: Runners) -> None:
    for number, name in enumerate(("one", "two")):
        runners.end(name, number + 1, exits.SHARD_COMPLETE)
        assert runners.run(name)["fleet"]["lease"] == number
    lease = runners.api.get(LEASE)
    assert lease is not None
    assert not lease["spec"].get("holderIdentity")


def the_living_keeps_it(runners: Runners) -> None:
    holder = Lease(
        runners.api, namespace="default", name="bmwg-testbed-first", holder="other", duration_s=DURATION_S
    )
    holder.take()
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(holder.every_s / 4):
            holder.renew()

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        runners.end("one", 1, exits.SHARD_TAKEN)
    finally:
        ended.set()
        renewing.join()
    assert "LEASE-01" in runners.said("one")
    assert "other has it" in runners.said("one")
    assert not made.runs(runners.at / "one")


def the_dead_is_named(runners: Runners) -> None:
    program = runners.begin("one", 1)
    try:
        wait_for(lambda: runners.trials("one"), lambda: runners.said("one"))
    finally:
        program.kill()
        program.wait()
    runners.end("two", 2, exits.SHARD_COMPLETE)
    assert "did not renew it: dead, frozen or cut off" in runners.said("two")
    assert runners.run("two")["fleet"]["lease"] == 1
    (events,) = (runners.at / "two").glob("fleet-*/events.jsonl")
    told = [json.loads(line) for line in events.read_text("ascii").splitlines()]
    assert "transition 1; " in next(one["why"] for one in told if one["event"] == "lease")


def the_frozen_that_wakes_records_nothing_more(runners: Runners) -> None:
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


CHECKS = (
    each_has_a_number_and_gives_it_back,
    the_living_keeps_it,
    the_dead_is_named,
    the_frozen_that_wakes_records_nothing_more,
)
