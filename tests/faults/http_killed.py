"""Runs of HTTP experiments that tests kill: one cell on each form, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.faults import support

SUITES = support.ROOT / "testcases" / "http_proxy"
REPETITIONS = 8  # so many that the runner is killed long before the last
LINES_BEFORE_THE_KILL = 3  # of the last form's cell
TEST_IDS = {
    "native": "HP-USE-1",
    "docker_routed": "HP-USE-2",
    "docker_nat": "HP-USE-3",
    "vm_para": "HP-USE-5",
    "pod_bridge": "HP-POD-1",
}
RUNNER = f"""
    import json, sys
    from robot.run import run_cli
    from bmwg.methodology.kinds.requests import profile
    from bmwg.methodology.kinds.requests.profile import PROFILES, load
    data = json.loads(json.dumps(load("quick").data))
    data["experiments"] = [entry for entry in data["experiments"] if entry["id"] == "resources"]
    data["experiments"][0] |= {{
        "forms": sys.argv[3::2],
        "objects": [{{"octets": 1000, "requests": 200, "slow_requests": 20}}],
    }}
    data |= {{"name": "tiny", "cell_limit_s": 600}}
    data |= dict.fromkeys(("repetitions", "slow_repetitions", "least_repetitions"), {REPETITIONS})
    profile.load = lambda name, forms: PROFILES.of(data)
    named = [word for test_id in sys.argv[4::2] for word in ("--include", f"id:{{test_id}}")]
    run_cli(["--outputdir", sys.argv[1], *named, sys.argv[2]])
"""


def lines_of(run: Path) -> list[bytes]:
    try:
        return (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []


def killed_run(folder: Path, *forms: str, **environment: str) -> Path:
    """A run of one cell on each form, killed when the journal held some repetitions of the last one."""
    forms = forms or ("native",)
    lines = (len(forms) - 1) * (REPETITIONS + 1) + LINES_BEFORE_THE_KILL  # each cell has one that warms up
    run = folder / "results" / "killed"
    with (folder / "runner.log").open("ab") as log:
        runner = subprocess.Popen(
            [
                *(sys.executable, "-c", textwrap.dedent(RUNNER), str(folder), str(SUITES)),
                *(word for form in forms for word in (form, TEST_IDS[form])),
            ],
            cwd=folder,
            env=support.environment(
                BMWG_RESULTS=str(folder / "results"), BMWG_RUN_ID="killed", **environment
            ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    support.wait_for(lambda: len(lines_of(run)) >= lines, "repetitions", deadline_s=120, process=runner)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait(10)
    return run
