"""Nothing stays behind: namespaces, links, mounts, cgroups, processes, of what this test made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import needs_crun
from tests.waiting import eventually

from bmwg.drivers.nodes import process
from bmwg.drivers.undo.ledger import cleanup

pytestmark = [
    pytest.mark.quiet,  # it looks at the whole machine
    pytest.mark.root,
    needs_crun,
]

RUNNER = """
import json, os, sys, time
from contextlib import ExitStack
from pathlib import Path
from bmwg.drivers.ports import device_queue, interfaces
from bmwg.drivers.containers import oci
from bmwg.drivers.nodes import probe
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.nodes.links import connect

folder, index, run = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
state_dir = str(folder / "pods")
with ExitStack() as stack:
    ledger = Ledger(folder / "ledger.jsonl", index_dir=index)
    ledger.before("owner", owner=run)
    dut, tester = (stack.enter_context(NamespaceNode(name, owner=run)) for name in ("dut1", "tester"))
    nodes = {"dut1": dut, "tester": tester}
    connect(tester, "p0", dut, "nic0")
    connect(dut, "t0", tester, "t1")
    ledger.before("pod", dut.place, pod_id=run, state_dir=state_dir)
    spec = PodSpec(pod_id=run, cpus="0", memory_octets=64 << 20).as_builtins()
    pod = dut.call(oci.create, spec=spec, state_dir=state_dir)
    dut.call(interfaces.move, interface="t0", pid=pod["pid"], name="eth0")
    dut.call(oci.start, pod_id=run, state_dir=state_dir)
    dut.call(device_queue.isolate, interface="nic0", cpu=max(os.sched_getaffinity(0)))
    pids = [dut.pid, tester.pid, pod["pid"]]
    print(json.dumps({str(pid): os.readlink(f"/proc/{pid}/ns/net") for pid in pids}), flush=True)
    if sys.argv[4] == "clean":
        assert ledger.undo_all({**nodes}) == [], "undo"
    elif sys.argv[4] == "raise":
        raise SystemExit("as if the path had failed")
    else:
        dut.call_within(60, probe.pause, pause_s=60)
"""


def held_namespaces() -> set[str]:
    held = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                held.add(os.readlink(f"/proc/{name}/ns/net"))
            except OSError:
                continue
    return held


def remains(run: str, namespaces: set[str]) -> list[str]:
    """Everything of this run that is still on the machine."""
    found = [f"namespace {name}" for name in namespaces & held_namespaces()]
    found += [
        f"cgroup {folder}/{name}"
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if run in name
    ]
    found += [
        f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if run in line
    ]
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = (
                    Path(f"/proc/{name}/environ").read_bytes() + Path(f"/proc/{name}/cmdline").read_bytes()
                )
            except OSError:
                continue
            if run.encode() in words:
                found.append(f"process {name}")
    found += [f"link {name}" for name in os.listdir("/sys/class/net") if name in ("p0", "nic0", "t0", "t1")]
    return found


@pytest.mark.parametrize("end", ["clean", "raise", "kill"])
def test_nothing_is_left(end: str, tmp_path: Path) -> None:
    run = f"leak{os.getpid()}{end}"
    index = tmp_path / "index"
    folder = tmp_path / "r"
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(folder), str(index), run, end],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as runner:
        assert runner.stdout is not None
        made = runner.stdout.readline()
        if not made:
            pytest.fail(runner.communicate(timeout=10)[1])
        namespaces = set(json.loads(made).values())
        assert len(namespaces) == 3
        if end == "kill":
            assert len(remains(run, namespaces)) >= 4  # the counting does see what is there
            runner.send_signal(signal.SIGKILL)
        _, errors = runner.communicate(timeout=20)
    if end != "clean":
        agents = [int(pid) for pid in list(json.loads(made))[:2]]
        assert eventually(lambda: not any(process.start_ticks(pid) for pid in agents)), (
            "agents outlived the runner"
        )
        assert cleanup(folder, index_dir=index) == []
    else:
        assert runner.returncode == 0, errors
    assert eventually(lambda: remains(run, namespaces) == []), remains(run, namespaces)
    assert list((folder / "pods").iterdir()) == []
    assert list(index.iterdir()) == []
