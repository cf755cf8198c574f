"""Kills at random moments while a fleet is worked off and copied: what is lost, twice or broken. Prints JSON.

Each round works a new fleet of simulated testbeds off and copies it to a folder all the while. A program of
a shard, `fleet run` itself or the copying is killed at random moments; then the same lines are given again
until all shards are complete, and everything is counted. It sends nothing, and is no measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.unit.fleet import made

from bmwg.reports.fleet.attempts import attempts_in
from bmwg.reports.fleet.plan import Fleet, read_fleet
from bmwg.reports.verify.verify import verify_bundle, verify_folder

BEDS = ("first", "second")
SHORTEST_S, LONGEST_S = 0.5, 6.0  # between two kills: a program takes 3 s until its first trial
SHARES = {"shard": 0.6, "runner": 0.2, "copy": 0.2}  # of the kills


class Programs:
    """`fleet run` and `fleet copy` of one round, begun again whenever they have ended."""

    def __init__(self, at: Path, plan: Path) -> None:
        self.at, self.plan, self.results, self.store = at, plan, at / "res", at / "store"
        beds = [word for name in BEDS for word in ("--testbed", at / f"{name}.yaml")]
        self._words = {
            "runner": ("fleet", "run", plan, *beds, "--results", self.results, "--tries", 1000),
            "copy": ("fleet", "copy", plan, self.results, self.store),
        }
        self._programs: dict[str, subprocess.Popen[bytes]] = {}

    def keep(self) -> bool:
        """Begin what has ended; whether the fleet was complete when `fleet run` ended."""
        complete = False
        for name, words in self._words.items():
            program = self._programs.get(name)
            if program is None or program.poll() is not None:
                complete = complete or (name == "runner" and program is not None and program.returncode == 0)
                self._programs[name] = subprocess.Popen(
                    made.command(*words),
                    cwd=self.at,
                    env=made.environment(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        return complete

    def kill(self, luck: random.Random) -> str:
        """Kill one of what works now; what it was."""
        whom = luck.choices(list(SHARES), list(SHARES.values()))[0]
        while whom == "shard" and not (shards := made.workers(self.results)):
            if self._programs["runner"].poll() is not None:
                return ""  # complete meanwhile
            time.sleep(0.1)
        with suppress(ProcessLookupError):
            os.kill(luck.choice(shards) if whom == "shard" else self._programs[whom].pid, signal.SIGKILL)
        if whom != "shard":
            self._programs[whom].wait()
        return whom

    def end(self) -> None:
        """Have all that goes on complete its work, and nothing begin."""
        for program in self._programs.values():
            program.kill()
            program.wait()
        for words in self._words.values():
            made.bmwg(*words, at=self.at)

    def stop(self) -> None:
        """End everything, whatever it does."""
        pids = [*made.workers(self.results), *(one.pid for one in self._programs.values())]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for program in self._programs.values():
            program.wait()


def at_once(results: Path) -> int:
    """Count programs beyond the first that work on one testbed at this moment."""
    beds = Counter(word for pid in made.workers(results) for word in _words(pid) if word.endswith(b".yaml"))
    return sum(number - 1 for number in beds.values())


def _words(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def counted(fleet: Fleet, programs: Programs) -> Counter[str]:
    """Count what a round has come to."""
    found = attempts_in(programs.results, fleet)
    answers = made.answers_of(fleet, programs.results)
    told = Counter(
        shards=len(fleet.shards),
        shards_complete=sum(bool(found.complete(one.number)) for one in fleet.shards),
        shards_complete_twice=sum(len(found.complete(one.number)) > 1 for one in fleet.shards),
        cells=fleet.cells,
        cells_lost=fleet.cells - len(answers),
        cells_twice=sum(number > 1 for number in answers.values()),
        runs=len(found.attempts),
        runs_gone_on=sum("interruptions" in made.header(one.place) for one in found.attempts),
        runs_given_up=sum(not one.counts for one in found.attempts),
        runs_that_do_not_verify=sum(
            bool(verify_folder(one.place).findings) for one in found.attempts if one.counts
        ),
    )
    bundles = list(programs.store.rglob("*.bmwg.tar"))
    told["bundles"] = len(bundles)
    told["bundles_that_do_not_verify"] = sum(bool(verify_bundle(one).findings) for one in bundles)
    return told


def worked_off(at: Path, kills: int, luck: random.Random) -> tuple[Counter[str], Counter[str]]:
    """Work one fleet off with so many kills; what was killed, and what it came to."""
    first, _ = (made.testbed(at, name) for name in BEDS)
    plan = made.plan(at, first)
    fleet, programs = read_fleet(plan), Programs(at, plan)
    killed: Counter[str] = Counter()
    twice = 0
    try:
        while killed.total() < kills:
            if programs.keep():  # complete too soon: one shard is to be answered anew
                shutil.rmtree(luck.choice(attempts_in(programs.results, fleet).attempts).place)
            time.sleep(luck.uniform(SHORTEST_S, LONGEST_S))
            twice = max(twice, at_once(programs.results))
            if whom := programs.kill(luck):
                killed[whom] += 1
        programs.end()
    finally:
        programs.stop()
    told = counted(fleet, programs)
    told["programs_beyond_one_on_a_testbed"] = twice
    return killed, told


def main() -> None:
    """Kill and count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--a-round", type=int, default=10)
    options.add_argument("--seed", type=int, default=7)
    wanted = options.parse_args()
    luck = random.Random(wanted.seed)
    killed: Counter[str] = Counter()
    told: Counter[str] = Counter()
    rounds, began_s = 0, time.monotonic()
    while killed.total() < wanted.kills:
        with tempfile.TemporaryDirectory(prefix="bmwg-fleet-kills-") as folder:
            one = worked_off(Path(folder), min(wanted.a_round, wanted.kills - killed.total()), luck)
        killed, told, rounds = killed + one[0], told + one[1], rounds + 1
        print(json.dumps({"round": rounds, **one[0], **one[1]}), file=sys.stderr, flush=True)
    print(
        json.dumps(
            {
                "benchmark": "fleet_kills",
                "seed": wanted.seed,
                "rounds": rounds,
                "killed": dict(killed),
                **{name: told[name] for name in one[1]},
                "took_s": round(time.monotonic() - began_s),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
