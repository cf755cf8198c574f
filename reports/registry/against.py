"""What a change does to a registry: nothing that was accepted is changed, moved or delisted by it.

The registry before the change is a folder as well (`bmwg registry check --against` takes it from git).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bmwg.reports.registry.check import acceptances
from bmwg.reports.registry.entry import ACCEPTED, EARLIER, KEYS, PUBLISHED, Finding
from bmwg.reports.submissions.trust import BODY_KEY, LOGS


def changed(before: Path, now: Path) -> Iterator[Finding]:
    """REG-14 to REG-19: what was there stays, keys are only added, and a second key needs a person."""
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
    """REG-18, REG-19: the body's key is the same, and a log is only ever added to."""
    if (before / BODY_KEY).is_file() and _octets(now / BODY_KEY) != _octets(before / BODY_KEY):
        yield _finding(
            "REG-18", BODY_KEY, "the body's key, which only a person may change", "another, or none"
        )
    for path in sorted((before / LOGS).glob("*.jsonl")):
        name = path.relative_to(before).as_posix()
        if not _octets(now / name).startswith(path.read_bytes()):
            yield _finding(
                "REG-19", name, "the lines that were there, and new ones after them", "another history"
            )


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
