"""The checker of a registry: every rule is a function with an id, all are asked, all findings are
collected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.state import not_whole
from bmwg.reports.registry.entry import (
    ACCEPTED,
    BUNDLE,
    EARLIER,
    KEYS,
    PUBLISHED,
    README,
    Entry,
    Examine,
    Examined,
    Finding,
    is_name,
)
from bmwg.reports.render.text import plain
from bmwg.reports.store.files import utc_text
from bmwg.reports.submissions.announcements import Announced
from bmwg.reports.submissions.documents import moment_given
from bmwg.reports.submissions.names import problems, skeleton, slug
from bmwg.reports.submissions.reproduction import beside, shared

MAX_ENTRIES = 10_000  # choice: submissions of one registry
MAX_README_OCTETS = 1_000_000
MAX_PLACE_OCTETS = 400
_NAMED = 3  # choice: parties whose runs do not reproduce one; more are counted
_REPRODUCE = re.compile(r"^## Reproduce\s*$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a registry holds and what stands against it. An empty registry is a finding, never a success."""

    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    unsubmitted: tuple[tuple[str, Announced], ...] = ()  # announced runs without a bundle, by organization


def check(
    root: Path, examine: Examine, announced: Mapping[str, Mapping[str, Announced]] | None = None
) -> Checked:
    """Check a registry. `examine` verifies a bundle with the organization's key, or without one.

    `announced` are the runs that the body's copies of logs tell, by organization's folder name and run id.

    Raises ConfigError REG-09 when there is no folder `published`.
    """
    if not (root / PUBLISHED).is_dir():
        raise ConfigError("REG-09", f"{root}: no registry", expected=f"a folder {PUBLISHED}", found="none")
    findings: list[Finding] = []
    entries: list[Entry] = []
    times = accepted_at(root)
    for folder in _submissions(root, findings):
        version, organization, name = folder.relative_to(root / PUBLISHED).parts
        bundle = folder / BUNDLE
        usable = bundle.is_file() and not bundle.is_symlink()
        entry = Entry(
            folder=folder,
            toolkit_version=version,
            organization=organization,
            name=name,
            examined=_examined(bundle, keys_of(root, organization), examine) if usable else None,
            accepted=utc_text(when) if (when := times.get(folder.relative_to(root).as_posix())) else "",
        )
        entries.append(entry)
        for rule in RULES:
            findings += rule(root, entry)
    order = accepted(root)
    findings += published_once(entries, order)
    findings += names_told_apart(entries, order)
    if not entries:
        findings.append(Finding(rule_id="REG-01", place=PUBLISHED, expected="a submission", found="none"))
    checked = Checked(
        entries=tuple(entries),
        findings=tuple(findings),
        unsubmitted=tuple(without_bundle(entries, announced or {})),
    )
    return replace(checked, entries=tuple(beside_each_other(entries, published(checked))))


def published(checked: Checked) -> list[Entry]:
    """Return the submissions that no finding stands against: these are listed and rendered."""
    bad = {finding.place for finding in checked.findings}
    return [
        entry
        for entry in checked.entries
        if entry.examined is not None
        and not any(place == entry.place or place.startswith(entry.place + "/") for place in bad)
    ]


def keys_of(root: Path, organization: str) -> list[Path]:
    """Return the keys of an organization, the present one first, then those of earlier years."""
    earlier = (
        sorted((root / KEYS).glob(f"{organization}{EARLIER}[0-9]*.pem")) if (root / KEYS).is_dir() else []
    )
    return [path for path in (root / KEYS / f"{organization}.pem", *earlier) if _plain_file(path)]


def accepted(root: Path) -> tuple[str, ...]:
    """Return the places in the order in which they were accepted; empty where nobody wrote it down."""
    return tuple(line.split(" ")[0] for line in acceptances(root))


def accepted_at(root: Path) -> dict[str, datetime]:
    """Return when each place was accepted, where that was written down."""
    found = {}
    for line in acceptances(root):
        place, _, text = line.partition(" ")
        if text:
            found[place] = moment_given(text.strip(), f"{root / ACCEPTED}: {place}")
    return found


def acceptances(root: Path) -> tuple[str, ...]:
    """Return the lines of who was accepted when."""
    path = root / ACCEPTED
    if not _plain_file(path):
        return ()
    with path.open("rb") as stream:
        text = stream.read(MAX_ENTRIES * MAX_PLACE_OCTETS).decode("utf-8", "replace")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _examined(bundle: Path, keys: list[Path], examine: Examine) -> Examined:
    """Verify a bundle with the first of an organization's keys that fits."""
    found = examine(bundle, keys[0] if keys else None)
    for key in keys[1:]:
        if found.trusted:
            break
        other = examine(bundle, key)
        found = other if other.trusted else found
    return found


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


def place_of(seen: Examined) -> str:
    """Return the place that a bundle has in a registry."""
    return (
        f"{PUBLISHED}/{slug(seen.toolkit_version)}/{slug(seen.organization)}/"
        f"{slug(seen.product)}-{slug(seen.version)}-{slug(seen.profile)}"
    )


def place_says_what_it_is(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-05: the names of the folders are the fields of the bundle."""
    if entry.examined is None or not entry.examined.run_id:
        return
    expected = place_of(entry.examined)
    if expected != entry.place:
        yield _finding("REG-05", root, entry.folder, plain(expected), entry.place)


def is_fit_for_public(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-06: measured by a released toolkit, whole. Indicative runs may stand there, as what they are."""
    for text in not_whole(entry.examined.state) if entry.examined else ():
        yield _finding(
            "REG-06", root, entry.folder / BUNDLE, "a whole measurement by a released toolkit", text
        )


def is_signed_by_its_organization(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-08: the key of the organization stands in the registry and signed the bundle."""
    key = root / KEYS / f"{entry.organization}.pem"
    if entry.examined is not None and entry.examined.standing is not None and entry.examined.standing.owned:
        return  # by a key of the body's list
    if not _plain_file(key):
        expected = f"the organization's public key, {key.relative_to(root).as_posix()}"
        yield _finding("REG-08", root, entry.folder, expected, "no file")
    elif entry.examined is not None and not entry.examined.trusted:
        yield _finding("REG-08", root, entry.folder / BUNDLE, f"a signature by {key.name}", "none that fits")


def reads_as_it_is(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-11: names hold nothing that nobody sees, and no word of several scripts."""
    seen = entry.examined
    for text in (seen.organization, seen.product, seen.version) if seen else ():
        for found in problems(text):
            yield _finding("REG-11", root, entry.folder / BUNDLE, "a name that reads as it is", found)


def is_redacted(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-12: what tells of machines, addresses and people is hidden (`bmwg bundle --redact`)."""
    if entry.examined is not None and entry.examined.run_id and not entry.examined.redacted:
        yield _finding("REG-12", root, entry.folder / BUNDLE, "a redacted bundle", "names and addresses")


def holds_evidence_only(root: Path, entry: Entry) -> Iterator[Finding]:
    """REG-10: a registry publishes its own rendering, never a page that somebody brought."""
    for name in entry.examined.beside if entry.examined else ():
        yield _finding("REG-10", root, entry.folder / BUNDLE, "a bundle without rendered parts", name)


def _in_order(entries: list[Entry], order: tuple[str, ...]) -> list[Entry]:
    """Return entries as they were accepted, those that nobody wrote down last."""
    place = {name: number for number, name in enumerate(order)}
    return sorted(entries, key=lambda entry: (place.get(entry.place, len(order)), entry.place))


def same_run(one: Examined, other: Examined) -> bool:
    """Whether two bundles hold the same trials, whatever they call their runs."""
    if one.run_id and one.run_id == other.run_id:
        return True
    return shared(one.trials, other.trials)


def published_once(entries: list[Entry], order: tuple[str, ...] = ()) -> Iterator[Finding]:
    """REG-07: no trials stand in the registry twice; the first that was accepted stays."""
    kept: list[Entry] = []
    for entry in _in_order(entries, order):
        seen = entry.examined
        if seen is None:
            continue
        first = next((one for one in kept if one.examined and same_run(one.examined, seen)), None)
        if first is None:
            kept.append(entry)
        else:
            yield Finding(
                rule_id="REG-07",
                place=entry.place,
                expected="each run once, by its trials",
                found=f"those of {first.place}, which was first",
            )


def beside_each_other(entries: list[Entry], good: list[Entry]) -> list[Entry]:
    """Return the entries, each with how it stands beside those of `good`, which the registry publishes."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in good:
        if entry.examined is not None and entry.examined.candidate is not None:
            groups.setdefault(entry.examined.candidate.product, []).append(entry)
    return [_reproduced(entry, groups) for entry in entries]


def _reproduced(entry: Entry, groups: Mapping[tuple[str, str], list[Entry]]) -> Entry:
    seen = entry.examined
    if seen is None or seen.candidate is None:
        return entry
    stands = []
    for other in groups.get(seen.candidate.product, ()):
        theirs = other.examined.candidate if other.examined else None
        if theirs is None or other is entry or theirs.organization == seen.candidate.organization:
            continue
        if (made := beside(seen.candidate, theirs)) is not None:
            stands.append(made)
    if not stands:
        return entry
    stands.sort(key=lambda made: not made.otherwise)  # who measured it otherwise is named first
    reasons = [made.unreproduced for made in stands if made.unreproduced]
    more = [f"and {len(reasons) - _NAMED} more"] if len(reasons) > _NAMED else []
    best = replace(
        stands[0],
        unreproduced="" if len(reasons) < len(stands) else "; ".join([*reasons[:_NAMED], *more]),
        otherwise=tuple(one for made in stands for one in made.otherwise),
    )
    return replace(entry, examined=replace(seen, candidate=replace(seen.candidate, standing=best)))


def without_bundle(
    entries: list[Entry], announced: Mapping[str, Mapping[str, Announced]]
) -> Iterator[tuple[str, Announced]]:
    """Give each announced run that no entry of its organization is of."""
    for organization, runs in sorted(announced.items()):
        there = {
            entry.examined.run_id
            for entry in entries
            if entry.examined and entry.organization == organization
        }
        yield from ((organization, run) for run_id, run in runs.items() if run_id not in there)


def names_told_apart(entries: list[Entry], order: tuple[str, ...] = ()) -> Iterator[Finding]:
    """REG-13: no organization is called so that it looks like one that was there before."""
    first: dict[str, Entry] = {}
    for entry in _in_order(entries, order):
        seen = entry.examined
        if seen is None or not seen.organization:
            continue
        before = first.setdefault(skeleton(seen.organization), entry)
        if before.organization != entry.organization and before.examined:
            yield Finding(
                rule_id="REG-13",
                place=entry.place,
                expected="a name that looks like no other",
                found=plain(f"one like {before.examined.organization}"),
            )


RULES = (
    readme_tells_how,
    holds_one_bundle,
    verifies,
    place_says_what_it_is,
    is_fit_for_public,
    is_signed_by_its_organization,
    holds_evidence_only,
    reads_as_it_is,
    is_redacted,
)
