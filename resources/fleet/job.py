"""A fleet as objects of Kubernetes: an Indexed Job, an index a shard, and what its pods read. Pure.

All pods are on one node, the runner: results lie on its disk, where the journals are written and a shard goes
on, and the locks of testbeds are its kernel's. Ids: FLEET-07 what pods cannot be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.kubernetes.lease import VERSION as LEASE_VERSION
from bmwg.drivers.kubernetes.lease import lease_name
from bmwg.drivers.testbed.file import SIMULATED, NodeKind, Testbed
from bmwg.drivers.undo.ledger import INDEX_DIR
from bmwg.drivers.undo.locks import LOCK_DIR
from bmwg.methodology.errors import ConfigError
from bmwg.reports.fleet.plan import Fleet, text_of
from bmwg.resources.fleet.handing_out import DEADLINE_FACTOR, GRACE_S, LEAST_DEADLINE_S, Statuses

_READ = "/fleet"  # where pods find plan and testbeds
_SSH = "/root/.ssh"
_MOST_OCTETS = 1_000_000  # of a ConfigMap; Kubernetes takes a mebibyte
CONTAINER = "shard"


def objects(
    fleet: Fleet,
    *,
    testbeds: Mapping[str, tuple[Testbed, str]],
    image: str,
    node: str,
    results: str,
    statuses: Statuses,
    namespace: str = "default",
    ssh_secret: str = "",
    tries: int = 3,
    lease: bool = False,
) -> list[dict[str, Any]]:
    """Return a ConfigMap and a Job; with `lease` first an account that may hold the testbeds' Leases.

    `testbeds` are the files of the fleet by the name of each, read and as text; so many pods run at a time.
    `node` is the name of the runner, `results` a folder of its disk, `ssh_secret` the name of a Secret with
    what ssh reads. Raises ConfigError FLEET-07.
    """
    name = f"bmwg-fleet-{fleet.sha256[:12]}"
    files = {"fleet.json": text_of(fleet.data)}
    files |= {f"{number}-testbed.yaml": text for number, (_, text) in enumerate(testbeds.values())}
    _refuse(fleet, testbeds, files)
    labels = {"app.kubernetes.io/name": "bmwg", "bmwg.ietf.org/fleet": fleet.sha256[:12]}
    head = {"namespace": namespace, "name": name, "labels": labels}
    pod = _pod(files, image=image, node=node, results=results, ssh_secret=ssh_secret)
    pod["volumes"][0]["configMap"]["name"] = name
    longest_s = max(shard.estimate_s for shard in fleet.shards)
    pod["activeDeadlineSeconds"] = int(max(LEAST_DEADLINE_S, DEADLINE_FACTOR * longest_s))
    account = []
    if lease:
        account = _account(head, [lease_name(bed) for bed in testbeds])
        pod["serviceAccountName"], pod["automountServiceAccountToken"] = name, True
        pod["containers"][0]["args"] += ["--lease", namespace]
    if any(_needs_rights(testbed) for testbed, _ in testbeds.values()):
        pod["containers"][0]["securityContext"] = {"privileged": True}
    job = {
        "completionMode": "Indexed",
        "completions": len(fleet.shards),
        "parallelism": min(len(testbeds), len(fleet.shards)),
        "backoffLimitPerIndex": tries - 1,
        "maxFailedIndexes": len(fleet.shards),
        "podReplacementPolicy": "Failed",  # never two pods for one shard
        "podFailurePolicy": {"rules": _rules(statuses)},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return [
        *account,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head, "data": files},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": job},
    ]


def _account(head: Mapping[str, Any], leases: list[str]) -> list[dict[str, Any]]:
    """Return an account, what it may do, and that it may: make leases, and read and change these ones."""
    group, name = LEASE_VERSION.partition("/")[0], head["name"]
    rbac = "rbac.authorization.k8s.io"
    may = {"apiGroups": [group], "resources": ["leases"]}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": head},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": head,
            "rules": [
                {**may, "verbs": ["create"]},
                {**may, "resourceNames": leases, "verbs": ["get", "update"]},
            ],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": head,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": head["namespace"]}],
        },
    ]


def _rules(statuses: Statuses) -> list[dict[str, Any]]:
    """Return what a pod's end does: refused ends the shard, taken and evicted is no try, else it is one."""

    def ended_by(status: int) -> dict[str, Any]:
        return {"containerName": CONTAINER, "operator": "In", "values": [status]}

    return [
        {"action": "FailIndex", "onExitCodes": ended_by(statuses.refused)},
        {"action": "Ignore", "onExitCodes": ended_by(statuses.taken)},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]


def _pod(files: Mapping[str, str], *, image: str, node: str, results: str, ssh_secret: str) -> dict[str, Any]:
    beds = [word for name in files if name != "fleet.json" for word in ("--testbed", f"{_READ}/{name}")]
    read = ["--index", "$(JOB_COMPLETION_INDEX)", *beds, "--results", results]
    places = {"results": results, "locks": str(LOCK_DIR.parent), "ledgers": str(INDEX_DIR.parent)}
    mounts: list[dict[str, Any]] = [{"name": "plan", "mountPath": _READ, "readOnly": True}]
    mounts += [{"name": volume, "mountPath": place} for volume, place in places.items()]
    volumes: list[dict[str, Any]] = [{"name": "plan", "configMap": {"name": ""}}]
    volumes += [
        {"name": volume, "hostPath": {"path": place, "type": "DirectoryOrCreate"}}
        for volume, place in places.items()
    ]
    if ssh_secret:
        mounts.append({"name": "ssh", "mountPath": _SSH, "readOnly": True})
        volumes.append({"name": "ssh", "secret": {"secretName": ssh_secret, "defaultMode": 0o400}})
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": int(GRACE_S),
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [
            {
                "name": CONTAINER,
                "image": image,
                "command": ["bmwg"],
                "args": ["fleet", "shard", f"{_READ}/fleet.json", *read],
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }


def _needs_rights(testbed: Testbed) -> bool:
    """Whether runs make something on the runner itself: every node that is not a host over SSH."""
    return testbed.tester.driver != SIMULATED and any(node.kind is not NodeKind.SSH for node in testbed.nodes)


def _refuse(fleet: Fleet, testbeds: Mapping[str, object], files: Mapping[str, str]) -> None:
    found = None
    if fleet.profile.endswith(".yaml"):
        found = ("a profile of the toolkit's own, which the image has", fleet.profile)
    elif (octets := sum(map(len, files.values()))) > _MOST_OCTETS:
        found = (f"plan and testbeds of at most {_MOST_OCTETS} octets", str(octets))
    elif not testbeds:
        found = ("a testbed", "none")
    if found is not None:
        raise ConfigError(
            "FLEET-07",
            f"manifest of fleet {fleet.sha256[:12]}; nothing was written",
            expected=found[0],
            found=found[1],
        )
