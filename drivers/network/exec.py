"""Runs one CNI plugin binary once: clean environment, deadline, bounded output."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.methodology.errors import TestbedError

STDOUT_LIMIT_OCTETS = 1 << 20  # choice: results are a few thousand octets
STDERR_KEPT_OCTETS = 8192  # choice: the last lines say why
_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GRACE_S = 0.5  # after the plugin exited, for what a child of it still holds open


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRun:
    """How one execution ended. `stderr` is the kept end of it, decoded leniently."""

    exit_status: int
    stdout: bytes
    stderr: str
    wall_time_s: float


def run_plugin(
    path: Path, command: str, variables: Mapping[str, str], stdin: bytes, *, deadline_s: float
) -> PluginRun:
    """Execute the plugin at `path` with CNI_COMMAND `command` and return how it ended.

    The plugin runs in a session of its own, which is killed as a whole at the deadline or when the output
    grows beyond a limit. Raises TestbedError CNI-03 (cannot be started), CNI-04 (deadline), CNI-05 (output).
    """
    environment = {"PATH": _SEARCH_PATH, "LC_ALL": "C", **variables, "CNI_COMMAND": command}
    source = os.memfd_create("cni-config")  # never blocks, whether the plugin reads it or not
    started_s = time.monotonic()
    try:
        os.write(source, stdin)
        os.lseek(source, 0, os.SEEK_SET)
        process = subprocess.Popen(
            [str(path)],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise TestbedError(
            "CNI-03",
            f"CNI plugin {path} cannot be started for {command}",
            expected="an executable file",
            found=error.strerror or str(error),
            hint="check the file's mode and its architecture, or set plugin_dir in the testbed file",
        ) from error
    finally:
        os.close(source)
    try:
        stdout, stderr = _collect(process, path, command, started_s + deadline_s, deadline_s)
    finally:
        _end(process)
    return PluginRun(
        exit_status=process.returncode,
        stdout=stdout,
        stderr=stderr.decode("utf-8", "replace").strip(),
        wall_time_s=time.monotonic() - started_s,
    )


def _collect(
    process: subprocess.Popen[bytes], path: Path, command: str, due_s: float, deadline_s: float
) -> tuple[bytes, bytes]:
    assert process.stdout is not None and process.stderr is not None  # noqa: PT018 - both are pipes
    stdout, stderr = bytearray(), bytearray()
    ended_s: float | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, stdout)
        selector.register(process.stderr, selectors.EVENT_READ, stderr)
        while selector.get_map():
            remaining_s = due_s - time.monotonic()
            if remaining_s <= 0:
                raise _late(path, command, deadline_s, stderr)
            for key, _ in selector.select(min(remaining_s, 0.1)):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.extend(chunk)
                if key.data is stderr:
                    del stderr[:-STDERR_KEPT_OCTETS]
                elif len(stdout) > STDOUT_LIMIT_OCTETS:
                    raise TestbedError(
                        "CNI-05",
                        f"CNI plugin {path}, {command}: its output does not end",
                        expected=f"at most {STDOUT_LIMIT_OCTETS} octets",
                        found=f"more; it begins {bytes(stdout[:80])!r}",
                        hint="the plugin was killed",
                    )
            if ended_s is None and process.poll() is not None:
                ended_s = time.monotonic()
            if ended_s is not None and time.monotonic() > ended_s + _GRACE_S:
                break  # a child of the plugin keeps the pipes open; the plugin's own words are read
    try:
        process.wait(max(0.0, due_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _late(path, command, deadline_s, stderr) from None
    return bytes(stdout), bytes(stderr)


def _late(path: Path, command: str, deadline_s: float, stderr: bytearray) -> TestbedError:
    return TestbedError(
        "CNI-04",
        f"CNI plugin {path}, {command}: no end within the deadline",
        expected=f"an answer within {deadline_s:g} s",
        found="it still ran and was killed; stderr: " + (stderr[-400:].decode("utf-8", "replace") or "empty"),
        hint="a plugin that waits for a daemon needs that daemon on the node",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the plugin's session and reap it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
