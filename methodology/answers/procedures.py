"""Versions of the procedures that turn trials into answers, so that a changed one is told by name.

A procedure is named after the metric that the journal writes beside its trials; `trial` is what all share:
how one trial is judged, and how those that are not valid are repeated; `standing` is what stands beside
each answer. Versions count from the first release. Whoever changes after it which trial a procedure asks for
next, or what it concludes from the same trials, raises its number here and keeps the rule as it was in
`methodology.former`. schemas/README.md has the policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TRIAL = "trial"
RULES = "clause_rules"  # how verdicts come about; beside the procedures in the header
STANDING = "standing"  # what stands beside an answer, and when it stands on too little
OF_EVERY_RUN = (TRIAL, RULES, STANDING)  # versions that are of no metric and stand in every header
FIRST = 1  # of every procedure, and of runs whose header does not name it

CURRENT: Mapping[str, int] = {}  # of the procedures that were changed since their first version


def version(name: str) -> int:
    """Return the version of a procedure as this toolkit measures by it."""
    return CURRENT.get(name, FIRST)


def versions(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of procedures, and of what every run has, by name."""
    return {name: version(name) for name in sorted({*OF_EVERY_RUN, *names})}
