"""What whoever measured chose, and nobody sees why: cells without answer, an own profile, unused time.

An honest run can have each of these, so nothing here refuses one: `choices` asks, beside the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from bmwg.methodology import suites
from bmwg.methodology.benchmarks.address_table import OWN
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import listed, shown
from bmwg.reports.releases import profiles

_FORGET_LATE_S = 1.0  # choice: after an ageing time, in which a table is found empty
_NAMED = 5  # entries that a question names
_WORDS = (OutcomeType.NOT_ASSESSED, OutcomeType.INVALID)  # of such a cell the run's word is all there is


def choices(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of what was chosen. Pure."""
    if evidence.run is None:
        return ()
    return (
        *_profile(evidence),
        *_tests(evidence),
        *_unanswered(evidence),
        *_gaps(evidence),
        *_idle(evidence),
    )


def _profile(evidence: Evidence) -> Iterator[str]:
    name = evidence.run["profile"]["name"] if evidence.run else ""
    if name not in profiles():
        yield f"profile: {shown(name)} is none that the toolkit ships: what does it leave out?"


def _tests(evidence: Evidence) -> Iterator[str]:
    """Name planned tests that come with no toolkit: what they measure is the run's word."""
    own = {case.test_id for case in suites.cases()} - {
        one.test_id for one in suites.outside([cell.test_id for cell in evidence.plan])
    }
    by_cases = [
        planned_cell for planned_cell in evidence.plan if not kinds.plans_itself(planned_cell.cell.kind)
    ]
    asked = dict.fromkeys(one.test_id for one in by_cases)
    others = [one for one in asked if one not in own]
    if others:
        yield f"tests: {listed([*map(shown, others)])} come with no toolkit: what do they ask for?"


def _unanswered(evidence: Evidence) -> Iterator[str]:
    """Name the cells for which the run has a reason in place of an answer."""
    mine = [outcome for outcome in evidence.outcomes if outcome.type in _WORDS]
    if not mine:
        return
    reasons = Counter(one.reason for one in mine)
    told = "; ".join(f"{count} x {shown(text)}" for text, count in reasons.most_common(_NAMED))
    yield (
        f"cells: {len(mine)} of {len(evidence.outcomes)} have a reason in place of an answer, and nobody "
        f"shows that it is the right one: {told}"
    )


def _gaps(evidence: Evidence) -> Iterator[str]:
    """Name the numbers of deployments that the run used up and does not describe."""
    used = {number for name in evidence.deployments if (number := _number(name))}
    missing = max(used, default=0) - len(used)
    if missing:
        first = islice((one for one in range(1, max(used)) if one not in used), _NAMED)
        more = f" and {missing - _NAMED} more" if missing > _NAMED else ""
        yield (
            f"deployments: number {', '.join(map(str, first))}{more} of {max(used)} is not described: "
            "did it fail to come up, or was it left out?"
        )


def _number(deployment_id: str) -> int:
    last = deployment_id.rpartition("-")[2]
    return int(last) if last.isascii() and last.isdigit() and len(last) < 10 else 0


def _idle(evidence: Evidence) -> Iterator[str]:
    """Name trials before which, within one cell, there was time for another trial, with all waits."""
    if evidence.run is None or evidence.profile is None or evidence.run["simulated"]:
        return
    found = []
    for before, after in zip(evidence.trials, evidence.trials[1:], strict=False):
        if before.times is None or after.times is None or not _follows(before, after):
            continue
        unused_ns = after.times.first_ns - before.times.ended_ns - _waits_ns(evidence.profile)
        unused_ns -= _forgetting_ns(evidence, after)
        if unused_ns > min(_took_ns(before), _took_ns(after)):
            found.append(f"trial {after.trial.seq} ({unused_ns / 1e9:.1f} s)")
    if found:
        yield (
            f"time: before {listed(found)} there was room for a trial that is not there: what ran then? "
            "A busy machine looks so as well"
        )


def _forgetting_ns(evidence: Evidence, trial: Trial) -> float:
    """Return how long a switch may have taken to forget its addresses, before a turn that begins without any.

    A turn waits until the table is empty: at most the ageing time that was read back, and a look at it.
    """
    if trial.phase != OWN:
        return 0.0
    told = evidence.deployments.get(trial.deployment_id, {})
    function = told.get("function") or {}
    ageing_s = function.get("settings", {}).get("found", {}).get("ageing_s", 0)
    return (_FORGET_LATE_S + float(ageing_s)) * 1e9


def _follows(before: Trial, after: Trial) -> bool:
    same = (before.cell_id, before.metric, before.deployment_id)
    return same == (after.cell_id, after.metric, after.deployment_id)


def _took_ns(trial: Trial) -> int:
    return trial.times.ended_ns - trial.times.first_ns if trial.times is not None else 0


def _waits_ns(profile: Profile) -> float:
    policy = profile.policy
    return 1e9 * (policy.settle_s + policy.learning_wait_s + policy.drain_s + 2 * policy.restabilize_s)
