import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.agent import AgentNode, resolve
from bmwg.drivers.undo import ledger as ledger_module
from bmwg.drivers.undo import undoing
from bmwg.drivers.undo.ledger import Ledger, cleanup, cleanup_all
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitBug


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_the_undo_is_on_disk_before_the_act(run_dir: Path, index: Path) -> None:
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    victim = run_dir / "victim"
    number = ledger.before("file", path=str(victim))
    line = json.loads((run_dir / "ledger.jsonl").read_text())
    assert line == {
        "number": number,
        "kind": "file",
        "place": {"kind": "local"},
        "arguments": {"path": str(victim)},
    }
    assert [json.loads(item.read_text())["ledger"] for item in index.iterdir()] == [
        str(run_dir / "ledger.jsonl")
    ]
    victim.touch()
    assert ledger.undo_all() == []
    assert not victim.exists()
    assert ledger.pending == ()
    assert list(index.iterdir()) == []


def test_undo_is_newest_first_and_goes_on_past_failures(
    run_dir: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real = ledger_module.remove_file

    def spy(*, path: str) -> bool:
        order.append(Path(path).name)
        return real(path=path)

    monkeypatch.setattr(ledger_module, "remove_file", spy)
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    (run_dir / "b").mkdir()  # a folder is refused by the undo of a file
    for name in "abc":
        ledger.before("file", path=str(run_dir / name))
    failures = ledger.undo_all()
    assert order == ["c", "b", "a"]
    assert len(failures) == 1
    assert str(run_dir / "b") in failures[0]
    assert [entry.arguments["path"] for entry in ledger.pending] == [str(run_dir / "b")]
    again = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    (run_dir / "b").rmdir()
    assert again.undo_all() == []
    assert again.before("file", path="x") == 4


def test_a_torn_last_line_is_dropped_and_a_broken_one_is_not(run_dir: Path, index: Path) -> None:
    path = run_dir / "ledger.jsonl"
    ledger = Ledger(path, index_dir=index)
    ledger.before("file", path=str(run_dir / "a"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"number": 2, "kind": "fi')
    assert len(Ledger(path, index_dir=index).pending) == 1
    assert path.read_bytes() == whole
    path.write_bytes(b'{"number": 1}\n' + whole)
    with pytest.raises(TestbedError, match=r"^LEDGER-01 ") as caught:
        Ledger(path, index_dir=index)
    assert "line 1" in caught.value.what


def test_an_unknown_kind_is_our_bug(run_dir: Path, index: Path) -> None:
    with pytest.raises(ToolkitBug, match=r"^LEDGER-02 ") as caught:
        Ledger(run_dir / "ledger.jsonl", index_dir=index).before("fil", path="x")
    assert "file" in caught.value.found


def test_a_pid_that_was_used_again_is_spared() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        ticks = process.start_ticks(child.pid)
        assert process.terminate(pid=child.pid, start_ticks=ticks + 1) is False
        assert child.poll() is None
        child.terminate()


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    with subprocess.Popen(
        ["/bin/sh", "-c", "trap '' TERM; echo up; exec sleep 60"], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        ticks = process.start_ticks(child.pid)
        assert process.terminate(pid=child.pid, start_ticks=ticks, within_s=0.4) is True
        assert child.wait(2) == -signal.SIGKILL
    assert process.terminate(pid=child.pid, start_ticks=ticks) is False


def test_the_owner_label_finds_processes_and_spares_others() -> None:
    label = f"test-{os.getpid()}"
    with (
        subprocess.Popen(["sleep", "60"], env={**os.environ, process.OWNER_VARIABLE: label}) as mine,
        subprocess.Popen(["sleep", "60"], env={**os.environ, process.OWNER_VARIABLE: label + "x"}) as other,
    ):
        time.sleep(0.05)
        assert process.terminate_owned(owner=label) == 1
        assert mine.wait(2) == -signal.SIGTERM
        assert other.poll() is None
        assert process.terminate_owned(owner="") == 0
        other.terminate()


RUNNER = """
import sys, time
from pathlib import Path
from bmwg.drivers.undo.ledger import Ledger
folder, index = map(Path, sys.argv[1:])
ledger = Ledger(folder / "ledger.jsonl", index_dir=index)
ledger.before("file", path=str(folder / "made"))
(folder / "made").touch()
print("ready", flush=True)
time.sleep(60)
"""


def test_a_killed_run_is_found_by_the_index_and_a_living_one_is_left_alone(
    run_dir: Path, index: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(run_dir), str(index)], stdout=subprocess.PIPE
    ) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"ready\n"
        alive = cleanup_all(index_dir=index)
        assert "LEDGER-04" in alive[str(run_dir)][0]
        assert (run_dir / "made").exists()
        runner.kill()
        runner.wait(5)
    assert cleanup_all(index_dir=index) == {str(run_dir): []}
    assert not (run_dir / "made").exists()
    assert cleanup_all(index_dir=index) == {}
    assert cleanup(run_dir, index_dir=index) == []


def test_a_folder_without_a_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"^LEDGER-01 "):
        cleanup(tmp_path)


def test_a_ledger_that_is_gone_is_reported_once(run_dir: Path, index: Path) -> None:
    Ledger(run_dir / "ledger.jsonl", index_dir=index).before("file", path="x")
    (run_dir / "ledger.jsonl").unlink()
    assert "is gone" in cleanup_all(index_dir=index)[str(run_dir)][0]
    assert cleanup_all(index_dir=index) == {}


def test_an_undo_that_fails_in_any_way_keeps_no_other_from_being_undone(
    run_dir: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by an error of ours alone: a tool without an end, arguments of another version, a full disk."""
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    for name in "abcd":
        (run_dir / name).touch()
        ledger.before("file", path=str(run_dir / name))
    ledger.before("file", folder="arguments that its undo does not take")
    real = ledger_module.remove_file

    def slow(*, path: str) -> bool:
        if path.endswith("c"):
            raise subprocess.TimeoutExpired(["tool"], 5.0)
        return real(path=path)

    def full(line: dict[str, object]) -> None:
        if line == {"done": 2}:
            raise TestbedError("LEDGER-05", "no room")
        append(line)

    append = ledger._append
    monkeypatch.setattr(ledger_module, "remove_file", slow)
    monkeypatch.setattr(ledger, "_append", full)
    failures = ledger.undo_all()
    assert [name for name in "abcd" if (run_dir / name).exists()] == ["c"]
    assert [entry.number for entry in ledger.pending] == [2, 3, 5]
    assert len(failures) == 3
    assert "folder" in failures[0]
    assert "TimeoutExpired" in failures[1]
    assert "LEDGER-05" in failures[2]


def test_a_ledger_that_cannot_be_read_keeps_no_other_run_from_being_cleaned_up(
    tmp_path: Path, index: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "made").touch()
        Ledger(tmp_path / name / "ledger.jsonl", index_dir=index).before(
            "file", path=str(tmp_path / name / "made")
        )
    for entry in index.iterdir():  # both runs have ended
        entry.write_text(json.dumps({**json.loads(entry.read_text()), "pid": 1, "start_ticks": 1}))
    broken = Path(json.loads(sorted(index.iterdir())[0].read_text())["ledger"])
    broken.unlink()
    broken.mkdir()  # whatever is there cannot be read
    found = cleanup_all(index_dir=index)
    whole = next(tmp_path / name for name in ("first", "second") if tmp_path / name != broken.parent)
    assert found[str(whole)] == []
    assert not (whole / "made").exists()
    assert "directory" in found[str(broken.parent)][0]


def test_an_agent_that_does_not_end_is_told_and_the_rest_is_undone(
    run_dir: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    held = {
        "kind": "namespace",
        "name": "dut1",
        "pid": os.getpid(),
        "start_ticks": process.start_ticks(os.getpid()),
    }
    (run_dir / "made").touch()
    ledger.before("file", path=str(run_dir / "made"))
    ledger.before("sysctl", held, key="x", value="0")

    def stays(**named: object) -> bool:
        raise DriverError("NODE-12", "process", expected="gone after SIGKILL", found="still there")

    monkeypatch.setattr(process, "terminate", stays)
    (failure,) = ledger.undo_all()
    assert "LEDGER-03" in failure
    assert not (run_dir / "made").exists()


def test_no_undo_waits_longer_by_itself_than_it_is_waited_for() -> None:
    """A node of Kubernetes may take a minute to go; at half of it the clean-up's own node was given up."""
    waits = {
        kind.function: parameter.default
        for kind in undoing.KINDS.values()
        if (parameter := inspect.signature(resolve(kind.function)).parameters.get("within_s"))
    }
    assert waits["bmwg.drivers.kubernetes.node:remove"] == 60.0
    assert 2 * max(waits.values()) <= undoing.UNDO_S


def test_an_undo_without_an_end_costs_no_other_one_its_node(
    run_dir: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is tolerant would be taken for undone with the node of the clean-up that it was to use."""
    asked: list[str] = []

    class Beside(AgentNode):
        def __init__(self, name: str) -> None:
            super().__init__(name, {})

        def __enter__(self) -> "Beside":
            return self

        def __exit__(self, *exc: object) -> None:
            pass

        def call_named(self, function: str, arguments: object, *, deadline_s: float | None = None) -> None:
            if self.broken:
                raise DriverError("NODE-03", "cleanup is broken")
            asked.append(f"{arguments['network']} within {deadline_s:g} s")  # type: ignore[index]
            if len(asked) == 1:
                raise self._lost("no end")

    monkeypatch.setattr(undoing, "NamespaceNode", Beside)
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=index)
    gone = {"kind": "namespace", "name": "dut1", "pid": 1, "start_ticks": 1}
    for network in ("a", "b"):
        ledger.before("cni", gone, network=network)
    ledger.undo_all()
    assert asked == [f"{network} within {undoing.UNDO_S:g} s" for network in ("b", "a")]
