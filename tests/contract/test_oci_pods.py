"""Pods by crun on a namespace node: limits as the kernel has them, order of create and start, faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import needs_crun
from tests.waiting import eventually

from bmwg.drivers.containers import oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes import cpu_placement
from bmwg.drivers.nodes import inside as hosting_inside
from bmwg.drivers.nodes.cpu_placement import require_on
from bmwg.drivers.nodes.links import connect
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import DriverError, TestbedError

pytestmark = [pytest.mark.root, needs_crun]

INTERFACES = "bmwg.drivers.ports.interfaces:"


@pytest.fixture(scope="module")
def node() -> Iterator[NamespaceNode]:
    with NamespaceNode("dut1") as opened:
        yield opened


@pytest.fixture
def pod_id() -> str:
    return f"t{os.getpid()}-{time.monotonic_ns() % 10**9}"


def spec(pod_id: str, **changes: object) -> dict[str, object]:
    last_cpu = max(os.sched_getaffinity(0))
    return PodSpec(pod_id=pod_id, cpus=str(last_cpu), memory_octets=64 << 20, **changes).as_builtins()  # type: ignore[arg-type]


@pytest.fixture
def pod(node: NamespaceNode, pod_id: str, tmp_path: Path) -> Iterator[dict[str, object]]:
    made = node.call(oci.create, spec=spec(pod_id), state_dir=str(tmp_path))
    yield made
    node.call(oci.delete, pod_id=pod_id, state_dir=str(tmp_path))
    assert_gone(made, tmp_path)


def assert_gone(pod: dict[str, object], state_dir: Path) -> None:
    assert not Path(f"/proc/{pod['pid']}").exists()
    assert not any(str(pod["pod_id"]) in name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names)
    assert str(pod["pod_id"]) not in Path("/proc/self/mountinfo").read_text()
    assert list(state_dir.iterdir()) == []


def enter(pod: dict[str, object], script: str) -> str:
    command = ["nsenter", f"--target={pod['pid']}", "--all", "/bin/sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout


def test_the_namespace_is_there_before_the_program(
    node: NamespaceNode, pod: dict[str, object], tmp_path: Path
) -> None:
    pod_id = pod["pod_id"]
    assert node.call(oci.state, pod_id=pod_id, state_dir=str(tmp_path))["status"] == "created"
    with pytest.raises(DriverError) as caught:
        node.call(oci.require_running, pod_id=pod_id, state_dir=str(tmp_path))
    assert caught.value.error_id == "POD-05"
    with NamespaceNode("far") as far:
        connect(node, "t0", far, "nic0")
        node.call(interfaces.move, interface="t0", pid=pod["pid"], name="eth0")
        inside = node.call(hosting_inside.run, pid=pod["pid"], function=INTERFACES + "listing", arguments={})
        assert {item["name"] for item in inside} == {"lo", "eth0"}
        assert {item["name"] for item in node.call(interfaces.listing)} == {"lo"}
        node.call(oci.start, pod_id=pod_id, state_dir=str(tmp_path))
        node.call(oci.require_running, pod_id=pod_id, state_dir=str(tmp_path))


def test_limits_are_the_kernels(node: NamespaceNode, pod: dict[str, object], tmp_path: Path) -> None:
    found = node.call(oci.describe, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    assert found["cpuset_cpus"] == str(max(os.sched_getaffinity(0)))
    assert found["memory_limit_octets"] == 64 << 20
    assert found["runtime"].startswith("crun version")
    assert os.sched_getaffinity(int(str(pod["pid"]))) == {max(os.sched_getaffinity(0))}
    if found["hugetlb_2mi_limit_octets"] is None:
        assert found["hugetlb_2mi_limit_octets_reason"]
    else:
        assert found["hugetlb_2mi_limit_octets"] == 0


def test_the_pod_has_its_own_world_and_cannot_change_the_hosts(
    node: NamespaceNode, pod: dict[str, object], tmp_path: Path
) -> None:
    node.call(oci.start, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    assert enter(pod, "hostname").strip() == pod["pod_id"]
    assert enter(pod, "ls /sys/class/net").split() == ["lo"]
    assert enter(pod, "cat /proc/sys/net/ipv4/ip_forward").strip() == "1"
    # the runtime says that it has started a pod just before it becomes the pod's program
    assert eventually(lambda: enter(pod, "cat /proc/1/comm").strip() == "sh")
    for path in (
        "/x",
        "/etc/x",
        "/usr/x",
        f"{tmp_path}/x",
        "/dev/shm/bmwg-test-x",
        "/run/bmwg-test-x",
        "/tmp/bmwg-test-x",
    ):
        writable = enter(pod, f"touch {path} && echo yes").strip() == "yes"
        assert writable is (path in ("/dev/shm/bmwg-test-x", "/run/bmwg-test-x", "/tmp/bmwg-test-x")), path
        assert not Path(path).exists(), path


def test_a_process_beyond_the_memory_limit_is_killed_and_the_host_is_not(
    node: NamespaceNode, pod: dict[str, object], tmp_path: Path
) -> None:
    node.call(oci.start, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    cgroup = "/sys/fs/cgroup/memory" if Path("/sys/fs/cgroup/memory").is_dir() else "/sys/fs/cgroup"
    allocate = "/usr/bin/python3 -c 'print(len(bytearray(200 << 20)))'"
    script = f"echo $$ > {cgroup}{pod['cgroup']}/cgroup.procs; exec {allocate}"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, timeout=20, check=False)
    assert done.returncode == -9
    node.call(oci.require_running, pod_id=pod["pod_id"], state_dir=str(tmp_path))


def test_orphans_are_collected_inside_the_pod(
    node: NamespaceNode, pod: dict[str, object], tmp_path: Path
) -> None:
    node.call(oci.start, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    enter(pod, "for i in 1 2 3 4 5; do (sleep 0.05 & ) ; done")
    time.sleep(0.5)
    states = enter(pod, "cat /proc/[0-9]*/stat")
    assert ") Z " not in states


def test_a_killed_pod_is_noticed(node: NamespaceNode, pod: dict[str, object], tmp_path: Path) -> None:
    node.call(oci.start, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    os.kill(int(str(pod["pid"])), 9)
    end_s = time.monotonic() + 2
    while node.call(oci.state, pod_id=pod["pod_id"], state_dir=str(tmp_path))["status"] == "running":
        assert time.monotonic() < end_s
        time.sleep(0.01)
    with pytest.raises(DriverError) as caught:
        node.call(oci.require_running, pod_id=pod["pod_id"], state_dir=str(tmp_path))
    assert caught.value.error_id == "POD-05"
    assert "stopped" in caught.value.found


def test_a_program_that_is_not_there_is_named_and_leaves_nothing(
    node: NamespaceNode, pod_id: str, tmp_path: Path
) -> None:
    with pytest.raises(DriverError) as caught:
        node.call(oci.create, spec=spec(pod_id, arguments=("/no/such/program",)), state_dir=str(tmp_path))
    assert caught.value.error_id == "POD-03"
    assert "/no/such/program" in caught.value.found
    assert list(tmp_path.iterdir()) == []
    assert node.call(oci.delete, pod_id=pod_id, state_dir=str(tmp_path)) is False


def test_the_same_name_twice_is_refused_and_the_first_lives(
    node: NamespaceNode, pod: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(TestbedError) as caught:
        node.call(oci.create, spec=spec(str(pod["pod_id"])), state_dir=str(tmp_path))
    assert caught.value.error_id == "POD-03"
    assert node.call(oci.state, pod_id=pod["pod_id"], state_dir=str(tmp_path))["status"] == "created"


def test_a_function_that_hangs_inside_meets_its_deadline(node: NamespaceNode, pod: dict[str, object]) -> None:
    with pytest.raises(DriverError) as caught:
        node.call(
            hosting_inside.run,
            pid=pod["pid"],
            function="bmwg.drivers.nodes.probe:pause",
            arguments={"pause_s": 30},
            within_s=0.2,
        )
    assert caught.value.error_id == "POD-07"
    assert node.broken is None


def test_an_error_inside_is_raised_here(node: NamespaceNode, pod: dict[str, object]) -> None:
    with pytest.raises(TestbedError) as caught:
        node.call(
            hosting_inside.run, pid=pod["pid"], function=INTERFACES + "up", arguments={"interface": "l0"}
        )
    assert caught.value.error_id == "LINK-01"


def test_without_crun_one_line_with_the_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("unshare", "env"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    with NamespaceNode("poor") as poor, pytest.raises(TestbedError) as caught:
        poor.call(oci.create, spec=spec("poor"), state_dir=str(tmp_path))
    assert caught.value.error_id == "POD-02"
    assert caught.value.hint == "apt-get install crun"


def test_an_affinity_that_a_pod_inherits_is_told_and_refused(
    node: NamespaceNode, pod_id: str, tmp_path: Path
) -> None:
    """Whoever starts a run by taskset confines its pods; a cpuset does not always bring their CPU back."""
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    if first == last:
        pytest.skip("needs two CPUs")
    before = os.sched_getaffinity(node.pid)
    for task in os.listdir(f"/proc/{node.pid}/task"):
        os.sched_setaffinity(int(task), {first})
    try:
        made = node.call(oci.create, spec=spec(pod_id), state_dir=str(tmp_path))
        node.call(oci.start, pod_id=pod_id, state_dir=str(tmp_path))
        told = node.call(cpu_placement.threads, cgroup=made["cgroup"])
        runs_on = os.sched_getaffinity(int(str(made["pid"])))
        assert {cpu for one in told for cpu in one["cpus"]} == runs_on
        if runs_on == {last}:
            require_on("the pod", told, {last})
        else:
            with pytest.raises(DriverError) as caught:
                require_on("the pod", told, {last})
            assert caught.value.error_id == "POD-08"
    finally:
        for task in os.listdir(f"/proc/{node.pid}/task"):
            os.sched_setaffinity(int(task), before)
        node.call(oci.delete, pod_id=pod_id, state_dir=str(tmp_path))
