"""Which runs of a folder are attempts at the shards of a fleet, and which of them do not count, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.bundle.archive import SUFFIX, Archive
from bmwg.reports.fleet.plan import Fleet
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.read import (
    JOURNAL_FILE,
    PLATFORM_FILE,
    RUN_FILE,
    Run,
    document_of,
    load_document,
    read_run,
)

COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run: `place` is its folder, or its bundle.

    `wrong` says why it is no run of this shard of this fleet; empty when it is.

    `answers` are those that it has, `status` what it says of itself: `running` also of one that was killed.
    """

    place: Path
    run_id: str
    shard: int
    attempt: int
    status: str
    testbed: str
    answers: int
    planned: int
    wrong: str

    @property
    def counts(self) -> bool:
        """Whether the shard is answered by it."""
        return not self.wrong and self.status == COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a folder holds: `attempts` by shard and attempt, and in `others` a line on each other run."""

    attempts: tuple[Attempt, ...]
    others: tuple[str, ...]

    def of(self, number: int) -> tuple[Attempt, ...]:
        """Return the attempts at one shard, the first one first."""
        return tuple(attempt for attempt in self.attempts if attempt.shard == number)

    def complete(self, number: int) -> tuple[Attempt, ...]:
        """Return those that answer it: one, when all is well."""
        return tuple(attempt for attempt in self.of(number) if attempt.counts)


def attempts_in(results: Path, fleet: Fleet, *, bundles: bool = False) -> Found:
    """Look through the runs of a folder. A run that cannot be read is named; nothing is raised for it.

    With `bundles` those count as well; one of a run that lies there as a folder, or in another bundle, is
    passed over.
    """
    attempts, others = [], []
    seen: set[tuple[str, str]] = set()
    for place in [*_folders(results), *(_bundles(results) if bundles else ())]:
        try:
            document = header_in(place)
        except ToolkitError as error:
            others.append(f"{place.name}: {error.error_id} {error.found or error.what}")
            continue
        same = (document["run_id"], document["journal"]["hash"])
        if place.is_file() and same in seen:
            continue
        seen.add(same)
        mark = document.get("fleet")
        if mark is None:
            others.append(f"{place.name}: a run of its own, of no fleet")
        elif mark["sha256"] != fleet.sha256:
            others.append(f"{place.name}: of another fleet, {mark['sha256'][:12]}")
        else:
            attempts.append(_attempt(place, document, fleet))
    attempts.sort(key=lambda one: (one.shard, one.attempt, one.run_id))
    return Found(attempts=tuple(attempts), others=tuple(others))


def header_in(place: Path) -> Mapping[str, Any]:
    """Return the header of a run's folder or bundle. Raises what reading it raises."""
    if not place.is_file():
        return load_document(place / RUN_FILE, "run")
    with Archive(place) as archive:
        return document_of(archive.octets(RUN_FILE), "run", f"{place}: {RUN_FILE}")


def read_anywhere(place: Path) -> Run:
    """Read a run from its folder or its bundle. Raises what reading it raises."""
    if not place.is_file():
        return read_run(place)
    with Archive(place) as archive, TemporaryDirectory(prefix="bmwg-fleet-") as temporary:
        for name in (RUN_FILE, JOURNAL_FILE, PLATFORM_FILE):
            (Path(temporary) / name).write_bytes(archive.octets(name))
        return read_run(Path(temporary))


def _folders(results: Path) -> list[Path]:
    return sorted(path.parent for path in results.glob(f"*/{RUN_FILE}")) if results.is_dir() else []


def _bundles(results: Path) -> list[Path]:
    return sorted(path for path in results.glob(f"*{SUFFIX}") if path.is_file()) if results.is_dir() else []


def _attempt(place: Path, document: Mapping[str, Any], fleet: Fleet) -> Attempt:
    mark = document["fleet"]
    return Attempt(
        place=place,
        run_id=document["run_id"],
        shard=mark["shard"],
        attempt=mark["attempt"],
        status=document["status"],
        testbed=str(document["testbed"].get("name", "")),
        answers=len(document["outcomes"]),
        planned=len(document["plan"]),
        wrong=wrong_in(document, fleet),
    )


def wrong_in(document: Mapping[str, Any], fleet: Fleet) -> str:
    """Return what a run's header has otherwise than the plan of its fleet; empty when nothing."""
    mark = document["fleet"]
    shard = next((one for one in fleet.shards if one.number == mark["shard"]), None)
    if shard is None:
        return f"the fleet has no shard {mark['shard']}"
    planned = sorted([one["test"], one["metric"], one["cell"]["cell_id"]] for one in document["plan"])
    toolkit = {name: document["toolkit"][name] for name in ("version", "commit", "dirty")}
    profiles = [
        document["profile"],
        {kind: said["profile"] for kind, said in document.get("loads", {}).items()},
    ]
    for name, wanted, found in (
        ("toolkit", fleet.toolkit, toolkit),
        ("order seed", fleet.order_seed, document.get("order_seed")),
        ("profile", fleet.profile_sha256, sha256_of(profiles)),
        ("plan", shard.plan_sha256, sha256_of(planned)),
        ("number of shards", len(fleet.shards), mark["of"]),
    ):
        if wanted != found:
            return f"another {name}: expected {_short(wanted)}, found {_short(found)}"
    return ""


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
