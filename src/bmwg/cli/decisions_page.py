"""The index of docs/adr/: decisions by topic, each with its status and with what later ones say of it.

A topic is a page that holds its decisions, each below a heading `## ADR 0011: what was decided` with the
anchor `adr-0011`, and a `Status:` line. A new decision may be a file of its own, `0375-what-was-decided.md`,
until it is folded into the page of its topic. What is replaced is a line below `## History` of a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import yaml

from bmwg.methodology.errors import ConfigError

FOLDER = "docs/adr"
_TOPICS = "topics.yaml"
_REST = "In no topic yet"
_NUMBER = re.compile(r"^\W*\d{1,4}[\s.-]*(?:- )?")
_HEADING = re.compile(r"^## ADR (\d{4}(?:, \d{4})*): (.+)$")
_GONE = re.compile(r'^- (?:<a id="adr-\d{4}"></a>)?ADR (\d{4}), replaced by (\d{4}(?:, \d{4})*): (.+)$')
_LATER = re.compile(r"\b(?:Replaces|replaced|Completes|Sharpens|Adds to|[Gg]oes on from)\b[^.]*")
_OTHERS = re.compile(r"\b0\d{3}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision: its number, file and anchor, what its heading says, and its status in its own words.

    `topic` is the title of the page that holds it, empty for a file of its own. `replaced_by` has the later
    numbers of one that no longer stands.
    """

    number: int
    file: str
    anchor: str = ""
    title: str
    status: str
    topic: str = ""
    replaced_by: tuple[int, ...] = ()

    @property
    def address(self) -> str:
        """Where it stands, from docs/adr/ on."""
        return f"{self.file}#{self.anchor}" if self.anchor else self.file


def decisions(folder: Path) -> dict[int, Decision]:
    """Read all decisions of a folder, by number.

    Raises ConfigError SYNC-02 for a number twice, or without its anchor or status.
    """
    found: dict[int, Decision] = {}
    for file in sorted(folder.glob("*.md")):
        if file.name == "README.md":
            continue
        read = (_single(file),) if file.name[0].isdigit() else _of_page(file)
        for decision in read:
            if decision.number in found:
                raise _wrong(f"{FOLDER}/{file.name}", "each decision once", f"{decision.number:04} twice")
            found[decision.number] = decision
    return found


def _single(file: Path) -> Decision:
    lines = file.read_text(encoding="utf-8").splitlines()
    said = next((line for line in lines[:6] if line.startswith("Status:")), "Status: accepted.")
    return Decision(
        number=int(file.name[:4]),
        file=file.name,
        title=_NUMBER.sub("", lines[0].removeprefix("# ")),
        status=said.removeprefix("Status:").strip(),
    )


def _of_page(file: Path) -> Iterator[Decision]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line]
    topic = lines[0].removeprefix("# ")
    for (before, line), (_, after) in zip(pairwise(lines), pairwise([*lines[1:], ""]), strict=True):
        if gone := _GONE.match(line):
            numbers = tuple(map(int, gone[2].split(", ")))
            yield Decision(
                number=int(gone[1]),
                file=file.name,
                anchor=f"adr-{gone[1]}",
                title=gone[3],
                status=f"replaced by {gone[2]}",
                topic=topic,
                replaced_by=numbers,
            )
        if not (heading := _HEADING.match(line)):
            continue
        for number in heading[1].split(", "):
            if f'<a id="adr-{number}"></a>' not in before:
                raise _wrong(f"{FOLDER}/{file.name}", f'<a id="adr-{number}"></a> above "{line}"', before)
            if not after.startswith("Status:"):
                raise _wrong(f"{FOLDER}/{file.name}", f'a line "Status: ..." below "{line}"', after)
            yield Decision(
                number=int(number),
                file=file.name,
                anchor=f"adr-{number}",
                title=heading[2],
                status=after.removeprefix("Status:").strip(),
                topic=topic,
            )


def _wrong(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError("SYNC-02", where, expected=expected, found=found)


def topics(folder: Path, known: Mapping[int, Decision]) -> dict[str, list[int]]:
    """Return the numbers of each topic, in the order of topics.yaml, which also places files of their own.

    Raises ConfigError SYNC-02 for a number twice, or without a decision, and for a page that no line names.
    """
    made: dict[str, list[int]] = {}
    file = folder / _TOPICS
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else ():
        made |= {topic: list(numbers or ()) for topic, numbers in entry.items()}
    listed = [number for numbers in made.values() for number in numbers]
    placed = {decision.number for decision in known.values() if decision.topic}
    wrong = sorted({n for n in listed if n not in known or n in placed or listed.count(n) > 1})
    if wrong:
        numbers_wrong = ", ".join(f"{number:04}" for number in wrong)
        raise _wrong(f"{FOLDER}/{_TOPICS}", "each decision that has a file of its own, once", numbers_wrong)
    for number in sorted(placed):
        if known[number].topic not in made:
            raise _wrong(
                f"{FOLDER}/{_TOPICS}", f'a line for "{known[number].topic}"', f"{FOLDER}/{known[number].file}"
            )
        made[known[number].topic].append(number)
    rest = [number for number in known if number not in listed and number not in placed]
    return made | ({_REST: sorted(rest)} if rest else {})


def _later(known: Mapping[int, Decision]) -> dict[int, list[int]]:
    """Return by which later decisions each one is replaced, completed or gone on from, by their own words."""
    found: dict[int, list[int]] = {}
    for decision in known.values():
        if decision.replaced_by:
            continue
        named = {int(number) for part in _LATER.findall(decision.status) for number in _OTHERS.findall(part)}
        for number in named:
            if number < decision.number:
                found.setdefault(number, []).append(decision.number)
    return found


def decisions_page(root: Path) -> str:
    """Compute docs/adr/README.md."""
    known = decisions(root / FOLDER)
    later = _later(known)
    by_topic = topics(root / FOLDER, known)
    pages = {decision.topic: decision.file for decision in known.values() if decision.topic}
    standing = sum(1 for one in known.values() if not one.replaced_by)
    lines = [
        "# Decisions by topic",
        "",
        f"{standing} decisions in {len(by_topic)} topics. One keeps its number for ever: `ADR 0011` or",
        "`docs/adr/0011` in code and pages is the one with this number, and this index says where it stands.",
        "A new one gets a number and a file of its own, and later a place on the page of its topic.",
    ]
    for topic, numbers in by_topic.items():
        lines += ["", f"## [{topic}]({pages[topic]})" if topic in pages else f"## {topic}", ""]
        for number in sorted(numbers):
            one = known[number]
            text = f"- [{number:04}]({one.address}) {one.title}"
            if one.replaced_by:
                text = f"- [{number:04}]({one.address}) {one.status}"
            elif not one.status.startswith("accepted"):
                text += f" **({one.status.rstrip('.').partition(';')[0]})**"
            if (numbers_later := later.get(number)) and not one.replaced_by:
                text += f"; see {', '.join(f'{n:04}' for n in sorted(numbers_later))}"
            lines.append(text)
    return "\n".join(lines) + "\n"
