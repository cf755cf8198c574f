"""Pods of one program against what an API server may answer: how many are ready, and named failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.contract.kubernetes_support import Answers, api_server, kubeconfig, status

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Limits
from bmwg.drivers.kubernetes import replicas
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.replicas import Where
from bmwg.drivers.workload import squid
from bmwg.methodology.errors import DriverError, TestbedError

pytest.importorskip(
    "kubernetes", reason="needs the Kubernetes client: pip install 'bmwg-toolkit[kubernetes]'"
)

PODS = "/api/v1/namespaces/n/pods"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices"
GONE = (200, {"kind": "Status", "status": "Success"}, {})
NAMES = ("a", "b")


class Node(Calls):
    """A node whose rules send to these addresses."""

    def __init__(self):
        self.reached = ["198.18.22.2", "198.18.22.3"]

    def call_named(self, function, arguments, *, deadline_s=None):
        if function.endswith("service_rules:reached"):
            assert arguments == {"cluster_ip": "198.18.23.9", "port": squid.PORT_NUMBER}
            return self.reached
        return None


@pytest.fixture
def answers():
    told = Answers()
    for path in ("configmaps/g", "services/g"):
        made = {"spec": {"clusterIP": "198.18.23.9"}}
        told.on("PATCH", f"/api/v1/namespaces/n/{path}", (201, made, {}))
        told.on("DELETE", f"/api/v1/namespaces/n/{path}", GONE)
    for name in NAMES:
        told.on("PATCH", f"{PODS}/{name}", (201, {}, {}))
        told.on("DELETE", f"{PODS}/{name}", GONE)
    told.on("GET", "/api/v1/namespaces/n/events", listed())
    told.on("GET", PODS + "?watch", (200, [], {}))
    return told


@pytest.fixture
def where(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(replicas, "_BEHIND_S", 0.3)
    monkeypatch.setattr(replicas, "_RULES_S", 0.3)
    with (
        api_server(answers) as url,
        Cluster(Access(kubeconfig=kubeconfig(tmp_path, url)), within_s=3.0) as api,
    ):
        layout = SimpleNamespace(name="w", folder="/nowhere")
        yield Where(api=api, node=Node(), layout=layout, namespace="n", owner="o", image="i")


def pod(name, address="", *, ready=True, waiting=None, placed=""):
    state = {"waiting": waiting} if waiting else {"running": {}} if address else {}
    conditions = [{"type": "Ready", "status": str(ready)}]
    if placed:
        conditions.append({"type": "PodScheduled", "status": "False", "message": placed})
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "7"},
        "spec": {},
        "status": {
            "phase": "Running" if address else "Pending",
            "podIP": address,
            "conditions": conditions,
            "containerStatuses": [{"state": state}],
        },
    }


def listed(*found):
    return (200, {"kind": "List", "metadata": {"resourceVersion": "5"}, "items": list(found)}, {})


def behind(*addresses):
    return listed({"endpoints": [{"addresses": [one], "conditions": {"ready": True}} for one in addresses]})


def stand(where, *, within_s=2.0, behind_service=True):
    return replicas.replicas(
        where,
        squid.program(cache=False),
        Limits(cpus=2),
        NAMES,
        group="g",
        behind_service=behind_service,
        within_s=within_s,
    )


def deleted(answers):
    return {path for kind, path, *_ in answers.asked if kind == "DELETE"}


ALL = {f"{PODS}/{name}" for name in NAMES} | {
    "/api/v1/namespaces/n/configmaps/g",
    "/api/v1/namespaces/n/services/g",
}


def test_pods_that_are_ready_stand_behind_the_service_and_all_of_it_is_removed(answers, where):
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), pod("b", "198.18.22.3")), listed())
    answers.on("GET", SLICES, behind("198.18.22.3", "198.18.22.2"))
    with stand(where) as made:
        assert made.addresses == {"a": "198.18.22.2", "b": "198.18.22.3"}
        assert made.service["endpoints"] == 2
        assert made.service["cluster_ip"] == "198.18.23.9"
    assert deleted(answers) == ALL


def test_fewer_ready_pods_than_asked_for_are_named(answers, where, monkeypatch):
    monkeypatch.setattr(replicas, "_REMOVED_S", 3.0)  # on a slow machine a list may be asked for too early
    late = pod("b", "198.18.22.3", ready=False)
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), late), listed(late), listed())
    with pytest.raises(DriverError, match="KUBE-48") as caught, stand(where, within_s=0.8):
        pass
    assert "all ready within 0.8 s" in caught.value.expected
    assert "of pod b" in caught.value.found
    assert deleted(answers) == ALL


@pytest.mark.parametrize(("found", "words"), [((), "without endpoints"), (("198.18.22.2",), "1")])
def test_a_service_with_fewer_endpoints_than_pods_is_named(answers, where, found, words):
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), pod("b", "198.18.22.3")), listed())
    answers.on("GET", SLICES, behind(*found))
    with pytest.raises(DriverError, match="KUBE-48") as caught, stand(where):
        pass
    assert words in caught.value.found
    assert deleted(answers) == ALL


@pytest.mark.parametrize(
    ("reached", "words"),
    [
        ([], "to 0 of them"),
        (["198.18.22.2"], "to 1 of them"),
        (["198.18.22.2", "198.18.22.9"], "198.18.22.9"),
    ],
)
def test_rules_that_do_not_lead_to_each_pod_are_named(answers, where, reached, words):
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), pod("b", "198.18.22.3")), listed())
    answers.on("GET", SLICES, behind("198.18.22.3", "198.18.22.2"))
    where.node.reached = reached
    with pytest.raises(DriverError, match="KUBE-42") as caught, stand(where):
        pass
    assert words in caught.value.found


def test_a_quota_is_named_and_what_was_made_is_removed(answers, where):
    message = "pods b is forbidden: exceeded quota: few, requested: pods=1"
    answers.on("PATCH", f"{PODS}/b", (403, status(403, "Forbidden", message), {}))
    answers.on("GET", PODS, listed())
    with pytest.raises(TestbedError, match="KUBE-23"), stand(where):
        pass
    assert deleted(answers) == ALL


def test_an_image_that_is_absent_is_named_at_once(answers, where):
    absent = pod("b", waiting={"reason": "ErrImagePull", "message": "no such host"})
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), absent), listed())
    with pytest.raises(TestbedError, match="KUBE-40") as caught, stand(where, within_s=60.0):
        pass
    assert "ErrImagePull" in caught.value.found


def test_pods_for_which_there_is_no_room_are_named(answers, where):
    full = pod("b", placed="0/1 nodes are available: preemption is not helpful")
    answers.on("GET", PODS, listed(pod("a", "198.18.22.2"), full), listed())
    with pytest.raises(TestbedError, match="KUBE-40") as caught, stand(where, within_s=60.0):
        pass
    assert "not placed" in caught.value.what


def test_without_a_service_a_pod_stands_when_it_runs(answers, where):
    unready = (pod("a", "198.18.22.2", ready=False), pod("b", "198.18.22.3", ready=False))
    answers.on("GET", PODS, listed(*unready), listed())
    with stand(where, behind_service=False) as made:
        assert made.service == {}
    assert deleted(answers) == ALL - {"/api/v1/namespaces/n/services/g"}
