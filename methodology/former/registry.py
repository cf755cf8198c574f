"""Which former versions of which procedures can be replayed. A new one is a module and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology import procedures
from bmwg.methodology.former import (
    broadcast_2,
    delay_variation_2,
    envelope_2,
    latency_2,
    maximum_2,
    recovery_2,
    standing_1,
    standing_2,
    standing_3,
    standing_4,
    tagged_latency_2,
)
from bmwg.methodology.former.rule import FormerRule

RULES: tuple[FormerRule, ...] = (
    envelope_2.RULE,
    latency_2.RULE,
    *tagged_latency_2.RULES,
    *delay_variation_2.RULES,
    recovery_2.RULE,
    broadcast_2.RULE,
    *maximum_2.RULES,
)
STANDING = (
    standing_1.VERSION,
    standing_2.VERSION,
    standing_3.VERSION,
    standing_4.VERSION,
)  # of no metric: `reports.verify.replay` runs them
_BY_VERSION = {(rule.metric, rule.version): rule for rule in RULES}


def former_rule(metric: str, version: int) -> FormerRule | None:
    """Return the rule of a version that is not the current one; None where none was kept."""
    return _BY_VERSION.get((metric, version))


def replayable(name: str) -> tuple[int, ...]:
    """Return every version of a procedure that can be replayed, ascending."""
    kept = {version for metric, version in _BY_VERSION if metric == name}
    if name == procedures.STANDING:
        kept |= {*STANDING}
    return tuple(sorted({procedures.version(name), *kept}))


def not_replayable(recorded: Mapping[str, int], metric: str) -> tuple[tuple[str, int], ...]:
    """Return of `trial`, `standing` and one procedure those whose recorded version cannot be replayed."""
    names = (procedures.TRIAL, procedures.STANDING, metric)
    pairs = ((name, recorded.get(name, procedures.FIRST)) for name in names)
    return tuple((name, version) for name, version in pairs if version not in replayable(name))
