"""Receive queues and rings as a driver tells them, and AF_XDP on an interface of several. Real kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import nic_rings

pytestmark = pytest.mark.root
PROGRAM = """
import sys
from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.ports import check_interface
from bmwg.methodology.errors import ToolkitError
for name, io in (("one", "af_xdp"), ("two", "af_xdp"), ("two", "af_packet")):
    try:
        check_interface(TesterPort(name="p0", io=io, device=name), {"one", "two"})
        print(name, io, "passes")
    except ToolkitError as error:
        print(name, io, error.error_id)
"""


def test_a_veth_end_has_one_queue() -> None:
    with NamespaceNode("near") as near, NamespaceNode("far") as far:
        links.connect(near, "eth1", far, "eth1")
        assert near.call(nic_rings.receive_queues, interface="eth1") == 1
        assert near.call(nic_rings.require_one_queue, interface="eth1", where="here") is None


def test_a_tester_port_of_af_xdp_is_refused_on_an_interface_of_two_queues() -> None:
    pair = "ip link add one type veth peer name two numrxqueues 2 numtxqueues 2"
    ups = "ip link set one up && ip link set two up && ethtool -L two rx 2"
    script = f"{pair} && {ups} && exec {sys.executable} -c '{PROGRAM}'"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["one af_xdp passes", "two af_xdp QUEUE-04", "two af_packet passes"]
