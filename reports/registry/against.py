"""What a change does to a registry: nothing that was accepted is changed, moved or delisted by it.

The registry before the change is a folder as well (`bmwg registry check --against` takes it from git).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry.check import acceptances
from bmwg.reports.registry.entry import ACCEPTED, EARLIER, KEYS, PUBLISHED, Finding
from bmwg.reports.submissions.documents import moment, read_document
from bmwg.reports.submissions.keyring import KIND
from bmwg.reports.submissions.trust import BODY_KEY, KEY_LIST, LOGS, STAMP_ROOTS, TRUSTED_ROOT


def changed(before: Path, now: Path) -> Iterator[Finding]:
    """REG-14 to REG-20: what was there stays, keys are only added, and a second key needs a person."""
    for path in sorted(path for path in (before / PUBLISHED).rglob("*") if path.is_file()):
        name = path.relative_to(before).as_posix()
        there = now / name
        if not there.is_file() or there.is_symlink() or there.read_bytes() != path.read_bytes():
            yield _finding("REG-14", name, "what was accepted, octet for octet", "another, or none")
    order, was = acceptances(now), acceptances(before)
    if order[: len(was)] != was:
        yield _finding("REG-14", ACCEPTED, "the lines that were there, and new ones after them", "others")
    yield from _of_the_body(before, now)
    had, has = _keys(before), _keys(now)
    for organization, keys in sorted(had.items()):
        if not keys <= has.get(organization, frozenset()):
            yield _finding(
                "REG-15", f"{KEYS}/{organization}.pem", "every earlier key, under a number", "one less"
            )
        if has.get(organization, frozenset()) - keys:
            yield _finding(
                "REG-16",
                f"{KEYS}/{organization}.pem",
                "no new key without a person who asked the organization",
                "a new one",
            )


def _of_the_body(before: Path, now: Path) -> Iterator[Finding]:
    """REG-18 to REG-20: what the body pins is the same, its list no older one, and a log only ever grows."""
    if (before / BODY_KEY).is_file() and _octets(now / BODY_KEY) != _octets(before / BODY_KEY):
        yield _finding(
            "REG-18", BODY_KEY, "the body's key, which only a person may change", "another, or none"
        )
    if (before / BODY_KEY).is_file():
        for name in sorted(_pinned(before) | _pinned(now)):
            if _octets(now / name) != _octets(before / name):
                yield _finding(
                    "REG-18", name, "what the body pins, which only a person may change", "another"
                )
    if (before / KEY_LIST).is_file() and _older(before / KEY_LIST, now / KEY_LIST):
        yield _finding("REG-20", KEY_LIST, "the list that was there, or a later one", "an older one, or none")
    for path in sorted((before / LOGS).glob("*.jsonl")):
        name = path.relative_to(before).as_posix()
        if not _octets(now / name).startswith(path.read_bytes()):
            yield _finding(
                "REG-19", name, "the lines that were there, and new ones after them", "another history"
            )


def _pinned(root: Path) -> set[str]:
    """Return the names of the files by which third parties' times and identities are judged."""
    stamps = {path.relative_to(root).as_posix() for path in (root / STAMP_ROOTS).glob("*.pem")}
    return stamps | ({TRUSTED_ROOT} if (root / TRUSTED_ROOT).exists() else set())


def _older(before: Path, now: Path) -> bool:
    """Whether a list was issued before another one: a key that was revoked since would count again."""
    was, octets = _octets(before), _octets(now)
    if was == octets:
        return False
    try:
        issued = [moment(read_document(one, KIND, KEY_LIST).predicate["issued_at"]) for one in (was, octets)]
    except ConfigError:
        return True
    return issued[1] <= issued[0]


def _octets(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""


def _keys(root: Path) -> dict[str, frozenset[bytes]]:
    found: dict[str, set[bytes]] = {}
    for path in sorted((root / KEYS).glob("*.pem")):
        organization = path.stem.partition(EARLIER)[0]
        if path.is_file() and not path.is_symlink():
            found.setdefault(organization, set()).add(path.read_bytes())
    return {organization: frozenset(keys) for organization, keys in found.items()}


def _finding(rule_id: str, place: str, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, place=place, expected=expected, found=found)
