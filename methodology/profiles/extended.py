"""A profile that extends another one: its file states what differs, and the whole of both is what a run has.

Mappings are merged key by key; any other value replaces the one below, and null takes it away. Ids: PRF-12 a
file that cannot be made whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import near_hint

EXTENDS, DEVIATIONS = "extends", "deviations"
_FILE = ".yaml"
_OWN = ("name", "title")  # what no profile takes from another: its runs would be called by the other's name


def whole(
    own: Mapping[str, Any],
    source: str,
    read: Callable[[str], Mapping[str, Any]],
    above: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the content of a profile with what it extends, without the key that says so.

    `read` returns the content of a profile by its name, or by the path of its file; `source` is the file of
    `own`, `above` those that extend it. Raises ConfigError PRF-12, and what `read` raises.
    """
    if EXTENDS not in own:
        return dict(own)
    named = own[EXTENDS]
    if not isinstance(named, str) or not named or "\0" in named:
        raise _refused(source, EXTENDS, "the name of a profile, or a path that ends with .yaml", repr(named))
    base = str(Path(source).parent / named) if named.endswith(_FILE) else named
    chain = (*above, _place(source))
    if _place(base) in chain:
        told = " > ".join(Path(one).name for one in (*chain, _place(base)))
        raise _refused(source, EXTENDS, "a profile that does not extend this one", told)
    below = whole(read(base), base, read, chain)
    for key in _OWN:
        if own.get(key) in (None, below.get(key)):
            expected = f"a {key} of its own: {named} is another profile"
            raise _refused(source, key, expected, repr(own.get(key)))
    changes = {key: value for key, value in own.items() if key != EXTENDS}
    return _merged(below, changes, (), source)


def _merged(
    below: Mapping[str, Any], changes: Mapping[str, Any], where: tuple[str, ...], source: str
) -> dict[str, Any]:
    found = dict(below)
    for key, value in changes.items():
        here = (*where, str(key))
        if value is None:
            if key not in found:
                hint = near_hint(key, found, "null takes away a key of the other profile")
                raise _refused(
                    source, ".".join(here), f"a key that stands there: {', '.join(found)}", key, hint
                )
            del found[key]
        elif isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            found[key] = _merged(found[key], value, here, source)
        elif here == (DEVIATIONS,) and isinstance(value, list) and isinstance(found.get(key), list):
            found[key] = _declared(found[key], value)
        else:
            found[key] = value
    return found


def _declared(below: list[Any], own: list[Any]) -> list[Any]:
    """Return the deviations of both: of one requirement, the file's own stands where the other stood."""
    mine = {_of(one): one for one in own if isinstance(one, Mapping)}
    kept = [mine.pop(_of(one), one) if isinstance(one, Mapping) else one for one in below]
    return [*kept, *(one for one in own if not isinstance(one, Mapping) or _of(one) in mine)]


def _of(declared: Mapping[str, Any]) -> str:
    """Return the requirement of a deviation as text; what is no text is refused later, by the schema."""
    return str(declared.get("requirement"))


def _place(name: str) -> str:
    """Return what tells profiles apart: a file's own path, and the name of one of the toolkit's."""
    return str(Path(name).resolve()) if name.endswith(_FILE) else name


def _refused(source: str, key: str, expected: str, found: str, hint: str = "") -> ConfigError:
    what = f"profile {source}: {key}; nothing was started"
    return ConfigError("PRF-12", what, expected=expected, found=found, hint=hint)
