"""Which runs of a folder are attempts at the shards of a fleet, and which of them do not count, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.fleet.plan import Fleet
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.read import RUN_FILE, load_document

COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run. `wrong` says why it is no run of this shard of this fleet; empty when it is.

    `answers` are those that it has, `status` what it says of itself: `running` also of one that was killed.
    """

    folder: Path
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
        return tuple(one for one in self.attempts if one.shard == number)

    def complete(self, number: int) -> tuple[Attempt, ...]:
        """Return those that answer it: one, when all is well."""
        return tuple(one for one in self.of(number) if one.counts)


def attempts_in(results: Path, fleet: Fleet) -> Found:
    """Look through the runs of a folder. A run that cannot be read is named; nothing is raised for it."""
    attempts, others = [], []
    for folder in sorted(_run_folders(results)):
        try:
            document = load_document(folder / RUN_FILE, "run")
        except ToolkitError as error:
            others.append(f"{folder.name}: {error.error_id} {error.found or error.what}")
            continue
        mark = document.get("fleet")
        if mark is None:
            others.append(f"{folder.name}: a run of its own, of no fleet")
        elif mark["sha256"] != fleet.sha256:
            others.append(f"{folder.name}: of another fleet, {mark['sha256'][:12]}")
        else:
            attempts.append(_attempt(folder, document, fleet))
    attempts.sort(key=lambda one: (one.shard, one.attempt, one.run_id))
    return Found(attempts=tuple(attempts), others=tuple(others))


def _run_folders(results: Path) -> Iterable[Path]:
    if not results.is_dir():
        return []
    return (place.parent for place in results.glob(f"*/{RUN_FILE}"))


def _attempt(folder: Path, document: Mapping[str, Any], fleet: Fleet) -> Attempt:
    mark = document["fleet"]
    return Attempt(
        folder=folder,
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
