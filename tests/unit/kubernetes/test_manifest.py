"""A pod's manifest: guaranteed, and with the fewest rights that its function works by."""

import json
from pathlib import Path

import pytest

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import attachments, manifest, programs, record, settings
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.network.af_xdp import AfXdpNetwork
from bmwg.drivers.network.ebpf_tc import TcRedirectNetwork
from bmwg.drivers.network.ovs import OvsNetwork
from bmwg.drivers.network.ovs_dpdk import OvsDpdkNetwork
from bmwg.drivers.testbed.file import network_spec
from bmwg.methodology.errors import ConfigError


def spec(**changed):
    return PodSpec(**{"pod_id": "p-1", "cpus": "1", "memory_octets": 256 << 20, "root": False, **changed})


def made(one, **changed):
    given = {"namespace": "bmwg-1", "owner": "t", "image": "i", **changed}
    return manifest.pod(one, **given)


def test_requests_are_limits_and_whole_cpus():
    container = made(spec(cpus="2-3"))["spec"]["containers"][0]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert container["resources"]["limits"] == {"cpu": "2", "memory": str(256 << 20)}


def test_pods_in_which_programs_run_share_the_cpus_of_their_node_without_a_limit():
    """A tenth of a CPU is asked for by a pod whose program sleeps; as a limit it would be a stream's."""
    sleeps = made(spec(endpoint=True))["spec"]["containers"][0]["resources"]
    assert sleeps["requests"] == sleeps["limits"] == {"cpu": "100m", "memory": str(256 << 20)}
    works = made(spec(endpoint=True, programs=True))["spec"]["containers"][0]["resources"]
    assert works["requests"] == sleeps["requests"]
    assert works["limits"] == {"memory": str(256 << 20)}


def test_hugepages_are_asked_for_and_mounted():
    body = made(spec(hugepages_2mi=4))["spec"]
    assert body["containers"][0]["resources"]["limits"]["hugepages-2Mi"] == str(8 << 20)
    assert {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}} in body["volumes"]


def test_a_pod_whose_kernel_forwards_has_no_capability_and_is_not_root():
    body = made(spec(forwarding=True))["spec"]
    context = body["containers"][0]["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["privileged"] is False
    assert context["allowPrivilegeEscalation"] is False
    assert body["securityContext"]["runAsNonRoot"] is True
    sysctls = {one["name"]: one["value"] for one in body["securityContext"]["sysctls"]}
    assert sysctls["net.ipv4.ip_forward"] == "1"
    assert all(name.startswith("net.") for name in sysctls)
    assert "hostNetwork" not in body
    assert body["automountServiceAccountToken"] is False


def test_a_function_gets_the_capabilities_that_it_names_and_no_other():
    body = made(
        spec(capabilities=("CAP_NET_RAW", "CAP_NET_ADMIN"), root=True, told_at_start=True, arguments=())
    )
    context = body["spec"]["containers"][0]["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["NET_RAW", "NET_ADMIN"]}
    assert context["runAsUser"] == 0


def test_networks_are_asked_for_in_order():
    body = made(spec(), networks=[("p-1-0", "net0"), ("p-1-1", "net1")])
    text = body["metadata"]["annotations"][attachments.NETWORKS]
    assert [one["interface"] for one in json.loads(text)] == ["net0", "net1"]


def test_everything_carries_the_runs_label():
    assert made(spec())["metadata"]["labels"][manifest.OWNER_LABEL] == "t"
    assert manifest.namespace("n", "t")["metadata"]["labels"][manifest.OWNER_LABEL] == "t"


@pytest.mark.parametrize("changed", [{"binds": (("/etc", "/etc", False),)}, {"netns": "/run/netns/x"}])
def test_what_no_pod_of_a_cluster_can_have_is_refused(changed):
    with pytest.raises(ConfigError, match=r"^KUBE-31 "):
        made(spec(**changed))


@pytest.mark.parametrize(
    "options",
    [
        {"clustr": "embedded"},
        {"cluster": "embedded", "kubeconfig": "x"},
        {"cluster": "kubeconfig"},
        {"cluster": "other"},
        {"nodes": "dut1"},
        {"nodes": ["dut1", "dut2"]},
        {"version": "1.32"},
        {"version": 1.33},
        {"version": "1.33", "kubeconfig": "x", "image": "i"},
        {"kubeconfig": "x"},
    ],
)
def test_options_that_contradict_each_other_are_refused(options, tmp_path):
    with pytest.raises(ConfigError, match=r"^KUBE-12 "):
        KubernetesRuntime(run_dir=str(tmp_path), undo=None, options=options)


@pytest.mark.parametrize("minor", programs.VERSIONS)
def test_each_version_that_may_be_chosen_is_pinned_by_setup(minor):
    folder = Path(__file__).parents[3] / "setup" / "kubernetes"
    modules = folder if minor == programs.VERSIONS[0] else folder / minor
    text = (modules / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{minor}." in text
    assert (modules / "go.sum").exists()


def test_a_version_has_a_folder_and_a_mend_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "BUILT", str(tmp_path))
    monkeypatch.delenv(programs.FOLDER_VARIABLE, raising=False)
    assert programs.folder() == f"{tmp_path}/current"
    assert programs.folder("1.33") == f"{tmp_path}/1.33"
    found = programs.missing("1.33")
    assert found["what"] == "Kubernetes 1.33"
    assert found["mend"].startswith("SETUP_KUBERNETES=1.33 ")


LAYOUT = Layout(
    name="dut1",
    number=0,
    folder="/results/run/cluster/dut1",
    shared="/results/run/cluster",
    programs="/programs",
    address="192.0.2.1",
    api_address="192.0.2.1",
    cgroup="/bmwg-kubernetes-t-dut1",
    function_cpus="1",
    other_cpus="0",
    program_cpus="0",
)


def test_the_kubelet_gives_guaranteed_pods_cpus_of_their_own():
    found = settings.kubelet(LAYOUT)
    assert found["cpuManagerPolicy"] == "static"
    assert found["reservedSystemCPUs"] == "0"
    assert found["failCgroupV1"] is False
    assert found["cgroupRoot"] == LAYOUT.cgroup


def test_all_that_a_node_keeps_lies_in_its_folder_or_its_own_run():
    text = settings.containerd(LAYOUT)
    assert f'root = "{LAYOUT.folder}/containerd"' in text
    assert "/var/lib/containerd" not in text
    for program in settings.node_programs(LAYOUT) + settings.control_plane(LAYOUT):
        for word in program["argv"]:
            assert "/var/lib" not in word.replace(
                settings.KUBELET_ROOT, ""
            )  # where a node is shown its folder
            assert "=/etc/" not in word


def test_the_record_of_a_cluster_names_no_folder_and_no_key_of_the_run():
    text = json.dumps(record._without_paths(settings.cni(LAYOUT)))
    assert "/results" not in text
    assert "pki" not in text


def test_feature_gates_are_those_that_are_not_yet_settled():
    metrics = "\n".join(
        [
            'kubernetes_feature_enabled{name="A",stage="ALPHA"} 0',
            'kubernetes_feature_enabled{name="B",stage="BETA"} 1',
            'kubernetes_feature_enabled{name="C",stage=""} 1',
        ]
    )
    assert record.gates(metrics) == {"A": False, "B": True}
    assert record.gates("")["value"] is None


def test_a_nodes_record_holds_no_name_and_no_label_of_the_sites():
    class Api:
        def get(self, path, **query):
            return {"kubeletconfig": {"cpuManagerPolicy": "static", "clusterDNS": ["10.1.2.3"]}}

    found = record.node(
        Api(),
        {
            "metadata": {
                "name": "worker.example.net",
                "labels": {"kubernetes.io/hostname": "worker.example.net", "kubernetes.io/arch": "amd64"},
            },
            "status": {"nodeInfo": {"kubeletVersion": "v1.34.4"}, "addresses": [{"address": "10.9.8.7"}]},
        },
    )
    text = json.dumps(found)
    assert "example.net" not in text
    assert "10.9.8.7" not in text
    assert "10.1.2.3" not in text
    assert found["labels"] == {"kubernetes.io/arch": "amd64"}
    assert found["kubelet_configuration"] == {"cpuManagerPolicy": "static"}


@pytest.mark.parametrize(
    ("kind", "driver", "why"),
    [
        (AfXdpNetwork, "af-xdp", "this option hands over af-xdp"),
        (OvsDpdkNetwork, "ovs-dpdk", "this option hands over vhost-user"),
        (OvsNetwork, "ovs", "this option is none"),
        (TcRedirectNetwork, "ebpf-tc", ""),
    ],
)
def test_an_option_that_hands_over_no_interface_or_has_no_plugin_is_refused(tmp_path, kind, driver, why):
    """A kubelet would attach af-xdp by its plugin, and testpmd would forward by AF_PACKET under that name."""
    spec = network_spec("fast", {"driver": driver}, (1, 2))
    runtime = KubernetesRuntime(run_dir=str(tmp_path), undo=None, options={})
    missing = runtime.refuses(kind(spec, run_dir=tmp_path, undo=None))
    assert (missing is None) == (why == "")
    if missing is not None:
        assert missing.what == "network option fast on Kubernetes"
        assert why in missing.reason
