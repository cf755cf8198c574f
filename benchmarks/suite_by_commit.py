"""Tests of two checkouts on real frames, in alternation: what a run costs beside the frames that it sends.

How many trials an answer needs follows from what the machine did meanwhile, so whole runs differ by more than
their code. What is compared is what a run takes beside sending: from the record of one trial to that of the
next (the median of a run), and for everything that is no trial. Whole runs are told beside it.

Prints a line for each run and, for each ratio new to old, the geometric mean with its 95 % interval by
Student's t over the pairs' logarithms. Let nothing else work on the machine.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

from bmwg.methodology.answers.student import interval

TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-LAT-1.1", "CN-LAT-1.2")  # the wire, and the node that forwards
COMPARED = ("trial_s", "between_s", "rest_s", "per_trial_s")


def measured(checkout, testbed, tests, results):
    """Run tests of a checkout; return what the run took, seconds."""
    named = [word for test in tests for word in ("--include", f"id:{test}")]
    command = [
        checkout / ".venv/bin/robot",
        "-d",
        results / "robot",
        *named,
        checkout / "testcases/containerized",
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("BMWG")}
    environment |= {"BMWG_TESTBED": str(testbed), "BMWG_RESULTS": str(results)}
    began_s = time.monotonic()
    done = subprocess.run(command, cwd=checkout, env=environment, check=False, capture_output=True, text=True)
    wall_s = time.monotonic() - began_s
    journals = list(results.glob("*/trials.jsonl"))
    if done.returncode > len(tests) or len(journals) != 1:  # robot's code is how many tests failed
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return {**costs(journals[0], wall_s), "failed": done.returncode}


def costs(journal, wall_s):
    """Return what the trials of a journal took of a run: sending, between them, and all that is neither."""
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    stamps = [datetime.fromisoformat(line["at"].replace("Z", "+00:00")).timestamp() for line in lines]
    sent_s = [line["spec"]["duration_s"] for line in lines]
    whole = [after - before for before, after in itertools.pairwise(stamps)]
    between = [took - sent for took, sent in zip(whole, sent_s[1:], strict=True)]
    return {
        "wall_s": round(wall_s, 1),
        "trials": len(lines),
        "trial_s": round(statistics.median(whole), 4),
        "between_s": round(statistics.median(between), 4),
        "rest_s": round(wall_s - sum(sent_s) - len(between) * statistics.median(between), 1),
        "per_trial_s": round(wall_s / len(lines), 4),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="a checkout of the commit before, installed")
    parser.add_argument("--new", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument(
        "--old-testbed", type=Path, required=True, help="of the same port kind as the other one"
    )
    parser.add_argument("--new-testbed", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--test", action="append", help=f"by its id; {', '.join(TESTS)} where none is named")
    chosen = parser.parse_args()
    sides = {"old": (chosen.old, chosen.old_testbed), "new": (chosen.new, chosen.new_testbed)}
    pairs = []
    for number in range(chosen.pairs):
        found = {}
        for name in ("new", "old") if number % 2 else ("old", "new"):
            with tempfile.TemporaryDirectory() as folder:
                found[name] = measured(*sides[name], chosen.test or TESTS, Path(folder))
            print(json.dumps({"pair": number + 1, "side": name, **found[name]}), flush=True)
        pairs.append(found)
    for what in COMPARED:
        logs = interval([math.log(pair["new"][what] / pair["old"][what]) for pair in pairs])
        limits = [round(math.exp(logs.mean + sign * logs.half_width), 3) for sign in (-1, 1)]
        print(json.dumps({"what": what, "ratio": round(math.exp(logs.mean), 3), "ratio_95": limits}))
