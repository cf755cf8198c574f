"""A place in a foreign JSON document: every value is asked for by type, and what is wrong is told by its
path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import shown

MAX_TEXT = 500  # characters of a foreign text that are kept
MAX_NUMBER = 1e18  # choice: beyond any rate, count or time in ns, so that sums and products are finite
MAX_ENTRIES = 5_000  # choice: of a list or mapping; files that were seen hold some hundreds


@dataclass(frozen=True, slots=True)
class Node:
    """One value and the way to it from the root of `file`."""

    data: Any
    file: str
    path: str = ""

    def _wrong(self, expected: str) -> ConfigError:
        return ConfigError(
            "IMP-03", f"{self.file}: {self.path or '(document)'}", expected=expected, found=shown(self.data)
        )

    def child(self, key: str) -> Node:
        """Return what stands under a key. ConfigError IMP-03 when this is no mapping or has no such key."""
        if not isinstance(self.data, dict) or key not in self.data:
            raise self._wrong(f"a mapping with the key {key!r}")
        return Node(self.data[key], self.file, f"{self.path}.{key}".lstrip("."))

    def at(self, *keys: str) -> Node:
        """Go down several keys."""
        node = self
        for key in keys:
            node = node.child(key)
        return node

    def find(self, *keys: str) -> Node | None:
        """Go down several keys; None when one is not there or holds null."""
        node = self
        for key in keys:
            if not isinstance(node.data, dict) or key not in node.data:
                return None
            node = node.child(key)
        return None if node.data is None else node

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield keys and values of a mapping."""
        if not isinstance(self.data, dict):
            raise self._wrong("a mapping")
        self._few()
        for key in self.data:
            yield key, self.child(key)

    def entries(self) -> Iterator[Node]:
        """Yield the entries of a list."""
        if not isinstance(self.data, list):
            raise self._wrong("a list")
        self._few()
        for number, entry in enumerate(self.data):
            yield Node(entry, self.file, f"{self.path}[{number}]")

    def _few(self) -> None:
        if len(self.data) > MAX_ENTRIES:
            expected = f"at most {MAX_ENTRIES} entries"
            raise ConfigError(
                "IMP-03",
                f"{self.file}: {self.path or '(document)'}",
                expected=expected,
                found=str(len(self.data)),
            )

    def number(self, *, least: float | None = None) -> float:
        """Return a finite number. ConfigError IMP-03 for anything else, also for true and for text."""
        if isinstance(self.data, bool) or not isinstance(self.data, (int, float)):
            raise self._wrong("a number")
        if abs(self.data) > MAX_NUMBER:
            raise self._wrong(f"a number of at most {MAX_NUMBER:g}")
        value = float(self.data)
        if not math.isfinite(value) or (least is not None and value < least):
            raise self._wrong("a finite number" + (f", at least {least:g}" if least is not None else ""))
        return value

    def count(self) -> int:
        """Return a whole number that is not negative."""
        value = self.number(least=0)
        if value != int(value):
            raise self._wrong("a whole number")
        return int(self.data) if isinstance(self.data, int) else int(value)

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.data, bool):
            raise self._wrong("true or false")
        return self.data

    def text(self) -> str:
        """Return text, cut at MAX_TEXT."""
        if not isinstance(self.data, str):
            raise self._wrong("text")
        return self.data[:MAX_TEXT]


def frame_size(text: str) -> tuple[int | None, str]:
    """Return octets, FCS included, and the text itself: `64`, `64B`, or a mix without a size."""
    bare = text.strip().removesuffix("B").removesuffix("b")
    if bare.isascii() and bare.isdigit() and 64 <= int(bare[:6]) <= 9216:
        return int(bare), f"{int(bare)} octets"
    return None, text.strip() or "not in the file"
