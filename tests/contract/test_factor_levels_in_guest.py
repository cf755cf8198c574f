"""Levels of factors that this machine may lack: the tests of them, run in a guest that has them all."""

import re
import sys
import time
from pathlib import Path

import pytest
from tests.needs_guest import booting

from bmwg.drivers.machines import guest_run, qemu
from bmwg.drivers.machines.qemu import MachineSpec
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import pages
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.guest import guest_spec
from bmwg.drivers.traffic.embedded import build
from bmwg.resources.run import in_guest

ROOT = Path(__file__).parents[2]
_CALL_S, _ALL_S = 200.0, 1500.0
LEVELS = {"test_testpmd_lies_in_the_hugepages_of_its_pod": 2}  # each takes minutes under TCG
pytestmark = [pytest.mark.slow, pytest.mark.root, booting()]


def said_in_a_guest(command):
    """Run a command in the guest of the shipped testbed and return what it said."""
    build.ensure_built()
    guest = guest_spec(load_testbed(ROOT / "testbeds" / "guest-factors.yaml").data)
    spec = MachineSpec(
        name="guest-levels",
        cpus=guest.cpus,
        memory_octets=guest.memory_octets,
        accelerator=qemu.probe_accelerator()[0],
        numa_nodes=guest.numa_nodes,
        hugepages_1gi=guest.hugepages_1gi,
        views=in_guest._hidden_toolkit(),
    )
    with Machine(spec) as machine:
        node, said, seen = machine.node, "", {"status": None, "offset": 0}
        node.call_within(_CALL_S, guest_run.load, modules=list(in_guest._SWITCH_MODULES))
        wanted = {"size_kib": 2048, "pages": guest.hugepages_2mi}
        assert node.call_within(_CALL_S, pages.set_aside, **wanted) == guest.hugepages_2mi
        output = {"output": "/run/said"}
        pid = node.call_within(
            _CALL_S, guest_run.start, argv=command, folder=str(ROOT), environment={}, **output
        )
        end_s = time.monotonic() + _ALL_S
        while seen["status"] is None and time.monotonic() < end_s:
            time.sleep(1)
            seen = node.call_within(_CALL_S, guest_run.follow, pid=pid, offset=seen["offset"], **output)
            said += seen["text"]
    assert seen["status"] == 0, said[-3000:]
    return said


def test_each_level_stands_in_the_guest_as_its_kernel_tells():
    levels = [f"tests/contract/test_factor_levels.py::{name}" for name in LEVELS]
    options = ["-p", "no:cacheprovider", "-v", "-m", "slow or not slow"]
    said = said_in_a_guest([sys.executable, "-m", "pytest", *options, *levels])
    passed = re.findall(r"::(\w+)(?:\[.*\])? PASSED", said)
    assert {name: passed.count(name) for name in LEVELS} == LEVELS, said[-3000:]
