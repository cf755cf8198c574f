"""The live machine behind the collectors' door: files, commands and netlink, each bounded."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import time
from typing import Any

from bmwg.drivers.platform_record import netlink
from bmwg.drivers.platform_record.translation import maybe_translated
from bmwg.drivers.platform_record.values import JsonValue, Unread

BUDGET_S = 15.0  # choice: two versions told at their limit, and all else; a quiet machine takes one second
_FILE_OCTETS = 8 << 20  # choice: no file that a collector reads comes near
_OUTPUT_OCTETS = 8 << 20
SLOW_BUDGET_S = 45.0  # choice: a translated machine took 10 to 30 s for its whole record
_SLOWNESS = 10.0  # choice: a translated CPU has been seen to take 1.5 to 4 s for what has 2 s
# digests of files that this process has read, under all that shows that a file is still the same
_digests: dict[tuple[str | int, ...], str] = {}
_versions: dict[tuple[str | int, ...], str] = {}  # the same of what programs tell for `--version`


class LocalSource:
    """The machine, or the namespaces, that this process stands in. One source serves one record.

    Files, netlink dumps and the output of commands are had once and kept. `budget_s` bounds all
    commands together: once it is spent, each further one is refused, so a machine full of hanging tools still
    gives a record. On a machine that may be translated each command may take ten times as long: an answer
    that comes late once and in time once would be drift.
    """

    def __init__(self, *, budget_s: float = BUDGET_S) -> None:
        self._ends = time.monotonic() + budget_s
        self._kept: dict[tuple[str, ...], Any] = {}

    def now(self) -> str:
        """UTC time to the millisecond."""
        moment = datetime.datetime.now(datetime.UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def read_bytes(self, path: str, /) -> bytes:
        """Octets of a regular file; a device, socket or pipe is never opened for reading."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        content = bytearray()
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unread(f"{path} is no regular file")
            # small pieces: the kernel refuses a large buffer for its settings
            while piece := os.read(descriptor, 1 << 20 if content else 65536):
                content += piece
                if len(content) > _FILE_OCTETS:
                    raise Unread(f"{path} is larger than {_FILE_OCTETS} octets")
        finally:
            os.close(descriptor)
        return bytes(content)

    def read_file(self, path: str, /) -> str:
        """Text of a regular file."""
        kept = self._kept.get(("file", path))
        if kept is None:
            kept = self.read_bytes(path).decode("utf-8", "replace")
            if len(kept) < 65536:
                self._kept["file", path] = kept
        return str(kept)

    def digest(self, path: str, /) -> str:
        """SHA-256 of a file; one that was neither written nor replaced since is not read again."""
        key = _as_it_is(path)
        if key not in _digests:
            _digests[key] = hashlib.sha256(self.read_bytes(path)).hexdigest()
        return _digests[key]

    def list_dir(self, path: str, /) -> list[str]:
        """Sorted names in a folder."""
        return sorted(os.listdir(path))

    def read_link(self, path: str, /) -> str:
        """The target of a symbolic link."""
        return os.readlink(path)

    def run(self, argv: list[str], /, *, timeout_s: float = 2.0) -> str:
        """Run a command without a shell, without input, in a session of its own, and give its output.

        A command that is not there, fails, or does not end in time is Unread; in the last case its whole
        session is ended. A program that was neither written nor replaced since is not asked for its version
        again, also by a later record of this process.
        """
        said = " ".join(argv)
        if (kept := self._kept.get(("run", *argv))) is not None:
            return str(kept)
        left_s = self._ends - time.monotonic()
        if left_s <= 0:
            raise Unread(f"{said}: not run, the time for commands of this record is spent")
        environment = {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin", "LC_ALL": "C"}
        program = shutil.which(argv[0], path=environment["PATH"]) if argv[1:] == ["--version"] else None
        asked = _as_it_is(program) if program else ()
        if asked and asked in _versions:
            return _versions[asked]
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
            )
        except FileNotFoundError:
            raise Unread(f"{argv[0]} is not installed") from None
        except OSError as error:
            raise Unread(f"{said}: {error.strerror}") from error
        allowed_s = min(timeout_s * (_SLOWNESS if maybe_translated(self) else 1.0), left_s)
        try:
            output, errors = process.communicate(timeout=allowed_s)
        except subprocess.TimeoutExpired:
            _end_session(process)
            raise Unread(f"{said}: no end after {allowed_s:.1f} s") from None
        except BaseException:
            _end_session(process)
            raise
        if process.returncode != 0:
            shown = (errors or output).decode("utf-8", "replace").strip()[-200:]
            raise Unread(f"{said}: exit status {process.returncode}, {shown or 'nothing said'}")
        text = output[:_OUTPUT_OCTETS].decode("utf-8", "replace")
        self._kept["run", *argv] = text
        if asked:
            _versions[asked] = text
        return text

    def netlink(self, what: str, /, name: str = "") -> JsonValue:
        """A netlink dump, kept for the rest of the record."""
        if (kept := self._kept.get((what, name))) is None:
            kept = self._kept[what, name] = netlink.dump(what, name)
        return kept


def _as_it_is(path: str) -> tuple[str | int, ...]:
    """What shows that a file is still the same; its change time cannot be set back, as the other one can."""
    about = os.stat(path)
    return path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started, and close its pipes without waiting on a stranger that holds
    them.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1.0)
