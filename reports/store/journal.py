"""The journal of trials: one JSON object a line, each bound to the line before it by hash.

A line is the canonical JSON of the trial without its hash, with `,"hash":"<sha256 of that text>"}` put in
place of the closing brace. `prev` holds the hash of the line before; the first line's is `genesis`, made of
the run id and the hash of the run's header, so a journal cannot be moved under another run unnoticed.

A line without its newline was never acknowledged (append returns after the fsync): it is no trial.
Every other irregularity is refused with the number of the line.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.kinds.kind import Body, Execution
from bmwg.methodology.records import Validity
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.store.canonical import canonical, sha256_of
from bmwg.reports.store.checks import (
    check_body,
    check_document,
    check_own,
    check_own_body,
    check_version,
    read_bytes,
)
from bmwg.reports.store.codec import times_from_json, times_to_json
from bmwg.reports.store.files import not_written, sync_folder
from bmwg.reports.store.frame_trials import LIGHT, Recorded
from bmwg.reports.store.long_lists import emptied, is_canonical, shortened
from bmwg.reports.store.redact import redact
from bmwg.reports.store.upgrade import TRIAL_SCHEMAS, of_today

_TAIL = len(',"hash":"') + 64 + len('"}')
_REASON_CHARACTERS = 2000  # of the schema


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """What a journal holds: `trials[n]` has sequence number n + 1. `torn` are the bytes after the last
    newline: an append that was cut off.
    """

    trials: tuple[Recorded, ...]
    hashes: tuple[str, ...]
    torn: bytes
    whole_octets: int


def genesis(run_id: str, header_sha256: str) -> str:
    """Return what the first line's `prev` must be."""
    return sha256_of({"header_sha256": header_sha256, "run_id": run_id})


Beside = Callable[[Mapping[str, Any], int, int], None]  # takes a line of today's form, its place and octets


def read_journal(path: Path, first_prev: str, beside: Beside | None = None) -> JournalContent:
    """Read and verify a journal. Raises ConfigError with the line number; changes nothing.

    `beside` takes each line as well, once it is verified: who needs more of it decodes it no second time.
    """
    data = read_bytes(path)
    end = data.rfind(b"\n") + 1
    trials: list[Recorded] = []
    hashes: list[str] = []
    prev, form = first_prev, None
    start = 0
    for number, line in enumerate(_lines(data, end), start=1):
        where = f"{path}: line {number}"
        checked = checked_line(line, number, prev, where, form)
        form = checked["schema"]
        today = of_today(checked)
        trials.append(_taken(today, line, where))
        if beside is not None:
            beside(today, start, len(line))
        start += len(line) + 1
        prev = checked["hash"]
        hashes.append(prev)
    return JournalContent(trials=tuple(trials), hashes=tuple(hashes), torn=data[end:], whole_octets=end)


def _lines(data: bytes, end: int) -> Iterator[bytes]:
    start = 0
    while start < end:
        stop = data.index(b"\n", start)
        yield data[start:stop]
        start = stop + 1


def _broken(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-01",
        f"{where}: the chain of the journal is broken",
        expected=expected,
        found=found,
        hint="the journal was changed after the run; no trial from this line on can be trusted",
    )


def checked_line(line: bytes, number: int, prev: str, where: str, form: str | None = None) -> dict[str, Any]:
    """Return one line as data, its schema, form, hash and place in the chain verified. Raises ConfigError.

    It is as it stands: `upgrade.of_today` gives it the form of today. `form` is the format of the journal's
    first line, which all of its lines have.
    """
    try:
        data: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _broken(where, "one JSON object", str(error)) from error
    check_version(data, "trial", where, form)
    light = emptied(data)
    short = shortened(light)
    check_document(short, TRIAL_SCHEMAS[data["schema"]], where)
    check_body(_body(short), data["kind"], where)
    body = line[:-_TAIL] + b"}"
    found = hashlib.sha256(body).hexdigest()
    if found != data["hash"] or not line.endswith(f',"hash":"{found}"}}'.encode("ascii")):
        raise _broken(where, "the hash of its content", "another")
    try:
        as_written = is_canonical(_unhashed(data), _unhashed(light), body)
    except (ValueError, RecursionError) as error:
        raise _broken(where, "canonical JSON", str(error)) from error
    if not as_written:
        raise _broken(where, "canonical JSON", "another form")
    if data["prev"] != prev:
        raise _broken(where, "the hash of the line before as `prev`", "another")
    if data["seq"] != number:
        raise _broken(where, f"sequence number {number}", str(data["seq"]))
    return data


def _unhashed(line: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != "hash"}


def _body(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": data["spec"], "result": data["result"]}


def _taken(data: dict[str, Any], line: bytes, where: str) -> Recorded:
    try:
        return recorded(data, line)
    except ValueError as error:
        raise _broken(
            where, "whole groups, and counts and a spec that a trial can have", str(error)
        ) from error


def recorded(data: dict[str, Any], line: bytes) -> Recorded:
    """Return what a line of today's form holds. Raises ValueError for what no trial can have."""
    light = LIGHT.get(data["kind"])
    return execution(data) if light is None else light.read(data, line)


def _check_form(data: Mapping[str, Any]) -> None:
    light = LIGHT.get(data["kind"])
    if light is None:
        execution(data)
    else:
        light.check(data)


def execution(data: Mapping[str, Any]) -> Execution:
    """Return a trial as its line of today's form tells it."""
    bound = data.get("platform")
    return Execution(
        seq=data["seq"],
        cell_id=data["cell"],
        deployment_id=data["deployment"],
        metric=data["metric"],
        test_id=data["test"],
        phase=data["phase"],
        validity=Validity(data["assessment"]["validity"]),
        reason=data["assessment"]["reason"],
        at=data["at"],
        body=Body(
            kind=data["kind"],
            spec=data["spec"],
            result=data["result"],
            faults=tuple(data["faults"]),
            host=data["host"],
        ),
        platform=(bound["doctor"], bound["drift"], bound["sha256"]) if bound else None,
        times=times_from_json(data.get("times")),
    )


class JournalWriter:
    """Appends trials, one process at a time. After a failed write it stays broken and takes no more."""

    def __init__(self, path: Path, last_hash: str, trials: int) -> None:
        """Open an existing, verified journal that holds `trials` lines, the last one of `last_hash`."""
        self._path = path
        self._broken: OSError | None = None
        self.last_hash = last_hash
        self.trials = trials
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise not_written(path, error) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._handle)
            raise ConfigError(
                "STORE-06",
                f"{path.parent}: another process is writing this run",
                hint="wait for it to end, or begin a run of your own",
            ) from error

    def append(
        self,
        *,
        cell_id: str,
        deployment_id: str,
        metric: str,
        test_id: str,
        phase: str,
        body: Body,
        validity: Validity,
        reason: str,
        at: str,
        platform: Mapping[str, Any] | None = None,
        times: TrialTimes | None = None,
    ) -> int:
        """Write one trial and return its sequence number once it is on the disk.

        Raises TestbedError STORE-08, ToolkitBug.

        `platform` is what the trial is bound to of platform.json, `times` when its steps happened.
        """
        if self._broken is not None:
            raise not_written(self._path, self._broken)
        line_data: dict[str, Any] = {
            "schema": "trial/1.0",
            "kind": body.kind,
            "seq": self.trials + 1,
            "prev": self.last_hash,
            "cell": cell_id,
            "deployment": deployment_id,
            "metric": metric,
            "test": test_id,
            "phase": phase,
            "spec": dict(body.spec),
            "result": dict(body.result),
            "faults": [redact(fault)[:_REASON_CHARACTERS] for fault in body.faults],
            "host": dict(body.host),
            "assessment": {"validity": validity.value, "reason": redact(reason)[:_REASON_CHARACTERS]},
            "at": at,
        }
        if platform is not None:
            line_data["platform"] = dict(platform)
        if times is not None:
            line_data["times"] = times_to_json(times)
        try:
            text = canonical(line_data)
        except (TypeError, ValueError) as error:
            raise ToolkitBug("STORE-05", "trial: cannot be written as JSON", found=str(error)) from error
        line_hash = hashlib.sha256(text.encode("ascii")).hexdigest()
        line = f'{text[:-1]},"hash":"{line_hash}"}}'.encode("ascii")
        whole = {**line_data, "hash": line_hash}
        light = shortened(whole)
        check_own(light, "trial")
        check_own_body(_body(light), body.kind)
        try:
            _check_form(whole)
        except ValueError as error:
            raise ToolkitBug("STORE-05", "trial: breaks its own form", found=str(error)) from error
        self._write(line + b"\n")
        self.last_hash = line_hash
        self.trials += 1
        return self.trials

    def _write(self, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._handle, view) :]
            os.fsync(self._handle)
        except OSError as error:
            self._broken = error
            raise not_written(self._path, error) from error
        except BaseException:  # Ctrl-C in the midst of it: the line may stand, unacknowledged
            self._broken = OSError(errno.EINTR, os.strerror(errno.EINTR))
            raise

    def close(self) -> None:
        """Release the journal. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def move_torn_aside(path: Path, content: JournalContent, free_name: Callable[[], Path]) -> Path | None:
    """Repair a cut-off append: its bytes go to a file of their own, then leave the journal. None if whole."""
    if not content.torn:
        return None
    aside = free_name()
    try:
        with aside.open("xb") as file:
            file.write(content.torn)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
        handle = os.open(path, os.O_WRONLY)
        try:
            os.ftruncate(handle, content.whole_octets)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise not_written(aside, error) from error
    return aside
