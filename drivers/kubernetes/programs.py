"""The programs of an embedded cluster: where set-up has put them, of which versions, and what is missing.

Node functions. Nothing here starts anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bmwg.drivers.api import JsonValue
from bmwg.drivers.hosting import bounded

FOLDER_VARIABLE = "BMWG_KUBERNETES"  # a folder with the programs, instead of what set-up built
BUILT = "/var/cache/bmwg/kubernetes/current"
MEND = "sh setup/install.sh kubernetes"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE = ("kubelet", "kube-proxy")
_PACKAGED = ("containerd", "ctr", "runc", "unshare", "nft")


def folder() -> str:
    """Return the folder of the built programs."""
    return os.path.realpath(os.environ.get(FOLDER_VARIABLE, BUILT))


def missing() -> dict[str, str] | None:
    """Node function: what of a cluster's programs is missing here (fields of `drivers.api.Missing`)."""
    for name in (*CONTROL_PLANE, *NODE):
        if not os.access(f"{folder()}/{name}", os.X_OK):
            return {"what": "Kubernetes", "reason": f"no program {folder()}/{name}", "mend": MEND}
    for name in _PACKAGED:
        if shutil.which(name) is None:
            return {"what": "Kubernetes", "reason": f"no `{name}` in PATH", "mend": MEND}
    return None


def versions() -> dict[str, JsonValue]:
    """Node function: versions and SHA-256 of the programs as set-up recorded them; packages' own words."""
    built: dict[str, JsonValue] = {}
    hashes: dict[str, str] = {}
    try:
        lines = Path(folder(), "versions").read_text().splitlines()
    except OSError as error:
        built["reason"] = f"{folder()}/versions: {error.strerror}"
        lines = []
    for line in lines:
        words = line.split()
        if words[0] == "sha256":
            hashes[words[1]] = words[2]
        else:
            built[words[0]] = words[1]
    return {**built, "sha256": hashes, "containerd": _said("containerd"), "runc": _said("runc")}


def _said(name: str) -> str | None:
    try:
        done = bounded.run([name, "--version"], deadline_s=10.0)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else None
