"""A runner on somebody's cluster that is killed beside a call of the API, and an API that is gone meanwhile.

The cluster is a real one, made for these tests. What a runner made there goes by its ledger, or the ledger
keeps it for the next clean-up. `tox -e kubernetes` runs these with the other tests on a cluster.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.kubernetes.conftest import ledger, node, run_dir, runtime

from bmwg.drivers.kubernetes import pods

__all__ = ["ledger", "node", "run_dir", "runtime"]
pytestmark = pytest.mark.slow

# By kubeconfig, as on somebody's cluster. It stands still before (`b`) or after (`a`) its change of a number.
RUNNER = """
import sys, time
from pathlib import Path
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
run, kubeconfig, where, last = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
asked = []
apply = Cluster.apply
def stand(at, path):
    if (at, len(asked)) == (where, last):
        print(path, flush=True)
        time.sleep(1000)
def told(self, path, body):
    asked.append(path)
    stand("b", path)
    found = apply(self, path, body)
    stand("a", path)
    return found
Cluster.apply = told
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
options = {"kubeconfig": kubeconfig, "image": PAUSE_IMAGE}
runtime = KubernetesRuntime(run_dir=str(run), undo=ledger, options=options)
spec = PodSpec(pod_id="p-1", cpus="1", memory_octets=64 << 20, forwarding=False, root=False, endpoint=True)
with NamespaceNode("dut1") as node, runtime.standing({"dut1": node}, cpus="1"):
    print("asking", flush=True)
    with runtime.made(node, spec):
        print("runs", flush=True)
print("ended", flush=True)
"""
# Its patience is that of a person who looks on; the deadlines of a run are minutes.
CLEANUP = """
import json, sys
from pathlib import Path
from bmwg.drivers.undo import ledger
from bmwg.drivers.kubernetes import client, run_namespace
run_namespace.remove.__kwdefaults__["within_s"] = float(sys.argv[2])
run = Path(sys.argv[1])
print(json.dumps(ledger.cleanup(run, index_dir=run / "index")))
"""


def inside(node, program, *arguments):
    """Return a command that runs a program where the cluster's API can be reached."""
    return ["nsenter", f"--net=/proc/{node.pid}/ns/net", sys.executable, "-c", program, *map(str, arguments)]


def started(node, runtime, run, where="a", last=99):
    """Start a runner on the cluster as on somebody's."""
    kubeconfig = runtime._embedded.access.kubeconfig
    return subprocess.Popen(
        inside(node, RUNNER, run, kubeconfig, where, last), stdout=subprocess.PIPE, text=True
    )


def cleaned(node, run, within_s=60):
    """Clean up after a run; returns what failed."""
    done = subprocess.run(
        inside(node, CLEANUP, run, within_s), capture_output=True, text=True, timeout=180, check=True
    )
    return json.loads(done.stdout)


def server(run_dir):
    """Return the process of the API server of the cluster of this folder."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/kube-apiserver") and str(run_dir).encode() in b" ".join(words):
                return int(folder.name)
    raise AssertionError("no API server runs")


def namespaces(runtime):
    return {one["metadata"]["name"] for one in runtime.api.get("/api/v1/namespaces")["items"]}


@pytest.mark.parametrize(
    ("where", "last", "asked", "stands"),
    [
        ("b", 1, "/namespaces/bmwg-", False),  # the ledger has it, the cluster does not
        ("a", 1, "/namespaces/bmwg-", True),  # the cluster has made it, the runner never knew
        ("b", 2, "/pods/p-1", True),
        ("a", 2, "/pods/p-1", True),
    ],
)
def test_a_runner_killed_beside_a_call_leaves_nothing(runtime, node, tmp_path, where, last, asked, stands):
    before = namespaces(runtime)
    with started(node, runtime, tmp_path, where, last) as runner:
        said = next(line for line in runner.stdout if line.startswith("/"))
        os.kill(runner.pid, signal.SIGKILL)
    assert asked in said
    left = namespaces(runtime) - before
    assert len(left) == stands
    assert cleaned(node, tmp_path) == []
    assert namespaces(runtime) == before
    assert all(runtime.api.get(pods.pods_path(one))["items"] == [] for one in left)
    assert cleaned(node, tmp_path) == []


def test_what_cannot_be_removed_stays_in_the_ledger_for_the_next_clean_up(runtime, node, run_dir, tmp_path):
    before = namespaces(runtime)
    with started(node, runtime, tmp_path, "a", 2) as runner:
        next(line for line in runner.stdout if line.startswith("/"))
        os.kill(runner.pid, signal.SIGKILL)
    (left,) = namespaces(runtime) - before
    gone = server(run_dir)
    os.kill(gone, signal.SIGSTOP)  # it holds its port and answers nobody
    try:
        (failure,) = cleaned(node, tmp_path, within_s=2)
    finally:
        os.kill(gone, signal.SIGCONT)
    assert "KUBE-21" in failure
    assert left in namespaces(runtime)
    assert cleaned(node, tmp_path) == []
    assert namespaces(runtime) == before


@pytest.mark.parametrize("word", ["asking", "runs"])
def test_a_run_goes_on_past_an_api_server_that_dies(runtime, node, run_dir, tmp_path, word):
    before = namespaces(runtime)
    with started(node, runtime, tmp_path) as runner:
        said = []
        for line in runner.stdout:
            said.append(line.strip())
            if said[-1] == word:
                dead = server(run_dir)
                os.kill(dead, signal.SIGKILL)
    assert said == ["asking", "runs", "ended"]
    assert runner.returncode == 0
    assert _again(run_dir) != dead
    assert namespaces(runtime) == before
    assert cleaned(node, tmp_path) == []


def _again(run_dir):
    end_s = time.monotonic() + 30
    while time.monotonic() < end_s:
        with contextlib.suppress(AssertionError):
            return server(run_dir)
        time.sleep(0.1)
    return server(run_dir)
