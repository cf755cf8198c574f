"""The toolkit's releases and shipped profiles: what a run says of them and nobody can confirm is named.

The list comes with the toolkit (`releases.json`). `python -m bmwg.cli.release` adds to it at a release and at
no other commit. A profile is known as well where the installed toolkit ships it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.profiles.reading import builtin_names, load_profile
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.checker.findings import shown
from bmwg.reports.store import loads
from bmwg.reports.store.canonical import sha256_of
from bmwg.schemas.document import parse

FILE = Path(__file__).with_name("releases.json")
_KEEP_AWAKE = {"keep_awake": KeepAwake.PM_QOS.value}  # what a file leaves open, a run's header says


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release: by which versions of procedures it measures (those left out are the first), the format of
    its run.json, and the hashes of its profiles by name.
    """

    version: str
    commit: str
    run: str
    procedures: Mapping[str, int]
    profiles: Mapping[str, Sequence[str]]


@cache
def releases() -> Mapping[str, Release]:
    """Return the releases that this toolkit knows, by their commits."""
    listed = [Release(**entry) for entry in json.loads(FILE.read_text("ascii"))["releases"]]
    return {release.commit: release for release in listed}


@cache
def shipped() -> Mapping[str, frozenset[str]]:
    """Return the hashes of the profiles in this toolkit's own files, as runs record them, by name."""
    found: dict[str, set[str]] = {name: {sha256_of(load_profile(name).data)} for name in builtin_names()}
    for file in _profiles_of_kinds(Path(str(resources.files("bmwg.methodology")))):
        data = parse(file.read_text("utf-8")).data
        found.setdefault(file.stem, set()).update((sha256_of(data), sha256_of(_KEEP_AWAKE | data)))
    return {name: frozenset(hashes) for name, hashes in found.items()}


def _profiles_of_kinds(methodology: Path) -> Iterator[Path]:
    """Give the profiles of other kinds than frames; each kind keeps its own in a folder of that name."""
    for file in sorted(methodology.rglob("profiles/*.yaml")):
        if file.parent.parent != methodology:
            yield file


def profiles() -> Mapping[str, frozenset[str]]:
    """Return the hashes of the profiles that any release, or this toolkit, ships, by name."""
    found = {name: set(hashes) for name, hashes in shipped().items()}
    for release in releases().values():
        for name, hashes in release.profiles.items():
            found.setdefault(name, set()).update(hashes)
    return {name: frozenset(hashes) for name, hashes in found.items()}


def of_release(commit: str | None) -> Mapping[str, Collection[str]]:
    """Return the hashes of the profiles that a run by a commit can have: its release's, or of any."""
    release = releases().get(commit or "")
    return profiles() if release is None else release.profiles


def unreleased(commit: str | None) -> str:
    """Say why a commit is no release that this toolkit knows; empty for one that is."""
    if commit is None:
        return "unreleased toolkit: the run names no commit"
    if commit not in releases():
        return f"unreleased toolkit: commit {shown(commit)} is no release that this toolkit knows"
    return ""


def own_profile(run: Mapping[str, Any], load: str) -> bool:
    """Whether the profile of a kind of load is one that the toolkit ships, with nothing changed."""
    profile = loads.said_of(run, load)["profile"]
    added = kinds.kinds()[load].named_by_run if load in kinds.kinds() else frozenset()
    told = {key: value for key, value in profile.items() if key not in added}
    return sha256_of(told) in of_release(run["toolkit"]["commit"]).get(profile["name"], ())


def strangers(run: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return what a header says of toolkit and profiles that nobody here can confirm, in sentences."""
    if run is None:
        return ()
    said = [unreleased(run["toolkit"]["commit"])]
    for load in loads.of_run(run):
        name = loads.said_of(run, load)["profile"]["name"]
        if name in profiles() and not own_profile(run, load):
            said.append(
                f"unknown profile: that of {load} is called {shown(name)} and holds something else than"
                " the toolkit's profile of that name did"
            )
    return tuple(filter(None, said))
