"""A benchmark that a time limit ends leaves no namespace."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyroute2 import netns

pytestmark = pytest.mark.root

SCRIPT = """
import time
import tester_bed as bed
with bed.direct("af_xdp"):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_sigterm_takes_the_namespaces_along():
    benchmarks = Path(__file__).resolve().parents[3] / "benchmarks"
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=benchmarks, stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout.readline() == "ready\n"
        mine = f"bt{running.pid}x"
        assert any(name.startswith(mine) for name in netns.listnetns())
        running.terminate()
        assert running.wait(20) == 143
    finally:
        running.kill()
        running.wait(10)
        running.stdout.close()
    assert not any(name.startswith(mine) for name in netns.listnetns())
