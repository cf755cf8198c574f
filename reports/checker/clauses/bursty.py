"""RFC 2544 section 21 as rules: tests with repeated bursts of four sizes beside the steady load."""

from __future__ import annotations

from bmwg.methodology.benchmarks.burst_interval import BURST_FRAMES
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

FEWEST = 2  # bursts: with one there is no interval


def _bursty(scope: Scope) -> list[Trial]:
    """Return valid trials between two ports, whatever their metric, whose bursts all left whole.

    Between more ports bursts have sizes of their own (RFC 2889 5.1.2).
    """
    return [
        trial
        for trial in scope.evidence.trials
        if trial.trial.valid
        and trial.trial.result.spec.pattern is None
        and (wanted := trial.trial.result.spec.bursts) >= FEWEST
        and all(s.bursts is not None and s.bursts.bursts == wanted for s in trial.trial.result.streams)
    ]


@clause("RFC2544-21-01")
def steady_and_bursts(scope: Scope) -> Answer:
    """The run holds trials of a steady load and trials of repeated bursts."""
    bursty = len(_bursty(scope))
    steady = sum(trial.trial.valid and trial.trial.result.spec.bursts == 0 for trial in scope.trials)
    found = f"{steady} valid trials of a steady load, {bursty} of repeated bursts in the run"
    return held(bool(steady and bursty), "trials of a steady load and of repeated bursts", found)


@clause("RFC2544-21-03")
def burst_sizes(scope: Scope) -> Answer:
    """Each cell that was tried with bursts was tried with all four sizes."""
    by_cell: dict[str, set[int]] = {}
    for trial in _bursty(scope):
        by_cell.setdefault(trial.cell_id, set()).add(trial.trial.result.spec.burst_frames or 0)
    if not by_cell:
        return not_applicable("no trial of repeated bursts is in the run")
    lacking = [cell for cell, sizes in by_cell.items() if not sizes >= set(BURST_FRAMES)]
    sizes = sorted(set().union(*by_cell.values()))
    found = f"{sizes} frames; {len(lacking)} of {len(by_cell)} cells without one of them {lacking[:NAMED]}"
    return held(not lacking, f"bursts of {', '.join(map(str, BURST_FRAMES))} frames", found)
