"""Reads the settings of a function: `functions.<name>` of the testbed file, each of which an axis may vary.

Ids: FUNC-01 a setting that the function lacks, or a value that it cannot have.
"""

from __future__ import annotations

from bmwg.drivers.api.settings import DriverSettings
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import ConfigError


class FunctionOptions(DriverSettings):
    """The settings of one function."""

    def __init__(self, bed: Bed, function: str) -> None:
        super().__init__(bed.testbed.functions.get(function, {}), f"functions.{function}")

    def numbers(self, key: str, *, default: tuple[int, int], least: int, most: int) -> tuple[int, int]:
        """Read a range such as `50000-50009`: its first and its last number."""
        value = self.take(key, "{}-{}".format(*default))
        first, _, last = str(value).partition("-")
        if first.isdecimal() and last.isdecimal() and least <= int(first) <= int(last) <= most:
            return int(first), int(last)
        raise self.refusal(key, expected=f"a range of numbers within {least}-{most}", found=repr(value))

    def error(self, place: str, *, expected: str, found: str, hint: str) -> ConfigError:
        """Return the error that names a place."""
        return ConfigError("FUNC-01", place, expected=expected, found=found, hint=hint)

    def refusal(self, key: str, *, expected: str, found: str, hint: str = "") -> ConfigError:
        """Return the error that names a setting."""
        where = f"{self._where}.{key}"
        hint = hint or f"in the testbed file, or as an axis of a profile's line: axes: {{{where}: [...]}}"
        return super().refusal(key, expected=expected, found=found, hint=hint)
