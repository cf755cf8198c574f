import os
import time
from pathlib import Path

import pytest

from bmwg.drivers.network.exec import run_plugin
from bmwg.methodology.errors import TestbedError


def _script(folder: Path, body: str) -> Path:
    path = folder / "plugin"
    path.write_text("#!/bin/sh\n" + body + "\n")
    path.chmod(0o755)
    return path


def test_input_environment_and_both_outputs(tmp_path):
    body = 'cat; echo "$CNI_COMMAND $X ${HOME:-no home}"; echo words >&2; exit 3'
    run = run_plugin(_script(tmp_path, body), "ADD", {"X": "1"}, b'{"a":1}\n', deadline_s=5)
    assert (run.exit_status, run.stdout, run.stderr) == (3, b'{"a":1}\nADD 1 no home\n', "words")


def test_a_hanging_plugin_is_killed_with_its_children(tmp_path):
    pid_file = tmp_path / "pid"
    path = _script(tmp_path, f"sleep 60 & echo $! > {pid_file}; echo stuck >&2; wait")
    began_s = time.monotonic()
    with pytest.raises(TestbedError, match=r"^CNI-04 ") as caught:
        run_plugin(path, "ADD", {}, b"{}", deadline_s=0.5)
    assert "stuck" in caught.value.found
    assert time.monotonic() - began_s < 2
    child = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    deadline_s = time.monotonic() + 2
    while child.exists() and child.read_text().split(")")[1].split()[0] != "Z":
        assert time.monotonic() < deadline_s, "the plugin's child still runs"
        time.sleep(0.01)


def test_output_without_end_is_cut(tmp_path):
    with pytest.raises(TestbedError, match=r"^CNI-05 "):
        run_plugin(_script(tmp_path, "exec cat /dev/zero"), "ADD", {}, b"{}", deadline_s=10)


def test_a_child_that_keeps_the_pipes_open_does_not_hold_the_answer_back(tmp_path):
    began_s = time.monotonic()
    run = run_plugin(_script(tmp_path, "echo '{}'; sleep 3 &"), "ADD", {}, b"{}", deadline_s=10)
    assert run.stdout == b"{}\n"
    assert time.monotonic() - began_s < 2


def test_a_large_configuration_that_is_not_read_does_not_block(tmp_path):
    run = run_plugin(_script(tmp_path, "exit 0"), "ADD", {}, b"x" * 500_000, deadline_s=5)
    assert run.exit_status == 0


def test_what_cannot_be_started_is_named(tmp_path):
    path = tmp_path / "plugin"
    path.write_bytes(b"\x7fNOT AN ELF")
    path.chmod(0o755)
    with pytest.raises(TestbedError, match=r"^CNI-03 "):
        run_plugin(path, "ADD", {}, b"{}", deadline_s=5)


def test_no_descriptor_is_left_open(tmp_path):
    path = _script(tmp_path, "echo '{}'")
    run_plugin(path, "ADD", {}, b"{}", deadline_s=5)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run_plugin(path, "ADD", {}, b"{}", deadline_s=5)
    assert len(os.listdir("/proc/self/fd")) == before
