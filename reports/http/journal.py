"""The journal of repetitions, `http.jsonl`: a JSON object a line, chained by hash as in the trials' journal.

`prev` of the first line is made of the run's id and header hash, so the file cannot be moved under another
run unnoticed. A line without its newline was never acknowledged. Ids: STORE-01 broken chain, STORE-08 disk.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.http.records import Repetition
from bmwg.reports.checker.source import MAX_LINE_OCTETS
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical, sha256_of
from bmwg.reports.store.checks import check_version
from bmwg.reports.store.files import not_written, write_atomically
from bmwg.schemas.validation import problems

JOURNAL_FILE = "http.jsonl"
SCHEMA = "http_repetition/1.0"
_FAULT_CHARACTERS = 2000  # of the schema


def genesis(run_id: str, header_sha256: str) -> str:
    """Return what the first line's `prev` must be."""
    return sha256_of({"header_sha256": header_sha256, "kind": "http", "run_id": run_id})


class HttpJournal:
    """Appends repetitions; one that is returned a number for is on the disk."""

    def __init__(self, folder: Path, run_id: str, header_sha256: str) -> None:
        self._path = folder / JOURNAL_FILE
        self._last = genesis(run_id, header_sha256)
        self.lines = 0
        try:
            self._handle = os.open(
                self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise not_written(self._path, error) from error

    @classmethod
    def resume(cls, folder: Path, run_id: str, header_sha256: str) -> HttpJournal:
        """Open the journal of a run that was cut off; octets of a cut-off line go to a file beside it.

        Raises ConfigError STORE-01 for a journal that was changed, TestbedError STORE-08.
        """
        repetitions = read_journal(folder, run_id, header_sha256)
        path = folder / JOURNAL_FILE
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        opened = cls.__new__(cls)
        opened._path = path
        opened.lines = len(repetitions)
        last = content[:whole].splitlines()[-1:]
        opened._last = json.loads(last[0])["hash"] if last else genesis(run_id, header_sha256)
        try:
            if content[whole:]:
                write_atomically(folder / f"{JOURNAL_FILE}.torn-{opened.lines + 1}", content[whole:])
            opened._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.ftruncate(opened._handle, whole)
            os.fsync(opened._handle)
        except OSError as error:
            raise not_written(path, error) from error
        return opened

    def append(self, repetition: Repetition, at: str) -> int:
        """Write a repetition and return its sequence number. Raises TestbedError STORE-08, ToolkitBug."""
        data = repetition.to_json()
        data["faults"] = [text[:_FAULT_CHARACTERS] for text in data["faults"]]
        body = {**data, "schema": SCHEMA, "seq": self.lines + 1, "prev": self._last, "at": at}
        digest = hashlib.sha256(canonical(body).encode("ascii")).hexdigest()
        line = {**body, "hash": digest}
        if found := problems(line, "http_repetition"):
            raise ToolkitBug("STORE-05", "repetition: breaks its own schema", found=str(found[0]))
        octets = canonical(line).encode("ascii") + b"\n"
        try:
            view = memoryview(octets)
            while view:
                view = view[os.write(self._handle, view) :]
            os.fsync(self._handle)
        except OSError as error:
            raise not_written(self._path, error) from error
        self._last = digest
        self.lines += 1
        return self.lines

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def read_journal(folder: Path, run_id: str, header_sha256: str) -> tuple[tuple[int, Repetition], ...]:
    """Read and verify the journal of a run folder; changes nothing. Raises ConfigError STORE-01."""
    path = folder / JOURNAL_FILE
    try:
        octets = path.read_bytes()
    except OSError as error:
        raise _broken(str(path), "a journal that can be read", error.strerror or str(error)) from error
    lines = octets[: octets.rfind(b"\n") + 1].split(b"\n")[:-1]
    return checked_lines(lines, str(path), run_id, header_sha256)


def checked_lines(
    lines: Iterable[bytes], file: str, run_id: str, header_sha256: str
) -> tuple[tuple[int, Repetition], ...]:
    """Verify the lines of a journal and return their repetitions.

    Raises ConfigError STORE-01, STORE-03, STORE-10, BND-07.
    """
    prev, form = genesis(run_id, header_sha256), None
    found = []
    for number, line in enumerate(lines, start=1):
        where = f"{file}: line {number}"
        data = strict_json(line, where, MAX_LINE_OCTETS)
        check_version(data, "http_repetition", where, form)
        form = data["schema"]
        if wrong := problems(data, "http_repetition"):
            raise _broken(where, "a line of its schema", str(wrong[0]))
        body = {key: value for key, value in data.items() if key != "hash"}
        if canonical(data).encode("ascii") != line:
            raise _broken(where, "canonical JSON", "another form")
        if hashlib.sha256(canonical(body).encode("ascii")).hexdigest() != data["hash"]:
            raise _broken(where, "the hash of its content", "another")
        if data["prev"] != prev or data["seq"] != number:
            raise _broken(where, "the hash and number that follow from the line before", "others")
        prev = data["hash"]
        found.append((number, Repetition.from_json(data)))
    return tuple(found)


def _broken(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-01",
        f"{where}: the chain of the journal is broken",
        expected=expected,
        found=found,
        hint="the journal was changed after the run; no repetition from this line on can be trusted",
    )
