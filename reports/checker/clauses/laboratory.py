"""What only the submitter can say of the device: its pathways."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.requirements.rows import VerdictBasis
from bmwg.reports.checker.verdicts import Answer, Scope, by_declaration, clause, not_applicable, not_assessed


@clause("RFC2544-15-02")
def every_pathway(scope: Scope) -> Answer:
    """Each type of pathway inside the device has a run, this one among them; a person names them."""
    told = ((scope.evidence.submission or {}).get("product") or {}).get("pathways")
    if not told:
        return not_assessed("submission.yaml names no product.pathways")
    if len(told) == 1:
        said = not_applicable(f"declared: one type of pathway ({told[0]['kind']})")
        return replace(said, basis=VerdictBasis.DECLARED)
    lacking = [one["kind"] for one in told if not one.get("run")]
    here = any(one.get("run") == scope.run["run_id"] for one in told)
    found = f"declared: {len(told)} types, {len(lacking)} without a run {lacking[:3]}"
    if not here:
        found += f"; none is that of {scope.run['run_id']}"
    return by_declaration(not lacking and here, "a run for each type of pathway, this one among them", found)
