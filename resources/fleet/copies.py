"""Copies of a fleet's runs in a folder or an object store: what is closed is put there once.

Of a run that goes on these are pieces of its journal, each with the header and the record of that time; of
one that is complete its bundle. Nothing is put over another. The journal itself stays on a local disk: a copy
is for the day that disk is lost.
Ids: FLEET-08 the store cannot be reached or written, FLEET-09 what lies there is not what was to be copied.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.reports.bundle.archive import SUFFIX
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.fleet.attempts import COMPLETE, Attempt, attempts_in
from bmwg.reports.fleet.plan import Fleet
from bmwg.reports.store.read import JOURNAL_FILE, PLATFORM_FILE, RUN_FILE
from bmwg.reports.verify.verify import verify_bundle, verify_folder

LINES = 500  # choice: of a closed piece of a journal that goes on, about 6 MB
_TIMEOUT = timedelta(seconds=60)  # choice: of one request; a store that is slower is named
_RETRIES = timedelta(seconds=120)
_SAID = 400  # choice: characters of what a store answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What one pass put there, by its name in the store, and what was wrong; other runs went on."""

    put: tuple[str, ...]
    problems: tuple[ToolkitError, ...]


class Store:
    """A folder (`/path`, `file://`) or bucket (`s3://bucket/prefix`), by the library obstore."""

    def __init__(self, place: str) -> None:
        """Open it. Raises TestbedError FLEET-08 without the library, and for no such place."""
        self.place = place
        try:
            self._obstore = importlib.import_module("obstore")
            stores = importlib.import_module("obstore.store")
            self._errors = importlib.import_module("obstore.exceptions")
        except ModuleNotFoundError as error:
            raise TestbedError(
                "FLEET-08",
                f"store {place}; nothing was copied",
                expected="the Python module obstore",
                found="none",
                hint="pip install 'bmwg-toolkit[store]'",
            ) from error
        try:
            if "://" in place:
                limits: dict[str, Any] = {"timeout": _TIMEOUT, "connect_timeout": _TIMEOUT}
                limits |= {"allow_http": _in_clear()}
                retries = {"max_retries": 3, "retry_timeout": _RETRIES}
                more = (
                    {} if place.startswith("file:") else {"client_options": limits, "retry_config": retries}
                )
                self._store: Any = stores.from_url(place, **more)
            else:
                self._store = stores.LocalStore(Path(place).resolve(), mkdir=True)
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise self._refused(error) from error

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the objects below a prefix by name, with their octets. Raises TestbedError FLEET-08."""
        try:
            return {one["path"]: one["size"] for chunk in self._store.list(prefix=prefix) for one in chunk}
        except (self._errors.BaseError, OSError) as error:
            raise self._refused(error) from error

    def put(self, name: str, octets: bytes) -> None:
        """Make an object. Raises ConfigError FLEET-09 where there is another, TestbedError FLEET-08.

        One with the same octets is ours: the store made it, and its answer to us was lost.
        """
        try:
            self._obstore.put(self._store, name, octets, mode="create")
        except self._errors.AlreadyExistsError as error:
            if self.get(name) != octets:
                raise self.other(name, "no object yet", "another one, made meanwhile") from error
        except (self._errors.BaseError, OSError) as error:
            raise self._refused(error) from error

    def get(self, name: str) -> bytes:
        """Return an object. Raises TestbedError FLEET-08."""
        try:
            return bytes(self._obstore.get(self._store, name).bytes())
        except (self._errors.BaseError, OSError) as error:
            raise self._refused(error) from error

    def other(self, name: str, expected: str, found: str) -> ConfigError:
        """Return the error of an object that is not what was to be copied."""
        return ConfigError(
            "FLEET-09",
            f"{self.place}: {name}; it was left as it is",
            expected=expected,
            found=found,
            hint="a copy that was cut off or changed: move it away, then copy again",
        )

    def _refused(self, error: Exception) -> TestbedError:
        return TestbedError(
            "FLEET-08",
            f"store {self.place}",
            expected="a folder or bucket that can be listed and written",
            found=_said(error),
            hint="what is there stays; the same line goes on from it",
        )


def _said(error: Exception) -> str:
    """Return what a store answered, in a line: the reason stands last, after the address."""
    told = " ".join(str(error).partition("Debug source:")[0].split())
    return (told if len(told) <= _SAID else f"... {told[-_SAID:]}") or type(error).__name__


def _in_clear() -> bool:
    """Whether the address of the store that the user named is one without TLS, as of a lab's own store."""
    named = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    return next((os.environ[name] for name in named if name in os.environ), "").startswith("http://")


def copy_fleet(results: Path, fleet: Fleet, store: Store) -> Copied:
    """Copy what is closed of every run of a fleet and not there yet; what is wrong with one ends no other."""
    put: list[str] = []
    problems: list[ToolkitError] = []
    for attempt in attempts_in(results, fleet).attempts:
        try:
            for name in _copied(attempt, fleet, store):
                put.append(name)
        except (ToolkitError, OSError) as error:
            told = error if isinstance(error, ToolkitError) else _unread(attempt, error)
            problems.append(told)
    return Copied(put=tuple(put), problems=tuple(problems))


def _unread(attempt: Attempt, error: OSError) -> TestbedError:
    return TestbedError(
        "FLEET-08", f"run {attempt.run_id}: cannot be copied", expected="its files", found=str(error)
    )


def prefix_of(fleet: Fleet, attempt: Attempt) -> str:
    """Return where the copies of a run lie."""
    return f"fleet-{fleet.sha256[:12]}/shard-{attempt.shard:04}/attempt-{attempt.attempt:02}/{attempt.run_id}"


def _copied(attempt: Attempt, fleet: Fleet, store: Store) -> Iterator[str]:
    """Put what is missing of one run, and yield the name of each object."""
    prefix = prefix_of(fleet, attempt)
    there = store.sizes(prefix)
    for name, octets in _closed_pieces(attempt, prefix):
        if name not in there:
            store.put(name, octets)
            yield name
        elif there[name] != len(octets) and name.endswith(JOURNAL_FILE):
            raise store.other(name, f"{len(octets)} octets", str(there[name]))
    if attempt.status == COMPLETE:
        yield from _bundled(attempt, f"{prefix}/{attempt.run_id}{SUFFIX}", there, store)


def _closed_pieces(attempt: Attempt, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield whole pieces of the journal, which never change, each with header and record as they are now."""
    lines = (
        (attempt.place / JOURNAL_FILE).read_bytes().split(b"\n")[:-1]
    )  # what follows the last is no line yet
    for first in range(0, len(lines) - LINES + 1, LINES):
        name = f"{prefix}/{first + 1:08}"
        for file in (RUN_FILE, PLATFORM_FILE):
            yield f"{name}-{file}", (attempt.place / file).read_bytes()
        yield f"{name}-{JOURNAL_FILE}", b"".join(line + b"\n" for line in lines[first : first + LINES])


def _bundled(attempt: Attempt, name: str, there: Mapping[str, int], store: Store) -> Iterator[str]:
    """Put the bundle of a complete run, then its hash and size, by which a part of it is known."""
    told = f"{name}.json"
    if name in there and told in there:
        said = json.loads(store.get(told))
        if said["octets"] != there[name]:
            raise store.other(name, f"{said['octets']} octets", str(there[name]))
        return
    with TemporaryDirectory(prefix="bmwg-copy-") as temporary:
        place = Path(temporary) / f"{attempt.run_id}{SUFFIX}"
        if name in there:
            place.write_bytes(store.get(name))
            if found := verify_bundle(place).findings:
                raise store.other(name, "a bundle that verifies", f"{found[0].rule_id} {found[0].found}")
        else:
            findings = list(verify_folder(attempt.place).findings)
            make_bundle(attempt.place, place, evidence=folder_evidence(attempt.place), findings=findings)
            store.put(name, place.read_bytes())
            yield name
        octets = place.read_bytes()
    said = {"octets": len(octets), "sha256": hashlib.sha256(octets).hexdigest()}
    store.put(told, json.dumps(said).encode("ascii"))
    yield told
