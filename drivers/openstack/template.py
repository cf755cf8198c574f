"""The embedded OpenStack's root, ready to start: settings and data bases in a layer above the packages' root.

`python -m bmwg.drivers.openstack.template ROOT` fills the data bases once (root, by `setup/openstack.sh`).
Runs lay a writable layer of their own over both. Ids: CLOUD-01 the root is not made.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack import settings
from bmwg.drivers.ports import interfaces

CACHE = Path("/var/cache/bmwg/openstack")
SETUP_LINE = "sh setup/install.sh openstack"
_PREPARE_DEADLINE_S = 600.0
_VERSION = 1  # counted up when the data bases are filled in another way


@dataclass(frozen=True, slots=True)
class Template:
    """The layers below a run's own, and the password of all accounts in it."""

    root: str
    password: str


def find(cache: Path = CACHE) -> Template | Missing:
    """Return the newest template that this version of the toolkit can start, or what is missing."""
    found = sorted(cache.glob(f"prepared-*-{_digest()}"), key=lambda path: path.stat().st_mtime)
    for prepared in reversed(found):
        kept = json.loads((prepared / "template.json").read_text())
        if Path(kept["root"], ".bmwg-complete").exists():
            return Template(f"{prepared}/layers/upper:{kept['root']}", kept["password"])
    return Missing(what="embedded OpenStack", reason=f"no root of it below {cache}", mend=SETUP_LINE)


def prepare(root: Path, cache: Path = CACHE) -> Path:
    """Fill the data bases of `root` in a layer of its own and keep it; does nothing where it is there."""
    target = cache / f"prepared-{root.name}-{_digest()}"
    if target.exists():
        return target
    password = secrets.token_hex(16)
    work = Path(tempfile.mkdtemp(prefix=".preparing-", dir=cache))
    try:
        given = {
            "do": "prepare",
            "root": str(root),
            "password": password,
            "physical": [],
            "accelerator": "qemu",
            "token_s": 3600,
            "layer2": "linuxbridge",
            "cpus": [],
            "host": settings.HOST,
            "address": settings.SERVICE_ADDRESS,
            "moves": False,
        }
        with NamespaceNode("cloud", keep=[cache]) as node:
            node.call(interfaces.add_address, interface="lo", address=f"{settings.SERVICE_ADDRESS}/32")
            steps = node.call_within(
                _PREPARE_DEADLINE_S + 30,
                cloud_node.start,
                work=str(work),
                given=given,
                within_s=_PREPARE_DEADLINE_S,
            )
        for step in steps:
            print(f"      {step['took_s']:6.1f} s  {step['step']}")
        shutil.rmtree(work / "logs")
        kept = work / "template.json"
        kept.touch(mode=0o600)
        kept.write_text(json.dumps({"root": str(root), "password": password}))
        os.chmod(work, 0o700)
        for old in cache.glob(f"prepared-{root.name}-*"):
            shutil.rmtree(old)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _digest() -> str:
    written = (settings.DATABASES, settings.SERVICE_USERS, settings.ENDPOINTS, settings.REGISTRATION)
    return hashlib.sha256(repr((_VERSION, written)).encode()).hexdigest()[:12]


if __name__ == "__main__":
    process.end_in_order()
    print(prepare(Path(sys.argv[1])))
