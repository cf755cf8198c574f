"""Rules of former versions: an answer is replayed by the version of the procedure that its run names.

None is kept yet, for every procedure has its first version. A rule that is kept is a module of its own that
imports nothing of the rule which replaced it, and a line in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bmwg.methodology.answers import procedures
from bmwg.methodology.measurements.measurement import Answered, Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRule:
    """A version of the procedure of one metric. `measure` is that of a `Measurement`, as it was."""

    metric: str
    version: int
    measure: Callable[[Asked], Answered]
    needs_throughput: bool = False
    reads_latency: bool = False


RULES: tuple[FormerRule, ...] = ()


def former_rule(metric: str, version: int) -> FormerRule | None:
    """Return the rule of a version that is not the current one; None where none was kept."""
    return next((rule for rule in RULES if (rule.metric, rule.version) == (metric, version)), None)


def replayable(name: str) -> tuple[int, ...]:
    """Return every version of a procedure that can be replayed, ascending."""
    kept = {rule.version for rule in RULES if rule.metric == name}
    return tuple(sorted({procedures.version(name), *kept}))


def not_replayable(recorded: Mapping[str, int], metric: str) -> tuple[tuple[str, int], ...]:
    """Return of `trial`, `standing` and one procedure those whose recorded version cannot be replayed."""
    names = (procedures.TRIAL, procedures.STANDING, metric)
    pairs = ((name, recorded.get(name, procedures.FIRST)) for name in names)
    return tuple((name, version) for name, version in pairs if version not in replayable(name))
