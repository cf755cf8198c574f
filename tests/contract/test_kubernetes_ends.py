"""Removals, pods at once and policies against what an API server may answer: steps, and named failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.contract.kubernetes_support import Answers, api_server, kubeconfig, status

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.batch import Batch
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.policies import Policies, deny
from bmwg.methodology.errors import DriverError, TestbedError

pytest.importorskip(
    "kubernetes", reason="needs the Kubernetes client: pip install 'bmwg-toolkit[kubernetes]'"
)

PODS = "/api/v1/namespaces/n/pods"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies"
GONE = (200, {"kind": "Status", "status": "Success"}, {})


@pytest.fixture
def answers():
    return Answers()


@pytest.fixture
def cluster(answers, tmp_path):
    with (
        api_server(answers) as url,
        Cluster(Access(kubeconfig=kubeconfig(tmp_path, url)), within_s=3.0) as opened,
    ):
        yield opened


def pod(name="p", **state):
    containers = [{"state": state}] if state else [{"state": {"running": {}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "7"},
        "spec": {"nodeName": "w"},
        "status": {"phase": "Running", "conditions": [], "containerStatuses": containers},
    }


def listed(*found):
    return (200, {"kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": list(found)}, {})


def event(kind, found):
    return {"type": kind, "object": found}


def test_a_removal_tells_when_it_was_accepted_the_container_ended_and_the_pod_was_gone(answers, cluster):
    answers.on("DELETE", f"{PODS}/p", GONE)
    answers.on("GET", PODS, listed(pod()))
    ended = pod(terminated={"exitCode": 0})
    answers.on("GET", PODS + "?watch", (200, [event("MODIFIED", ended), event("DELETED", ended)], {}))
    found = pods.remove(cluster, "n", "p", [], within_s=3.0)
    assert list(found.steps_ns()) == ["delete_accepted", "container_ended", "pod_gone"]
    assert sorted(found.steps_ns().values()) == list(found.steps_ns().values())
    assert found.asked_ns < found.accepted_ns


def test_a_pod_that_is_gone_before_anybody_looks_is_gone_at_once(answers, cluster):
    answers.on("DELETE", f"{PODS}/p", GONE)
    answers.on("GET", PODS, listed())
    found = pods.remove(cluster, "n", "p", [], within_s=3.0)
    assert list(found.steps_ns()) == ["delete_accepted", "pod_gone"]


def test_a_removal_whose_watch_is_too_old_looks_again(answers, cluster):
    answers.on("DELETE", f"{PODS}/p", GONE)
    answers.on("GET", PODS, listed(pod()), listed())
    answers.on("GET", PODS + "?watch", (410, status(410, "Expired", "too old"), {}))
    assert "pod_gone" in pods.remove(cluster, "n", "p", [], within_s=3.0).steps_ns()


def test_a_pod_that_stays_is_named_within_the_deadline(answers, cluster):
    answers.on("DELETE", f"{PODS}/p", GONE)
    answers.on("GET", PODS, listed(pod()))
    answers.on("GET", f"{PODS}/p", (200, pod(), {}))
    answers.on("GET", PODS + "?watch", (200, [], {}))
    with pytest.raises(DriverError, match="KUBE-41"):
        pods.remove(cluster, "n", "p", [], within_s=1.0)


@pytest.fixture
def batch(cluster):
    bodies = [{"metadata": {"name": name}} for name in ("a", "b")]
    return Batch(cluster, SimpleNamespace(), "n", "x", bodies, "/nowhere")


def test_pods_at_once_are_asked_for_by_their_own_requests_and_seen_by_one_watch(answers, batch):
    for name in ("a", "b"):
        answers.on("PATCH", f"{PODS}/{name}", (201, pod(name), {}))
    batch.ask(lambda at: 1000 + at)
    assert [one.asked_ns for one in batch.phases.values()] == [1000, 1001]
    waiting = pod("b", waiting={"reason": "ContainerCreating"})
    answers.on("GET", PODS, listed(pod("a"), waiting))
    answers.on("GET", PODS + "?watch", (200, [event("MODIFIED", pod("b"))], {}))
    batch.wait_running(within_s=3.0)
    assert all(one.running_ns is not None for one in batch.phases.values())
    assert batch.uids == {"a": "u-a", "b": "u-b"}


def test_a_quota_that_stops_one_of_them_is_named_and_those_that_were_made_are_removed(answers, batch):
    answers.on("PATCH", f"{PODS}/a", (201, pod("a"), {}))
    message = "pods b is forbidden: exceeded quota: few, requested: pods=1"
    answers.on("PATCH", f"{PODS}/b", (403, status(403, "Forbidden", message), {}))
    with pytest.raises(TestbedError, match="KUBE-23"):
        batch.ask(lambda at: at)
    answers.on("DELETE", f"{PODS}/a", GONE)
    answers.on("GET", PODS, listed())
    batch.remove(within_s=3.0)
    assert {one[1] for one in answers.asked if one[0] == "DELETE"} == {f"{PODS}/a", f"{PODS}/b"}


def test_one_of_them_that_can_never_run_is_named_at_once(answers, batch):
    answers.on("GET", PODS, listed(pod("a"), pod("b", waiting={"reason": "ImagePullBackOff"})))
    with pytest.raises(TestbedError, match="KUBE-40"):
        batch.wait_running(within_s=30.0)


def test_what_is_gone_is_not_deleted_again_and_keeps_its_times(answers, batch):
    for name in ("a", "b"):
        answers.on("DELETE", f"{PODS}/{name}", GONE)
    answers.on("GET", PODS, listed())
    batch.remove(within_s=3.0)
    before = [one.steps_ns() for one in batch.ends.values()]
    batch.remove(within_s=3.0)
    assert [one.steps_ns() for one in batch.ends.values()] == before
    assert sum(one[0] == "DELETE" for one in answers.asked) == 2


class Node(Calls):
    """A node whose agent says this of its rules."""

    name = "dut1"

    def __init__(self, **told):
        self.told = {"ends": [], "policies": {}, "gone": {}, "refused": "", "said": "", **told}

    def call_named(self, function, arguments, *, deadline_s=None):
        return self.told


def policies(cluster, node, folder="/agent"):
    return Policies(cluster, node, namespace="n", owner="o", folder=folder)


def test_a_policy_is_in_force_when_the_agent_holds_its_very_version(answers, cluster, monkeypatch):
    monkeypatch.setattr("bmwg.drivers.kubernetes.policies._IN_FORCE_S", 0.3)
    answers.on("PATCH", f"{POLICIES}/deny", (201, {"metadata": {"resourceVersion": "9"}}, {}))
    node = Node(policies={"deny": ["9", 100, 200]}, gone={"deny": [300, 400]})
    made = policies(cluster, node)
    assert made.apply("deny", deny("1")) == "9"
    assert made.moments("deny", "9") == {"agent_saw": 100, "rules_written": 200}
    assert made.moments("deny") == {"agent_saw": 300, "rules_written": 400}
    with pytest.raises(DriverError, match="KUBE-43"):
        made.moments("deny", "10")  # a former one of that name is not it


def test_what_the_agent_refuses_is_said_at_once(cluster):
    with pytest.raises(DriverError, match="KUBE-43") as told:
        policies(cluster, Node(refused="ValueError: policy x: tier")).moments("x", "1")
    assert "tier" in str(told.value.found)


def test_an_option_that_enforces_by_itself_has_no_agent_to_ask(cluster):
    assert policies(cluster, Node(refused="never asked"), folder="").moments("x", "1") == {}
