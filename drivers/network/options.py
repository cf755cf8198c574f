"""Reads the `options` of a network: each key once, with its bounds; whatever is left over is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.settings import DriverSettings
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.cpu_lists import cpu_list


class Options(DriverSettings):
    """The settings of one option of `networks:`."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec.options, f"networks.{spec.name}.options")

    def error(self, place: str, *, expected: str, found: str, hint: str) -> ConfigError:
        """Return the error that names a place."""
        return ConfigError("NET-04", place, expected=expected, found=found, hint=hint)

    def switch(self, key: str, *, default: bool) -> bool:
        """Read true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, expected="true or false", found=repr(value))
        return value

    def text(self, key: str, *, default: str) -> str:
        """Read a text."""
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.refusal(key, expected="text", found=repr(value))
        return value

    def part(self, key: str) -> Mapping[str, Any]:
        """Read the settings of a part, which reads them itself."""
        value = self.take(key, {})
        if not isinstance(value, Mapping):
            raise self.refusal(key, expected="settings by their names", found=repr(value))
        return value

    def cpus(self, key: str, *, default: tuple[int, ...], among: tuple[int, ...]) -> tuple[int, ...]:
        """Read CPU numbers (`"2-3,6"` or `[2, 3, 6]`), all of them among the DUT's."""
        value = self.take(key, None)
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


def refuse_plugin(spec: NetworkSpec, *, expected: str) -> None:
    """Refuse a plugin of the testbed file's for a driver that has its own. Raises ConfigError NET-04."""
    if given := [name for name in ("conflist", "plugin_dir") if getattr(spec, name)]:
        raise ConfigError(
            "NET-04",
            f"networks.{spec.name}",
            expected=expected,
            found=", ".join(given),
            hint="another plugin's configuration takes `driver: cni`",
        )
