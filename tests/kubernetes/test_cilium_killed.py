"""A runner that is killed while pods stand on Cilium leaves no process, map or setting of the machine."""

import ctypes
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.kubernetes.conftest import lacking
from tests.kubernetes.test_nothing_left import traces

from bmwg.drivers.kubernetes import cilium
from bmwg.drivers.network.libbpf import library
from bmwg.drivers.undo import ledger as ledgers

SETTINGS = ("kernel/unprivileged_bpf_disabled", "kernel/timer_migration", "kernel/panic")
# A run's owner first, then the testbed with its cluster, then a path: it says what stands, and waits.
RUNNER = """
import sys, time
from pathlib import Path
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.records import Cell
run, owner, testbed = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
ledger.before("owner", owner=owner)
cell = Cell(path="p2p-cluster", hosting="pod", function="none", network="cilium", frame_octets=64)
with open_bed(load_testbed(testbed), ledger, run, owner) as bed, path_driver(cell, bed).deploy():
    print("standing", flush=True)
    time.sleep(1000)
"""


def maps():
    """Return the names of the machine's BPF maps that are Cilium's."""
    bpf, number, found = library(), ctypes.c_uint32(0), []
    while bpf.bpf_map_get_next_id(number, ctypes.byref(number)) == 0:
        descriptor = bpf.bpf_map_get_fd_by_id(number)
        if descriptor < 0:
            continue
        info, length = ctypes.create_string_buffer(64), ctypes.c_uint32(64)
        told = bpf.bpf_obj_get_info_by_fd(descriptor, info, ctypes.byref(length))
        os.close(descriptor)
        name = info.raw[24:40].split(b"\0")[0].decode()  # bpf_map_info.name, after six numbers
        if told == 0 and name.startswith("cilium_"):
            found.append(name)
    return found


def test_a_killed_runner_leaves_nothing_of_cilium(tmp_path):
    if reason := lacking():
        pytest.skip(reason)
    if found := cilium.missing():
        pytest.skip(f"needs {found['what']}: {found['reason']} ({found['mend']})")
    before = {name: Path("/proc/sys", name).read_text() for name in SETTINGS}
    owner, others = f"test-{secrets.token_hex(4)}", traces("nobody", tmp_path)["cgroups"]
    testbed = Path(__file__).parents[2] / "testbeds" / "kubernetes-cilium.yaml"
    maps_before = len(maps())
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path), owner, str(testbed)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as runner:
        assert runner.stdout.readline().strip() == "standing"
        assert len(maps()) > maps_before
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait(60)
    assert ledgers.cleanup(tmp_path, index_dir=tmp_path / "index") == []
    left = traces(owner, tmp_path)
    left["cgroups"] = [one for one in left["cgroups"] if one not in others]
    assert left == {"processes": [], "cgroups": [], "mounts": [], "folders": []}
    end_s = time.monotonic() + 20.0  # the kernel frees a map a while after its last user
    while len(maps()) > maps_before and time.monotonic() < end_s:
        time.sleep(0.2)
    assert len(maps()) == maps_before
    assert {name: Path("/proc/sys", name).read_text() for name in SETTINGS} == before
