"""Rights that a run asks a cluster for before it makes anything: verb, group, resource."""

RIGHTS = (
    ("get", "", "namespaces"),
    ("create", "", "namespaces"),
    ("patch", "", "namespaces"),
    ("delete", "", "namespaces"),
)
POD_RIGHTS = (
    ("get", "", "pods"),
    ("list", "", "pods"),
    ("create", "", "pods"),
    ("patch", "", "pods"),
    ("delete", "", "pods"),
    ("watch", "", "pods"),
    ("get", "", "pods/log"),
)
NETWORK_RIGHTS = (
    ("create", "k8s.cni.cncf.io", "network-attachment-definitions"),
    ("delete", "k8s.cni.cncf.io", "network-attachment-definitions"),
)
