"""Network configuration lists of the CNI specification: reading, checking and rendering per plugin; pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.network.results import KNOWN_VERSIONS, convert, version_key
from bmwg.methodology.errors import ConfigError, TestbedError

LIST_KEYS = frozenset(
    {"cniVersion", "cniVersions", "name", "disableCheck", "disableGC", "loadOnlyInlinedPlugins", "plugins"}
)
RUNTIME_KEYS = frozenset({"prevResult", "runtimeConfig"})  # the runtime's own, never the user's
FIRST_VERSION_WITH_CHECK = "0.4.0"  # CNI specification, CHECK
FIRST_VERSION_WITH_PREVIOUS_RESULT = "0.3.0"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkList:
    """A checked configuration list; `versions` are those its author allows, ascending."""

    name: str
    versions: tuple[str, ...]
    disable_check: bool
    plugins: tuple[Mapping[str, Any], ...]

    @property
    def binaries(self) -> tuple[str, ...]:
        """Every plugin binary that the list names, IPAM plugins included, each once, in order."""
        names: dict[str, None] = {}
        for plugin in self.plugins:
            names.setdefault(plugin["type"])
            ipam = plugin.get("ipam")
            if isinstance(ipam, Mapping) and isinstance(ipam.get("type"), str):
                names.setdefault(ipam["type"])
        return tuple(names)


def parse(document: Any, *, where: str = "conflist") -> NetworkList:
    """Check a rendered configuration list and return it.

    Raises one ConfigError NET-02 that lists every problem. What stands inside a plugin's object beyond the
    keys of the specification is the plugin's own and is not judged.
    """
    problems: list[str] = []
    if not isinstance(document, Mapping):
        raise _error(where, [f"{where}: expected a mapping, found {type(document).__name__}"])
    for key in document:
        if key not in LIST_KEYS:
            near = difflib.get_close_matches(str(key), LIST_KEYS, n=1)
            problems.append(f"{where}: unknown key {key!r}" + (f" (near {near[0]!r})" if near else ""))
    name = document.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problems.append(f"{where}.name: expected letters, digits, '_', '.', '-', found {name!r}")
    versions = _versions(document, where, problems)
    plugins = document.get("plugins")
    if not isinstance(plugins, list) or not plugins:
        problems.append(f"{where}.plugins: expected a list of at least one plugin, found {plugins!r}")
        plugins = []
    for at, plugin in enumerate(plugins):
        _check_plugin(plugin, f"{where}.plugins[{at}]", problems)
    disable_check = document.get("disableCheck", False)
    if not isinstance(disable_check, bool):
        problems.append(f"{where}.disableCheck: expected true or false, found {disable_check!r}")
    if problems:
        raise _error(where, problems)
    return NetworkList(name=str(name), versions=versions, disable_check=disable_check, plugins=tuple(plugins))


def _versions(document: Mapping[str, Any], where: str, problems: list[str]) -> tuple[str, ...]:
    main = document.get("cniVersion", "0.1.0")
    listed = document.get("cniVersions", [])
    if not isinstance(listed, list):
        problems.append(f"{where}.cniVersions: expected a list, found {listed!r}")
        listed = []
    known = set()
    for version in [main, *listed]:
        if version in KNOWN_VERSIONS:
            known.add(str(version))
        elif version is main:
            problems.append(
                f"{where}.cniVersion: expected one of {', '.join(KNOWN_VERSIONS)}, found {version!r}"
            )
        # an entry of cniVersions that is newer than this runtime only means that it is not chosen
    return tuple(sorted(known, key=version_key))


def _check_plugin(plugin: Any, where: str, problems: list[str]) -> None:
    if not isinstance(plugin, Mapping):
        problems.append(f"{where}: expected a mapping, found {type(plugin).__name__}")
        return
    binaries = [(f"{where}.type", plugin.get("type"))]
    ipam = plugin.get("ipam")
    if isinstance(ipam, Mapping) and ipam:
        binaries.append((f"{where}.ipam.type", ipam.get("type")))
    for place, binary in binaries:
        if not isinstance(binary, str) or not binary or "/" in binary or binary in {".", ".."}:
            problems.append(f"{place}: expected the file name of a plugin, found {binary!r}")
    capabilities = plugin.get("capabilities", {})
    if not isinstance(capabilities, Mapping) or not all(isinstance(on, bool) for on in capabilities.values()):
        problems.append(f"{where}.capabilities: expected names with true or false, found {capabilities!r}")
    for key in sorted(RUNTIME_KEYS & set(plugin)):
        problems.append(f"{where}.{key}: the runtime writes this key, a configuration list must not")


def _error(where: str, problems: list[str]) -> ConfigError:
    return ConfigError(
        "NET-02",
        f"network configuration list at {where}: {len(problems)} problem(s)",
        expected="a configuration list of the CNI specification",
        found="; ".join(problems),
        hint="no plugin was run",
    )


def negotiate(network: NetworkList, supported: Mapping[str, Iterable[str]]) -> str:
    """Return the highest version that the list allows and every plugin in `supported` speaks.

    Raises TestbedError CNI-02 with each plugin's versions when there is none.
    """
    speaks = {plugin: frozenset(versions) for plugin, versions in supported.items()}
    for version in reversed(network.versions):
        if all(version in versions for versions in speaks.values()):
            return version
    replies = "; ".join(
        f"{plugin} speaks {', '.join(sorted(versions, key=version_key)) or 'none'}"
        for plugin, versions in speaks.items()
    )
    raise TestbedError(
        "CNI-02",
        f"network {network.name}: no CNI version is common to the list and its plugins",
        expected=f"one of {', '.join(network.versions)}",
        found=replies,
        hint="set cniVersion to one that all plugins speak, or add it to cniVersions",
    )


def plugin_config(
    network: NetworkList,
    plugin: Mapping[str, Any],
    version: str,
    *,
    previous: Mapping[str, Any] | None = None,
    capability_arguments: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what one plugin reads on its standard input (CNI specification, derived configuration).

    `previous` is a result of any version and is converted to `version`. Of `capability_arguments` a plugin
    gets those whose capability it declares, as `runtimeConfig`.
    """
    config = {key: value for key, value in plugin.items() if key != "capabilities"}
    config["cniVersion"] = version
    config["name"] = network.name
    declared = plugin.get("capabilities", {})
    granted = {key: value for key, value in (capability_arguments or {}).items() if declared.get(key, False)}
    if granted:
        config["runtimeConfig"] = granted
    if previous is not None and version_key(version) >= version_key(FIRST_VERSION_WITH_PREVIOUS_RESULT):
        config["prevResult"] = convert(previous, version)
    return config
