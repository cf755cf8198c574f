"""Reads JSON that a stranger wrote: bounded size, depth and numbers, no key twice, nothing lenient."""

from __future__ import annotations

import json
import math
from typing import Any

from bmwg.methodology.errors import ConfigError

MAX_DEPTH = 64  # choice: our own files nest below 16 deep
MAX_VALUES = 2_000_000
MAX_DIGITS = 19  # of a whole number: below 2**63


def strict_json(data: bytes, where: str, max_octets: int) -> Any:
    """Return the value of one JSON text. Raises ConfigError BND-07, naming what is refused."""
    if len(data) > max_octets:
        raise _refused(where, f"at most {max_octets} octets", f"{len(data)} octets")
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_without_doubles,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except UnicodeDecodeError as error:
        raise _refused(where, "UTF-8", f"another octet at {error.start}") from error
    except RecursionError as error:
        raise _refused(where, f"nesting of at most {MAX_DEPTH}", "deeper nesting") from error
    except ValueError as error:
        raise _refused(where, "JSON", str(error)) from error
    _walk(value, where)
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:80]!r} stands twice in one object")
            seen.add(key)
    return made


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond what can be held")
    return number


def _bounded(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a whole number of more than {MAX_DIGITS} digits")
    return int(text)


def _walk(value: Any, where: str) -> None:
    """Hold depth and number of values within bounds, and texts free of lone surrogates."""
    level: list[Any] = [value]
    count = depth = 0
    while level:
        depth += 1
        count += len(level)
        if depth > MAX_DEPTH:
            raise _refused(where, f"nesting of at most {MAX_DEPTH}", "deeper nesting")
        if count > MAX_VALUES:
            raise _refused(where, f"at most {MAX_VALUES} values", "more")
        below: list[Any] = []
        for entry in level:
            if isinstance(entry, dict):
                below.extend(entry)
                below.extend(entry.values())
            elif isinstance(entry, list):
                below.extend(entry)
            elif isinstance(entry, str) and not entry.isascii():
                _refuse_surrogates(entry, where)
        level = below


def _refuse_surrogates(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(where, "text of whole characters", "half of a surrogate pair") from error


def _refused(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "BND-07",
        f"{where}: cannot be read",
        expected=expected,
        found=found,
        hint="the part was changed, or was not made by `bmwg bundle`",
    )
