"""Guests by libvirt: what only it has to stand. A libvirtd that the test starts plays the host's own.

Slow under TCG: each boots a real guest. test_guest.py runs what libvirt has in common with QEMU.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.guest_support import (
    LIBVIRT,
    SERVER,
    SMALL,
    WANTED,
    fetched,
    fresh_owner,
    hosting_of,
    interfaces_in,
    interfaces_of,
    needs_guest,
    pending,
    qemus,
)
from tests.contract.http_support import needs_libvirt
from tests.contract.image_support import FILES, small_image

from bmwg.drivers.api.instance import VmDriver
from bmwg.drivers.machines import libvirt_daemon, qemu_place
from bmwg.drivers.machines.guest_image import examine
from bmwg.drivers.machines.libvirt_connection import Connection
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import TestbedError, ToolkitError

pytestmark = [*needs_guest, needs_libvirt]
NEIGHBOUR = """<domain type='qemu'><name>neighbour</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64'>hvm</type></os></domain>"""


@pytest.fixture
def owner() -> Iterator[str]:
    with fresh_owner() as label:
        yield label


@pytest.fixture
def node(owner: str) -> Iterator[NamespaceNode]:
    with NamespaceNode("proxy", owner=owner) as node:
        yield node


@pytest.fixture
def token() -> str:
    return secrets.token_hex(3)


@pytest.fixture
def host() -> Iterator[VmDriver]:
    """A libvirtd in this machine's network namespace with a domain of somebody else, as a host's."""
    token = f"host{secrets.token_hex(3)}"
    libvirt_daemon.start(token=token)
    try:
        uri = libvirt_daemon.uri_of(token)
        with Connection(uri) as connection:
            connection.call("neighbour", lambda host: host.createXML(NEIGHBOUR, 1), deadline_s=30)  # paused
        yield replace(LIBVIRT, uri=uri)
        if libvirt_daemon._members(libvirt_daemon.folder_of(token)):
            assert domains(uri) == {"neighbour"}
    finally:
        libvirt_daemon.stop(token=token)
    assert not os.path.exists(libvirt_daemon.folder_of(token))


def domains(uri: str) -> set[str]:
    with Connection(uri) as connection:
        names: set[str] = connection.call(
            "list", lambda host: {domain.name() for domain in host.listAllDomains()}
        )
    return names


def left_behind(token: str) -> list[str]:
    """Folders in which a run of this token keeps what its domains need."""
    return [str(path) for folder in ("/tmp", "/run") for path in Path(folder).glob(f"bmwg-*{token}*")]


def test_the_hosts_libvirt_is_used_and_left_as_it_was(
    host: VmDriver, node: NamespaceNode, owner: str, token: str, tmp_path: Path
) -> None:
    before = interfaces_in(os.getpid())
    with hosting_of(node, "vm_para", owner, tmp_path, host, token=token) as hosting:
        assert hosting.probe() is None
        instance: Any = hosting.start(SERVER, 0, SMALL)
        assert fetched(node, instance) == "from the guest"
        assert domains(str(host.uri)) == {"neighbour", instance.name}
        assert interfaces_in(os.getpid()) == before  # the tap was moved to the node
        assert interfaces_of(node) == {"lo", instance.name}
        assert pending(tmp_path) == ["domain"]
        machine = hosting.describe()["machine"]
        assert (machine["kind"], machine["libvirt_uri"]) == ("libvirt", host.uri)
        assert instance.fault() is None
        instance.stop()
        instance.stop()
        assert domains(str(host.uri)) == {"neighbour"}
    assert interfaces_of(node) == {"lo"}
    assert interfaces_in(os.getpid()) == before
    assert pending(tmp_path) == []
    assert left_behind(token) == []


@pytest.mark.skipif(shutil.which("mke2fs") is None, reason="needs mke2fs: e2fsprogs")
def test_a_domain_of_the_hosts_libvirt_has_an_image_as_root(
    host: VmDriver, node: NamespaceNode, owner: str, token: str, tmp_path: Path
) -> None:
    path = small_image(tmp_path)
    before = path.read_bytes()
    chosen = replace(host, image=examine(str(path)))
    with hosting_of(node, "vm_full", owner, tmp_path, chosen, token=token) as hosting:
        instance = hosting.start(FILES, 0, SMALL)
        assert fetched(node, instance) == "from the image"
        assert instance.describe()["root"] == "image"
        assert domains(str(host.uri)) == {"neighbour", instance.name}
        instance.stop()
    assert path.read_bytes() == before
    assert path.stat().st_uid == 0  # libvirt has given it to nobody
    assert pending(tmp_path) == []
    assert left_behind(token) == []


def test_a_domain_of_the_hosts_libvirt_ends_with_its_node_and_the_ledger_clears_the_rest(
    host: VmDriver, owner: str, token: str, tmp_path: Path
) -> None:
    before = interfaces_in(os.getpid())
    with NamespaceNode("proxy", owner=owner) as node:
        hosting: Any = hosting_of(node, "vm_para", owner, tmp_path, host, token=token)
        hosting.start(SERVER, 0, SMALL)
        os.kill(node.pid, signal.SIGKILL)
    end_s = time.monotonic() + 10
    while len(domains(str(host.uri))) > 1 and time.monotonic() < end_s:
        time.sleep(0.1)
    assert domains(str(host.uri)) == {"neighbour"}  # libvirt ended it when its connection broke
    assert pending(tmp_path) == ["domain"]
    assert left_behind(token) != []
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    assert ledger.undo_all() == []
    assert ledger.undo_all() == []
    assert left_behind(token) == []
    assert qemus(owner) == []
    assert interfaces_in(os.getpid()) == before


def test_a_daemon_that_stands_still_holds_nobody_up_and_its_guest_is_ended(
    host: VmDriver, node: NamespaceNode, owner: str, token: str, tmp_path: Path
) -> None:
    with hosting_of(node, "vm_full", owner, tmp_path, host, token=token) as hosting:
        instance = hosting.start(SERVER, 0, SMALL)
        daemon = _daemon(str(host.uri))
        os.kill(daemon, signal.SIGSTOP)
        try:
            fault = instance.fault()
            assert fault is not None
            assert "libvirt is gone" in fault
            instance.stop()
            assert qemus(owner) == []
            assert interfaces_of(node) == {"lo"}
            assert pending(tmp_path) == []
        finally:
            os.kill(daemon, signal.SIGCONT)
    assert left_behind(token) == []


def _daemon(uri: str) -> int:
    folder = uri.partition("socket=")[2].rpartition("/")[0]
    (found,) = (
        pid
        for pid in libvirt_daemon._members(folder)
        if Path(f"/proc/{pid}/exe").resolve().name == libvirt_daemon.PROGRAM
    )
    return found


def test_a_daemon_of_the_run_that_is_killed_takes_its_guests_along(
    node: NamespaceNode, owner: str, token: str, tmp_path: Path
) -> None:
    with hosting_of(node, "vm_para", owner, tmp_path, LIBVIRT, token=token) as hosting:
        instance = hosting.start(SERVER, 0, SMALL)
        assert sorted(pending(tmp_path)) == ["domain", "libvirt"]
        os.kill(_daemon(libvirt_daemon.uri_of(f"{token}p")), signal.SIGKILL)
        end_s = time.monotonic() + 5
        while "QEMU ended" not in (fault := instance.fault() or "") and time.monotonic() < end_s:
            time.sleep(0.05)
        assert "QEMU ended" in fault
        with pytest.raises(ToolkitError):
            instance.sample()
        instance.stop()
    assert process.owned_pids(owner) == [node.pid]
    assert interfaces_of(node) == {"lo"}
    assert pending(tmp_path) == []


@pytest.mark.parametrize("wrong", [{"uuid": "no-uuid"}, {"name": "neighbour"}], ids=["uuid", "name"])
def test_what_libvirt_refuses_is_told_and_leaves_nothing(
    wrong: dict[str, str], host: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    folder = f"/tmp/bmwg-refused-{secrets.token_hex(3)}"
    libvirt = {"uri": host.uri, "own": False, "uuid": str(uuid.uuid4()), "folder": folder, "owner": owner}
    given = WANTED | {"name": "refused"} | {key: wrong[key] for key in wrong if key == "name"}
    libvirt |= {key: wrong[key] for key in wrong if key == "uuid"}
    with pytest.raises(TestbedError) as caught:
        node.call_within(60.0, qemu_place.start, libvirt=libvirt, **given)
    assert caught.value.error_id == "VM-13"
    assert not os.path.exists(folder)
    assert interfaces_of(node) == {"lo"}
    assert WANTED["tap"] not in interfaces_in(os.getpid())
    assert domains(str(host.uri)) == {"neighbour"}


def test_a_libvirt_that_is_not_there_makes_the_form_missing(
    node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    absent = replace(LIBVIRT, uri=f"qemu:///system?socket={tmp_path}/none")
    lack = hosting_of(node, "vm_full", owner, tmp_path, absent).probe()
    assert lack is not None
    assert str(tmp_path) in lack.what
