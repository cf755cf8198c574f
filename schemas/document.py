"""YAML text to plain data, strictly: no key twice, text keys only, no tags, finite numbers, bounded size.

Pure: takes text, opens nothing. Each place in the document keeps its line, for messages.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from bmwg.schemas.validation import Problem, shown

MAX_NODES = 50_000  # choice: bounds what nested aliases can unfold to
MAX_DEPTH = 100  # choice: our deepest document has eight levels
MAX_COLUMNS = 500  # choice: blocks nest by two levels a column at most, which the C library's stack holds
_ODD = re.compile("[\t!?\ufeff\x85\u2028\u2029]")  # where the C library differs, or might
_BRACKETS = re.compile(r"[\[\]{}]")
_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a PyYAML without the C library has none
_PLAIN = {
    "tag:yaml.org,2002:null",
    "tag:yaml.org,2002:bool",
    "tag:yaml.org,2002:int",
    "tag:yaml.org,2002:float",
    "tag:yaml.org,2002:str",
    "tag:yaml.org,2002:timestamp",
    "tag:yaml.org,2002:seq",
    "tag:yaml.org,2002:map",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a YAML text holds. `lines` maps a place to its line, from 1; `data` is None on a syntax error."""

    data: Any
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def line(self, location: tuple[str | int, ...]) -> int:
        """Return the line of a location, or of the nearest thing around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


def parse(text: str) -> Document:
    """Read one YAML document; what is wrong with its form is in `problems`, nothing is raised.

    The C library reads eight times as fast. It takes more than the other one, and does not bound how deep it
    nests: it gets no text that has what they differ in, and none that could nest deep. What it refuses is
    read again, so that messages and lines are those of one parser.
    """
    narrow = max(map(len, text.splitlines()), default=0) <= MAX_COLUMNS
    if narrow and not _ODD.search(text) and _too_deep(text) is None:
        try:
            return _read(_FAST(text))
        except (yaml.YAMLError, RecursionError):
            pass
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:  # a control character, say
        return _no_yaml(error.reason, text.count("\n", 0, error.position) + 1)
    if (line := _too_deep(text)) is not None:
        return _no_yaml("nesting too deep", line)
    try:
        return _read(loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        return _no_yaml(getattr(error, "problem", None) or "nesting too deep", mark.line + 1 if mark else 1)


def _read(loader: yaml.SafeLoader) -> Document:
    """Return what a loader finds. Raises YAMLError or RecursionError where its text is no YAML."""
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is None:
        return Document(
            data=None, problems=(Problem(location=(), expected="a mapping", found="an empty file"),)
        )
    walk = _Walk(loader)
    try:
        data = walk.value(root, ())
    except _TooLargeError as error:
        problem = Problem(
            location=error.location,
            expected=f"at most {MAX_NODES} values, not nested in itself",
            found="more",
        )
        return Document(data=None, lines=walk.lines, problems=(problem,))
    return Document(data=data, lines=walk.lines, problems=tuple(walk.problems))


def _too_deep(text: str) -> int | None:
    """Return the line where brackets stand too deep: the parser's time grows with their square."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return text.count("\n", 0, bracket.start()) + 1
    return None


def _no_yaml(reason: str, line: int) -> Document:
    problem = Problem(location=(), expected="YAML", found=f"{reason} at line {line}")
    return Document(data=None, lines={(): line}, problems=(problem,))


class _TooLargeError(Exception):
    def __init__(self, location: tuple[str | int, ...]) -> None:
        super().__init__()
        self.location = location


class _Walk:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._nodes = 0
        self.lines: dict[tuple[str | int, ...], int] = {}
        self.problems: list[Problem] = []

    def value(self, node: yaml.Node, location: tuple[str | int, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(location) > MAX_DEPTH:
            raise _TooLargeError(location)
        self.lines.setdefault(location, node.start_mark.line + 1)
        if node.tag not in _PLAIN:
            self.problems.append(
                Problem(location=location, expected="plain YAML", found=f"the tag {node.tag}")
            )
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(entry, (*location, index)) for index, entry in enumerate(node.value)]
        return self._scalar(node, location)

    def _mapping(self, node: yaml.MappingNode, location: tuple[str | int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key_node.tag != "tag:yaml.org,2002:str":
                found = f"{key} (put it in quotes)" if key is not None else "a list or mapping as a key"
                self.problems.append(Problem(location=location, expected="text keys", found=found))
                continue
            here = (*location, key)
            if key in result:
                first = self.lines[here]
                again = key_node.start_mark.line + 1
                found = f"twice (lines {first} and {again})"
                self.problems.append(Problem(location=here, expected="each key once", found=found))
                continue
            self.lines[here] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, here)
        return result

    def _scalar(self, node: yaml.Node, location: tuple[str | int, ...]) -> Any:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value  # a date is text here
        try:
            value = self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self.problems.append(Problem(location=location, expected="a plain value", found=str(error)))
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.append(
                Problem(location=location, expected="a finite number", found=shown(node.value))
            )
            return None
        return value
