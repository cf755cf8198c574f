"""The programs of an embedded cluster: where set-up has put them, of which versions, and what is missing.

Node functions. Nothing here starts anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import built
from bmwg.drivers.nodes import bounded

FOLDER_VARIABLE = "BMWG_KUBERNETES"  # a folder with the programs, instead of what set-up built
BUILT = "/var/cache/bmwg/kubernetes"
VERSIONS = ("1.34", "1.33")  # minor versions that set-up can build; the first is the default
MEND = "sh setup/install.sh kubernetes"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE = ("kubelet", "kube-proxy")
_PACKAGED = ("containerd", "ctr", "runc", "unshare", "nft")


def folder(version: str = "") -> str:
    """Return the folder of the built programs of a minor version; without one, of the default."""
    built_there = f"{BUILT}/{version or 'current'}"
    return os.path.realpath(built_there if version else os.environ.get(FOLDER_VARIABLE, built_there))


def missing(version: str = "") -> dict[str, str] | None:
    """Node function: what of a cluster's programs is missing here (fields of `drivers.api.Missing`)."""
    place = folder(version)
    mend = f"SETUP_KUBERNETES={version} {MEND}" if version else MEND
    for name in (*CONTROL_PLANE, *NODE):
        if not os.access(f"{place}/{name}", os.X_OK):
            return {
                "what": f"Kubernetes {version}".strip(),
                "reason": f"no program {place}/{name}",
                "mend": mend,
            }
    for name in _PACKAGED:
        if shutil.which(name) is None:
            return {"what": "Kubernetes", "reason": f"no `{name}` in PATH", "mend": MEND}
    return None


def versions(*, folder: str) -> dict[str, JsonValue]:
    """Node function: versions and SHA-256 of the programs as set-up recorded them; packages' own words."""
    return {**built.versions(folder), "containerd": _said("containerd"), "runc": _said("runc")}


def _said(name: str) -> str | None:
    try:
        done = bounded.run([name, "--version"], deadline_s=10.0)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else None
