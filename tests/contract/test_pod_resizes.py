"""A pod's limits are made less while it routes, and as they were: by real runtimes, cgroups and frames."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.contract.acts_support import executed
from tests.contract.deploying import bed_in
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.containers import docker_daemon, limits, pod_programs
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.crun import CrunRuntime
from bmwg.drivers.containers.engine import DockerRuntime, PodmanRuntime
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import pod_resizes
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.pod_resizes import FULL_QUOTA_US, LESS_QUOTA_US, PodCpu, PodMemory, PodResizes
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.records import Validity

pytestmark = [pytest.mark.root, needs_crun]
NO_PLUGINS = needs_cni
PLAN = {
    (one.spec.mode, one.spec.beside): one
    for one in reversed(profile.PROFILES.load("resize").plan())  # of two options the first
    if one.test_id == "LC-RESIZE-2"
}
MEMORY_OCTETS = 256 << 20
HOLDS_OCTETS = 48 << 20


@pytest.fixture
def resized(tmp_path):
    def run(mode: str, beside: str = "", **changes) -> tuple[ActsSpec, ActsResult]:
        planned = PLAN[mode, beside]
        spec = replace(planned.spec, number=1, **changes)
        found = executed(PodResizes, planned, spec, tmp_path)
        assert contradictions(spec, found) == ()
        return spec, found

    return run


@NO_PLUGINS
def test_a_program_gets_no_more_than_the_new_limit_and_all_of_it_back(resized) -> None:
    spec, found = resized("cpus")
    assert found.faults == ()
    # on a machine that took CPUs away frames were not offered all the time: said, no wrong time
    validity = ACTS.assessed(spec, found).validity
    assert validity in (Validity.VALID, Validity.INCOMPLETE)
    less, back = found.lives
    print([(one.start_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives])
    assert (less.told["had_quota_us"], less.told["actual_quota_us"]) == (FULL_QUOTA_US, LESS_QUOTA_US)
    assert (back.told["had_quota_us"], back.told["actual_quota_us"]) == (LESS_QUOTA_US, FULL_QUOTA_US)
    assert validity is Validity.INCOMPLETE or less.told["throttled_periods"] > 0
    assert less.told["spun_us"] > 0
    assert all(life.told["forwarded_frames"] > 0 for life in found.lives)


@NO_PLUGINS
@pytest.mark.slow
def test_memory_is_made_less_and_a_limit_below_what_is_in_use_is_refused_and_undone(
    resized, monkeypatch
) -> None:
    _, found = resized("memory")
    assert found.faults == ()
    less, back = found.lives
    assert (less.told["actual_octets"], back.told["actual_octets"]) == (MEMORY_OCTETS // 2, MEMORY_OCTETS)
    assert less.told["used_octets"] > 0

    real, after = PodMemory.ask, []

    def ask(self, size):
        if size < MEMORY_OCTETS:
            size = 4096  # its shell alone has more
        try:
            real(self, size)
        finally:
            after.append(self.size())

    monkeypatch.setattr(PodMemory, "ask", ask)
    _, found = resized("memory")
    (fault,) = found.faults
    assert "RESIZE-02" in fault
    assert "in use" in fault
    assert "frames were lost meanwhile, all come again" in fault
    assert found.lives == ()
    assert after == [MEMORY_OCTETS, MEMORY_OCTETS]  # as it was, and asked to be that again


@contextmanager
def standing(kind, tmp_path):
    """A pod of a runtime, with the limits that pods of the embedded testbed have."""
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path)
    runtime = kind(run_dir=str(tmp_path), undo=ledger)
    with NamespaceNode("life") as node:
        spec = PodSpec(pod_id=f"bmwg-life{os.getpid()}", cpus="0", memory_octets=MEMORY_OCTETS)
        with runtime.made(node, spec) as pod:
            pod.start()
            yield runtime, pod
    assert ledger.pending == ()


def engine(name: str):
    lack = docker_daemon.probe(engine=name)
    return pytest.mark.skipif(
        lack is not None, reason=f"needs {lack and lack['what']}: {lack and lack['mend']}"
    )


RUNTIMES = [
    pytest.param(CrunRuntime, id="crun"),
    pytest.param(DockerRuntime, id="docker", marks=[engine("docker"), pytest.mark.slow]),
    pytest.param(PodmanRuntime, id="podman", marks=[engine("podman"), pytest.mark.slow]),
]


@pytest.mark.parametrize("kind", RUNTIMES)
def test_each_runtime_changes_the_limits_of_a_pod_that_runs(kind, tmp_path) -> None:
    with standing(kind, tmp_path) as (runtime, pod):
        assert pod.node.call(limits.held, pid=pod.pid) == {"quota_us": 0, "octets": MEMORY_OCTETS}
        cpu = PodCpu(runtime, pod, "CPU time", (FULL_QUOTA_US, LESS_QUOTA_US))
        cpu.ask(LESS_QUOTA_US)
        assert pod.node.call(limits.held, pid=pod.pid) == {"quota_us": LESS_QUOTA_US, "octets": MEMORY_OCTETS}
        got = cpu.told()
        print(kind.__name__, got)
        assert got["throttled_periods"] > 0
        periods = got["spun_window_us"] // got["period_us"] + 3
        assert got["spun_us"] <= periods * LESS_QUOTA_US
        memory = PodMemory(runtime, pod, "memory", (MEMORY_OCTETS, MEMORY_OCTETS // 2))
        memory.ask(MEMORY_OCTETS // 2)
        cpu.ask(FULL_QUOTA_US)
        assert pod.node.call(limits.held, pid=pod.pid) == {
            "quota_us": FULL_QUOTA_US, "octets": MEMORY_OCTETS // 2,
        }  # fmt: skip
        assert 0 < memory.told()["used_octets"] <= MEMORY_OCTETS // 2
        assert pod.fault() is None


@pytest.mark.slow
def test_memory_that_a_program_holds_is_not_taken_from_it(tmp_path) -> None:
    """The kernel would end the program, or refuse: it is refused before, and the program lives."""
    with standing(CrunRuntime, tmp_path) as (runtime, pod):
        memory = PodMemory(runtime, pod, "memory", (MEMORY_OCTETS, HOLDS_OCTETS // 2))
        holds = f"import time; held = b'x' * {HOLDS_OCTETS}; time.sleep(600)"
        folder = str(tmp_path / "program")
        started = pod.node.call(
            pod_programs.start, command=["python3", "-c", holds], folder=folder, **pod.entry
        )
        try:
            end_s = time.monotonic() + 30.0
            while memory.used()["kept_octets"] < HOLDS_OCTETS and time.monotonic() < end_s:
                time.sleep(0.05)
            with pytest.raises(ToolkitError) as caught:
                memory.ask(HOLDS_OCTETS // 2)
            assert caught.value.error_id == "RESIZE-02"
            assert memory.size() == MEMORY_OCTETS
            assert memory.used()["kept_octets"] >= HOLDS_OCTETS
        finally:
            pod.node.call(pod_programs.stop, folder=folder, of=pod.pid, **started)


@pytest.mark.slow
def test_a_limit_that_the_runtime_refuses_is_named(tmp_path) -> None:
    with standing(CrunRuntime, tmp_path) as (runtime, pod):
        cpu = PodCpu(runtime, pod, "CPU time", (FULL_QUOTA_US, 10))
        with pytest.raises(ToolkitError) as caught:
            cpu.ask(10)  # the kernel's least is 1 ms
        assert caught.value.error_id == "POD-03"
        assert cpu.size() == 0  # none, as it was


@pytest.mark.slow
def test_a_runtime_that_changes_no_limits_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pod_resizes, "ResizingRuntime", type("None_", (), {}))
    with bed_in(tmp_path) as bed:
        missing = PodResizes(Ground(bed=bed, cell=profile.of_frames(PLAN["cpus", ""]))).probe()
    assert missing is not None
    assert missing.what == "limits of a pod that change while it runs"
