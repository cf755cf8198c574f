"""docs/my-cluster.md as its reader takes it: a kubeconfig, a context, and no rights but those of its role."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "my-cluster.md"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# What a run does with somebody's cluster, as far as its pods go.
RUNNER = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.methodology.errors import ToolkitError
run = Path(sys.argv[1])
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
runtime = KubernetesRuntime(run_dir=str(run), undo=ledger, options=json.loads(sys.argv[2]))
spec = PodSpec(pod_id="p-1", cpus="1", memory_octets=64 << 20, forwarding=False, root=False, endpoint=True)
try:
    with runtime.standing({}, cpus="1"), runtime.made(SimpleNamespace(name="somewhere"), spec) as pod:
        print(json.dumps({"record": runtime.describe(), "namespace": runtime.namespace, "said": pod.said()}))
except ToolkitError as error:
    print(json.dumps({"refused": error.error_id, "found": error.found}))
"""


def block(beginning):
    """Return the guide's indented block that begins so, as YAML."""
    lines = GUIDE.read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line == f"    {beginning}")
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("    "))
    return yaml.safe_load("\n".join(line[4:] for line in lines[first:end]))


@pytest.fixture
def user(runtime, tmp_path):
    """Yield a maker of kubeconfigs whose user has a role, and nothing else."""
    api = runtime.api
    service = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bmwg-user"}}
    api.apply("/api/v1/namespaces/default/serviceaccounts/bmwg-user", service)
    answer = api.create(
        "/api/v1/namespaces/default/serviceaccounts/bmwg-user/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    config = yaml.safe_load(Path(runtime._embedded.access.kubeconfig).read_text())
    config["users"] = [{"name": "me", "user": {"token": answer["status"]["token"]}}]
    context = {"cluster": config["clusters"][0]["name"], "user": "me"}
    config |= {"contexts": [{"name": "lab", "context": context}], "current-context": ""}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))

    def having(role):
        api.apply(f"{RBAC}/clusterroles/bmwg", role)
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "bmwg"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bmwg"},
            "subjects": [{"kind": "ServiceAccount", "name": "bmwg-user", "namespace": "default"}],
        }
        api.apply(f"{RBAC}/clusterrolebindings/bmwg", binding)
        return file

    yield having
    api.delete(f"{RBAC}/clusterrolebindings/bmwg")
    api.delete(f"{RBAC}/clusterroles/bmwg")
    api.delete("/api/v1/namespaces/default/serviceaccounts/bmwg-user")


def inside(node, *words):
    """Return a command where the cluster's API can be reached."""
    return ["nsenter", f"--net=/proc/{node.pid}/ns/net", *map(str, words)]


def run(node, folder, options):
    """Do what a run does with the cluster; returns what it told."""
    done = subprocess.run(
        inside(node, sys.executable, "-c", RUNNER, folder, json.dumps(options)),
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
    file = user(block("apiVersion: rbac.authorization.k8s.io/v1"))
    options = {**block("pods:")["pods"]["options"], "kubeconfig": str(file)}
    assert options["context"] == "lab"
    before = namespaces(runtime)
    told = run(node, tmp_path, options)
    assert told["record"]["version"] == runtime.describe()["version"]
    (found,) = told["record"]["nodes"].values()
    assert found["runtime"].startswith("containerd://")
    assert namespaces(runtime) == before
    ledger = (tmp_path / "ledger.jsonl").read_text()
    assert "token" not in ledger


@pytest.mark.parametrize("lacking", ["namespaces", "pods", "pods/log", "network-attachment-definitions"])
def test_what_the_role_lacks_is_named_before_anything_is_made(runtime, node, user, tmp_path, lacking):
    role = block("apiVersion: rbac.authorization.k8s.io/v1")
    role["rules"] = [one for one in role["rules"] if lacking not in one["resources"]]
    file = user(role)
    before = namespaces(runtime)
    told = run(node, tmp_path, {"kubeconfig": str(file), "context": "lab"})
    assert told["refused"] == "KUBE-22"
    assert lacking in told["found"]
    assert namespaces(runtime) == before


def test_a_run_on_it_says_what_it_cannot_measure_there(runtime, node, user, tmp_path):
    file = user(block("apiVersion: rbac.authorization.k8s.io/v1"))
    testbed = yaml.safe_load((ROOT / "testbeds" / "kubernetes.yaml").read_text())
    testbed["pods"] = block("pods:")["pods"]
    testbed["pods"]["options"]["kubeconfig"] = str(file)
    named = tmp_path / "mine.yaml"
    named.write_text(yaml.safe_dump(testbed))
    before = namespaces(runtime)
    program = Path(sys.executable).with_name("bmwg")
    words = [
        program,
        "run",
        ROOT / "testcases" / "containerized",
        "--testbed",
        named,
        "--test",
        "CN-TPUT-1.3",
    ]
    done = subprocess.run(
        inside(node, *words, "--results", tmp_path / "results"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=tmp_path,
    )
    told = json.loads(next((tmp_path / "results").glob("2*/run.json")).read_text())
    assert {one["type"] for one in told["outcomes"]} == {"not_assessed"}, done.stdout[-2000:]
    assert any("KUBE-13" in one["reason"] for one in told["outcomes"])
    assert namespaces(runtime) == before
