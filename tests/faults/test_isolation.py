"""Test traffic stays within: what leads out is refused before traffic, and one frame outside ends the run."""

import json
import os
import socket
import struct
import subprocess
from types import SimpleNamespace

import pytest
from tests.faults.support import wait_for

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes.links import connect
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.paths.bed_guests import Guests
from bmwg.drivers.watch.isolation import LeakWatch, is_signed, require_closed, require_own_ports
from bmwg.methodology.errors import TestbedError

pytestmark = pytest.mark.root


def _signed_payload():
    words = [0, 5, 1, 2, 3, 4, 6]
    words[0] = 0x5AC3 - sum(words)
    return struct.pack("=7H", *words)


def _frame(kind, payload, source=b"\xc6\x12\x00\x01"):
    ethernet = b"\x02" * 6 + b"\x04" * 6 + struct.pack("!H", kind)
    if kind == 0x0800:
        ethernet += b"\x45" + b"\0" * 11 + source + b"\xc6\x13\x00\x01" + b"\xc0\x20\x00\x07\x00\x00\x00\x00"
    elif kind == 0x86DD:
        prefix = bytes.fromhex("200100020000") + b"\0" * 9
        ethernet += b"\x60" + b"\0" * 7 + prefix + b"\1" + prefix + b"\2" + b"\xc0\x20\x00\x07\0\0\0\0"
    return (ethernet + payload).ljust(60, b"\0")


@pytest.fixture
def inside():
    """A thread-free stand-in for the machine's own namespace: a child namespace that this test enters."""
    with NamespaceNode("watch") as node:
        subprocess.run(
            [
                "nsenter",
                "-t",
                str(node.pid),
                "-n",
                "ip",
                "link",
                "add",
                "out0",
                "type",
                "veth",
                "peer",
                "out1",
            ],
            check=True,
            timeout=10,
        )
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        target = os.open(node.netns_path, os.O_RDONLY)
        os_setns(target)
        try:
            for name in ("out0", "out1"):
                subprocess.run(["ip", "link", "set", name, "up"], check=True, timeout=10)
            for name in ("out0", "out1"):
                _wait_until_up(name)
            yield
        finally:
            os_setns(home)
            os.close(home)
            os.close(target)


def os_setns(descriptor):
    import ctypes

    assert ctypes.CDLL(None, use_errno=True).setns(descriptor, 0x40000000) == 0


def _wait_until_up(name):
    """A link that was just raised may have no carrier yet, and what is sent meanwhile is dropped."""

    def is_up():
        told = subprocess.run(
            ["ip", "-json", "link", "show", name], check=True, timeout=10, capture_output=True
        )
        return json.loads(told.stdout)[0]["operstate"] == "UP"

    wait_for(is_up, f"{name} being up")


def _send(frame):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("out0", 0))
        sender.send(frame)


@pytest.mark.parametrize("kind", [0x0800, 0x86DD, 0x88B5])
def test_one_signed_frame_outside_ends_the_run(inside, kind):
    frame = _frame(kind, _signed_payload())
    assert is_signed(frame)
    with LeakWatch(signed=True) as watch:
        assert watch.check() == 0
        _send(frame)
        with pytest.raises(TestbedError, match="ISO-03"):
            watch.check()


def test_other_traffic_is_counted_and_stops_nothing(inside):
    with LeakWatch(signed=True) as watch:
        _send(_frame(0x0800, b"x" * 20))  # a benchmarking address without our signature
        _send(_frame(0x0800, b"x" * 20, source=b"\x0a\0\0\1"))
        wait_for(
            lambda: watch.check() == 4, "two frames, each sent by one interface and received by the other"
        )
    with LeakWatch() as watch:
        _send(_frame(0x0800, b"x" * 20))
        with pytest.raises(TestbedError, match="ISO-03"):
            watch.check()


def test_a_declared_lab_port_is_not_watched(inside):
    with LeakWatch(["out0", "out1"], signed=True) as watch:
        _send(_frame(0x0800, _signed_payload()))
        assert watch.check() == 0


def test_an_interface_that_appears_later_is_watched_from_the_next_trial_on(inside):
    with LeakWatch(["out1"], signed=True) as watch:
        subprocess.run(["ip", "link", "set", "out0", "down"], check=True, timeout=10)
        subprocess.run(["ip", "link", "set", "out0", "name", "later0"], check=True, timeout=10)
        subprocess.run(["ip", "link", "set", "later0", "up"], check=True, timeout=10)
        _wait_until_up("later0")
        watch.begin()
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind(("later0", 0))
            sender.send(_frame(0x0800, _signed_payload()))
        with pytest.raises(TestbedError, match="ISO-03"):
            watch.check()


def _bed(*nodes, lab_ports=()):
    by_name = {node.name: node for node in nodes}
    return SimpleNamespace(
        nodes=tuple(by_name),
        host=by_name.get,
        node=by_name.get,
        hosts={},
        guests=Guests(),
        pods={},
        testbed=SimpleNamespace(lab_ports=lab_ports, links=()),
    )


def test_a_link_that_leaves_the_run_is_refused_by_name():
    with (
        NamespaceNode("dut1") as dut,
        NamespaceNode("tester") as tester,
        NamespaceNode("stranger") as stranger,
    ):
        connect(tester, "p0", dut, "nic0")
        require_closed(_bed(dut, tester))
        connect(dut, "leak0", stranger, "leak1")
        with pytest.raises(TestbedError, match="ISO-02") as caught:
            require_closed(_bed(dut, tester))
        assert "leak0 of node dut1" in str(caught.value)
        require_closed(_bed(dut, tester, stranger))


def test_a_port_in_the_machines_own_namespace_is_refused_unless_declared():
    port = TesterPort(name="p0", io="af_packet", device="eth9")
    with pytest.raises(TestbedError, match="ISO-01"):
        require_own_ports([port], ())
    require_own_ports([port], ["eth9"])
