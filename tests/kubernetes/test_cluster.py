"""A real API server, kubelet and container runtime: pods, refusals that are real, and nothing left."""

import os
import secrets
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import Attachment, PodNetwork
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import attachments, pods, run_namespace
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import OWNER_LABEL, Cluster
from bmwg.drivers.network.cni_network import CniNetwork
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.paths.pods import described
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import DriverError, TestbedError

BRIDGE = NetworkSpec(
    name="bridge",
    driver="cni",
    plugin_dir="/usr/lib/cni",
    uplink="bridge_port",
    model="kernel",
    conflist={
        "cniVersion": "1.0.0",
        "name": "bmwg-${side}",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "${bridge}",
                "ipam": {"type": "static", "addresses": "${addresses}"},
            }
        ],
    },
)
MEMORY = 64 << 20


def spec(**changed):
    name = f"p-{secrets.token_hex(3)}"
    base = PodSpec(pod_id=name, cpus="1", memory_octets=MEMORY, forwarding=False, root=False, endpoint=True)
    return replace(base, **changed)


def wanted(run_dir, ledger, side):
    driver = CniNetwork(BRIDGE, run_dir=run_dir, undo=ledger)
    attachment = Attachment(
        network="bridge", interface=f"net{side}", side=side, addresses=(f"198.18.{side}.1/24",)
    )
    return PodNetwork(driver=driver, attachment=attachment, bridge=f"test-br{side}")


def test_the_cluster_says_what_it_is(runtime):
    told = runtime.describe()
    assert told["version"].startswith("v1.34.")
    assert told["programs"]["kubernetes"] == told["version"]
    assert set(told["programs"]["sha256"]) >= {"kubelet", "kube-apiserver", "etcd"}
    (node,) = told["nodes"].values()
    assert node["kubelet_configuration"]["cpuManagerPolicy"] == "static"
    assert node["runtime"].startswith("containerd://")
    assert told["kube_proxy"]["mode"] == "nftables"
    assert told["network_attachment_definitions"] is True
    assert told["feature_gates"]


def test_a_guaranteed_pod_gets_two_networks_and_a_cpu_of_its_own(runtime, node, run_dir, ledger):
    networks = [wanted(run_dir, ledger, side) for side in (0, 1)]
    with runtime.made(node, spec(endpoint=False, forwarding=True), networks) as pod:
        told = pod.describe()
        assert told["qos_class"] == "Guaranteed"
        assert told["cpuset_cpus"] == "1"
        assert told["memory_limit_octets"] == MEMORY
        assert told["security_context"]["container"]["capabilities"] == {"drop": ["ALL"]}
        for side, attached in enumerate(pod.attached):
            assert attached.link_kind == "veth"
            assert f"198.18.{side}.1/24" in attached.addresses
            assert attached.host_interface
        inside = pod.inside(interfaces.listing)
        assert {"eth0", "net0", "net1"} <= {one["name"] for one in inside}
        assert pod.inside(sysctl.read, key="net.ipv4.ip_forward") == "1"
        found = runtime.api.get(pods.pods_path(runtime.namespace, pod.pod_id))
        status = found["metadata"]["annotations"][attachments.STATUS]
        assert f"{runtime.namespace}/{pod.pod_id}-1" in status
        assert pod.fault() is None
        assert pod.sample().memory_octets > 0
        phases = told["start_phases_ms"]
        assert 0 < phases["api_accept"] <= phases["scheduled"] <= phases["container_running"]
        assert phases["cni_add"] > 0
    assert pods.left(runtime.api, runtime.namespace, runtime._token) == []
    assert {one["name"] for one in node.call(interfaces.listing)}.isdisjoint(
        {attached.host_interface for attached in pod.attached}
    )


PROGRAMS = {
    "etcd", "kube-apiserver", "kube-controller", "kube-scheduler", "containerd", "kubelet", "kube-proxy",
    "containerd-shim",
}  # fmt: skip
BED = SimpleNamespace(
    testbed=SimpleNamespace(pods=SimpleNamespace(cpus=(1,))), asked_capabilities={}, management={}
)


def test_the_clusters_programs_keep_off_the_cpu_of_the_function_which_has_it(runtime, node):
    others = sorted(os.sched_getaffinity(0) - {1})
    with runtime.made(node, spec(endpoint=False)) as pod:
        cgroup = runtime.layout("dut1").program_cgroup
        found = set()
        for pid in cgroups.members(cgroup):
            for task in os.listdir(f"/proc/{pid}/task"):
                assert sorted(os.sched_getaffinity(int(task))) == others
            found.add(Path(f"/proc/{pid}/comm").read_text().strip()[:15])
        assert {name[:15] for name in PROGRAMS} <= found
        assert runtime.describe()["program_cpus"] == ",".join(map(str, others))
        told = described(BED, pod, works=True)
        assert told["threads"]
        assert all(one["cpus"] == [1] for one in told["threads"])
        assert all(os.sched_getaffinity(pid) == {1} for pid in cgroups.members(told["cgroup"]))


@pytest.mark.parametrize("asked", [(), ("CAP_NET_RAW", "CAP_NET_ADMIN")])
def test_a_pod_has_what_was_asked_for_and_nothing_more(runtime, node, asked):
    one = spec(endpoint=False, capabilities=asked, root=bool(asked))
    with runtime.made(node, one) as pod:
        bed = SimpleNamespace(testbed=BED.testbed, asked_capabilities={pod.pod_id: asked}, management={})
        rights = described(bed, pod, works=True)["rights"]
    names = {name.removeprefix("CAP_") for name in asked}
    assert rights["capabilities"] == {name: {"asked": True, "granted": True} for name in names}
    assert rights["users"] == [0 if asked else 65534]
    assert rights["no_new_privileges"] is rights["seccomp"] is True


def test_a_function_on_a_cpu_that_is_not_its_own_is_refused(runtime, node):
    """A pod without CPUs of its own runs where the cluster's programs do: no function may."""
    with runtime.made(node, spec()) as pod:
        with pytest.raises(DriverError) as refused:
            described(BED, pod, works=True)
        assert refused.value.error_id == "POD-08"
        assert "sleep on 0" in refused.value.found or "sh on 0" in refused.value.found
        assert described(BED, pod, works=False)["threads"]


def test_a_program_is_told_what_to_run_when_it_starts(runtime, node):
    with runtime.made(node, spec(arguments=(), told_at_start=True)) as pod:
        assert pod.said() == []
        pod.start(["/bin/sh", "-c", "echo it runs; exec sleep 1000"])
        found = [line for _ in range(300) for line in pod.said() if "it runs" in line][:1]
        assert found == ["it runs"]


def test_a_restart_keeps_the_pods_network(runtime, node, run_dir, ledger):
    with runtime.made(node, spec(), [wanted(run_dir, ledger, 0)]) as pod:
        before = pod.pid
        acted = pod.restart()
        assert acted["ended_ns"] > acted["began_ns"]
        assert pod.pid == before
        assert "net0" in {one["name"] for one in pod.inside(interfaces.listing)}
        assert pod.fault() is None


# ---- refusals of a real cluster


def test_an_image_that_is_not_there_is_named(runtime, node):
    runtime._options["image"] = "bmwg.invalid/absent:none"
    try:
        with pytest.raises(TestbedError) as refused, runtime.made(node, spec()):
            pass
    finally:
        runtime._options.pop("image")
    assert refused.value.error_id == "KUBE-40"
    assert "Pull" in refused.value.found
    assert pods.left(runtime.api, runtime.namespace, runtime._token) == []


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"cpus": "0-63", "endpoint": False}, "Insufficient cpu"),
        ({"memory_octets": 1 << 50}, "Insufficient memory"),
        ({"hugepages_2mi": 4096}, "Insufficient hugepages-2Mi"),
    ],
)
def test_a_pod_that_fits_on_no_node_is_named(runtime, node, changed, word):
    with pytest.raises(TestbedError) as refused, runtime.made(node, spec(**changed)):
        pass
    assert refused.value.error_id == "KUBE-40"
    assert word in refused.value.found


def test_a_quota_that_is_full_is_named(runtime, node):
    path = f"/api/v1/namespaces/{runtime.namespace}/resourcequotas/none"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    runtime.api.apply(path, {**quota, "spec": {"hard": {"pods": "0"}}})
    try:
        while not (runtime.api.get(path).get("status") or {}).get("hard"):
            pass
        with pytest.raises(TestbedError) as refused, runtime.made(node, spec()):
            pass
    finally:
        runtime.api.delete(path)
    assert refused.value.error_id == "KUBE-23"


def kubeconfig(runtime, node, folder, user, **changed):
    """Write a kubeconfig of another user, whose certificate this cluster's authority signs."""
    import datetime

    import yaml
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    from bmwg.drivers.kubernetes import settings
    from bmwg.drivers.kubernetes.certificates import Authority

    pki = Path(runtime._embedded.layouts["dut1"].shared, "pki")
    authority = Authority.__new__(Authority)
    authority._key = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), None)
    authority._certificate = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    authority._subject = authority._certificate.subject
    authority.client(user, valid=changed.get("valid", datetime.timedelta(days=1))).write(folder, user)
    data = settings.kubeconfig(runtime._embedded.layouts["dut1"], user)
    data["users"][0]["user"] = {
        "client-certificate": f"{folder}/{user}.crt",
        "client-key": f"{folder}/{user}.key",
    }
    path = folder / f"{user}.kubeconfig"
    path.write_text(yaml.safe_dump(data))
    return Access(kubeconfig=str(path), netns=runtime._embedded.access.netns)


def test_a_user_without_rights_is_told_which_before_anything_is_made(runtime, node, tmp_path):
    from bmwg.drivers.containers.kubernetes import POD_RIGHTS, RIGHTS

    with Cluster(kubeconfig(runtime, node, tmp_path, "nobody"), within_s=20.0) as api:
        with pytest.raises(TestbedError) as refused:
            api.allowed((*RIGHTS, *POD_RIGHTS))
        assert refused.value.error_id == "KUBE-22"
        assert "create pods" in refused.value.found
        with pytest.raises(TestbedError) as refused:
            run_namespace.make(api, "bmwg-none", "t")
        assert refused.value.error_id == "KUBE-22"
    runtime.api.allowed((*RIGHTS, *POD_RIGHTS))


def test_a_certificate_that_has_ended_is_named(runtime, node, tmp_path):
    import datetime

    access = kubeconfig(runtime, node, tmp_path, "late", valid=datetime.timedelta(hours=-1))
    with Cluster(access, within_s=20.0) as api, pytest.raises(TestbedError) as refused:
        api.get("/api/v1/namespaces/default")
    assert refused.value.error_id == "KUBE-24"


def test_a_network_that_is_not_there_is_named_with_what_the_plugin_said(runtime, node, monkeypatch):
    monkeypatch.setattr("bmwg.drivers.containers.kubernetes._RUNNING_S", 15.0)
    from bmwg.drivers.kubernetes import manifest
    from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE

    one = spec()
    body = manifest.pod(
        one,
        namespace=runtime.namespace,
        owner=runtime._token,
        image=PAUSE_IMAGE,
        networks=[("not-there", "net0")],
    )
    phases = pods.make(runtime.api, body, [])
    try:
        with pytest.raises(DriverError) as refused:
            pods.wait_running(runtime.api, runtime.namespace, one.pod_id, phases, within_s=15.0)
    finally:
        pods.remove(runtime.api, runtime.namespace, one.pod_id, [])
    assert refused.value.error_id == "KUBE-40"
    assert "not-there" in refused.value.found


# ---- somebody's own cluster: by kubeconfig and context


def test_on_the_users_cluster_all_is_in_the_runs_namespace_and_goes_with_it(runtime, node, tmp_path):
    access = runtime._embedded.access
    mine = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    with Cluster(access) as api:
        before = everything(api)
        name = f"bmwg-{secrets.token_hex(3)}"
        entry = mine.before(
            "kubernetes_namespace", {"kind": "local"}, access=access.data(), name=name, owner="mine"
        )
        run_namespace.make(api, name, "mine")
        assert set(everything(api)) - set(before) >= {f"namespace/{name}"}
        assert all(name in one for one in set(everything(api)) - set(before))
        mine.undo(entry)
        assert everything(api) == before
        mine.undo_all()
        assert run_namespace.remove(access=access.data(), name=name, owner="mine") is False


def test_a_namespace_of_somebody_else_is_never_removed(runtime):
    access = runtime._embedded.access
    with Cluster(access) as api:
        api.apply(
            "/api/v1/namespaces/theirs",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}},
        )
        assert run_namespace.remove(access=access.data(), name="theirs", owner="t") is False
        assert api.get("/api/v1/namespaces/theirs") is not None
        with pytest.raises(TestbedError):
            run_namespace.make(api, "theirs", "t")
        api.delete("/api/v1/namespaces/theirs")


def everything(api):
    found = [f"namespace/{one['metadata']['name']}" for one in api.get("/api/v1/namespaces")["items"]]
    for kind in ("pods", "configmaps", "secrets", "services", "serviceaccounts"):
        listed = api.get(f"/api/v1/{kind}")["items"]
        found += [f"{kind}/{one['metadata']['namespace']}/{one['metadata']['name']}" for one in listed]
    return sorted(found)


def test_everything_of_a_run_carries_its_label(runtime, node):
    with runtime.made(node, spec()):
        listed = runtime.api.get(pods.pods_path(runtime.namespace))["items"]
        assert all(one["metadata"]["labels"][OWNER_LABEL] == runtime._token for one in listed)


def test_the_runtime_refuses_a_node_of_another_cluster(tmp_path):
    runtime = KubernetesRuntime(run_dir=str(tmp_path), undo=None, options={})
    with pytest.raises(TestbedError) as refused:
        runtime.layout("elsewhere")
    assert refused.value.error_id == "KUBE-13"
