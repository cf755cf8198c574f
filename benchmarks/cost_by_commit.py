"""CPU seconds of two checkouts, in alternation: recording trials, `bmwg verify` and `bmwg report` of one run.

A trial is recorded before those that count: what happens once a run (reading schemas) is no cost of a trial.
Prints for each the median CPU seconds of both, and the geometric mean of the ratios new to old with its 95 %
interval by Student's t over the pairs' logarithms. Both use this interpreter, so packages are alike. Compiled
modules are kept, as an installation keeps them, but in a folder that ends with the benchmark, whatever
PYTHONDONTWRITEBYTECODE says: neither checkout is written to, and no run compiles all its modules anew. A
checkout that is not installed needs a `bmwg_toolkit-*.dist-info` beside `src/bmwg` with its entry points.
"""

import argparse
import atexit
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import copytree

from bmwg.methodology.answers.student import interval

# Runs in either checkout. Writing to the disk is left out: it is not CPU time, and varies by itself.
RECORD = """
import os, sys, tempfile, time
from pathlib import Path
os.fsync = lambda handle: None
from bmwg.reports.store import RunHeader, RunStore, read_run
run = read_run(Path(sys.argv[1]))
names = "toolkit_version toolkit_commit toolkit_dirty simulated testbed testbed_source profile medium_kind"
names += " line_rate_bps plan"
header = RunHeader(**{name: getattr(run, name) for name in names.split()})
results = [trial.result for trial in run.trials]
with tempfile.TemporaryDirectory() as folder, RunStore.create(Path(folder), "cost", header) as store:
    def record(trial, result):
        store.begin_trial(cell_id=trial.cell_id, phase=trial.phase, spec=trial.spec)
        store.append_trial(cell_id=trial.cell_id, deployment_id=trial.deployment_id, metric=trial.metric,
                           test_id=trial.test_id, phase=trial.phase, result=result, validity=trial.validity,
                           reason=trial.reason)
    record(run.trials[0], results[0])  # compiles the journal's schemas, once a run
    begun = time.process_time()
    for trial, result in zip(run.trials, results):
        record(trial, result)
    print(time.process_time() - begun)
"""


def kept():
    """Return the environment in which Python keeps compiled modules in a folder of ours."""
    folder = tempfile.TemporaryDirectory(prefix="bmwg-compiled-")
    atexit.register(folder.cleanup)
    said = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return said | {"PYTHONPYCACHEPREFIX": folder.name}


ENVIRONMENT = kept()


def started(checkout, *arguments):
    """Run this interpreter in a checkout; return what it printed, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False,
        env={**ENVIRONMENT, "PYTHONPATH": str(checkout / "src")},
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "Traceback" in done.stderr:
        raise SystemExit(done.stderr)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def record(checkout, run):
    """Return the CPU seconds of recording all trials of a run."""
    return float(started(checkout, "-c", RECORD, run)[0])


def verb(name):
    """Return what takes the CPU seconds of a verb of the command."""
    return lambda checkout, run: started(checkout, "-m", "bmwg", name, run)[1]


WHAT = {"record": record, "verify": verb("verify"), "report": verb("report")}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a finished run that both can read")
    parser.add_argument("--old", type=Path, required=True, help="a checkout of the commit before")
    parser.add_argument("--new", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--what", choices=WHAT, action="append")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = copytree(chosen.run, Path(folder) / "run")
        for what in chosen.what or WHAT:
            pairs = []
            for number in range(chosen.pairs + 1):
                sides = [chosen.old, chosen.new] if number % 2 else [chosen.new, chosen.old]
                took = {side: WHAT[what](side, run) for side in sides}
                if number:  # the first pair compiles modules
                    pairs.append((took[chosen.old], took[chosen.new]))
            logs = interval([math.log(new / old) for old, new in pairs])
            print(
                json.dumps(
                    {
                        "what": what,
                        "pairs": len(pairs),
                        "old_s": round(statistics.median(old for old, _ in pairs), 3),
                        "new_s": round(statistics.median(new for _, new in pairs), 3),
                        "ratio": round(math.exp(logs.mean), 3),
                        "ratio_95": [
                            round(math.exp(logs.mean - logs.half_width), 3),
                            round(math.exp(logs.mean + logs.half_width), 3),
                        ],
                    }
                ),
                flush=True,
            )
