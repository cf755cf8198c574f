"""The manifests of pods that run one program of a hosting form each, and of the Service before them. Pure.

The limits are those of the other hosting forms. A pod asks for little of that: so many as are measured beside
each other must find room on one node, and what the limits allow is theirs all the same.
"""

from __future__ import annotations

from typing import Any

from bmwg.drivers.api.instance import Limits, Program
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import manifest
from bmwg.drivers.kubernetes.batch import LABEL
from bmwg.drivers.kubernetes.client import OWNER_LABEL, resource

FOLDER = "/run/bmwg-program"  # in the pod: its files, and what it writes
ANYWHERE = "0.0.0.0"  # a pod's address is drawn when it is made
REQUEST = {"cpu": "20m", "memory": "32Mi"}  # choice: 32 of them fit a node of one CPU
PROTOCOL = "TCP"
_FILES, _WORK = "files", "work"


def pod(
    name: str,
    program: Program,
    limits: Limits,
    *,
    group: str,
    namespace: str,
    owner: str,
    image: str,
    node: str,
    ready_s: float = 0.0,
) -> dict[str, Any]:
    """Return the manifest of one pod of a group, whose files are those of the group's ConfigMap.

    With `ready_s` it is ready when the program takes connections, and started anew when it does not within
    that time. It is asked until then and never again: nothing but clients speaks to it while it is measured.
    """
    spec = PodSpec(
        pod_id=name,
        cpus="0",
        memory_octets=limits.memory_octets,
        arguments=program.at(FOLDER, ANYWHERE, program.port).command,
        forwarding=False,
        root=False,
        endpoint=True,
    )
    labels = {LABEL: group}
    made = manifest.pod(spec, namespace=namespace, owner=owner, image=image, node=node, labels=labels)
    container = made["spec"]["containers"][0]
    container |= {
        "resources": {
            "requests": dict(REQUEST),
            "limits": {"cpu": str(limits.cpus), "memory": str(limits.memory_octets)},
        },
        "ports": [{"name": "program", "containerPort": program.port, "protocol": PROTOCOL}],
        "volumeMounts": [
            *container["volumeMounts"],
            {"name": _WORK, "mountPath": FOLDER},
            *(
                {"name": _FILES, "mountPath": f"{FOLDER}/{file}", "subPath": file, "readOnly": True}
                for file in program.files
            ),
        ],
    }
    if ready_s:
        asked = {"tcpSocket": {"port": program.port}, "periodSeconds": 1, "timeoutSeconds": 1}
        container["startupProbe"] = {**asked, "failureThreshold": max(1, int(ready_s))}
    made["spec"]["volumes"] += [
        {"name": _WORK, "emptyDir": {}},
        {"name": _FILES, "configMap": {"name": group}},
    ]
    return made


def files(group: str, program: Program, *, namespace: str, owner: str) -> dict[str, Any]:
    """Return the ConfigMap with the program's files."""
    data = dict(program.at(FOLDER, ANYWHERE, program.port).files)
    return resource("ConfigMap", group, namespace, owner, data=data)


def service(group: str, port: int, *, namespace: str, owner: str) -> dict[str, Any]:
    """Return the ClusterIP Service of a group: the cluster itself says which of its pods are behind it."""
    selector = {OWNER_LABEL: owner, LABEL: group}
    ports = [{"name": "program", "protocol": PROTOCOL, "port": port, "targetPort": port}]
    spec = {"type": "ClusterIP", "selector": selector, "ports": ports}
    return resource("Service", group, namespace, owner, spec=spec)
