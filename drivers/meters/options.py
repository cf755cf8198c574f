"""The settings of a meter. Ids: METER-01."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import ConfigError


def require_known(name: str, options: Mapping[str, JsonValue], known: Collection[str]) -> None:
    """Refuse a setting that the meter does not have. Raises ConfigError METER-01."""
    if unknown := sorted(set(options) - set(known)):
        raise wrong(name, f"one of {', '.join(known) or 'none'}", ", ".join(unknown))


def wrong(name: str, expected: str, found: str) -> ConfigError:
    """Return the error for a setting."""
    return ConfigError("METER-01", f"power.options of meter {name}", expected=expected, found=found)
