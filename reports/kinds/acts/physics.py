"""What no execution of acts can show: less time than its pods or servers took, moments in another order.

The rules are those of `verify.timing`; here stands what an execution tells of its time and of its counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions as impossible
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.kinds.repeated.physics import Physics
from bmwg.reports.verify.timing import Count, Within

_RUNNER_EXACT_NS = 1_000_000  # choice: the stamps of the first frame and of the first of them are taken apart


def _lasted(spec: ActsSpec, result: ActsResult) -> tuple[Within, ...]:
    latest_ns = max((at for life in result.lives for _, at in life.ordered), default=0)
    return (Within(what=f"until the last {spec.noun} was gone", needed_ns=latest_ns),)


def _counts(spec: ActsSpec, result: ActsResult) -> Iterator[Count]:
    for number, life in enumerate(result.lives, start=1):
        end_ns = life.removed_ns if life.removed_ns is not None else result.wall_ns
        # a sender that waits so long between two frames offers no more of them
        most = (end_ns - life.asked_ns + _RUNNER_EXACT_NS) // (spec.interval_us * 1000) + 1
        yield Count(
            what=f"frames offered to {spec.noun} {number}", found=life.offered_frames, least=0, most=most
        )
        yield Count(
            what=f"frames received of {spec.noun} {number}",
            found=life.received_frames,
            most=life.offered_frames,
            least=life.reordered_frames,
        )


PHYSICS = Physics(kind=ACTS, lasted=_lasted, counts=_counts)


@rule("VER-34", "", "moments follow each other", exit_code=2)
def moments_follow(evidence: Evidence) -> Iterator[Shortfall]:
    """A request comes before what it brings about."""
    for where, spec, result in PHYSICS.lines(evidence):
        for found in impossible(spec, result) if not result.faults else ():
            yield where, "moments and counts that can be", found


RULES: tuple[Rule[Evidence], ...] = (*PHYSICS.rules(), moments_follow)
