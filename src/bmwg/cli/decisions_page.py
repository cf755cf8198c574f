"""The index of docs/adr/: decisions by topic, each with its status and with what later ones say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from bmwg.methodology.errors import ConfigError

FOLDER = "docs/adr"
_TOPICS = "topics.yaml"
_REST = "In no topic yet"
_NUMBER = re.compile(r"^\W*\d{1,4}[\s.-]*(?:- )?")
_LATER = re.compile(r"\b(?:Replaces|replaced|Completes|Sharpens|Adds to|[Gg]oes on from)\b[^.]*")
_OTHERS = re.compile(r"\b0\d{3}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One page: its number and file, what its heading says, and its status in its own words."""

    number: int
    file: str
    title: str
    status: str


def decisions(folder: Path) -> dict[int, Decision]:
    """Read the pages of a folder, by number."""
    found = {}
    for file in sorted(folder.glob("[0-9]*.md")):
        lines = file.read_text(encoding="utf-8").splitlines()
        said = next((line for line in lines[:6] if line.startswith("Status:")), "Status: accepted.")
        number = int(file.name[:4])
        found[number] = Decision(
            number=number,
            file=file.name,
            title=_NUMBER.sub("", lines[0].removeprefix("# ")),
            status=said.removeprefix("Status:").strip(),
        )
    return found


def topics(folder: Path, known: Mapping[int, Decision]) -> dict[str, list[int]]:
    """Return the numbers of each topic. Raises ConfigError SYNC-02 for one twice, or without a page."""
    made: dict[str, list[int]] = {}
    file = folder / _TOPICS
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else ():
        made |= entry
    listed = [number for numbers in made.values() for number in numbers]
    wrong = sorted({number for number in listed if number not in known or listed.count(number) > 1})
    if wrong:
        raise ConfigError(
            "SYNC-02",
            f"{FOLDER}/{_TOPICS}",
            expected="each decision that there is, once",
            found=", ".join(f"{number:04}" for number in wrong),
        )
    rest = [number for number in known if number not in listed]
    return made | ({_REST: rest} if rest else {})


def _later(known: Mapping[int, Decision]) -> dict[int, list[int]]:
    """Return by which later decisions each one is replaced, completed or gone on from, by their own words."""
    found: dict[int, list[int]] = {}
    for one in known.values():
        named = {int(number) for part in _LATER.findall(one.status) for number in _OTHERS.findall(part)}
        for number in named:
            if number < one.number:
                found.setdefault(number, []).append(one.number)
    return found


def decisions_page(root: Path) -> str:
    """Compute docs/adr/README.md."""
    known = decisions(root / FOLDER)
    later = _later(known)
    by_topic = topics(root / FOLDER, known)
    lines = [
        "# Decisions by topic",
        "",
        f"{len(known)} decisions in {len(by_topic)} topics. A page keeps its number for ever: code and pages",
        "refer to it. A new one gets a number of its own and a place in `topics.yaml`.",
    ]
    for topic, numbers in by_topic.items():
        lines += ["", f"## {topic}", ""]
        for number in sorted(numbers):
            one = known[number]
            text = f"- [{number:04}]({one.file}) {one.title}"
            if not one.status.startswith("accepted"):
                text += f" **({one.status.rstrip('.').partition(';')[0]})**"
            if numbers_later := later.get(number):
                text += f"; see {', '.join(f'{n:04}' for n in numbers_later)}"
            lines.append(text)
    return "\n".join(lines) + "\n"
