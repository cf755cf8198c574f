"""The words by which a pod asks for further networks: the Network Plumbing Working Group's de facto standard.

Pure: the annotation's two forms, the custom resource, and the status that says what was attached. Ids:
KUBE-30 what is asked for cannot be understood.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import ConfigError

GROUP, VERSION, PLURAL = "k8s.cni.cncf.io", "v1", "network-attachment-definitions"
KIND = "NetworkAttachmentDefinition"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
STATUS = "k8s.v1.cni.cncf.io/network-status"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_INTERFACE = re.compile(r"[^\s/:]{1,15}")
_SHORT = re.compile(r"(?:(?P<namespace>[^/@\s]+)/)?(?P<name>[^/@\s]+)(?:@(?P<interface>[^/@\s]+))?")
_KEYS = {
    "name", "namespace", "interface", "ips", "mac", "default-route", "cni-args", "portMappings",
    "bandwidth", "infiniband-guid", "ipam-claim-reference", "deviceID", "gateway-request",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One further network of a pod: a resource by namespace and name, and the interface that it is to become.

    `ips` (prefix notation or plain) and `mac` are given to plugins that declare these capabilities.
    """

    namespace: str
    name: str
    interface: str
    ips: tuple[str, ...] = ()
    mac: str = ""
    cni_args: Mapping[str, JsonValue] | None = None

    def capability_arguments(self) -> dict[str, JsonValue]:
        """Return what a runtime passes in `runtimeConfig`."""
        given: dict[str, JsonValue] = {}
        if self.ips:
            given["ips"] = list(self.ips)
        if self.mac:
            given["mac"] = self.mac
        return given


def wishes(annotation: str | None, *, namespace: str) -> tuple[Wish, ...]:
    """Read a pod's annotation, either form; unnamed interfaces become net1, net2, ... in order.

    A name without a namespace is of the pod's own, `namespace`. Raises ConfigError KUBE-30.
    """
    text = (annotation or "").strip()
    if not text:
        return ()
    asked = _listed(text) if text.startswith("[") else [_short(part.strip()) for part in text.split(",")]
    made: list[Wish] = []
    for number, one in enumerate(asked, start=1):
        wish = _wish(one, number, namespace)
        if any(wish.interface == other.interface for other in made):
            raise _refused(text, "interfaces that differ", f"{wish.interface} twice")
        made.append(wish)
    return tuple(made)


def _listed(text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(text, "a JSON list", str(error)) from error
    if not all(isinstance(one, dict) for one in found):
        raise _refused(text, "objects in the list", "something else")
    for one in found:
        unknown = sorted(set(one) - _KEYS)
        if unknown:
            raise _refused(text, "keys of the standard", ", ".join(unknown))
    return list(found)


def _short(text: str) -> dict[str, Any]:
    match = _SHORT.fullmatch(text)
    if match is None:
        raise _refused(text, "[namespace/]name[@interface]", repr(text))
    return {key: value for key, value in match.groupdict().items() if value}


def _wish(one: Mapping[str, Any], number: int, namespace: str) -> Wish:
    name, place = one.get("name"), one.get("namespace", namespace)
    interface = one.get("interface", f"net{number}")
    for value, pattern in ((name, _NAME), (place, _NAME), (interface, _INTERFACE)):
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _refused(json.dumps(dict(one)), pattern.pattern, repr(value))
    try:
        ips = tuple(str(ipaddress.ip_interface(ip)) if "/" in ip else ip for ip in one.get("ips") or ())
    except (ValueError, TypeError) as error:
        raise _refused(json.dumps(dict(one)), "IP addresses", str(error)) from error
    return Wish(
        namespace=str(place),
        name=str(name),
        interface=str(interface),
        ips=ips,
        mac=str(one.get("mac", "")),
        cni_args=one.get("cni-args"),
    )


def _refused(what: str, expected: str, found: str) -> ConfigError:
    return ConfigError("KUBE-30", f"annotation {NETWORKS}: {what[:200]}", expected=expected, found=found)


def conflist_of(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource's configuration as a list; a single plugin's is one of one, named after the resource.

    Raises ConfigError KUBE-30. An empty one, which names a file on the node, is refused: that is the node's.
    """
    name = resource["metadata"]["name"]
    text = (resource.get("spec") or {}).get("config", "")
    where = f"{KIND} {resource['metadata'].get('namespace')}/{name}"
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise ConfigError("KUBE-30", where, expected="JSON in spec.config", found=str(error)) from error
    if not isinstance(found, dict):
        raise ConfigError("KUBE-30", where, expected="a CNI configuration in spec.config", found="none")
    found.setdefault("name", name)
    if "plugins" in found:
        return found
    plugin = {key: value for key, value in found.items() if key not in ("cniVersion", "name")}
    return {"cniVersion": found.get("cniVersion", "0.2.0"), "name": found["name"], "plugins": [plugin]}


def status_of(
    name: str, interface: str, result: Mapping[str, Any], *, default: bool = False
) -> dict[str, JsonValue]:
    """Return one entry of the network-status annotation from a CNI result."""
    interfaces = result.get("interfaces") or []
    macs = [one.get("mac", "") for one in interfaces if one.get("sandbox") and one.get("name") == interface]
    entry: dict[str, JsonValue] = {"name": name, "interface": interface}
    ips = [str(one["address"]).partition("/")[0] for one in result.get("ips") or ()]
    if ips:
        entry["ips"] = ips
    if macs and macs[0]:
        entry["mac"] = macs[0]
    if default:
        entry["default"] = True
    return {**entry, "dns": dict(result.get("dns") or {})}


def definition(
    name: str, namespace: str, conflist: Mapping[str, Any], labels: Mapping[str, str]
) -> dict[str, Any]:
    """Return the custom resource of one network."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {"config": json.dumps(conflist, sort_keys=True)},
    }


def annotation(asked: Sequence[tuple[str, str]]) -> str:
    """Return the annotation that asks for `(resource, interface)` pairs, in order."""
    return json.dumps([{"name": name, "interface": interface} for name, interface in asked])


def custom_resource_definition() -> dict[str, Any]:
    """Return the definition of the kind itself, for a cluster that has none."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": PLURAL,
                "singular": "network-attachment-definition",
                "kind": KIND,
                "shortNames": ["net-attach-def"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"config": {"type": "string"}}}
                            },
                        }
                    },
                }
            ],
        },
    }
