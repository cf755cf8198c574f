"""A CNI plugin that delegates: a pod's own network first, then each further one that its annotation asks for.

It understands what Multus understands of a pod, and is there because a cluster without access to registries
has no Multus. It is started by containerd on a node of an embedded cluster, for ADD, DEL, CHECK and VERSION.
What it attached stands in a record beside the cache, so DEL asks the API nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import ssl
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.kubernetes import attachments
from bmwg.drivers.network import cni
from bmwg.drivers.ports import sysctl
from bmwg.methodology.errors import ToolkitError

VERSIONS = ["0.3.1", "0.4.0", "1.0.0"]
_CLONE_NEWNET = 0x40000000
_API_S = 10.0  # choice: one question to the API
_CODE_OTHER, _CODE_AGAIN = 100, 11  # of the CNI specification: a plugin's own, and "try again later"


def main() -> int:
    """Do what CNI_COMMAND says; returns the exit status."""
    command = os.environ.get("CNI_COMMAND", "")
    if command == "VERSION":
        print(json.dumps({"cniVersion": "1.0.0", "supportedVersions": VERSIONS}))
        return 0
    try:
        config = json.load(sys.stdin)
        if command == "ADD":
            print(json.dumps(_add(config)))
        elif command == "DEL":
            _delete(config)
        elif command != "CHECK":
            raise ValueError(f"CNI_COMMAND {command!r}")
    except (ToolkitError, OSError, ValueError, KeyError, http.client.HTTPException) as error:
        code = _CODE_AGAIN if isinstance(error, (OSError, http.client.HTTPException)) else _CODE_OTHER
        said = {"cniVersion": "1.0.0", "code": code, "msg": str(error)}
        print(json.dumps(said))
        return 1
    return 0


def _add(config: Mapping[str, Any]) -> dict[str, Any]:
    """Attach the pod's own network and the further ones; returns the first's result."""
    began_ns = time.monotonic_ns()
    args = _arguments()
    namespace, pod = args.get("K8S_POD_NAMESPACE", ""), args.get("K8S_POD_NAME", "")
    api = _Api(config["api"])
    found = api.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")
    asked = (found["metadata"].get("annotations") or {}).get(attachments.NETWORKS)
    wishes = attachments.wishes(asked, namespace=namespace)
    networks: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
        ("", config["delegate"], os.environ["CNI_IFNAME"], {})
    ]
    for wish in wishes:
        resource = api.get(
            f"/apis/{attachments.GROUP}/{attachments.VERSION}/namespaces/{wish.namespace}"
            f"/{attachments.PLURAL}/{wish.name}"
        )
        name = f"{wish.namespace}/{wish.name}"
        networks.append(
            (name, attachments.conflist_of(resource), wish.interface, wish.capability_arguments())
        )
    read_ns = time.monotonic_ns()
    container = os.environ["CNI_CONTAINERID"]
    record = Path(config["cacheDir"], f"{container}.multinet")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(
        json.dumps(
            [
                {"conflist": network[1], "interface": network[2], "arguments": network[3]}
                for network in networks
            ]
        )
    )
    added, status = [], []
    _quieted(os.environ["CNI_NETNS"])
    try:
        for name, conflist, interface, arguments in networks:
            made = cni.add(
                plugin_dir=config["pluginDir"],
                conflist=conflist,
                container_id=container,
                netns=os.environ["CNI_NETNS"],
                interface=interface,
                cache_dir=config["cacheDir"],
                cni_args={**args, "IgnoreUnknown": "true"},
                capability_arguments=arguments,
            )
            added.append({"network": name or conflist["name"], "interface": interface, **made})
            status.append(
                attachments.status_of(name or conflist["name"], interface, made["result"], default=not name)
            )
        api.merge(
            f"/api/v1/namespaces/{namespace}/pods/{pod}",
            {"metadata": {"annotations": {attachments.STATUS: json.dumps(status)}}},
        )
    except BaseException:
        with contextlib.suppress(ToolkitError):
            _delete(config)
        raise
    times = {"began_ns": began_ns, "read_ns": read_ns, "ended_ns": time.monotonic_ns()}
    record.with_suffix(".added").write_text(
        json.dumps({"pod_uid": found["metadata"]["uid"], "attached": added, "times": times})
    )
    result: dict[str, Any] = added[0]["result"]
    return result


def _quieted(netns: str) -> None:
    """Keep the pod's interfaces that are made from here on from speaking unasked, as those of any pod."""
    child = os.fork()
    if child == 0:
        try:
            descriptor = os.open(netns, os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) == 0:
                sysctl.quiet_defaults()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _delete(config: Mapping[str, Any]) -> None:
    """Detach all that this container was given, the last first. Idempotent."""
    began_ns = time.monotonic_ns()
    container = os.environ["CNI_CONTAINERID"]
    record = Path(config["cacheDir"], f"{container}.multinet")
    try:
        networks = json.loads(record.read_text())
    except FileNotFoundError:
        return
    failures = []
    for network in reversed(networks):
        failures += cni.delete(
            plugin_dir=config["pluginDir"],
            conflist=network["conflist"],
            network=network["conflist"]["name"],
            container_id=container,
            netns=os.environ.get("CNI_NETNS", ""),
            interface=network["interface"],
            cache_dir=config["cacheDir"],
            cni_args={**_arguments(), "IgnoreUnknown": "true"},
            capability_arguments=network["arguments"],
        )
    if failures:
        raise ValueError("; ".join(failures))
    _tell_the_end(record, config.get("endedDir", ""), began_ns)
    for file in (record, record.with_suffix(".added")):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()


def _tell_the_end(record: Path, folder: str, began_ns: int) -> None:
    """Write when the networks of a pod went, for whoever times its removal."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        pod_uid = json.loads(record.with_suffix(".added").read_text())["pod_uid"]
        Path(folder).mkdir(parents=True, exist_ok=True)
        times = {"began_ns": began_ns, "ended_ns": time.monotonic_ns()}
        Path(folder, f"{pod_uid}.json").write_text(json.dumps(times))


def _arguments() -> dict[str, str]:
    parts = [part.partition("=") for part in os.environ.get("CNI_ARGS", "").split(";") if part]
    return {key: value for key, _, value in parts}


class _Api:
    """Questions to the API by the standard library: a plugin starts for every pod, and must be quick."""

    def __init__(self, how: Mapping[str, Any]) -> None:
        context = ssl.create_default_context(cafile=how["authority"])
        context.load_cert_chain(how["certificate"], how["key"])
        self._connection = http.client.HTTPSConnection(
            how["address"], how["port"], timeout=_API_S, context=context
        )

    def get(self, path: str) -> dict[str, Any]:
        return self._asked("GET", path, None)

    def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._asked("PATCH", path, json.dumps(body))

    def _asked(self, method: str, path: str, body: str | None) -> dict[str, Any]:
        headers = {"Accept": "application/json", "Content-Type": "application/merge-patch+json"}
        self._connection.request(method, path, body, headers if body else {"Accept": "application/json"})
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise OSError(f"{method} {path}: {answer.status} {data[:200].decode(errors='replace')}")
        found: dict[str, Any] = json.loads(data)
        return found


if __name__ == "__main__":
    raise SystemExit(main())
