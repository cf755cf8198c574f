"""Versions of the procedures that turn trials into answers, so that a changed one is told by name.

A procedure is named after the metric that the journal writes beside its trials; `trial` is what all share:
how one trial is judged, and how those that are not valid are repeated. Whoever changes which trial a
procedure asks for next, or what it concludes from the same trials, adds one to its number here
(tests/unit/methodology/test_procedure_versions.py fails until that is done).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TRIAL = "trial"
FIRST = 1  # of every procedure, and of runs whose header names no version
CURRENT: Mapping[str, int] = {
    # name: version; one that is not named here has its first version still
    "throughput.rfc2544_26_1": 2,  # an unstable answer says how far its trials agree
}


def version(name: str) -> int:
    """Return the version of a procedure as this toolkit has it."""
    return CURRENT.get(name, FIRST)


def versions(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of procedures, and of `trial`, by name."""
    return {name: version(name) for name in sorted({TRIAL, *names})}


def other_versions(recorded: Mapping[str, int], name: str) -> tuple[tuple[str, int, int], ...]:
    """Return of `trial` and one procedure those recorded with another version: name, recorded, known here."""
    pairs = ((one, recorded.get(one, FIRST), version(one)) for one in (TRIAL, name))
    return tuple((one, theirs, ours) for one, theirs, ours in pairs if theirs != ours)
