"""Whether a run that says it is a shard of a fleet planned what it says that shard plans."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.store.codec import plan_sha256


@rule("VER-80", "", "a shard of a fleet planned what its header says that the fleet has for it")
def shard_planned(evidence: Evidence) -> Iterator[Shortfall]:
    """The hash of the plan is the one beside the fleet's, its number is one of the fleet's, its order drawn.

    Whether the fleet's plan has such a shard is told from the plan's file (`bmwg fleet verify`).
    """
    told = evidence.run.get("fleet") if evidence.run else None
    if evidence.run is None or told is None:
        return
    if told["shard"] > told["of"]:
        yield "run.json: fleet: shard", f"one of {told['of']}", str(told["shard"])
    if (found := plan_sha256(evidence.plan)) != told["plan_sha256"]:
        yield "run.json: fleet: plan_sha256", found, told["plan_sha256"]
    if "order_seed" not in evidence.run:
        yield "run.json: order_seed", "the seed of the fleet", "none"


RULES: tuple[Rule[Evidence], ...] = (shard_planned,)
