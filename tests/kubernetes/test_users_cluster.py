"""docs/my-cluster.md as its reader takes it: a kubeconfig, a context, and no rights but those of its role."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from tests.kubernetes import users_rights
from tests.kubernetes.users_rights import ROLE, block

from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("bmwg")
# What a run does with somebody's cluster, as far as its pods go; DOES is what it does with one that stands.
RUNNER = """
import json, sys
from pathlib import Path
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.methodology.errors import ToolkitError
run = Path(sys.argv[1])
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
runtime = KubernetesRuntime(run_dir=str(run), undo=ledger, options=json.loads(sys.argv[2]))
spec = PodSpec(pod_id="p-1", cpus="1", memory_octets=64 << 20, forwarding=False, root=False, endpoint=True)
try:
    with NamespaceNode("dut1") as node, runtime.standing({"dut1": node}, cpus="1"):
        with runtime.made(node, spec) as pod:
            DOES
except ToolkitError as error:
    print(json.dumps({"refused": error.error_id, "found": error.found}))
"""


@pytest.fixture
def user(runtime, tmp_path):
    """Yield a maker of kubeconfigs whose user has a role, and nothing else."""
    api = runtime.api
    file = users_rights.kubeconfig(api, runtime._embedded.access.kubeconfig, tmp_path / "kubeconfig")

    def having(role):
        users_rights.grant(api, role)
        return file

    yield having
    users_rights.remove(api)


def inside(node, *words):
    """Return a command where the cluster's API can be reached."""
    return ["nsenter", f"--net=/proc/{node.pid}/ns/net", *map(str, words)]


DESCRIBES = 'print(json.dumps({"record": runtime.describe(), "pod": pod.describe(), "said": pod.said()}))'
RESTARTS = """
            from bmwg.drivers.nodes import cpu_placement
            from bmwg.drivers.ports import interfaces, routing
            pod.inside(routing.add_bridge, bridge="net0")  # as what the run attaches to the pod's network
            def seen():
                links = {one["name"]: one["up"] for one in pod.inside(interfaces.listing)}
                threads = pod.node.call(cpu_placement.threads, cgroup=pod.describe()["cgroup"])
                cpus = sorted({cpu for one in threads for cpu in one["cpus"]})
                container = pods.container_id(pod._found)
                return {"pid": pod.pid, "container": container, "links": links, "cpus": cpus}
            before = seen()
            told = pod.restart()
            print(json.dumps({"told": told, "before": before, "after": seen(), "fault": pod.fault()}))
"""


def run(node, folder, options, does=DESCRIBES):
    """Do what a run does with the cluster; returns what it told."""
    done = subprocess.run(
        inside(node, sys.executable, "-c", RUNNER.replace("DOES", does.strip()), folder, json.dumps(options)),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def namespaces(runtime):
    return {one["metadata"]["name"] for one in runtime.api.get("/api/v1/namespaces")["items"]}


def test_the_role_of_the_guide_is_enough(runtime, node, user, tmp_path):
    file = user(block(ROLE))
    options = {**block("pods:")["pods"]["options"], "kubeconfig": str(file), "image": PAUSE_IMAGE}
    assert options["context"] == "lab"
    before = namespaces(runtime)
    told = run(node, tmp_path, options)
    assert "record" in told, told
    assert told["record"]["version"] == runtime.describe()["version"]
    (found,) = told["record"]["nodes"].values()
    assert found["runtime"].startswith("containerd://")
    assert "bmwg-user" not in json.dumps(told["record"])
    assert told["record"]["feature_gates"]["reason"] == "KUBE-22 403 Forbidden"
    assert told["record"]["pods_on"] == {"dut1": "node0"}
    assert told["pod"]["own_network"]["interfaces"] == ["eth0"]
    assert namespaces(runtime) == before
    ledger = (tmp_path / "ledger.jsonl").read_text()
    assert "token" not in ledger


def test_a_restarted_container_has_the_pods_network_as_the_run_left_it_and_its_cpus(
    runtime, node, user, tmp_path
):
    file = user(block(ROLE))
    options = {"kubeconfig": str(file), "context": "lab", "image": PAUSE_IMAGE}
    told = run(node, tmp_path, options, RESTARTS)
    before, after = told["before"], told["after"]
    assert before["container"] != after["container"]
    assert before["pid"] != after["pid"]
    assert told["told"]["began_ns"] < told["told"]["ended_ns"]
    assert after["links"] == before["links"]
    assert (after["links"]["eth0"], after["links"]["net0"]) == (False, True)
    assert after["cpus"] == before["cpus"] == [1]
    assert told["fault"] is None


@pytest.mark.parametrize("lacking", ["namespaces", "pods", "pods/log", "nodes"])
def test_what_the_role_lacks_is_named_before_anything_is_made(runtime, node, user, tmp_path, lacking):
    role = block(ROLE)
    role["rules"] = [one for one in role["rules"] if lacking not in one["resources"]]
    file = user(role)
    before = namespaces(runtime)
    told = run(node, tmp_path, {"kubeconfig": str(file), "context": "lab", "image": PAUSE_IMAGE})
    assert told["refused"] == "KUBE-22"
    assert lacking in told["found"]
    assert namespaces(runtime) == before


def command_of(node, folder, file, *words, **options):
    """Return the command that runs a suite with pods of the cluster between the tester's ports."""
    testbed = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())
    testbed["pods"] |= block("pods:")["pods"]
    testbed["pods"]["options"] |= {"kubeconfig": str(file), "image": PAUSE_IMAGE, **options}
    named = folder / "mine.yaml"
    named.write_text(yaml.safe_dump(testbed))
    command = [PROGRAM, "run", ROOT / "testcases" / "containerized", "--testbed", named, *words]
    return inside(node, *command, "--results", folder / "results")


def done(words, folder):
    """Run a command to its end; return its status and what it said last."""
    ended = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False, cwd=folder)
    return ended.returncode, ended.stdout[-3000:] + ended.stderr[-1000:]


def measured(node, folder, file, *words, **options):
    """Run a suite so; return the run's folder and what was said last."""
    _, said = done(command_of(node, folder, file, *words, **options), folder)
    (made,) = (folder / "results").glob("2*")
    return made, said


def answers(made):
    return json.loads((made / "run.json").read_text())["outcomes"]


def searched(made):
    """Return the types of the answers that a search gives; a latency needs its number first."""
    return {one["type"] for one in answers(made) if not one["metric"].startswith("latency")}


@pytest.mark.parametrize("network", ["bridge", "ptp", "host-device", "macvlan"])
def test_frames_pass_a_pod_of_the_users_cluster(runtime, node, user, tmp_path, network):
    file = user(block(ROLE))
    before = namespaces(runtime)
    made, said = measured(node, tmp_path, file, "--network", network, "--path", "pvp", "--frame-size", "64")
    assert searched(made), said
    assert not {"invalid", "not_assessed"} & searched(made), said
    status, said = done([PROGRAM, "verify", made], tmp_path)
    assert status == 0, said
    assert namespaces(runtime) == before
    assert "token" not in (made / "ledger.jsonl").read_text()


def test_a_killed_run_leaves_nothing_and_goes_on(runtime, node, user, tmp_path):
    file = user(block(ROLE))
    before = namespaces(runtime)
    words = command_of(node, tmp_path, file, "--network", "bridge", "--path", "pvp", "--frame-size", "64")
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path, start_new_session=True
    ) as running:
        end_s = time.monotonic() + 120
        while not (trials := [*(tmp_path / "results").glob("2*/trials.jsonl")]) or _lines(trials[0]) < 40:
            assert time.monotonic() < end_s
            assert running.poll() is None
            time.sleep(0.1)
        os.kill(running.pid, signal.SIGKILL)
    (made,) = (tmp_path / "results").glob("2*")
    (left,) = namespaces(runtime) - before
    assert runtime.api.get(f"/api/v1/namespaces/{left}/pods")["items"]
    assert done(inside(node, PROGRAM, "cleanup", made), tmp_path)[0] == 0
    assert namespaces(runtime) == before
    _, said = done(inside(node, PROGRAM, "resume", made), tmp_path)
    assert not {"invalid", "not_assessed"} & searched(made), said
    assert namespaces(runtime) == before


def _lines(file):
    return file.read_text().count("\n")


def test_what_is_no_machine_of_the_cluster_is_said_so(runtime, node, user, tmp_path):
    file = user(block(ROLE))
    made, said = measured(
        node, tmp_path, file, "--network", "bridge", "--path", "pvp", node_selector={"kind": "none"}
    )
    told = answers(made)
    assert {one["type"] for one in told} == {"not_assessed"}, said
    assert all("KUBE-13" in one["reason"] for one in told)
