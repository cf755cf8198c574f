"""A rule, and what it found: each rule is one function with an id, the clause, expected and found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bmwg.methodology.errors import ToolkitError

MAX_FINDINGS = 50  # choice: of one rule; more are counted, not listed
_SHOWN = 300  # characters of a text that came from outside

T = TypeVar("T")
Shortfall = tuple[str, str, str]  # where, expected, found


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One contradiction. `exit_code` is 2 where the file is wrong, 4 where a procedure was not kept."""

    rule_id: str
    clause: str
    where: str
    expected: str
    found: str
    exit_code: int = 4

    def __str__(self) -> str:
        clause = f" ({self.clause})" if self.clause else ""
        said = [f"{self.rule_id}{clause}  {shown(self.where)}"]
        if self.expected or self.found:
            said.append(f"          expected {shown(self.expected)}, found {shown(self.found)}")
        return "\n".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[T]):
    """A named check of `T`. `asks` is one sentence; `clause` a catalogue row id or empty."""

    rule_id: str
    clause: str
    asks: str
    check: Callable[[T], Iterable[Shortfall]]
    exit_code: int = 4

    def apply(self, subject: T) -> list[Finding]:
        """Return everything the rule finds, at most MAX_FINDINGS; an exception in it is a finding as well."""
        found: list[Finding] = []
        more = 0
        try:
            for where, expected, value in self.check(subject):
                if len(found) < MAX_FINDINGS:
                    found.append(self._finding(where, expected, value))
                else:
                    more += 1
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            found.append(self._finding("the rule could not be applied", self.asks, text))
        if more:
            found.append(self._finding("and more", "none", f"{more} further findings"))
        return found

    def _finding(self, where: str, expected: str, found: str) -> Finding:
        return Finding(
            rule_id=self.rule_id,
            clause=self.clause,
            where=where,
            expected=expected,
            found=found,
            exit_code=self.exit_code,
        )


def rule(
    rule_id: str, clause: str, asks: str, *, exit_code: int = 4
) -> Callable[[Callable[[T], Iterable[Shortfall]]], Rule[T]]:
    """Make a function a rule. It registers nothing: each module lists its rules itself."""

    def made(check: Callable[[T], Iterable[Shortfall]]) -> Rule[T]:
        return Rule(rule_id=rule_id, clause=clause, asks=asks, check=check, exit_code=exit_code)

    return made


def of_error(error: ToolkitError) -> Finding:
    """Return an error that stopped the reading of a part as a finding; its id is the rule's."""
    return Finding(
        rule_id=error.error_id,
        clause="",
        where=error.what,
        expected=error.expected,
        found=error.found,
        exit_code=error.exit_code,
    )


def listed(found: Sequence[object], most: int = 5, between: str = ", ") -> str:
    """Return the first `most` entries in words, and how many more there are."""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return between.join(map(str, found[:most])) + more


def shown(text: str) -> str:
    """Return a text from outside as one printable ASCII line of bounded length."""
    line = text if text.isprintable() and text.isascii() else ascii(text)[1:-1]
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."
