"""The one table of clause rules: every rule of every document and kind of load.

A new rule is a section of a module of `clauses`, which lists it in its `RULES`; a new module is a line here.
"""

from __future__ import annotations

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

RULES: tuple[ClauseRule, ...] = (
    *rfc2544_conditions.RULES,
    *destinations.RULES,
    *bursty.RULES,
    *tester.RULES,
    *waits.RULES,
    *benchmarks.RULES,
    *rfc2544_loss_and_recovery.RULES,
    *modifiers.RULES,
    *configured.RULES,
    *frames.RULES,
    *rfc2544_sizes.RULES,
    *rfc2889.RULES,
    *rfc9971.RULES,
    *rfc9971_goals.RULES,
    *rfc9971_results.RULES,
    *rfc9971_freedoms.RULES,
    *rfc9004.RULES,
    *rfc9004_report.RULES,
    *rfc8219.RULES,
    *tst009.RULES,
    *isolation.RULES,
    *laboratory.RULES,
    *rights.RULES,
    *models.RULES,
    *combination.RULES,
    *chains.RULES,
    *clusters.RULES,
    *companions.RULES,
)
