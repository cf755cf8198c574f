"""The one table of clause rules: every rule of every document and kind of load.

A new rule is a section of a `clauses_*` module, which lists it in its `RULES`; a new module is a line here.
"""

from __future__ import annotations

from bmwg.reports.checker import (
    clauses_benchmarks,
    clauses_bursty,
    clauses_chains,
    clauses_clusters,
    clauses_combination,
    clauses_common,
    clauses_companions,
    clauses_configured,
    clauses_destinations,
    clauses_frames,
    clauses_isolation,
    clauses_laboratory,
    clauses_models,
    clauses_modifiers,
    clauses_others,
    clauses_rfc2544_sizes,
    clauses_rfc8219,
    clauses_rfc9004,
    clauses_rfc9004_report,
    clauses_rfc9971,
    clauses_rfc9971_freedoms,
    clauses_rfc9971_goals,
    clauses_rfc9971_results,
    clauses_rights,
    clauses_tester,
    clauses_tst009,
    clauses_waits,
)
from bmwg.reports.checker.verdicts import ClauseRule

RULES: tuple[ClauseRule, ...] = (
    *clauses_common.RULES,
    *clauses_destinations.RULES,
    *clauses_bursty.RULES,
    *clauses_tester.RULES,
    *clauses_waits.RULES,
    *clauses_benchmarks.RULES,
    *clauses_others.RULES,
    *clauses_modifiers.RULES,
    *clauses_configured.RULES,
    *clauses_frames.RULES,
    *clauses_rfc2544_sizes.RULES,
    *clauses_rfc9971.RULES,
    *clauses_rfc9971_goals.RULES,
    *clauses_rfc9971_results.RULES,
    *clauses_rfc9971_freedoms.RULES,
    *clauses_rfc9004.RULES,
    *clauses_rfc9004_report.RULES,
    *clauses_rfc8219.RULES,
    *clauses_tst009.RULES,
    *clauses_isolation.RULES,
    *clauses_laboratory.RULES,
    *clauses_rights.RULES,
    *clauses_models.RULES,
    *clauses_combination.RULES,
    *clauses_chains.RULES,
    *clauses_clusters.RULES,
    *clauses_companions.RULES,
)
