"""Reads the settings that a testbed file gives a driver: each once, within its bounds; others are refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import near_hint


class DriverSettings(ABC):
    """The settings at one place of the file; every refusal names the place."""

    def __init__(self, settings: Mapping[str, Any], where: str) -> None:
        self._left = dict(settings)
        self._known: list[str] = []
        self._where = where

    @abstractmethod
    def error(self, place: str, *, expected: str, found: str, hint: str) -> ConfigError:
        """Return the error that names a place."""

    def count(self, key: str, *, default: int | None = None, least: int, most: int) -> int:
        """Read a whole number within its bounds; without a default it has to be there."""
        value = self.take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            found = "none" if value is None else repr(value)
            raise self.refusal(key, expected=f"a whole number of {least}..{most}", found=found)
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Read one of these words; the first is the default."""
        value = self.take(key, choices[0])
        if value not in choices:
            hint = near_hint(value, choices)
            raise self.refusal(key, expected=f"one of {', '.join(choices)}", found=repr(value), hint=hint)
        return str(value)

    def finish(self) -> None:
        """Refuse whatever key nobody has read."""
        if self._left:
            strange = sorted(self._left)
            raise self.error(
                self._where,
                expected=f"none but {', '.join(self._known)}",
                found=", ".join(strange),
                hint=near_hint(strange[0], self._known),
            )

    def refusal(self, key: str, *, expected: str, found: str, hint: str = "") -> ConfigError:
        """Return the error that names a key."""
        return self.error(f"{self._where}.{key}", expected=expected, found=found, hint=hint)

    def take(self, key: str, default: Any) -> Any:
        """Read a value as it is."""
        self._known.append(key)
        return self._left.pop(key, default)
