"""Memory of a whole run over half an hour: the runner, the tester and the agents, sampled from outside.

`bmwg run` of the default suite, by the quick profile with trials of seconds and without a limit on stalls, so
that a busy machine lengthens nothing: memory is measured here, not throughput. Ended in order by SIGINT
when the time is up. Prints JSON: MiB by role and the proportional share of all together, at the beginning
(the first tenth), in the middle and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from memory import resident_mib
from spread import spread

from bmwg.methodology import profiles

BETWEEN_S = 5.0
END_S = 300.0


def long_profile(folder: Path, trial_s: float) -> Path:
    """Write the quick profile with long trials that no stall sets aside."""
    content = yaml.safe_load((Path(profiles.__file__).parent / "quick.yaml").read_text())
    unlimited = {"max_stall_ns": 10**9, "max_host_stall_ns": 10**9, "max_steal_ns": 10**10}
    content["trial"] |= unlimited | {"duration_s": trial_s}
    path = folder / "long.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=1800.0)
    options.add_argument(
        "--trial-s", type=float, default=5.0, help="length of a trial, so that the run lasts"
    )
    wanted = options.parse_args()
    samples: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "bmwg", "run", "--results", str(folder / "results")]
        command += ["--profile", str(long_profile(folder, wanted.trial_s))]
        with (folder / "log").open("wb") as log:
            runner = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        began_s = time.monotonic()
        try:
            while runner.poll() is None and time.monotonic() - began_s < wanted.seconds:
                time.sleep(BETWEEN_S)
                samples.append({"at_s": round(time.monotonic() - began_s)} | resident_mib(runner.pid))
                if len(samples) % 12 == 0:
                    print(json.dumps(samples[-1]), file=sys.stderr, flush=True)
            lasted_s = time.monotonic() - began_s
            if runner.poll() is None:
                os.kill(runner.pid, signal.SIGINT)
        finally:
            try:
                status = runner.wait(END_S)
            except subprocess.TimeoutExpired:
                runner.kill()
                status = runner.wait(END_S)
        trials = sum(path.read_bytes().count(b"\n") for path in (folder / "results").glob("*/trials.jsonl"))
        last_words = (folder / "log").read_text(errors="replace").splitlines()[-3:]
    # the last sample may fall into the unwinding of a run that ended by itself
    samples = samples[:-1] if len(samples) > 1 else samples
    tenth = max(1, len(samples) // 10)
    middle = len(samples) // 2
    parts = {
        "first tenth": samples[:tenth],
        "middle": samples[middle : middle + tenth],
        "last tenth": samples[-tenth:],
    }
    print(
        json.dumps(
            {
                "run_s": round(lasted_s),
                "exit_status": status,
                "journal_lines": trials,
                "samples": len(samples),
                "highest_pss_mib": max((sample["pss of all"] for sample in samples), default=None),
                "pss_of_all_mib": spread([sample["pss of all"] for sample in samples]),
                "median_mib": {
                    part: {
                        role: round(statistics.median(sample.get(role, 0.0) for sample in chosen), 1)
                        for role in ("runner", "tester", "agents", "pss of all")
                    }
                    for part, chosen in parts.items()
                },
                "last_words": last_words,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
