"""How long four equal testbeds take for what one takes, and where the time goes. Prints JSON.

The testbeds are simulated ones whose trials last as long as a tester's (`takes_time`), with the waits of the
profile around them: nothing is sent. One plan in one shard, then in as many shards as testbeds. Of each shard
is told how long its trials lasted, how long its program worked before the first and after the last, and how
much CPU time it took; of all what no number of testbeds can take away: the longest shard by its trials, and
the CPU time of all programs on the CPUs that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.unit.fleet import made

from bmwg.reports.fleet.plan import read_fleet


def worked_off(at: Path, shards: int, chosen: list[object]) -> dict[str, Any]:
    """Work one plan off in so many shards on as many testbeds; return what it took."""
    beds = [made.testbed(at, f"bed-{number}", takes_time=True) for number in range(shards)]
    plan, results = at / f"plan-{shards}.json", at / f"results-{shards}"
    made.bmwg("fleet", "plan", *chosen, "--testbed", beds[0], "--shards", shards, "--output", plan, at=at)
    words = [word for bed in beds for word in ("--testbed", bed)]
    before, began_at, began_s = _cpu_s(), time.time(), time.monotonic()
    working = made.command("fleet", "run", plan, *words, "--results", results)
    subprocess.run(
        working, cwd=at, env=made.environment(), stdout=sys.stderr, check=True
    )  # as long as it takes
    took_s, cpu_s = time.monotonic() - began_s, _cpu_s() - before
    made.require_once(plan, results)
    return {
        "took_s": round(took_s, 1),
        "cpu_s": round(cpu_s, 1),
        "longest_by_plan_s": max(one.estimate_s for one in read_fleet(plan).shards),
        "shards": [_shard(results / one["run_id"], one, began_at) for one in made.runs(results)],
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _shard(folder: Path, run: dict[str, Any], began_at: float) -> dict[str, Any]:
    """Return how one shard's time was spent."""
    times = [json.loads(line)["times"] for line in (folder / "trials.jsonl").read_text("ascii").splitlines()]
    trials_s = sum(one["ended_ns"] - one["began_ns"] for one in times) / 1e9
    from_first_s = (times[-1]["ended_ns"] - times[0]["began_ns"]) / 1e9
    ended_s = _at(run["ended_at"]) - began_at
    begun_s = _at(run["started_at"]) - began_at
    return {
        "trials": len(times),
        "trials_s": round(trials_s, 1),
        "between_trials_s": round(from_first_s - trials_s, 1),
        "until_its_run_began_s": round(begun_s, 1),
        "until_it_ended_s": round(ended_s, 1),
    }


def _at(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--testbeds", type=int, default=4)
    options.add_argument("--suite", default="testcases/rfc2544")
    options.add_argument("words", nargs="*", help="further words of `fleet plan`, after --")
    wanted = options.parse_args()
    chosen: list[object] = [made.ROOT / wanted.suite, *wanted.words]
    with tempfile.TemporaryDirectory(prefix="bmwg-fleet-time-") as folder:
        one = worked_off(Path(folder), 1, chosen)
        many = worked_off(Path(folder), wanted.testbeds, chosen)
    cpus = len(os.sched_getaffinity(0))
    longest_s = max(shard["trials_s"] + shard["between_trials_s"] for shard in many["shards"])
    print(
        json.dumps(
            {
                "benchmark": "fleet_time",
                "cpus": cpus,
                "testbeds": wanted.testbeds,
                "ratio": round(many["took_s"] / one["took_s"], 3),
                "ratio_by_plan": round(many["longest_by_plan_s"] / one["longest_by_plan_s"], 3),
                "bounds": {
                    "longest_shard_s": round(longest_s, 1),
                    "cpu_s_on_all_cpus": round(many["cpu_s"] / cpus, 1),
                },
                "one": one,
                "many": many,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
