"""Guests on a namespace node: what serves, what is found out in bounded time, and that nothing stays.

Slow under TCG: each boots a real guest.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmwg.drivers.hosting import guest_initramfs, guest_kernel, process, qemu, qemu_place
from bmwg.drivers.hosting.guest_kernel import GuestKernel
from bmwg.drivers.hosting.instance import Form, Limits, Place, Program
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.hosting.qemu_instance import VmHosting, VmInstance
from bmwg.drivers.ledger import Ledger
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_LACK = qemu.probe_program() or guest_initramfs.probe_shell()
_NO_KERNEL = not isinstance(guest_kernel.find(), GuestKernel)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: namespaces and tap interfaces"),
    pytest.mark.skipif(_LACK is not None, reason=f"needs {_LACK}"),
    pytest.mark.skipif(_NO_KERNEL, reason=f"needs a guest kernel: {guest_kernel.FETCH_LINE}"),
]
SERVER = Program(
    name="files",
    command=(sys.executable, "-m", "http.server", "--bind", "{address}", "--directory", "{folder}", "{port}"),
    port=8000,
    files={"hello": "from the guest"},
)
SMALL = Limits(cpus=1, memory_octets=512 << 20)


@pytest.fixture
def owner() -> Iterator[str]:
    """A label for all that a test starts; nothing with it may be left."""
    label = f"vm-test-{secrets.token_hex(4)}"
    yield label
    assert process.owned_pids(label) == []


@pytest.fixture
def node(owner: str) -> Iterator[NamespaceNode]:
    with NamespaceNode("proxy", owner=owner) as node:
        yield node


def hosting_of(node: NamespaceNode, form: Form, owner: str, folder: Path) -> VmHosting:
    place = Place(
        client_address="198.18.1.1",
        client_interface="nic0",
        server_address="198.18.2.1",
        server_interface="nic1",
        token=secrets.token_hex(3),
        owner=owner,
        run_dir=str(folder),
    )
    return VmHosting(
        form=form, node=node, place=place, ledger=Ledger(folder / "l.jsonl", index_dir=folder / "i")
    )


def fetched(node: NamespaceNode, instance: VmInstance, within_s: float = 60.0) -> str:
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
    return [
        pid
        for pid in process.owned_pids(owner)
        if Path(f"/proc/{pid}/exe").resolve().name.startswith("qemu-system")
    ]


def interfaces_of(node: NamespaceNode) -> set[str]:
    lines = Path(f"/proc/{node.pid}/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}


@pytest.mark.parametrize(
    ("form", "driver"), [(Form.VM_FULL, "e1000"), (Form.VM_PARA, "virtio_net")], ids=["full", "para"]
)
def test_a_program_in_a_guest_serves_and_its_kill_is_found_out(
    form: Form, driver: str, node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    with hosting_of(node, form, owner, tmp_path) as hosting:
        assert hosting.probe() is None
        instance = hosting.start(SERVER, 0, SMALL)
        assert fetched(node, instance) == "from the guest"
        assert instance.fault() is None
        machine = instance.describe()["machine"]
        assert machine["accelerator"] == qemu.probe_accelerator()[0].value
        found = instance.call("bmwg.drivers.hosting.probe:nic_driver", interface="eth0")
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
        assert "signal 9" in fault
        with pytest.raises(ToolkitError):
            instance.sample()
        instance.stop()
        instance.stop()
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}


def test_a_guest_whose_kernel_panics_is_named_as_that(
    node: NamespaceNode, owner: str, tmp_path: Path
) -> None:
    with hosting_of(node, Form.VM_PARA, owner, tmp_path) as hosting:
        instance = hosting.start(SERVER, 0, SMALL)
        crash = ["sh", "-c", "sleep 1; echo c >/proc/sysrq-trigger"]
        instance.call("bmwg.drivers.hosting.programs:start", command=crash, folder="/run", packages=[])
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


WANTED = {
    "cpus": 1,
    "memory_octets": 512 << 20,
    "model": "virtio-net-pci",
    "tap": "vm0",
    "mac": "02:00:00:00:00:01",
    "guest_address": "198.18.19.2/30",
    "host_address": "198.18.19.1/30",
}


def test_a_guest_that_is_not_up_in_time_is_ended(node: NamespaceNode, owner: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(TestbedError) as caught:
        node.call("bmwg.drivers.hosting.qemu_place:start", name="late", boot_deadline_s=1.0, **WANTED)
    assert caught.value.error_id == "VM-05"
    assert time.monotonic() - began_s < 20
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}


def test_a_guest_that_its_node_cannot_reach_is_ended(node: NamespaceNode, owner: str) -> None:
    wrong = WANTED | {"guest_address": "198.18.19.3/30"}
    with pytest.raises(TestbedError) as caught:
        node.call(
            "bmwg.drivers.hosting.qemu_place:start",
            name="mute",
            deadline_s=150.0,
            **wrong | {"host_address": "198.18.18.1/30"},
        )
    assert caught.value.error_id in ("VM-05", "VM-06")
    assert qemus(owner) == []
    assert interfaces_of(node) == {"lo"}


def test_a_node_that_is_killed_takes_its_guest_along(owner: str, tmp_path: Path) -> None:
    with NamespaceNode("proxy", owner=owner) as node:
        node.call("bmwg.drivers.hosting.probe:identify")
        pid = node.pid
        with pytest.raises(ToolkitError):
            # the deadline ends the agent while the guest boots
            node.call("bmwg.drivers.hosting.qemu_place:start", name="orphan", deadline_s=3.0, **WANTED)
    end_s = time.monotonic() + 5
    while qemus(owner) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert qemus(owner) == []
    assert not process.start_ticks(pid)


def test_without_a_kernel_the_form_is_missing_with_the_line_that_mends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guest_kernel.find, "__defaults__", ((tmp_path,),))
    lack = qemu_place.probe()
    assert lack is not None
    assert lack["mend"] == guest_kernel.FETCH_LINE
