"""The client against what an API server may answer: asked again where that helps, named where it does not."""

import time
from types import SimpleNamespace

import pytest
from tests.contract.kubernetes_support import (
    RUNNING,
    Answers,
    api_server,
    certificate,
    kubeconfig,
    listed,
    pod,
    status,
)

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

pytest.importorskip(
    "kubernetes", reason="needs the Kubernetes client: pip install 'bmwg-toolkit[kubernetes]'"
)

POD = "/api/v1/namespaces/n/pods/p"
PODS = "/api/v1/namespaces/n/pods"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
FINE = (200, {"kind": "Pod", "metadata": {"name": "p"}}, {})


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


def waits(cluster, within_s=3.0):
    return pods.wait_running(cluster, "n", "p", pods.Phases(asked_ns=1), within_s=within_s)


# ---- what passes


def test_too_many_requests_are_repeated_when_the_server_says(answers, cluster):
    busy = (429, status(429, "TooManyRequests", "slow down"), {"Retry-After": "1"})
    answers.on("GET", POD, busy, FINE)
    assert cluster.get(POD)["metadata"]["name"] == "p"
    assert len(answers.asked) == 2
    assert "429" in cluster.repeats[0]


@pytest.fixture
def pauses(monkeypatch):
    """What the client wanted to wait (seconds); it waits a hundredth of it."""
    wanted = []
    sleep = time.sleep
    monkeypatch.setattr(
        "bmwg.drivers.kubernetes.client.time.sleep",
        lambda pause_s: (wanted.append(pause_s), sleep(pause_s / 100)),
    )
    return wanted


def test_the_server_says_how_long_to_wait_also_on_a_watch(answers, cluster, pauses):
    busy = (429, status(429, "TooManyRequests", "slow down"), {"Retry-After": "2"})
    answers.on("GET", POD, busy, FINE)
    cluster.get(POD)
    answers.on("GET", PODS, listed(pod()))
    change = {"type": "MODIFIED", "object": pod(**RUNNING)}
    answers.on("GET", PODS + "?watch", busy, (200, [change], {}))
    assert waits(cluster, within_s=30.0)["status"]["phase"] == "Running"
    assert pauses == [2.0, 2.0]


def test_a_wait_past_the_deadline_is_not_begun(answers, cluster):
    busy = (429, status(429, "TooManyRequests", "slow down"), {"Retry-After": "50"})
    answers.on("GET", POD, busy)
    with pytest.raises(DriverError) as refused:
        cluster.get(POD)
    assert refused.value.error_id == "KUBE-21"
    assert "429" in refused.value.found
    assert len(answers.asked) == 1


@pytest.mark.parametrize("code", [500, 502, 503, 504, 408])
def test_a_server_in_trouble_is_asked_again(answers, cluster, code):
    answers.on("PATCH", POD, (code, status(code, "InternalError", "etcd leader changed"), {}), FINE)
    assert cluster.apply(POD, {"kind": "Pod"})["metadata"]["name"] == "p"


def test_a_conflict_of_an_apply_is_asked_again(answers, cluster):
    conflict = status(409, "Conflict", "the object has been modified; please apply your changes again")
    answers.on("PATCH", POD, (409, conflict, {}), FINE)
    assert cluster.apply(POD, {"kind": "Pod"})["metadata"]["name"] == "p"


def test_a_conflict_that_stays_is_named_with_what_was_said(answers, cluster, pauses):
    conflict = status(409, "Conflict", "the object has been modified; please apply your changes again")
    answers.on("PATCH", POD, (409, conflict, {}))
    with pytest.raises(DriverError) as refused:
        cluster.apply(POD, {"kind": "Pod"})
    assert refused.value.error_id == "KUBE-21"
    assert "409: the object has been modified" in refused.value.found
    assert len(answers.asked) > 1


def test_a_conflict_with_a_namespace_that_is_going_is_named_at_once(answers, cluster):
    going = status(409, "AlreadyExists", 'object is being deleted: namespaces "n" already exists')
    answers.on("PATCH", "/api/v1/namespaces/n", (409, going, {}))
    with pytest.raises(DriverError) as refused:
        cluster.apply("/api/v1/namespaces/n", {"kind": "Namespace"})
    assert refused.value.error_id == "KUBE-20"
    assert len(answers.asked) == 1


def test_what_is_not_there_is_none_and_its_deletion_is_no_failure(cluster):
    assert cluster.get(POD) is None
    assert cluster.delete(POD) is False


def test_a_watch_whose_version_is_too_old_lists_anew(answers, cluster):
    gone = {"type": "ERROR", "object": status(410, "Expired", "too old resource version: 5 (9)")}
    answers.on("GET", PODS, listed(pod()), listed(pod(**RUNNING), version="9"))
    answers.on("GET", PODS + "?watch", (200, [gone], {}))
    assert waits(cluster)["status"]["phase"] == "Running"
    assert any("410" in one for one in cluster.repeats)


def test_a_watch_that_is_refused_as_too_old_lists_anew(answers, cluster):
    answers.on("GET", PODS, listed(pod()), listed(pod(**RUNNING)))
    answers.on("GET", PODS + "?watch", (410, status(410, "Expired", "too old"), {}))
    assert waits(cluster)["status"]["phase"] == "Running"


def test_a_watch_that_ends_goes_on_from_where_it_was(answers, cluster):
    answers.on("GET", PODS, listed(pod()))
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "42"}}}
    change = {"type": "MODIFIED", "object": pod(**RUNNING)}
    answers.on("GET", PODS + "?watch", (200, [bookmark], {}), (200, [change], {}))
    assert waits(cluster)["status"]["phase"] == "Running"
    assert "resourceVersion=42" in answers.asked[-1][2]


# ---- what does not pass


def test_no_answer_at_all_ends_at_the_deadline(tmp_path):
    path = kubeconfig(tmp_path, "http://127.0.0.1:9")
    with Cluster(Access(kubeconfig=path), within_s=0.5) as cluster, pytest.raises(DriverError) as refused:
        cluster.get(POD)
    assert refused.value.error_id == "KUBE-21"


@pytest.mark.parametrize(
    ("code", "reason", "message", "error_id"),
    [
        (401, "Unauthorized", "Unauthorized", "KUBE-24"),
        (403, "Forbidden", 'pods is forbidden: User "u" cannot create', "KUBE-22"),
        (
            403,
            "Forbidden",
            "pods p is forbidden: exceeded quota: q, requested: cpu=1",
            "KUBE-23",
        ),
        (422, "Invalid", "Pod p is invalid: spec.containers[0].image: Required value", "KUBE-20"),
    ],
)
def test_a_refusal_is_named_and_not_repeated(answers, cluster, code, reason, message, error_id):
    answers.on("PATCH", POD, (code, status(code, reason, message), {}))
    with pytest.raises((TestbedError, DriverError)) as refused:
        cluster.apply(POD, {"kind": "Pod"})
    assert refused.value.error_id == error_id
    assert len(answers.asked) == 1


@pytest.mark.parametrize(
    ("code", "reason", "error_id"), [(401, "Unauthorized", "KUBE-24"), (403, "Forbidden", "KUBE-22")]
)
def test_a_right_or_certificate_that_ends_in_a_watch_ends_the_wait(answers, cluster, code, reason, error_id):
    answers.on("GET", PODS, listed(pod()))
    answers.on("GET", PODS + "?watch", (code, status(code, reason, reason), {}))
    with pytest.raises(TestbedError) as refused:
        waits(cluster, within_s=30.0)
    assert refused.value.error_id == error_id


def test_an_error_within_a_watch_is_named(answers, cluster):
    answers.on("GET", PODS, listed(pod()))
    told = {"type": "ERROR", "object": status(403, "Forbidden", "the right was taken away")}
    answers.on("GET", PODS + "?watch", (200, [told], {}))
    with pytest.raises(TestbedError) as refused:
        waits(cluster, within_s=30.0)
    assert refused.value.error_id == "KUBE-22"


@pytest.mark.parametrize("valid_h", [-1, None], ids=["expired", "another authority's"])
def test_a_server_whose_certificate_is_not_believed_is_named_at_once(answers, tmp_path, valid_h):
    with api_server(answers, certificate=certificate(tmp_path, valid_h)) as url:
        access = Access(kubeconfig=kubeconfig(tmp_path, url, authority=str(tmp_path / "ca.crt")))
        with Cluster(access, within_s=30.0) as cluster, pytest.raises(TestbedError) as refused:
            cluster.get(POD)
    assert refused.value.error_id == "KUBE-24"
    assert answers.asked == []


def test_a_kind_that_the_cluster_does_not_know_is_named(answers, cluster):
    path = "/apis/k8s.cni.cncf.io/v1/namespaces/n/network-attachment-definitions/a"
    with pytest.raises(TestbedError) as refused:
        cluster.apply(path, {"kind": "NetworkAttachmentDefinition"})
    assert refused.value.error_id == "KUBE-25"


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "x"}}}]},
            "ImagePullBackOff",
        ),
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "x"}}}]},
            "ErrImageNeverPull",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted"),
        (
            {"phase": "Failed", "reason": "SysctlForbidden", "message": "net.ipv4.ip_forward"},
            "SysctlForbidden",
        ),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no device"}, "UnexpectedAdm"),
    ],
)
def test_a_pod_that_no_wait_mends_is_named_at_once(answers, cluster, changed, word):
    answers.on("GET", PODS, listed(pod(**changed)))
    with pytest.raises(TestbedError) as refused:
        waits(cluster, within_s=30.0)
    assert refused.value.error_id == "KUBE-40"
    assert word in refused.value.found
    assert refused.value.hint


@pytest.mark.parametrize(
    "message",
    [
        "0/1 nodes are available: 1 Insufficient cpu. preemption: Preemption is not helpful for scheduling.",
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        "0/1 nodes are available: 1 Insufficient hugepages-2Mi. Preemption is not helpful for scheduling.",
        "0/1 nodes are available: 1 Insufficient vendor/vf. Preemption is not helpful for scheduling.",
    ],
)
def test_a_pod_for_which_there_is_no_node_is_named(answers, cluster, message):
    placed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    answers.on("GET", PODS, listed(pod(conditions=[placed])))
    with pytest.raises(TestbedError) as refused:
        waits(cluster, within_s=30.0)
    assert refused.value.error_id == "KUBE-40"
    assert message[:60] in refused.value.found


def test_a_pod_that_is_deleted_by_somebody_else_is_named(answers, cluster):
    answers.on("GET", PODS, listed(pod()))
    answers.on("GET", PODS + "?watch", (200, [{"type": "DELETED", "object": pod()}], {}))
    with pytest.raises(TestbedError) as refused:
        waits(cluster)
    assert "deleted" in refused.value.found


def test_a_pod_that_does_not_start_is_named_with_what_the_cluster_said(answers, cluster):
    answers.on("GET", PODS, listed(pod()))
    answers.on("GET", PODS + "?watch", (200, [], {}))
    event = {"reason": "FailedCreatePodSandBox", "message": "plugin bmwg-multinet failed"}
    answers.on("GET", "/api/v1/namespaces/n/events", (200, {"items": [event]}, {}))
    with pytest.raises(DriverError) as refused:
        waits(cluster, within_s=1.0)
    assert "FailedCreatePodSandBox" in refused.value.found


def test_a_pod_on_a_node_that_is_lost_is_named_with_its_node(answers, cluster):
    answers.on("GET", PODS, listed(pod()))
    answers.on("GET", PODS + "?watch", (200, [], {}))
    answers.on("GET", "/api/v1/nodes/w", lost_node())
    with pytest.raises(DriverError) as refused:
        waits(cluster, within_s=1.0)
    assert "its node is not ready: Kubelet stopped posting node status." in refused.value.found


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (RUNNING, None),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."},
            "Evicted: The node",
        ),
        ({**RUNNING, "conditions": [{"type": "Ready", "status": "False"}]}, "its node is not ready: Kubelet"),
    ],
    ids=["runs", "evicted", "node lost"],
)
def test_a_pod_that_ran_and_does_no_longer_says_why(answers, cluster, changed, words):
    answers.on("GET", "/api/v1/nodes/w", lost_node())
    found = pods.fault(cluster, pod(**changed), restarted=0)
    assert found is None if words is None else words in found


def lost_node():
    ready = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    return (200, {"kind": "Node", "metadata": {"name": "w"}, "status": {"conditions": [ready]}}, {})


# ---- rights, before anything is made


def review(allowed):
    return (201, {"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed}}, {})


def users_options(folder, url):
    return {"kubeconfig": kubeconfig(folder, url), "context": "lab", "image": "busybox"}


def test_a_missing_right_is_named_before_anything_is_made(answers, tmp_path):
    answers.on("POST", REVIEW, review(False), review(True))
    with api_server(answers) as url:
        options = {"cluster": "kubeconfig", **users_options(tmp_path, url)}
        runtime = KubernetesRuntime(run_dir=str(tmp_path), undo=NoUndo(), options=options)
        with pytest.raises(TestbedError) as refused, runtime.standing({}, cpus="1"):
            pass
    assert refused.value.error_id == "KUBE-22"
    assert "get namespaces" in refused.value.found
    assert {(method, path) for method, path, _ in answers.asked} == {("POST", REVIEW)}


def test_somebody_elses_namespace_is_refused_and_stays(answers, tmp_path):
    answers.on("POST", REVIEW, review(True))
    theirs = {"kind": "Namespace", "metadata": {"name": "bmwg-x", "labels": {}}}
    answers.on("GET", "/api/v1/namespaces/bmwg-x", (200, theirs, {}))
    with api_server(answers) as url:
        options = {**users_options(tmp_path, url), "namespace": "bmwg-x"}
        runtime = KubernetesRuntime(run_dir=str(tmp_path), undo=NoUndo(), options=options)
        with pytest.raises(TestbedError) as refused, runtime.standing({}, cpus="1"):
            pass
    assert refused.value.error_id == "KUBE-20"
    assert {method for method, _, _ in answers.asked} == {"POST", "GET"}


def test_a_pod_needs_a_cluster_that_stands(tmp_path):
    runtime = KubernetesRuntime(run_dir=str(tmp_path), undo=NoUndo(), options={})
    one = PodSpec(pod_id="p", cpus="1", memory_octets=64 << 20)
    with pytest.raises(ConfigError) as refused, runtime.made(SimpleNamespace(name="dut1"), one):
        pass
    assert refused.value.error_id == "KUBE-12"


class NoUndo:
    """A ledger that holds what was to be undone, and undoes nothing."""

    def before(self, kind, place=None, /, **arguments):
        return 1

    def done(self, number, /):
        pass


# ---- the kubeconfig


def test_an_unreadable_kubeconfig_is_named(tmp_path):
    (tmp_path / "kubeconfig").write_text(": no yaml: [")
    for path in (tmp_path / "kubeconfig", tmp_path / "absent"):
        with pytest.raises(ConfigError) as refused:
            Cluster(Access(kubeconfig=str(path)))
        assert refused.value.error_id == "KUBE-10"


def test_an_unknown_context_is_named_with_the_near_one(tmp_path):
    path = kubeconfig(tmp_path, "http://127.0.0.1:9", context="lab")
    with pytest.raises(ConfigError) as refused:
        Cluster(Access(kubeconfig=path, context="lap"))
    assert refused.value.error_id == "KUBE-10"
    assert "did you mean 'lab'" in refused.value.hint
