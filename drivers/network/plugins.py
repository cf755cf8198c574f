"""Which plugin binaries a node has: path, hash, versions spoken and the package they came in."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.drivers.network.exec import PluginRun, run_plugin
from bmwg.drivers.network.results import KNOWN_VERSIONS
from bmwg.drivers.nodes import bounded
from bmwg.methodology.errors import TestbedError

PACKAGE = "containernetworking-plugins"
MEND = f"apt-get install {PACKAGE}"
_PACKAGE_QUERY_DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One plugin binary. `versions` are the CNI versions it speaks."""

    path: str
    sha256: str
    versions: tuple[str, ...]
    version_reply: str


def find(plugin_dir: str, binary: str) -> Path:
    """Return the plugin's path; raises TestbedError CNI-01 with near names and the line that installs it."""
    path = Path(plugin_dir) / binary
    if path.is_file() and os.access(path, os.X_OK):
        return path
    folder = Path(plugin_dir)
    there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    near = difflib.get_close_matches(binary, there, n=1)
    if path.is_file():
        found = "a file that is not executable"
    elif not folder.is_dir():
        found = f"no folder {plugin_dir}"
    else:
        found = f"{len(there)} other files there" + (f"; near name {near[0]}" if near else "")
    raise TestbedError(
        "CNI-01",
        f"CNI plugin {binary} is not in {plugin_dir}",
        expected=f"an executable {path}",
        found=found,
        hint=MEND if plugin_dir == "/usr/lib/cni" else "set plugin_dir of the network in the testbed file",
    )


def identify(plugin_dir: str, binary: str, *, deadline_s: float = 20.0) -> Plugin:
    """Hash the binary and ask it for its versions; remembered until the file changes.

    Raises TestbedError CNI-01, CNI-03..05 and CNI-06 (VERSION answered with something else).
    """
    path = find(plugin_dir, binary)
    stat = path.stat()
    return _identify(path, (stat.st_ino, stat.st_size, stat.st_mtime_ns), deadline_s)


@functools.lru_cache(maxsize=256)
def _identify(path: Path, _state: tuple[int, int, int], deadline_s: float) -> Plugin:
    question = json.dumps({"cniVersion": KNOWN_VERSIONS[-1]}).encode()
    variables = {
        "CNI_CONTAINERID": "version",
        "CNI_NETNS": "version",
        "CNI_IFNAME": "version0",
        "CNI_PATH": str(path.parent),
    }
    run = run_plugin(path, "VERSION", variables, question, deadline_s=deadline_s)
    versions, reply = versions_of(path, run)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Plugin(path=str(path), sha256=digest, versions=versions, version_reply=reply)


def versions_of(path: Path, run: PluginRun) -> tuple[tuple[str, ...], str]:
    """Return the versions that a VERSION reply names, and the reply as text. Raises TestbedError CNI-06."""
    reply = run.stdout.decode("utf-8", "replace").strip()
    try:
        versions = json.loads(reply)["supportedVersions"]
        if not isinstance(versions, list) or not all(isinstance(version, str) for version in versions):
            raise TypeError("supportedVersions is no list of texts")
        return tuple(versions), reply
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TestbedError(
            "CNI-06",
            f"CNI plugin {path} did not say which versions it speaks",
            expected="a VERSION reply with supportedVersions",
            found=f"exit status {run.exit_status}, {reply[:200]!r}"
            + (f", stderr: {run.stderr}" if run.stderr else ""),
        ) from error


def evidence(*, plugin_dir: str, binaries: list[str]) -> list[dict[str, Any]]:
    """Return, for the platform record, what each binary is; a missing package is None with the reason."""
    found = []
    for binary in binaries:
        plugin = identify(plugin_dir, binary)
        package, reason = _package(plugin.path)
        found.append(
            {
                "plugin": binary,
                "path": plugin.path,
                "sha256": plugin.sha256,
                "supported_versions": list(plugin.versions),
                "version_reply": plugin.version_reply,
                "package": package,
                "package_unknown_because": reason,
            }
        )
    return found


@functools.lru_cache(maxsize=256)
def _package(path: str) -> tuple[str | None, str]:
    try:
        owner = bounded.run(["dpkg-query", "--search", path], deadline_s=_PACKAGE_QUERY_DEADLINE_S)
        if owner.returncode != 0:
            return None, "no Debian package owns the file"
        name = owner.stdout.split(":", 1)[0].strip()
        asked = ["dpkg-query", "--show", "--showformat=${Version}", name]
        version = bounded.run(asked, deadline_s=_PACKAGE_QUERY_DEADLINE_S)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"dpkg-query: {error}"
    if version.returncode != 0:
        return None, f"dpkg-query: exit status {version.returncode}"
    return f"{name} {version.stdout.strip()}", ""
