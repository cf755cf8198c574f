"""The checker of a registry: every rule is a function with an id, all are asked, all findings are
collected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry.entry import (
    BUNDLE,
    KEYS,
    PUBLISHED,
    README,
    Entry,
    Examine,
    Finding,
    is_name,
    slug,
)
from bmwg.reports.render.text import plain

MAX_ENTRIES = 10_000  # choice: submissions of one registry
MAX_README_OCTETS = 1_000_000
GENERATED = ("index.md", "index.html")
_NOT_IN_PUBLIC = (
    "simulated",
    "dirty",
    "unknown toolkit",
    "incomplete",
    "empty",
    "broken",
    "unreadable",
    "clock",
)
_REPRODUCE = re.compile(r"^## Reproduce\s*$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a registry holds and what stands against it. An empty registry is a finding, never a success."""

    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]


def check(root: Path, examine: Examine) -> Checked:
    """Check a registry. `examine` verifies a bundle with the organization's key, or without one.

    Raises ConfigError REG-09 when there is no folder `published`.
    """
    if not (root / PUBLISHED).is_dir():
        raise ConfigError("REG-09", f"{root}: no registry", expected=f"a folder {PUBLISHED}", found="none")
    findings: list[Finding] = []
    entries: list[Entry] = []
    for folder in _submissions(root, findings):
        version, organization, name = folder.relative_to(root / PUBLISHED).parts
        bundle, key = folder / BUNDLE, root / KEYS / f"{organization}.pem"
        usable = bundle.is_file() and not bundle.is_symlink()
        entry = Entry(
            folder=folder,
            toolkit_version=version,
            organization=organization,
            name=name,
            examined=examine(bundle, key if _plain_file(key) else None) if usable else None,
        )
        entries.append(entry)
        for rule in RULES:
            findings += rule(root, entry)
    findings += published_once(entries)
    if not entries:
        findings.append(Finding(rule_id="REG-01", place=PUBLISHED, expected="a submission", found="none"))
    return Checked(entries=tuple(entries), findings=tuple(findings))


def _plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _submissions(root: Path, findings: list[Finding]) -> Iterator[Path]:
    """REG-01: three levels of folders with plain names, and nothing else; links are not followed."""
    levels = [[root / PUBLISHED]]
    for _ in range(3):
        below: list[Path] = []
        for folder in levels[-1]:
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False) and is_name(entry.name):
                    below.append(Path(entry.path))
                else:
                    findings.append(
                        _finding(
                            "REG-01", root, Path(entry.path), "folders with plain names only", "another entry"
                        )
                    )
        levels.append(below)
    if len(levels[-1]) > MAX_ENTRIES:
        raise ConfigError(
            "REG-09",
            f"{root}: too large",
            expected=f"at most {MAX_ENTRIES} submissions",
            found=str(len(levels[-1])),
        )
    yield from levels[-1]


def _finding(rule_id: str, root: Path, path: Path, expected: str, found: str) -> Finding:
    return Finding(
        rule_id=rule_id, place=plain(path.relative_to(root).as_posix()), expected=expected, found=plain(found)
    )


def readme_tells_how(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-02: a README.md with a section `## Reproduce` that is not empty."""
    path = entry.folder / README
    text = ""
    if _plain_file(path):
        with path.open("rb") as stream:
            text = stream.read(MAX_README_OCTETS).decode("utf-8", "replace")
    found = _REPRODUCE.search(text)
    if found is None or not found.group(1).strip():
        yield _finding(
            "REG-02", root, path, "a section '## Reproduce' with text", "none" if text else "no file"
        )


def holds_one_bundle(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-03: the bundle and the README, as plain files, and nothing else."""
    names = {found.name: found for found in os.scandir(entry.folder)}
    for name in (BUNDLE, README):
        if name not in names or not names[name].is_file(follow_symlinks=False):
            yield _finding("REG-03", root, entry.folder, f"the plain file {name}", "none")
    for name in sorted(names.keys() - {BUNDLE, README}):
        yield _finding("REG-03", root, entry.folder / name, f"only {BUNDLE} and {README}", "another entry")


def verifies(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-04: verifying the bundle finds nothing."""
    for text in entry.examined.findings if entry.examined else ():
        yield _finding("REG-04", root, entry.folder / BUNDLE, "a bundle that verifies", text)


def place_says_what_it_is(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-05: the names of the folders are the fields of the bundle."""
    if entry.examined is None or not entry.examined.run_id:
        return
    seen = entry.examined
    expected = (
        f"{PUBLISHED}/{slug(seen.toolkit_version)}/{slug(seen.organization)}/"
        f"{slug(seen.product)}-{slug(seen.version)}-{slug(seen.profile)}"
    )
    if expected != entry.place:
        yield _finding("REG-05", root, entry.folder, plain(expected), entry.place)


def is_fit_for_public(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-06: measured by a known toolkit, whole. Indicative runs may stand there, as what they are."""
    for text in entry.examined.state if entry.examined else ():
        if text.split(":", 1)[0] in _NOT_IN_PUBLIC:
            yield _finding(
                "REG-06", root, entry.folder / BUNDLE, "a whole measurement by a known toolkit", text
            )


def is_signed_by_its_organization(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-08: the key of the organization stands in the registry and signed the bundle."""
    key = root / KEYS / f"{entry.organization}.pem"
    if not _plain_file(key):
        yield _finding("REG-08", root, key, "the organization's public key", "no file")
    elif entry.examined is not None and not entry.examined.trusted:
        yield _finding("REG-08", root, entry.folder / BUNDLE, f"a signature by {key.name}", "none that fits")


def published_once(entries: list[Entry]) -> Iterator[Finding]:
    """REG-07: no run stands in the registry twice."""
    seen: dict[str, str] = {}
    for entry in entries:
        run_id = entry.examined.run_id if entry.examined else ""
        if run_id and run_id in seen:
            yield Finding(
                rule_id="REG-07", place=entry.place, expected="each run once", found=f"also {seen[run_id]}"
            )
        seen.setdefault(run_id, entry.place)


RULES = (
    readme_tells_how,
    holds_one_bundle,
    verifies,
    place_says_what_it_is,
    is_fit_for_public,
    is_signed_by_its_organization,
)
