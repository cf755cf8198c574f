"""Results of CNI plugins: checked, and converted between the versions of the specification; pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

KNOWN_VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
_FLAT_VERSIONS = frozenset({"0.1.0", "0.2.0"})  # `ip4` and `ip6` objects, no interfaces
_TAGGED_VERSIONS = frozenset({"0.3.0", "0.3.1", "0.4.0"})  # each address says its IP version


def version_key(version: str) -> tuple[int, ...]:
    """Return what orders versions; raises ValueError for text that is no version."""
    return tuple(int(part) for part in version.split("."))


def problems(result: Any, version: str) -> list[str]:
    """Say what is wrong with a plugin's result for an ADD at `version`; empty when it is sound."""
    if not isinstance(result, Mapping):
        return [f"expected an object, found {type(result).__name__}"]
    found: list[str] = []
    stated = result.get("cniVersion", "0.1.0" if version in _FLAT_VERSIONS else None)
    if stated not in KNOWN_VERSIONS:
        return [f"cniVersion: expected {version}, found {stated!r}"]
    if not isinstance(result.get("dns") or {}, Mapping):
        found.append("dns: expected an object")
    if stated in _FLAT_VERSIONS:
        for key in ("ip4", "ip6"):
            if key in result:
                _check_address(result[key], "ip", key, found)
                _check_routes(result[key], f"{key}.", found)
        return found
    interfaces = _objects(result, "interfaces", found)
    for at, interface in enumerate(interfaces):
        if not isinstance(interface.get("name"), str):
            found.append(f"interfaces[{at}].name: expected text, found {interface.get('name')!r}")
    for at, address in enumerate(_objects(result, "ips", found)):
        _check_address(address, "address", f"ips[{at}]", found)
        index = address.get("interface")
        if index is not None and not (isinstance(index, int) and 0 <= index < len(interfaces)):
            found.append(f"ips[{at}].interface: expected an index of interfaces, found {index!r}")
    _check_routes(result, "", found)
    return found


def _check_routes(holder: Any, where: str, found: list[str]) -> None:
    for at, route in enumerate(_objects(holder, "routes", found)):
        if not _is_prefix(route.get("dst")):
            found.append(f"{where}routes[{at}].dst: expected a prefix, found {route.get('dst')!r}")


def _objects(result: Any, key: str, found: list[str]) -> list[Mapping[str, Any]]:
    items = result.get(key) if isinstance(result, Mapping) else None
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        found.append(f"{key}: expected a list of objects")
        return []
    return items


def _check_address(item: Any, key: str, where: str, found: list[str]) -> None:
    value = item.get(key) if isinstance(item, Mapping) else None
    if not _is_prefix(value):
        found.append(f"{where}.{key}: expected an address in prefix notation, found {value!r}")


def _is_prefix(value: Any) -> bool:
    if not isinstance(value, str) or "/" not in value:
        return False
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return False
    return True


def convert(result: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return a sound `result` in the form of `version`.

    Downwards to 0.2.0 and older only the first address of each IP version fits and interfaces are left
    out, as those versions have no place for them.
    """
    stated = str(result.get("cniVersion", "0.1.0"))
    modern = _from_flat(result) if stated in _FLAT_VERSIONS else _from_list(result)
    if version in _FLAT_VERSIONS:
        return _to_flat(modern, version)
    modern["cniVersion"] = version
    if version in _TAGGED_VERSIONS:
        modern["ips"] = [
            {"version": str(ipaddress.ip_interface(item["address"]).version), **item}
            for item in modern.get("ips", [])
        ]
    return modern


def _from_list(result: Mapping[str, Any]) -> dict[str, Any]:
    modern = dict(result)
    if modern.get("ips") is not None:
        modern["ips"] = [
            {key: value for key, value in item.items() if key != "version"} for item in modern["ips"]
        ]
    return {key: value for key, value in modern.items() if value is not None}


def _from_flat(result: Mapping[str, Any]) -> dict[str, Any]:
    modern: dict[str, Any] = {"ips": [], "routes": []}
    for key in ("ip4", "ip6"):
        if key not in result:
            continue
        part = result[key]
        item = {"address": part["ip"]}
        if part.get("gateway"):
            item["gateway"] = part["gateway"]
        modern["ips"].append(item)
        modern["routes"].extend(dict(route) for route in part.get("routes") or [])
    modern["dns"] = dict(result.get("dns") or {})
    return modern


def _to_flat(modern: Mapping[str, Any], version: str) -> dict[str, Any]:
    flat: dict[str, Any] = {"cniVersion": version, "dns": dict(modern.get("dns") or {})}
    for item in modern.get("ips", []):
        family = ipaddress.ip_interface(item["address"]).version
        key = f"ip{family}"
        if key in flat:
            continue
        part: dict[str, Any] = {"ip": item["address"]}
        if item.get("gateway"):
            part["gateway"] = item["gateway"]
        routes = [
            route
            for route in modern.get("routes", [])
            if ipaddress.ip_interface(route["dst"]).version == family
        ]
        if routes:
            part["routes"] = routes
        flat[key] = part
    return flat
