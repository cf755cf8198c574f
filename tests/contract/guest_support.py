"""What the tests of virtual machines share: what they need, a node to host them, and what must be gone."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.http_support import needs_libvirt
from tests.needs_guest import booting

from bmwg.drivers.api.instance import Hosting, Instance, Limits, Place, Program, VmDriver
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger

needs_guest = [pytest.mark.slow, pytest.mark.root, booting()]
QEMU, LIBVIRT = VmDriver(), VmDriver(driver="libvirt")
DRIVERS = [
    pytest.param(QEMU, id="qemu"),
    pytest.param(LIBVIRT, id="libvirt", marks=needs_libvirt),
]
SERVER = Program(
    name="files",
    command=(sys.executable, "-m", "http.server", "--bind", "{address}", "--directory", "{folder}", "{port}"),
    port=8000,
    files={"hello": "from the guest"},
)
SMALL = Limits(cpus=1, memory_octets=512 << 20)
WANTED = {
    "cpus": 1,
    "memory_octets": 512 << 20,
    "model": "virtio-net-pci",
    "tap": "vm0",
    "mac": "02:00:00:00:00:01",
    "guest_address": "198.18.19.2/30",
    "host_address": "198.18.19.1/30",
}


@contextlib.contextmanager
def fresh_owner() -> Iterator[str]:
    """A label for all that a test starts; nothing with it may be left."""
    label = f"vm-test-{secrets.token_hex(4)}"
    yield label
    assert process.owned_pids(label) == []


def hosting_of(
    node: NamespaceNode, form: str, owner: str, folder: Path, vms: VmDriver = QEMU, *, token: str = ""
) -> Hosting:
    """The form on this node as a run would have it, with a ledger in `folder`."""
    place = Place(
        client_address="198.18.1.1",
        client_interface="nic0",
        server_address="198.18.2.1",
        server_interface="nic1",
        token=token or secrets.token_hex(3),
        owner=owner,
        run_dir=str(folder),
        vms=vms,
    )
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    return hosting(form, node=node, place=place, ledger=ledger)


def pending(folder: Path) -> list[str]:
    """Kinds of what the ledger of `hosting_of` still holds."""
    return [entry.kind for entry in Ledger(folder / "ledger.jsonl", index_dir=folder / "index").pending]


def fetched(node: NamespaceNode, instance: Instance, within_s: float = 60.0) -> str:
    """What the program in the guest serves, asked from its node."""
    address, port = instance.endpoint
    command = ["nsenter", f"--net={node.netns_path}", "curl", "-s", f"http://{address}:{port}/hello"]
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode == 0:
            return done.stdout
        time.sleep(0.2)
    return ""


def qemus(owner: str) -> list[int]:
    """Processes of QEMU with this label."""
    return [
        pid
        for pid in process.owned_pids(owner)
        if Path(f"/proc/{pid}/exe").resolve().name.startswith("qemu-system")
    ]


def interfaces_of(node: NamespaceNode) -> set[str]:
    """Names of the interfaces on a node."""
    return interfaces_in(node.pid)


def interfaces_in(pid: int) -> set[str]:
    """Names of the interfaces in the network namespace of a process."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}
