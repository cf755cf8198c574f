"""Command lines and configuration files of an embedded cluster: pure functions of one `Layout`.

Nothing here touches the machine. The kubelet's configuration is part of the platform record.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import cilium, flannel
from bmwg.drivers.kubernetes.cilium import Cilium
from bmwg.drivers.kubernetes.flannel import Flannel

API_PORT = 6443
POD_NETWORK = "10.244.0.0/16"  # choice: flannel's own default; never leaves the run's nodes
# A tester sends test frames to no other range than 198.18.0.0/15 (RFC 6815); this part is no other's.
SERVICE_NETWORK = "198.18.208.0/20"
SOCKET = "/run/containerd/containerd.sock"  # in the node's own /run
PAUSE_IMAGE = "bmwg.invalid/function:run"  # the name cannot be resolved: it is imported, never fetched
PORT_NETWORK = "198.18.224.0/24"  # of the same range: addresses of nodes that have node ports
NODE_PORTS = "7-32767"  # choice: test frames go to port 7 (rfc2544 appendix C.2.6.4), as to other Services
POD_BRIDGE = "cni0"  # of the pods' own network, on each node
KUBELET_ROOT = "/var/lib/kubelet"  # in the node's own mount namespace
NETWORK_PLUGIN = "bmwg-multinet"
PLUGIN_DIR = "/usr/lib/cni"  # the distribution's


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """Addresses of a cluster where they are not those above: of one node's pods, and of Services.

    `reaches` are networks beyond the node, to which its pods have a route.
    """

    pods: str = ""
    services: str = SERVICE_NETWORK
    reaches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One node of a cluster. `folder` is its part of the run's folder, `shared` that of the whole cluster.

    `address` is the node's own, by which the others reach it, `api_address` that of the control plane.
    `plugin_dirs` are the folders of CNI plugins, which a node sees as one; `flannel` or `cilium` is set
    where it runs. `version` is the minor version of the cluster's programs, empty for the default. `ranges`
    are the cluster's addresses.
    `cgroup` is the root of all cgroups of its pods. `function_cpus` (for pods with CPUs of their own),
    `other_cpus` (for other pods) and `program_cpus` (for the cluster's own programs) are cpuset lists.
    """

    name: str
    number: int
    folder: str
    shared: str
    programs: str
    address: str
    api_address: str
    cgroup: str
    function_cpus: str
    other_cpus: str
    program_cpus: str
    plugin_dirs: tuple[str, ...] = (PLUGIN_DIR,)
    flannel: Flannel | None = None
    cilium: Cilium | None = None
    version: str = ""
    ranges: Ranges = Ranges()

    @property
    def program_cgroup(self) -> str:
        """The cpuset of the node's own programs, beside those of pods."""
        return f"{self.cgroup}/programs"

    @property
    def pod_network(self) -> str:
        """The part of the pods' network that this node gives out."""
        if self.ranges.pods:
            return self.ranges.pods
        nets = list(ipaddress.ip_network(POD_NETWORK).subnets(new_prefix=24))
        return str(nets[self.number])

    @property
    def port_address(self) -> str:
        """The address of this node, in the range of test frames, at which Services have node ports."""
        return str(ipaddress.ip_network(PORT_NETWORK)[self.number + 1])

    @property
    def api(self) -> str:
        """The API server's address as an URL."""
        return f"https://{self.api_address}:{API_PORT}"


def layout_of(data: dict[str, JsonValue]) -> Layout:
    """Return a layout from what `asdict` made of it."""
    joined: dict[str, JsonValue] = {
        name: kind(**data[name]) if data.get(name) else None
        for name, kind in (("flannel", Flannel), ("cilium", Cilium))
    }
    return Layout(**{**data, **joined, "ranges": Ranges(**data.get("ranges", {}))})


def kubeconfig(layout: Layout, user: str) -> dict[str, JsonValue]:
    """Return the kubeconfig of one user of this cluster; certificates are named by path."""
    pki = f"{layout.shared}/pki"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "run", "cluster": {"server": layout.api, "certificate-authority": f"{pki}/ca.crt"}}
        ],
        "users": [
            {
                "name": user,
                "user": {"client-certificate": f"{pki}/{user}.crt", "client-key": f"{pki}/{user}.key"},
            }
        ],
        "contexts": [{"name": "run", "context": {"cluster": "run", "user": user}}],
        "current-context": "run",
    }


def control_plane(layout: Layout) -> list[dict[str, JsonValue]]:
    """Return the programs of the control plane: name and argument vector each."""
    pki, shared = f"{layout.shared}/pki", layout.shared
    etcd = [
        f"{layout.programs}/etcd",
        "--name=run",
        f"--data-dir={shared}/etcd",
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--initial-advertise-peer-urls=http://127.0.0.1:2380",
        "--initial-cluster=run=http://127.0.0.1:2380",
        "--unsafe-no-fsync",  # its data is worth nothing when the run has ended
    ]
    server = [
        f"{layout.programs}/kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        f"--bind-address={layout.api_address}",
        f"--advertise-address={layout.api_address}",
        f"--secure-port={API_PORT}",
        f"--service-cluster-ip-range={layout.ranges.services}",
        f"--service-node-port-range={NODE_PORTS}",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--kubelet-client-certificate={pki}/apiserver.crt",
        f"--kubelet-client-key={pki}/apiserver.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--service-account-issuer={layout.api}",
        f"--service-account-key-file={pki}/tokens.crt",
        f"--service-account-signing-key-file={pki}/tokens.key",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
        "--endpoint-reconciler-type=none",
        "--profiling=false",
    ]
    manager = [
        f"{layout.programs}/kube-controller-manager",
        f"--kubeconfig={shared}/manager.kubeconfig",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={pki}/tokens.key",
        f"--root-ca-file={pki}/ca.crt",
        "--bind-address=127.0.0.1",
        "--node-monitor-grace-period=40s",
        "--profiling=false",
    ]
    scheduler = [
        f"{layout.programs}/kube-scheduler",
        f"--kubeconfig={shared}/scheduler.kubeconfig",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--profiling=false",
    ]
    more = []
    if layout.cilium is not None:
        more.append(cilium.store(layout.api_address, programs=layout.programs, shared=shared))
    return [
        *more,
        {"name": "etcd", "argv": etcd},
        {"name": "kube-apiserver", "argv": server},
        {"name": "kube-controller-manager", "argv": manager},
        {"name": "kube-scheduler", "argv": scheduler},
    ]


def node_programs(layout: Layout) -> list[dict[str, JsonValue]]:
    """Return the programs of a node: name and argument vector each."""
    folder = layout.folder
    more = []
    if layout.flannel is not None:
        more.append(
            flannel.program(layout.flannel, node=layout.name, node_folder=folder, shared=layout.shared)
        )
    if layout.cilium is not None:
        more.append(cilium.program(layout.cilium, node=layout.name, node_folder=folder))
    return [
        *more,
        {"name": "containerd", "argv": ["containerd", "--config", f"{folder}/containerd.toml"]},
        {
            "name": "kubelet",
            "argv": [
                f"{layout.programs}/kubelet",
                f"--config={folder}/kubelet.yaml",
                f"--kubeconfig={folder}/kubelet.kubeconfig",
                f"--root-dir={KUBELET_ROOT}",
                f"--cert-dir={folder}/kubelet-pki",
                f"--hostname-override={layout.name}",
                f"--node-ip={layout.address}",
                f"--node-labels=bmwg.ietf.org/node={layout.name}",
            ],
        },
        {
            "name": "kube-proxy",
            "argv": [f"{layout.programs}/kube-proxy", f"--config={folder}/kube-proxy.yaml"],
        },
    ]


def kubelet(layout: Layout) -> dict[str, JsonValue]:
    """Return the kubelet's configuration: exclusive CPUs for guaranteed pods, nothing evicted by accident."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": layout.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{layout.shared}/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{layout.shared}/pki/server-{layout.name}.crt",
        "tlsPrivateKeyFile": f"{layout.shared}/pki/server-{layout.name}.key",
        "healthzBindAddress": "127.0.0.1",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": layout.cgroup,
        "cgroupsPerQOS": True,
        "failCgroupV1": False,
        "failSwapOn": False,
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": layout.other_cpus,
        "topologyManagerPolicy": "best-effort",
        "memoryManagerPolicy": "None",
        "allowedUnsafeSysctls": ["net.ipv4.*", "net.ipv6.*"],
        "evictionHard": {"memory.available": "64Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageMinimumGCAge": "24h",
        "localStorageCapacityIsolation": False,
        "makeIPTablesUtilChains": False,
        "protectKernelDefaults": True,
        "registerNode": True,
        "resolvConf": "",
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "10s",
        "maxPods": 150,
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": f"{layout.folder}/volume-plugins",
        "enableServer": True,
    }


def kube_proxy(layout: Layout) -> dict[str, JsonValue]:
    """Return kube-proxy's configuration: nftables in the node's own namespace, no setting of the kernel's."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": layout.name,
        "clientConnection": {"kubeconfig": f"{layout.shared}/proxy.kubeconfig"},
        "clusterCIDR": layout.ranges.pods
        or flannel.NETWORK,  # what comes from there is of pods, and keeps its address
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "nodePortAddresses": [f"{layout.address}/32", f"{layout.port_address}/32"],
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
            "udpTimeout": "0s",
            "udpStreamTimeout": "0s",
        },
    }


def containerd(layout: Layout) -> str:
    """Return containerd's configuration (version 2): its state below the run's folder, our CNI folders."""
    text = f"""
    version = 2
    root = {json.dumps(layout.folder + "/containerd")}
    state = "/run/containerd"
    disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
      "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
      "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
    [grpc]
      address = "{SOCKET}"
    [plugins."io.containerd.grpc.v1.cri"]
      sandbox_image = "{PAUSE_IMAGE}"
      disable_tcp_service = true
      stream_server_address = "127.0.0.1"
      enable_selinux = false
      restrict_oom_score_adj = true
      tolerate_missing_hugetlb_controller = true
      disable_apparmor = true
      [plugins."io.containerd.grpc.v1.cri".cni]
        bin_dir = {json.dumps(layout.folder + "/cni-bin")}
        conf_dir = {json.dumps(layout.folder + "/cni-conf")}
        max_conf_num = 1
      [plugins."io.containerd.grpc.v1.cri".containerd]
        snapshotter = "overlayfs"
        default_runtime_name = "runc"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            SystemdCgroup = false
    """
    return "\n".join(line[4:] for line in text.splitlines()[1:])


def cni(layout: Layout, default: dict[str, JsonValue] | None = None) -> dict[str, JsonValue]:
    """Return the node's CNI configuration: our plugin, whose `delegate` is the pods' own network."""
    return {
        "cniVersion": "1.0.0",
        "name": "bmwg",
        "plugins": [
            {
                "type": NETWORK_PLUGIN,
                "api": {
                    "address": layout.api_address,
                    "port": API_PORT,
                    "authority": f"{layout.shared}/pki/ca.crt",
                    "certificate": f"{layout.shared}/pki/multinet.crt",
                    "key": f"{layout.shared}/pki/multinet.key",
                },
                "pluginDir": f"{layout.folder}/cni-bin",
                "cacheDir": f"{layout.folder}/cni-cache",
                "endedDir": f"{layout.folder}/cni-ended",
                "delegate": default or bridge_network(layout),
            }
        ],
    }


def bridge_network(layout: Layout) -> dict[str, JsonValue]:
    """Return the pods' own network where none is chosen: the CNI bridge, addresses of this node's part."""
    networks = (POD_NETWORK, layout.ranges.services, *layout.ranges.reaches)
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": POD_BRIDGE,
                "isGateway": True,
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": f"{layout.folder}/addresses",
                    "ranges": [[{"subnet": layout.pod_network}]],
                    "routes": [{"dst": network} for network in networks],
                },
            }
        ],
    }
