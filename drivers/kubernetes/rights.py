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
NODE_RIGHTS = (("list", "", "nodes"),)  # to tell which of them are nodes of the testbed file
