"""A runner on somebody's cluster, killed right after a call of the API: what it made goes by its ledger."""

import json
import os
import signal
import subprocess
import sys

import pytest

from bmwg.drivers.kubernetes import pods

# By kubeconfig, as on somebody's cluster; after the change that was asked for it does nothing more.
RUNNER = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from bmwg.drivers.hosting.bundle import PodSpec
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.runtime.kubernetes import KubernetesRuntime
run, kubeconfig, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
asked = []
apply = Cluster.apply
def told(self, path, body):
    found = apply(self, path, body)
    asked.append(path)
    if len(asked) == last:
        print(path, flush=True)
        time.sleep(1000)
    return found
Cluster.apply = told
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
runtime = KubernetesRuntime(run_dir=str(run), undo=ledger, options={"kubeconfig": kubeconfig})
spec = PodSpec(pod_id="p-1", cpus="1", memory_octets=64 << 20, forwarding=False, root=False, endpoint=True)
with runtime.standing({}, cpus="1"), runtime.made(SimpleNamespace(name="somewhere"), spec):
    print("all done", flush=True)
"""
CLEANUP = """
import json, sys
from pathlib import Path
from bmwg.drivers import ledger
run = Path(sys.argv[1])
print(json.dumps(ledger.cleanup(run, index_dir=run / "index")))
"""


def inside(node, program, *arguments):
    """Return a command that runs a program where the cluster's API can be reached."""
    return ["nsenter", f"--net=/proc/{node.pid}/ns/net", sys.executable, "-c", program, *map(str, arguments)]


@pytest.mark.parametrize(("last", "made"), [(1, "/namespaces/bmwg-"), (2, "/pods/p-1")])
def test_a_runner_killed_after_a_call_of_the_api_leaves_nothing_on_a_users_cluster(
    runtime, node, tmp_path, last, made
):
    access = runtime._embedded.access
    before = _namespaces(runtime)
    with subprocess.Popen(
        inside(node, RUNNER, tmp_path, access.kubeconfig, last), stdout=subprocess.PIPE, text=True
    ) as runner:
        said = runner.stdout.readline().strip()
        os.kill(runner.pid, signal.SIGKILL)
    assert made in said
    (left,) = _namespaces(runtime) - before
    assert left in said
    done = subprocess.run(
        inside(node, CLEANUP, tmp_path), capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(done.stdout) == []
    assert _namespaces(runtime) == before
    assert runtime.api.get(pods.pods_path(left))["items"] == []


def _namespaces(runtime):
    return {one["metadata"]["name"] for one in runtime.api.get("/api/v1/namespaces")["items"]}
