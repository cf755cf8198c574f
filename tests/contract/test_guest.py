"""Guests on a namespace node: what serves, what is found out in bounded time, and that nothing stays.

By QEMU and by a libvirtd of the run's own; test_libvirt.py has what only libvirt has. Slow under TCG: each
boots a real guest.
"""

import contextlib
import os
import secrets
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.guest_support import (
    DRIVERS,
    LIBVIRT,
    SERVER,
    SMALL,
    WANTED,
    fetched,
    fresh_owner,
    hosting_of,
    interfaces_of,
    needs_guest,
    pending,
    qemus,
)

from bmwg.drivers.api.instance import VmDriver
from bmwg.drivers.machines import guest_kernel, libvirt_daemon, qemu, qemu_place
from bmwg.drivers.nodes import probe, process, programs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

pytestmark = needs_guest


@pytest.fixture
def owner() -> Iterator[str]:
    with fresh_owner() as label:
        yield label


@pytest.fixture
def node(owner: str) -> Iterator[NamespaceNode]:
    with NamespaceNode("proxy", owner=owner) as node:
        yield node


@pytest.fixture(params=DRIVERS)
def vms(request: pytest.FixtureRequest) -> VmDriver:
    """Each driver of the virtual machines that this machine has."""
    found: VmDriver = request.param
    return found


@pytest.fixture
def started_by(vms: VmDriver, node: NamespaceNode, owner: str) -> Iterator[dict[str, Any]]:
    """What `qemu_place:start` gets beside the description: nothing, or a libvirt of the node's own."""
    with _started_by(vms, node, owner) as arguments:
        yield arguments


@contextlib.contextmanager
def _started_by(vms: VmDriver, node: NamespaceNode, owner: str) -> Iterator[dict[str, Any]]:
    if vms is not LIBVIRT:
        yield {}
        return
    token = secrets.token_hex(3)
    node.call(libvirt_daemon.start, token=token)
    folder = libvirt_daemon.folder_of(token)
    given = {"uri": libvirt_daemon.uri_of(token), "folder": f"{folder}/guest", "owner": owner, "own": True}
    yield {"libvirt": {**given, "uuid": str(uuid.uuid4())}}
    if node.broken is None:
        node.call(libvirt_daemon.stop, token=token)


@pytest.mark.parametrize(
    ("form", "driver"), [("vm_full", "e1000"), ("vm_para", "virtio_net")], ids=["full", "para"]
)
def test_a_program_in_a_guest_serves_and_its_kill_is_found_out(
    form: str, driver: str, vms: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    with hosting_of(node, form, owner, tmp_path, vms) as hosting:
        assert hosting.probe() is None
        instance: Any = hosting.start(SERVER, 0, SMALL)
        assert fetched(node, instance) == "from the guest"
        assert instance.fault() is None
        machine = instance.describe()["machine"]
        assert machine["kind"] == vms.driver
        assert machine["accelerator"] == qemu.probe_accelerator()[0].value
        assert [nic["model"] for nic in machine["nics"]] == [_MODEL_OF[driver]]
        assert (machine["cpus"], machine["memory_octets"]) == (SMALL.cpus, SMALL.memory_octets)
        found = instance.call(probe.nic_driver, interface="eth0")
        assert found == driver
        first, second = instance.sample(), instance.sample()
        assert 0 < first.cpu_ns <= second.cpu_ns
        assert 0 < instance.sample_inside().memory_octets < second.memory_octets
        (pid,) = qemus(owner)
        os.kill(pid, signal.SIGKILL)
        began_s = time.monotonic()
        fault = None
        while fault is None and time.monotonic() < began_s + 5:
            fault = instance.fault()
        assert fault is not None
        assert ("signal 9" if vms.driver == "qemu" else "QEMU ended") in fault
        with pytest.raises(ToolkitError):
            instance.sample()
        instance.stop()
        instance.stop()
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}
    assert pending(tmp_path) == []


_MODEL_OF = {"e1000": "e1000", "virtio_net": "virtio-net-pci"}


def test_a_guest_whose_kernel_panics_is_named_as_that(
    vms: VmDriver, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    with hosting_of(node, "vm_para", owner, tmp_path, vms) as hosting:
        instance: Any = hosting.start(SERVER, 0, SMALL)
        crash = ["sh", "-c", "sleep 1; echo c >/proc/sysrq-trigger"]
        instance.call(programs.start, command=crash, folder="/run", packages=[])
        end_s = time.monotonic() + 30
        fault = None
        while fault is None and time.monotonic() < end_s:
            time.sleep(0.2)
            with contextlib.suppress(DriverError):  # the call inside may be what the panic ends
                fault = instance.fault()
        assert fault is not None
        assert "Kernel panic" in fault
        instance.stop()
    assert interfaces_of(node) == {"lo"}


def test_a_guest_that_is_not_up_in_time_is_ended(
    node: NamespaceNode, owner: str, started_by: dict[str, Any]
) -> None:
    began_s = time.monotonic()
    with pytest.raises(TestbedError) as caught:
        node.call(qemu_place.start, name="late", boot_deadline_s=1.0, **WANTED | started_by)
    assert caught.value.error_id == "VM-05"
    assert time.monotonic() - began_s < 20
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}


def test_a_guest_that_its_node_cannot_reach_is_ended(
    node: NamespaceNode, owner: str, started_by: dict[str, Any]
) -> None:
    wrong = WANTED | started_by | {"guest_address": "198.18.19.3/30"}
    with pytest.raises(TestbedError) as caught:
        node.call_within(150.0, qemu_place.start, name="mute", **wrong | {"host_address": "198.18.18.1/30"})
    assert caught.value.error_id in ("VM-05", "VM-06")
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}


def test_a_node_that_is_killed_takes_its_guest_along(vms: VmDriver, owner: str) -> None:
    with NamespaceNode("proxy", owner=owner) as node, _started_by(vms, node, owner) as started_by:
        node.call(probe.identify)
        pid = node.pid
        with pytest.raises(ToolkitError):
            # the deadline ends the agent while the guest boots
            node.call_within(3.0, qemu_place.start, name="orphan", **WANTED | started_by)
    end_s = time.monotonic() + 5
    while process.owned_pids(owner) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert process.owned_pids(owner) == []
    assert not process.start_ticks(pid)


def test_without_a_kernel_the_form_is_missing_with_the_line_that_mends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guest_kernel.find, "__defaults__", ((tmp_path,),))
    lack = qemu_place.probe()
    assert lack is not None
    assert lack["mend"] == guest_kernel.FETCH_LINE
