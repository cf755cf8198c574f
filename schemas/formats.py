"""Which versions of which formats can be read, and what to say of one that cannot (schemas/README.md).

A format is named `<name>/<major>.<minor>` in the `schema` of each document and of each line of a journal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# By what is read. A reader knows all versions that stand here, and none that was released is ever taken away.
READABLE: Mapping[str, tuple[str, ...]] = {
    "run": ("run/1.0",),
    "trial": ("trial/1.0",),
    "platform": ("platform/1.0",),
    "bundle": ("bundle/1.0",),
    "fleet": ("fleet/1.0",),
    # of a run's header: it says of which kind the load is
    "profile": (
        "profile/1.0",
        "http_profile/1.0",
        "streams_profile/1.0",
        "acts_profile/1.0",
        "jobs_profile/1.0",
    ),
}
_NAME = re.compile(r"([a-z][a-z0-9_]*)/([0-9]{1,4})\.([0-9]{1,4})")


def newest(kind: str) -> str:
    """Return the version of a format that this toolkit writes."""
    return max(READABLE[kind], key=lambda one: _parts(one)[1])


def is_format(found: object) -> bool:
    """Whether something has the form of a format's name, known or not."""
    return bool(_parts(found)[0])


def unreadable(found: object, kind: str) -> tuple[str, str]:
    """Return what is to be said of a format that is none of `READABLE[kind]`, and how to mend it."""
    name, version = _parts(found)
    if not name:
        return "no format is named", "take the original file"
    newest = max((_parts(one)[1] for one in READABLE[kind] if _parts(one)[0] == name), default=None)
    if newest is not None and version > newest:
        return (
            "a newer toolkit wrote this format",
            "read it with the toolkit version that run.json names, or a later one",
        )
    if newest is not None:
        return "no toolkit wrote this version of the format", "take the original file"
    if kind == "profile":
        return (
            "a run of a kind of load that this toolkit does not know",
            "read it with the toolkit version that run.json names, or install what registers the kind",
        )
    return f"another format where a {kind} is expected", "take the original file"


def _parts(found: object) -> tuple[str, tuple[int, int]]:
    match = _NAME.fullmatch(found) if isinstance(found, str) else None
    return (match[1], (int(match[2]), int(match[3]))) if match else ("", (0, 0))
