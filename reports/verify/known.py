"""Which commits are the toolkit's own, and which profiles it ever shipped: anything else is named.

The list comes with the toolkit (`known.json`, written by `python -m bmwg.cli.known`, docs/adr/0256). A commit
is known as well where the verifying toolkit's own history holds it: the newest is in no list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bmwg.methodology.kinds import registry as kinds
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import shown
from bmwg.reports.store import loads
from bmwg.reports.store.canonical import sha256_of

FILE = Path(__file__).with_name("known.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """By what a commit measures: its version, versions of procedures (those left out are the first),
    whether its headers name them, how its runs are bound to their platform file, and the formats of run.json.
    """

    version: str
    procedures: Mapping[str, int]
    names_procedures: bool
    platform_bound: int
    schemas: Sequence[str]

    def as_builtins(self) -> dict[str, Any]:
        """Return it as the list holds it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Commits in full, the hashes of each shipped profile's versions as a run records them, by name, and by
    what each commit measures.
    """

    commits: frozenset[str]
    ordered: tuple[str, ...]
    profiles: Mapping[str, frozenset[str]]
    measured: Mapping[str, Measured]


@cache
def known() -> Known:
    """Return the list that comes with the toolkit."""
    data = json.loads(FILE.read_text("ascii"))
    measured: dict[str, Measured] = {}
    for entry in data.get("measured", ()):
        ends = entry["commits"]
        one = Measured(**{name: value for name, value in entry.items() if name != "commits"})
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            measured |= dict.fromkeys(data["commits"][first : last + 1], one)
    return Known(
        measured=measured,
        commits=frozenset(data["commits"]),
        ordered=tuple(data["commits"]),
        profiles={name: frozenset(hashes) for name, hashes in data["profiles"].items()},
    )


def strangers(evidence: Evidence, in_history: Callable[[str], bool] | None = None) -> tuple[str, ...]:
    """Return what a run says of its toolkit and profile and nobody here can confirm, in sentences."""
    run = evidence.run
    if run is None:
        return ()
    said = []
    commit = run["toolkit"]["commit"]
    if commit is None:
        said.append("unknown toolkit: the run names no commit")
    elif commit not in known().commits and not (in_history and in_history(commit)):
        said.append(f"unknown toolkit: commit {shown(commit)} is none that this toolkit knows")
    for load in evidence.loads:
        profile = loads.said_of(run, load)["profile"]
        name = profile["name"]
        added = kinds.kinds()[load].named_by_run if load in kinds.kinds() else frozenset()
        own = {key: value for key, value in profile.items() if key not in added}
        if name in known().profiles and sha256_of(own) not in known().profiles[name]:
            said.append(
                f"unknown profile: that of {load} is called {shown(name)} and holds something else than"
                " the toolkit's profile of that name ever did"
            )
    return tuple(said)
