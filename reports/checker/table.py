"""The one table of clause rules: every rule of every document and kind of load.

A new rule is a function of a module of `clauses` with the row that it judges; a new module is a line here.
"""

from __future__ import annotations

from types import ModuleType

from bmwg.reports.checker.clauses import (
    benchmarks,
    bursty,
    chains,
    clusters,
    combination,
    companions,
    configured,
    destinations,
    frames,
    isolation,
    laboratory,
    models,
    modifiers,
    rfc2544_conditions,
    rfc2544_loss_and_recovery,
    rfc2544_sizes,
    rfc2889,
    rfc2889_answers,
    rfc2889_trials,
    rfc8219,
    rfc9004,
    rfc9004_report,
    rfc9971,
    rfc9971_freedoms,
    rfc9971_goals,
    rfc9971_results,
    rights,
    tester,
    tst009,
    waits,
)
from bmwg.reports.checker.verdicts import ClauseRule

_MODULES = (
    rfc2544_conditions,
    destinations,
    bursty,
    tester,
    waits,
    benchmarks,
    rfc2544_loss_and_recovery,
    modifiers,
    configured,
    frames,
    rfc2544_sizes,
    rfc2889,
    rfc2889_trials,
    rfc2889_answers,
    rfc9971,
    rfc9971_goals,
    rfc9971_results,
    rfc9971_freedoms,
    rfc9004,
    rfc9004_report,
    rfc8219,
    tst009,
    isolation,
    laboratory,
    rights,
    models,
    combination,
    chains,
    clusters,
    companions,
)


def rules_of(module: ModuleType) -> tuple[ClauseRule, ...]:
    """Return the rules that a module defines, in their order; none of those that it imports."""
    made = (value for value in vars(module).values() if isinstance(value, ClauseRule))
    return tuple(rule for rule in made if rule.check.__module__ == module.__name__)


RULES: tuple[ClauseRule, ...] = tuple(rule for module in _MODULES for rule in rules_of(module))
