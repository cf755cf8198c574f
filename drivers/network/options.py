"""Reads the `options` of a network: each key once, with its bounds; whatever is left over is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.cpu_lists import cpu_list
from bmwg.schemas.validation import near_name


class Options:
    """The settings of one option of `networks:`; every refusal is ConfigError NET-04 with the key's place."""

    def __init__(self, spec: NetworkSpec, where: str) -> None:
        self._left: dict[str, Any] = dict(spec.options)
        self._known: list[str] = []
        self._where = where

    def count(self, key: str, *, default: int, least: int, most: int) -> int:
        """Read a whole number within its bounds."""
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.refusal(key, expected=f"a whole number of {least}..{most}", found=repr(value))
        return value

    def switch(self, key: str, *, default: bool) -> bool:
        """Read true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, expected="true or false", found=repr(value))
        return value

    def text(self, key: str, *, default: str) -> str:
        """Read a text."""
        value = self._take(key, default)
        if not isinstance(value, str):
            raise self.refusal(key, expected="text", found=repr(value))
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Read one of these words; the first is the default."""
        value = self._take(key, choices[0])
        if value not in choices:
            near = near_name(str(value), choices)
            hint = f"did you mean {near!r}?" if near else ""
            raise self.refusal(key, expected=f"one of {', '.join(choices)}", found=repr(value), hint=hint)
        return str(value)

    def part(self, key: str) -> Mapping[str, Any]:
        """Read the settings of a part, which reads them itself."""
        value = self._take(key, {})
        if not isinstance(value, Mapping):
            raise self.refusal(key, expected="settings by their names", found=repr(value))
        return value

    def cpus(self, key: str, *, default: tuple[int, ...], among: tuple[int, ...]) -> tuple[int, ...]:
        """Read CPU numbers (`"2-3,6"` or `[2, 3, 6]`), all of them among the DUT's."""
        value = self._take(key, None)
        if value is None:
            return default
        try:
            found = cpu_list(",".join(map(str, value)) if isinstance(value, list) else str(value))
        except ValueError as error:
            raise self.refusal(
                key, expected='CPU numbers such as "1", "2-3,6" or [2, 3, 6]', found=repr(value)
            ) from error
        outside = [cpu for cpu in found if among and cpu not in among]
        if outside:
            raise self.refusal(
                key,
                expected=f"CPUs of dut.cpus ({', '.join(map(str, among))})",
                found=f"CPU {', '.join(map(str, outside))}, which is none of the DUT's",
                hint="a thread that polls another CPU would take it from the tester",
            )
        return found

    def finish(self) -> None:
        """Refuse whatever key nobody has read."""
        if self._left:
            strange = sorted(self._left)
            near = near_name(strange[0], self._known)
            raise ConfigError(
                "NET-04",
                self._where,
                expected=f"none but {', '.join(self._known)}",
                found=", ".join(strange),
                hint=f"did you mean {near!r}?" if near else "",
            )

    def refusal(self, key: str, *, expected: str, found: str, hint: str = "") -> ConfigError:
        """Return the error that names a key of these options."""
        return ConfigError("NET-04", f"{self._where}.{key}", expected=expected, found=found, hint=hint)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._left.pop(key, default)
