"""The runtime's side of the CNI specification: ADD, CHECK, DEL and VERSION over plugin binaries.

All functions here run on the node, take and return builtins, and are idempotent where the specification
asks for it. A cached attachment is one file in `cache_dir`, removed when its DEL succeeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bmwg.drivers.network import cache, datapath, holder, plugins, results
from bmwg.drivers.network.conflist import (
    FIRST_VERSION_WITH_CHECK,
    NetworkList,
    negotiate,
    parse,
    plugin_config,
)
from bmwg.drivers.network.exec import PluginRun, run_plugin
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError

DEFAULT_DEADLINE_S = 20.0  # choice: a plugin that waits for DAD takes seconds
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_INTERFACE = re.compile(r"[^\s/:]{1,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What all plugin executions of one attachment have in common."""

    plugin_dir: str
    container_id: str
    netns: str
    interface: str
    cni_args: Mapping[str, str]
    deadline_s: float

    def variables(self) -> dict[str, str]:
        return {
            "CNI_CONTAINERID": self.container_id,
            "CNI_NETNS": self.netns,
            "CNI_IFNAME": self.interface,
            "CNI_PATH": self.plugin_dir,
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in self.cni_args.items()),
        }


def add(
    *,
    plugin_dir: str,
    conflist: Mapping[str, Any],
    container_id: str,
    netns: str,
    interface: str,
    cache_dir: str,
    cni_args: Mapping[str, str] | None = None,
    capability_arguments: Mapping[str, Any] | None = None,
    plugin_deadline_s: float = DEFAULT_DEADLINE_S,
) -> dict[str, Any]:
    """Attach `netns` to the network of a rendered `conflist`; return result, version used and executions.

    The result is in the form of the version used and is cached. When a plugin fails, all plugins get a DEL
    and then the plugin's own error is raised: TestbedError CNI-10 with plugin, command and code. Raises
    ConfigError NET-02 and TestbedError CNI-01..05, CNI-11, CNI-12 (attached already).
    """
    network = parse(conflist)
    call = _call(plugin_dir, container_id, netns, interface, cni_args, plugin_deadline_s)
    version = _version(network, call)
    entry = {
        "schema": cache.SCHEMA,
        "plugin_dir": plugin_dir,
        "conflist": conflist,
        "version": version,
        "network": network.name,
        "container_id": container_id,
        "netns": netns,
        "netns_start_ticks": holder.start_ticks(netns),
        "interface": interface,
        "cni_args": dict(call.cni_args),
        "capability_arguments": dict(capability_arguments or {}),
        "result": None,
    }
    cache.create(cache_dir, entry)
    runs: list[dict[str, Any]] = []
    result: dict[str, Any] | None = None
    try:
        for plugin in network.plugins:
            config = plugin_config(
                network, plugin, version, previous=result, capability_arguments=capability_arguments
            )
            run = _execute(call, plugin["type"], "ADD", config)
            runs.append(_summary(plugin["type"], "ADD", run))
            result = _result(run, call, network, plugin["type"], version)
        cache.replace(cache_dir, {**entry, "result": result})
    except ToolkitError as error:
        raise _undone(error, cache_dir, call, network) from error
    return {"result": result, "version": version, "network": network.name, "executions": runs}


def check(
    *,
    container_id: str,
    network: str,
    interface: str,
    cache_dir: str,
    plugin_deadline_s: float = DEFAULT_DEADLINE_S,
) -> dict[str, Any]:
    """Ask every plugin whether the cached attachment still stands; return what was executed.

    Nothing is executed, and `skipped` says why, when the list disables CHECK or its version has none.
    Raises TestbedError CNI-13 when nothing is cached, CNI-10 with the plugin's error when it does not stand.
    """
    entry = cache.read(cache_dir, network, container_id, interface)
    if entry is None or entry["result"] is None:
        raise TestbedError(
            "CNI-13",
            f"network {network}: CHECK of an attachment that is not there",
            expected=f"a cached result of {container_id}, {interface}",
            found="none",
        )
    listed, call, version = _restore(entry, plugin_deadline_s)
    if listed.disable_check:
        return {"executions": [], "skipped": "disableCheck is set in the configuration list"}
    if results.version_key(version) < results.version_key(FIRST_VERSION_WITH_CHECK):
        return {"executions": [], "skipped": f"CNI {version} has no CHECK"}
    runs = []
    for plugin in listed.plugins:
        config = _config(listed, plugin, version, entry)
        run = _execute(call, plugin["type"], "CHECK", config)
        runs.append(_summary(plugin["type"], "CHECK", run))
        if run.exit_status != 0:
            raise _plugin_error(run, call, listed, plugin["type"], "CHECK")
    return {"executions": runs, "skipped": ""}


def delete(
    *,
    container_id: str,
    network: str,
    interface: str,
    cache_dir: str,
    plugin_dir: str = "",
    conflist: Mapping[str, Any] | None = None,
    netns: str = "",
    netns_start_ticks: int = 0,
    cni_args: Mapping[str, str] | None = None,
    capability_arguments: Mapping[str, Any] | None = None,
    plugin_deadline_s: float = DEFAULT_DEADLINE_S,
) -> list[str]:
    """Detach, plugins in reverse order, and return what failed, a line each; empty means gone.

    Idempotent: with nothing cached and no `conflist` there is nothing to do. The cached attachment wins over
    the arguments; these serve when the cache was lost. A failing plugin does not stop the others, and the
    cache file stays for another try. Where the interface is gone, a plugin that fails is asked again
    without a namespace. A `netns` that is gone is passed as empty, as the specification asks; one of a
    process is gone when that process did not start at `netns_start_ticks` (0: not known), for its id may
    have been used again.
    """
    entry = cache.read(cache_dir, network, container_id, interface)
    if entry is None:
        if conflist is None:
            return []
        entry = {
            "plugin_dir": plugin_dir,
            "conflist": conflist,
            "version": None,
            "container_id": container_id,
            "netns": netns,
            "netns_start_ticks": netns_start_ticks,
            "interface": interface,
            "cni_args": dict(cni_args or {}),
            "capability_arguments": dict(capability_arguments or {}),
            "result": None,
        }
    try:
        listed, call, version = _restore(entry, plugin_deadline_s)
    except ToolkitError as error:
        return [str(error)]
    failures = []
    for plugin in reversed(listed.plugins):
        try:
            _delete_one(listed, plugin, version, call, entry)
        except ToolkitError as error:
            failures.append(str(error))
    if not failures:
        cache.remove(cache_dir, network, container_id, interface)
    return failures


def _delete_one(
    listed: NetworkList, plugin: Mapping[str, Any], version: str, call: _Call, entry: Mapping[str, Any]
) -> None:
    """DEL by one plugin; raises its error."""
    config = _config(listed, plugin, version, entry)
    run = _execute(call, plugin["type"], "DEL", config)
    if run.exit_status == 0:
        return
    gone = call.netns and not datapath.has_interface(netns=call.netns, interface=call.interface)
    # some plugins refuse to delete what is gone; to those it is as if the namespace were gone with it
    if gone and _execute(replace(call, netns=""), plugin["type"], "DEL", config).exit_status == 0:
        return
    raise _plugin_error(run, call, listed, plugin["type"], "DEL")


def detach(*, network: str, container_id: str, **arguments: Any) -> None:
    """`delete` that raises TestbedError CNI-15 with all failures: the undo of `add`, idempotent."""
    failures = delete(network=network, container_id=container_id, **arguments)
    if failures:
        raise TestbedError(
            "CNI-15",
            f"network {network}: {arguments.get('interface')} of {container_id} was not detached cleanly",
            expected="a DEL without failure",
            found=" | ".join(failures),
            hint="`bmwg cleanup` tries it again",
        )


def status(
    *, plugin_dir: str, conflist: Mapping[str, Any], plugin_deadline_s: float = DEFAULT_DEADLINE_S
) -> list[str]:
    """Ask every plugin whether it could serve an ADD now (STATUS, CNI 1.1); return each "no"."""
    network = parse(conflist)
    call = _call(plugin_dir, "status", "", "status0", None, plugin_deadline_s)
    version = _version(network, call)
    if results.version_key(version) < results.version_key("1.1.0"):
        return []
    failures = []
    for plugin in network.plugins:
        run = _execute(call, plugin["type"], "STATUS", plugin_config(network, plugin, version))
        if run.exit_status != 0:
            failures.append(str(_plugin_error(run, call, network, plugin["type"], "STATUS")))
    return failures


def _call(
    plugin_dir: str,
    container_id: str,
    netns: str,
    interface: str,
    cni_args: Mapping[str, str] | None,
    deadline_s: float,
) -> _Call:
    arguments = dict(cni_args or {})
    wrong = []
    if not _IDENTIFIER.fullmatch(container_id):
        wrong.append(f"container id {container_id!r}")
    if not _INTERFACE.fullmatch(interface) or interface in {".", ".."}:
        wrong.append(f"interface {interface!r}")
    wrong += [f"CNI_ARGS {key}={value}" for key, value in arguments.items() if set(";=") & set(key + value)]
    if wrong:
        raise ConfigError(
            "NET-03",
            "an attachment cannot be named to CNI plugins",
            expected="identifiers of letters, digits, '_', '.', '-'; interface names of 1..15 characters",
            found="; ".join(wrong),
            hint="no plugin was run",
        )
    return _Call(
        plugin_dir=plugin_dir,
        container_id=container_id,
        netns=netns,
        interface=interface,
        cni_args=arguments,
        deadline_s=deadline_s,
    )


def _version(network: NetworkList, call: _Call) -> str:
    found = {
        binary: plugins.identify(call.plugin_dir, binary, deadline_s=call.deadline_s).versions
        for binary in network.binaries
    }
    return negotiate(network, found)


def _restore(entry: Mapping[str, Any], deadline_s: float) -> tuple[NetworkList, _Call, str]:
    network = parse(entry["conflist"])
    netns = entry["netns"] if holder.stands(entry["netns"], entry.get("netns_start_ticks", 0)) else ""
    call = _call(
        entry["plugin_dir"], entry["container_id"], netns, entry["interface"], entry["cni_args"], deadline_s
    )
    return network, call, entry["version"] or _version(network, call)


def _config(
    network: NetworkList, plugin: Mapping[str, Any], version: str, entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a plugin's CHECK or DEL configuration; both see the whole chain's final result."""
    with_result = results.version_key(version) >= results.version_key(FIRST_VERSION_WITH_CHECK)
    return plugin_config(
        network,
        plugin,
        version,
        previous=entry["result"] if with_result else None,
        capability_arguments=entry["capability_arguments"],
    )


def _execute(call: _Call, binary: str, command: str, config: Mapping[str, Any]) -> PluginRun:
    path = plugins.find(call.plugin_dir, binary)
    return run_plugin(
        path, command, call.variables(), json.dumps(config).encode(), deadline_s=call.deadline_s
    )


def _summary(binary: str, command: str, run: PluginRun) -> dict[str, Any]:
    return {
        "plugin": binary,
        "command": command,
        "wall_time_ms": round(run.wall_time_s * 1e3, 3),
        "stderr": run.stderr[-400:],
    }


def _result(run: PluginRun, call: _Call, network: NetworkList, binary: str, version: str) -> dict[str, Any]:
    if run.exit_status != 0:
        raise _plugin_error(run, call, network, binary, "ADD")
    try:
        answer = json.loads(run.stdout) if run.stdout.strip() else None
    except (ValueError, RecursionError) as error:
        raise _nonsense(run, network, binary, f"no JSON ({error})") from error
    if answer is None:
        raise _nonsense(run, network, binary, "nothing")
    found = results.problems(answer, version)
    if found:
        raise _nonsense(run, network, binary, "; ".join(found))
    return results.convert(answer, version)


def _nonsense(run: PluginRun, network: NetworkList, binary: str, found: str) -> TestbedError:
    return TestbedError(
        "CNI-11",
        f"network {network.name}: plugin {binary}, ADD, ended with status 0 but gave no sound result",
        expected="a result object of the CNI specification",
        found=f"{found}; stdout begins {run.stdout[:120]!r}"
        + (f"; stderr: {run.stderr}" if run.stderr else ""),
        hint="report this to the plugin's vendor",
    )


def _plugin_error(
    run: PluginRun, call: _Call, network: NetworkList, binary: str, command: str
) -> TestbedError:
    """Build the error of a plugin that ended with another status than 0, from its error object if any."""
    code, message, details = "none", "", ""
    try:
        answer = json.loads(run.stdout)
        code = str(int(answer["code"]))
        message = str(answer.get("msg", ""))
        details = str(answer.get("details", "") or "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        message = f"no error object; stdout begins {run.stdout[:120]!r}" if run.stdout.strip() else ""
    said = "; ".join(
        part for part in (message, details, f"stderr: {run.stderr}" if run.stderr else "") if part
    )
    return TestbedError(
        "CNI-10",
        f"network {network.name}: plugin {binary} failed, {command} of {call.interface}, CNI code {code}",
        expected="exit status 0",
        found=f"exit status {run.exit_status}: {said or 'no word on stdout or stderr'}",
        hint=f"the plugin is {plugins.find(call.plugin_dir, binary)}",
    )


def _undone(error: ToolkitError, cache_dir: str, call: _Call, network: NetworkList) -> ToolkitError:
    """Detach what a failed ADD left and return the error, with what could not be detached in its hint."""
    left = delete(
        container_id=call.container_id,
        network=network.name,
        interface=call.interface,
        cache_dir=cache_dir,
        plugin_deadline_s=call.deadline_s,
    )
    cache.remove(cache_dir, network.name, call.container_id, call.interface)
    note = "what it had made is detached" if not left else "DEL after it failed too: " + " | ".join(left)
    return type(error)(
        error.error_id,
        error.what,
        expected=error.expected,
        found=error.found,
        hint=f"{error.hint}; {note}" if error.hint else note,
    )
