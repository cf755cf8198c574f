"""What a run is worth on a machine that takes its CPUs away: one sentence for report and exit status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.records import Outcome, OutcomeType, Validity

HARDLY = 0.25  # choice: with less than this share of its answers a run says little about a device
EXIT_STATUS = 75  # EX_TEMPFAIL of sysexits.h: try again later; Robot's own statuses count failed tests
HINT = "`bmwg doctor` measures how often; a quieter hour or a machine with CPUs of its own gives answers"
_AWAY = frozenset({Validity.TESTER_STALLED, Validity.HOST_STALLED})


def hardly_usable(outcomes: Sequence[Outcome], validities: Iterable[Validity]) -> str:
    """Say that disturbance left a run with hardly an answer; empty when that is not so.

    Counted are the answers of cells that could be tried here; `validities` are those of all trials.
    """
    tried = [outcome for outcome in outcomes if outcome.type is not OutcomeType.NOT_ASSESSED]
    unstable = sum(outcome.type is OutcomeType.UNSTABLE for outcome in tried)
    if not unstable or len(tried) - unstable >= HARDLY * len(tried):
        return ""
    trials = away = 0
    for validity in validities:
        trials += 1
        away += validity in _AWAY
    return (
        f"Hardly anything could be used: {unstable} of {len(tried)} answers are unstable, "
        f"and the machine took its CPUs away in {away} of {trials} trials."
    )
