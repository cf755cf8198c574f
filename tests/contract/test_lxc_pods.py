"""Pods by LXC: what they see, what limits them, how they end, and nothing of them stays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bmwg.drivers.containers import lxc_pods, pod_programs
from bmwg.drivers.containers.bundle import SLEEPER, PodSpec
from bmwg.drivers.containers.lxc import LxcRuntime
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.agent import resolve
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo import undoing
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("lxc-start") is None, reason=f"needs LXC: {lxc_pods.MEND}"),
]
CGROUPS = Path("/sys/fs/cgroup")
CHROOTED = 'from bmwg.drivers.containers import lxc_pods; print((lxc_pods.probe() or {}).get("what"))'


@pytest.fixture(scope="module")
def node() -> Iterator[NamespaceNode]:
    with NamespaceNode("dut1") as opened:
        if lack := opened.call(lxc_pods.probe):
            pytest.skip(f"needs {lack['what']}: {lack['reason']}")
        yield opened


@pytest.fixture
def pod_id(node: NamespaceNode) -> Iterator[str]:
    name = f"l{os.getpid()}-{time.monotonic_ns() % 10**9}"
    before = children(node)
    yield name
    node.call(lxc_pods.delete, pod_id=name)
    assert left(node, name) == []
    assert children(node) == before


def children(node: NamespaceNode) -> list[str]:
    """Processes whose parent is the node's agent, zombies too."""
    return Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split()


def left(node: NamespaceNode, pod_id: str) -> list[str]:
    """Cgroups, mounts and files of a pod, in the node's own view and in the machine's."""
    found = [str(path) for path in CGROUPS.glob(f"*/*{pod_id}*")] + [
        str(path) for path in CGROUPS.glob(f"*{pod_id}*")
    ]
    for pid in ("self", str(node.pid)):
        lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
        found += [line for line in lines if pod_id in line]
    run = Path(f"/proc/{node.pid}/root/run")
    return found + [str(path) for path in run.rglob("*") if pod_id in str(path)]


def spec(pod_id: str, **changes: Any) -> dict[str, Any]:
    last_cpu = max(os.sched_getaffinity(0))
    return PodSpec(pod_id=pod_id, cpus=str(last_cpu), memory_octets=64 << 20, **changes).as_builtins()


def entered(node: NamespaceNode, pod_id: str, made: dict[str, Any], *words: str) -> dict[str, Any]:
    """Run a program in the pod as jobs do: by lxc-attach."""
    attach = [*lxc_pods.NOTHING_INHERITED, "lxc-attach", *lxc_pods.named(pod_id), "--"]
    by = {"command": attach, "cgroup": lxc_pods.cgroups_of(pod_id)[0]}
    asked = {"command": list(words), "within_s": 10.0, "entered_by": by}
    return node.call_within(15.0, pod_programs.run, **made, **asked)


def test_a_pod_sees_what_crun_s_pods_see(node: NamespaceNode, pod_id: str) -> None:
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id, capabilities=("CAP_SYS_PTRACE",)))
    script = (
        "ls /sys/class/net; echo; hostname; touch /etc/x /tmp/x /run/x /dev/shm/x 2>/dev/null; ls /etc/x;"
        "ls /tmp/x /run/x /dev/shm/x; sysctl -n net.ipv4.ip_forward net.ipv6.conf.default.accept_dad;"
        "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; nproc; cat /proc/1/comm"
    )
    told = entered(node, pod_id, made, "sh", "-c", script)
    assert told["fault"] == ""
    said = told["output"].split("\n")
    assert said[:3] == ["lo", "", pod_id]
    assert said[3:6] == ["/dev/shm/x", "/run/x", "/tmp/x"], "the root is read-only"
    assert said[6:8] == ["1", "0"]
    granted = int(said[8].split()[1], 16)
    assert granted & 1 << 19, "CAP_SYS_PTRACE, which was asked for"
    assert granted & 1 << 12, "CAP_NET_ADMIN, which every pod has"
    assert not granted & 1 << 21, "CAP_SYS_ADMIN"
    assert [line.split()[1] for line in said[9:11]] == ["1", "2"]
    assert said[11:13] == ["1", "sh"]


def test_a_pod_has_no_capability_that_its_runner_inherited() -> None:
    seen = f"{__file__}::{test_a_pod_sees_what_crun_s_pods_see.__name__}"
    again = ["setpriv", "--inh-caps=+sys_admin", "--ambient-caps=+sys_admin", "--", sys.executable, "-m"]
    done = subprocess.run(
        [*again, "pytest", "-q", seen], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_kernel_has_the_limits_that_were_asked_for(node: NamespaceNode, pod_id: str) -> None:
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id, cpu_limit=0.5, least=True))
    told = node.call(lxc_pods.describe, pod_id=pod_id, pid=made["pid"])
    assert told["memory_limit_octets"] == 64 << 20
    assert told["cpuset_cpus"] == str(max(os.sched_getaffinity(0)))
    assert told.get("cpu_quota_us", 0) == 50_000 or told["cpu_quota_and_period_us"] == "50000 100000"
    assert told["system_call_filter"] == "filter (seccomp)"
    assert node.call(lxc_pods.sample, pod_id=pod_id)["memory_octets"] > 0
    capabilities = entered(node, pod_id, made, "grep", "CapEff", "/proc/self/status")["output"].split()
    assert int(capabilities[1], 16) == 0, "the fewest by which it works are none"


def test_binds_are_there_and_writable_as_asked(node: NamespaceNode, pod_id: str, tmp_path: Path) -> None:
    for name in ("may write", "reads"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    binds = tuple((str(tmp_path / name), f"/run/{name}", name != "reads") for name in ("may write", "reads"))
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id, binds=binds))
    script = (
        "cat '/run/may write/file' /run/reads/file; echo 1 > '/run/may write/new'; echo 1 > /run/reads/new"
    )
    told = entered(node, pod_id, made, "sh", "-c", script)
    assert told["output"] == "may writereads"
    assert "Read-only" in told["errors"]
    assert (tmp_path / "may write" / "new").exists()


def test_a_program_s_words_and_end_are_told(node: NamespaceNode, pod_id: str) -> None:
    words = ("sh", "-c", "echo first; echo last >&2; exec sleep 60")
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id, arguments=words))
    assert node.call(lxc_pods.fault, pod_id=pod_id, **made) is None
    assert node.call(lxc_pods.said, pod_id=pod_id) == ["first", "last"]
    os.kill(made["pid"], signal.SIGKILL)
    while process.same(made["pid"], made["start_ticks"]):
        time.sleep(0.01)
    assert "first | last" in str(node.call(lxc_pods.fault, pod_id=pod_id, **made))


def test_a_container_that_does_not_start_is_named_and_leaves_nothing(
    node: NamespaceNode, pod_id: str
) -> None:
    missing = ((f"/no/such-{pod_id}", "/run/job", True),)
    with pytest.raises(DriverError, match="POD-03"):
        node.call_within(30.0, lxc_pods.start, spec=spec(pod_id, binds=missing))
    assert left(node, pod_id) == []
    assert node.call(lxc_pods.delete, pod_id=pod_id) is False


@pytest.mark.parametrize("words", [("/no/such/program",), ("sh", "-c", "echo sorry; exit 3")])
def test_a_program_that_ends_at_once_is_an_error_or_a_fault_and_leaves_nothing(
    node: NamespaceNode, pod_id: str, words: tuple[str, ...]
) -> None:
    expected = "sorry" if words[0] == "sh" else "not found"
    assert expected in how_it_ended(node, spec(pod_id, arguments=words, netns=f"/proc/{node.pid}/ns/net"))


def how_it_ended(node: NamespaceNode, wanted: dict[str, Any]) -> str:
    """What is said of a program that has ended, whether or not it was before anybody asked for its number."""
    try:
        made = node.call_within(30.0, lxc_pods.start, spec=wanted)
    except DriverError as error:
        return str(error)
    while process.same(made["pid"], made["start_ticks"]):
        time.sleep(0.01)
    return node.call(lxc_pods.fault, pod_id=wanted["pod_id"], **made) or ""


def test_a_name_is_given_once_and_a_pod_is_removed_once(node: NamespaceNode, pod_id: str) -> None:
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id))
    with pytest.raises(TestbedError, match="a new name"):
        node.call_within(30.0, lxc_pods.start, spec=spec(pod_id))
    assert process.same(made["pid"], made["start_ticks"]), "the first one still runs"
    assert node.call(lxc_pods.delete, pod_id=pod_id) is True
    assert node.call(lxc_pods.delete, pod_id=pod_id) is False


def test_a_pod_whose_watcher_was_killed_is_removed(node: NamespaceNode, pod_id: str) -> None:
    made = node.call_within(30.0, lxc_pods.start, spec=spec(pod_id))
    watcher = int(Path(f"/proc/{node.pid}/root/run/bmwg-lxc/{pod_id}/pid").read_text())
    os.kill(watcher, signal.SIGKILL)
    assert node.call_within(20.0, lxc_pods.delete, pod_id=pod_id) is True
    assert not process.same(made["pid"], made["start_ticks"])


@pytest.mark.usefixtures("node")
def test_what_a_node_left_that_is_gone_is_undone_from_the_machine(pod_id: str) -> None:
    with NamespaceNode("gone") as lost:
        made = lost.call_within(30.0, lxc_pods.start, spec=spec(pod_id))
    kind = undoing.KINDS["lxc"]
    assert not kind.in_node
    undo = resolve(kind.function)
    undo(pod_id=pod_id)
    assert not process.same(made["pid"], made["start_ticks"])
    assert undo(pod_id=pod_id) is False


def test_a_machine_without_lxc_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    told = lxc_pods.probe()
    assert told is not None
    assert (told["what"], told["mend"]) == ("LXC", lxc_pods.MEND)
    with pytest.raises(TestbedError, match="POD-02"):
        lxc_pods.start(spec=spec("never"))


@pytest.mark.usefixtures("node")
def test_a_chroot_is_refused_since_programs_would_enter_another_root(tmp_path: Path) -> None:
    """In one a program of a pod had the machine's own /sys, and its read-only folders could be written."""
    script = f"mount --rbind / {tmp_path} && exec chroot {tmp_path} {sys.executable} -c '{CHROOTED}'"
    chrooted = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(chrooted, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "a root of LXC's own", done.stderr


def test_settings_and_programs_that_it_cannot_have_are_refused(node: NamespaceNode, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CFG-04"):
        LxcRuntime(run_dir=str(tmp_path), undo=None, options={"daemon": True})  # type: ignore[arg-type]
    runtime = LxcRuntime(run_dir=str(tmp_path), undo=None, options={})  # type: ignore[arg-type]
    program = PodSpec(pod_id="never", cpus="0", memory_octets=64 << 20, arguments=("true",))
    with pytest.raises(ConfigError, match="POD-01"), runtime.made(node, program):
        pass
    assert program.arguments != SLEEPER
    assert runtime.side_by_side(1) is not None
