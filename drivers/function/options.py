"""Reads the settings of a function: `functions.<name>` of the testbed file, each of which an axis may vary.

Ids: FUNC-01 a setting that the function lacks, or a value that it cannot have.
"""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import near_name


class FunctionOptions:
    """The settings of one function; every refusal is ConfigError FUNC-01 with the setting's place."""

    def __init__(self, bed: Bed, function: str) -> None:
        self._left = dict(bed.testbed.functions.get(function, {}))
        self._known: list[str] = []
        self._where = f"functions.{function}"

    def count(self, key: str, *, least: int, most: int) -> int:
        """Read a whole number within its bounds, which has no default."""
        value = self._take(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            found = "none" if value is None else repr(value)
            raise self._refusal(key, expected=f"a whole number of {least}..{most}", found=found)
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Read one of these words; the first is the default."""
        value = self._take(key, choices[0])
        if value not in choices:
            near = near_name(str(value), choices)
            hint = f"did you mean {near!r}?" if near else ""
            raise self._refusal(key, expected=f"one of {', '.join(choices)}", found=repr(value), hint=hint)
        return str(value)

    def numbers(self, key: str, *, default: tuple[int, int], least: int, most: int) -> tuple[int, int]:
        """Read a range such as `50000-50009`: its first and its last number."""
        value = self._take(key, "{}-{}".format(*default))
        first, _, last = str(value).partition("-")
        if first.isdecimal() and last.isdecimal() and least <= int(first) <= int(last) <= most:
            return int(first), int(last)
        raise self._refusal(key, expected=f"a range of numbers within {least}-{most}", found=repr(value))

    def finish(self) -> None:
        """Refuse whatever setting nobody has read."""
        if self._left:
            strange = sorted(self._left)
            near = near_name(strange[0], self._known)
            raise ConfigError(
                "FUNC-01",
                self._where,
                expected=f"none but {', '.join(self._known)}",
                found=", ".join(strange),
                hint=f"did you mean {near!r}?" if near else "",
            )

    def _refusal(self, key: str, *, expected: str, found: str, hint: str = "") -> ConfigError:
        place = f"{self._where}.{key}"
        hint = hint or f"in the testbed file, or as an axis of a profile's line: axes: {{{place}: [...]}}"
        return ConfigError("FUNC-01", place, expected=expected, found=found, hint=hint)

    def _take(self, key: str, default: object) -> object:
        self._known.append(key)
        return self._left.pop(key, default)
