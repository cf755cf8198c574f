"""Run a command of the machine to its end, within a time limit and with bounded output; never by a shell."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OUTPUT_LIMIT_OCTETS = 1 << 20  # choice: what we ask programs for is a few thousand octets
_KILLED_S = 10.0  # choice: a killed one goes when it gets a CPU; one in a driver's hands may never
_GRACE_S = 0.5  # after the program has ended, for what a child of it still holds open


class TooMuchOutputError(subprocess.SubprocessError):
    """The program wrote more than it may, and was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, and what it said, decoded leniently."""

    returncode: int
    stdout: str
    stderr: str


def run(
    command: Sequence[str],
    *,
    deadline_s: float,
    limit_octets: int = OUTPUT_LIMIT_OCTETS,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command without input; its exit status is the caller's to judge.

    Raises OSError when it cannot be started, subprocess.TimeoutExpired at the deadline, TooMuchOutputError
    (a SubprocessError too) beyond the limit for both streams together; the program is killed then.
    """
    end_s = time.monotonic() + deadline_s
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(env) if env is not None else None,
    )
    try:
        stdout, stderr = _collect(process, command, end_s, deadline_s, limit_octets)
        returncode = process.wait(max(0.0, end_s - time.monotonic()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()  # does nothing to one that was waited for
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may be in the kernel's hands
            process.wait(_KILLED_S)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    said, complained = (octets.decode("utf-8", "replace") for octets in (stdout, stderr))
    return Ended(returncode=returncode, stdout=said, stderr=complained)


def _collect(
    process: subprocess.Popen[bytes], command: Sequence[str], end_s: float, deadline_s: float, limit: int
) -> tuple[bytearray, bytearray]:
    stdout, stderr = bytearray(), bytearray()
    ended_s: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, stdout), (process.stderr, stderr)):
            assert stream is not None  # both are pipes
            selector.register(stream, selectors.EVENT_READ, kept)
        while selector.get_map():
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(list(command), deadline_s)
            for key, _ in selector.select(min(left_s, 0.05)):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(stdout) + len(stderr) > limit:
                raise TooMuchOutputError(f"{' '.join(command)}: more than {limit} octets of output")
            if ended_s is None and process.poll() is not None:
                ended_s = time.monotonic()
            if ended_s is not None and time.monotonic() > ended_s + _GRACE_S:
                break  # a child of it keeps the pipes open; its own words are read
    return stdout, stderr
