"""A cluster that is stopped, or whose runner is killed, leaves nothing; nor do a hundred pods."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.kubernetes.conftest import lacking

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.nodes import process
from bmwg.drivers.ports import interfaces
from bmwg.drivers.undo import ledger as ledgers

# As a run does it: the owner's undo first, then the cluster. It says what stands, and waits to be killed.
RUNNER = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
run, owner, stage = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
ledger.before("owner", owner=owner)
with NamespaceNode("dut1", keep=[run], owner=owner) as node:
    runtime = KubernetesRuntime(run_dir=str(run), undo=ledger, options={"ready_s": 300})
    if stage == "starting":
        print("starting", flush=True)
    with runtime.standing({"dut1": node}, cpus="1"):
        spec = PodSpec(pod_id="p-1", cpus="1", memory_octets=64 << 20, root=False, endpoint=True)
        if stage == "asking":
            print("asking", flush=True)
        with runtime.made(node, spec):
            print("standing", flush=True)
            if stage != "leaving":
                time.sleep(1000)
print("ended", flush=True)
"""


def traces(owner, run):
    """Return what of a run's cluster there is on this machine."""
    cgroups = [
        str(path)
        for root in Path("/sys/fs/cgroup").glob("*")
        if root.is_dir()
        for path in root.glob("bmwg-kubernetes-*")
    ]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(run) in line]
    return {
        "processes": [pid for pid in process.owned_pids(owner) if process.start_ticks(pid)],
        "cgroups": cgroups,
        "mounts": mounts,
        "folders": [str(path) for path in run.glob("cluster")],
    }


@pytest.fixture
def settings_of_the_machine():
    """The machine's own settings, which a kubelet would change, before and after."""
    names = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")
    before = {name: Path("/proc/sys", name).read_text() for name in names}
    links = sorted(os.listdir("/sys/class/net"))
    yield
    assert {name: Path("/proc/sys", name).read_text() for name in names} == before
    assert sorted(os.listdir("/sys/class/net")) == links


@pytest.mark.parametrize("stage", ["starting", "asking", "standing", "leaving"])
def test_a_runner_that_is_killed_or_ends_leaves_nothing(stage, tmp_path, settings_of_the_machine):
    if reason := lacking():
        pytest.skip(reason)
    owner = f"test-{secrets.token_hex(4)}"
    others = traces("nobody", tmp_path)["cgroups"]
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path), owner, stage],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as runner:
        said = []
        for line in runner.stdout:
            said.append(line.strip())
            if said[-1] == stage or (stage == "leaving" and said[-1] == "ended"):
                break
        assert said, "the runner ended before it said anything"
        if stage != "leaving":
            time.sleep(
                {"starting": 3.0, "asking": 0.3}.get(stage, 0.0)
            )  # in the midst of it, wherever that is
            os.kill(runner.pid, signal.SIGKILL)
        runner.wait(60)
    if stage != "leaving":
        failures = ledgers.cleanup(tmp_path, index_dir=tmp_path / "index")
        assert failures == []
        assert ledgers.cleanup(tmp_path, index_dir=tmp_path / "index") == []
    found = traces(owner, tmp_path)
    found["cgroups"] = [one for one in found["cgroups"] if one not in others]
    assert found == {"processes": [], "cgroups": [], "mounts": [], "folders": []}


def test_a_hundred_pods_leave_nothing(runtime, node):
    """Churn, ten at a time as a scale-up and scale-down makes them."""
    layout = runtime.layout("dut1")
    before = {one["name"] for one in node.call(interfaces.listing)} - {"cni0"}
    took_ms = []
    for _ in range(10):
        began = []
        for _ in range(10):
            name = f"p-{secrets.token_hex(4)}"
            body = _body(runtime, name)
            began.append((name, pods.make(runtime.api, body, [])))
        for name, phases in began:
            pods.wait_running(runtime.api, runtime.namespace, name, phases, within_s=240)
            took_ms.append(phases.took_ms()["container_running"])
        for name, _ in began:
            runtime.api.delete(pods.pods_path(runtime.namespace, name), grace_s=0)
        for name, _ in began:
            pods.remove(runtime.api, runtime.namespace, name, [], within_s=120)
    assert len(took_ms) == 100
    assert pods.left(runtime.api, runtime.namespace, runtime._token) == []
    end_s = time.monotonic() + 60  # the kubelet takes a pod's cgroup away after the API has forgotten it
    while time.monotonic() < end_s:
        left = {
            "interfaces": sorted({one["name"] for one in node.call(interfaces.listing)} - before - {"cni0"}),
            "records": sorted(str(path.name) for path in Path(layout.folder, "cni-cache").glob("*")),
            "addresses": [
                path.name for path in Path(layout.folder, "addresses").rglob("10.*") if path.is_file()
            ],
        }
        if not any(left.values()):
            break
        time.sleep(0.5)
    assert left == {"interfaces": [], "records": [], "addresses": []}
    print(json.dumps({"pods": 100, "container_running_ms": sorted(took_ms)[::11]}))


def _body(runtime, name):
    from bmwg.drivers.kubernetes import manifest
    from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE

    spec = PodSpec(pod_id=name, cpus="1", memory_octets=32 << 20, forwarding=False, root=False, endpoint=True)
    body = manifest.pod(spec, namespace=runtime.namespace, owner=runtime._token, image=PAUSE_IMAGE)
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "10m"
    body["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "10m"
    return body
