"""The cgroup of native programs is removed whatever is in it, or comes into it, at that moment."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bmwg.drivers.containers import native_cgroup
from bmwg.drivers.nodes import cgroups

pytestmark = pytest.mark.root

# Joins the folders that it is given; says so; becomes chains of processes that each fork a child and end.
_CHAIN = """
import os, sys
for folder in sys.argv[1:]:
    with open(folder + "/cgroup.procs", "w") as file:
        file.write("0")
print("joined", flush=True)
for _ in range(20):
    if not os.fork():
        break
while True:
    if os.fork():
        os._exit(0)
"""


@pytest.fixture
def cgroup():
    name = f"bmwg-test-{os.getpid()}"
    made = native_cgroup.make(name=name, cpus=cgroups.default_cpus(), memory_octets=1 << 28)
    yield made
    native_cgroup.remove(cgroup=made)


@pytest.mark.parametrize("round_", range(5))
def test_chains_of_forks_are_ended_with_the_cgroup(cgroup, round_):
    folders = [str(folder) for folder in cgroups.folders(cgroup)]
    chains = subprocess.Popen([sys.executable, "-c", _CHAIN, *folders], stdout=subprocess.PIPE, text=True)
    try:
        assert chains.stdout is not None
        assert chains.stdout.readline() == "joined\n"
        assert native_cgroup.remove(cgroup=cgroup)
    finally:
        chains.kill()
        chains.wait()
    assert cgroups.folders(cgroup) == []
    assert not native_cgroup.remove(cgroup=cgroup)
