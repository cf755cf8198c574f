"""What a run's header says of each kind of load: testbed, profile and medium.

Those of the first kind stand in the header itself, those of further ones under `loads`: a run of one kind has
no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.kinds import registry as kinds

KEY = "loads"
SAID = ("testbed", "profile", "medium")  # what the header says of each kind of load


def of_run(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the kinds of load of a run, the header's own first."""
    return (kinds.of_profile(document["profile"]), *document.get(KEY, {}))


def said_of(document: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return what a header says of a kind of load; of one that the run does not have, what it says first."""
    said: Mapping[str, Any] = document.get(KEY, {}).get(kind, document)
    return {name: said[name] for name in SAID}
