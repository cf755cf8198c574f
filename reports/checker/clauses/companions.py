"""Rows of RFC 6201, RFC 6985 and the vsperf test design as rules: resets, mixes, loads above throughput."""

from __future__ import annotations

import re
from collections.abc import Callable

from bmwg.methodology.benchmarks.imix import MTU_LETTER, SIZES
from bmwg.methodology.benchmarks.recovery import RESET_METRIC, reset_by_loss_ms, reset_trial
from bmwg.methodology.benchmarks.statistics import spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED, close, each_outcome, taken, throughputs
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

LEAST_TRIALS = 2  # choice: of several, as RFC 6201 1.4 recommends
_RUN = re.compile(r"([0-9]*)([a-z])")
_MOST = 64  # sizes that the mix of a trial has at most
_VNF = frozenset({"pod", "vm"})


def _resets(scope: Scope) -> list[Outcome]:
    return [
        outcome
        for outcome in scope.outcomes
        if outcome.metric.startswith(RESET_METRIC) and outcome.type is not OutcomeType.NOT_ASSESSED
    ]


def _resets_hold(scope: Scope, expected: str, fits: Callable[[Outcome], bool]) -> Answer:
    return each_outcome(_resets(scope), expected, fits, without="the run holds no reset", thing="resets")


@clause("SUP-6201-1.4-03")
def factors_listed(scope: Scope) -> Answer:
    """Machine and deployment of each reset are recorded, and its trials say what was reset and when."""
    platform = scope.evidence.platform or {"base": {"before": None}, "deployments": {}}

    def fits(one: Outcome) -> bool:
        trials = taken(scope, one)
        described = {trial.deployment_id for trial in trials} <= set(platform["deployments"])
        told = all(trial.trial.result.spec.act_at_s is not None for trial in trials)
        return bool(platform["base"]["before"]) and bool(trials) and described and told

    return _resets_hold(scope, "machine, deployment and act of each reset", fits)


@clause("SUP-6201-1.4-04")
def resets_repeated(scope: Scope) -> Answer:
    """Several trials stand behind each reset; a number is their average, and comes with their spread."""

    def fits(one: Outcome) -> bool:
        valid = [trial.trial for trial in taken(scope, one) if trial.trial.valid]
        if not one.values:
            return len(valid) >= LEAST_TRIALS
        if any(stream.losses is None for trial in valid for stream in trial.result.streams):
            return False
        resets = [reset for reset in map(reset_trial, valid) if reset.within]
        if len(resets) < LEAST_TRIALS:
            return False
        over = spread([reset_by_loss_ms(reset) for reset in resets])
        said = {value.metric.removeprefix(one.metric): value.number for value in one.values}
        wanted = {"": over.mean, ".min": over.minimum, ".max": over.maximum, ".deviation": over.deviation}
        return all(close(said.get(name), number) for name, number in wanted.items())

    return _resets_hold(scope, f"at least {LEAST_TRIALS} trials, their average and spread", fits)


def _mixes(scope: Scope) -> dict[Cell, list[Trial]]:
    """Return the trials of each cell whose frames are a mix of sizes."""
    cells = {outcome.cell.cell_id: outcome.cell for outcome in scope.outcomes if outcome.cell.imix}
    found: dict[Cell, list[Trial]] = {cell: [] for cell in cells.values()}
    for trial in scope.trials:
        if trial.cell_id in cells:
            found[cells[trial.cell_id]].append(trial)
    return found


def _letters(genome: str) -> str:
    """Return the letters one by one; a run that no trial can hold is cut to one more than a trial can."""
    runs = _RUN.findall(genome)
    return "".join(letter * (int(count or 1) if len(count) < 3 else _MOST + 1) for count, letter in runs)


def _sizes_of(letters: str, trials: list[Trial]) -> dict[str, set[int | None]]:
    """Return the sizes (octets) in which trials sent each letter; None of one without a size."""
    sizes: dict[str, set[int | None]] = {letter: set() for letter in letters}
    for trial in trials:
        sent = trial.trial.result.spec.mix_octets
        for place, letter in enumerate(letters):
            sizes[letter].add(sent[place] if len(sent) == len(letters) else None)
    return sizes


@clause("SUP-6985-4-02")
def mtu_reported(scope: Scope) -> Answer:
    """Where a mix has the letter z, its trials say one length for it."""
    mixes = {cell: mine for cell, mine in _mixes(scope).items() if MTU_LETTER in _letters(cell.imix or "")}
    if not mixes:
        return not_applicable("no mix of sizes has the letter z")
    lengths = {cell: _sizes_of(_letters(cell.imix or ""), mine)[MTU_LETTER] for cell, mine in mixes.items()}
    wrong = [cell.cell_id for cell, found in lengths.items() if len(found) != 1 or None in found]
    return held(not wrong, "the length of z", f"{len(wrong)} of {len(mixes)} mixes without {wrong[:NAMED]}")


@clause("SUP-6985-5")
def table_of_sizes(scope: Scope) -> Answer:
    """Each letter of one's own has one size, by its trials; a letter of the table is sent in its size."""
    own: list[str] = []
    wrong: list[str] = []
    for cell, trials in _mixes(scope).items():
        for letter, found in _sizes_of(_letters(cell.imix or ""), trials).items():
            if letter == MTU_LETTER or found == {SIZES.get(letter)}:
                continue
            own.append(letter)
            if len(found) != 1 or None in found or letter in SIZES:
                wrong.append(f"{cell.imix}: {letter}")
    if not own:
        return not_applicable("every letter has the size of RFC 6985's table")
    return held(
        not wrong, "a size for each letter", f"{len(wrong)} of {len(own)} letters without {wrong[:NAMED]}"
    )


def _failures_told(scope: Scope, fits: Callable[[Cell], bool]) -> Answer:
    """Whether each failure at a load above the throughput is marked as one, and named by an answer."""
    loads = {
        cell_id: one.lower.load_fps
        for cell_id, one in throughputs(scope).items()
        if one.lower is not None and fits(one.cell)
    }
    above = [
        one
        for one in scope.trials
        if one.cell_id in loads and one.trial.result.spec.load_fps > loads[one.cell_id]
    ]
    if not above:
        return not_applicable("no trial was above a throughput")
    named: set[int] = {seq for outcome in scope.outcomes for seq in outcome.trials}
    silent = [
        one.trial.seq
        for one in above
        if not one.fault and one.trial.result.sent_frames and not one.trial.result.received_frames
    ]
    untold = [trial.trial.seq for trial in above if trial.fault and trial.trial.seq not in named]
    wrong = silent + untold
    failed = sum(one.fault for one in above)
    found = f"{len(above)} trials above it, {failed} failed; {len(wrong)} failures not told {wrong[:NAMED]}"
    return held(not wrong, "each failure of the device recorded with its trial and reported", found)


@clause("LTD-3.2.2.1.3-02")
def failures_reported(scope: Scope) -> Answer:
    """A device that stopped forwarding above its throughput is recorded as failed."""
    return _failures_told(scope, lambda cell: not cell.qualifies_tester)


@clause("LTD-3.2.2.3.4-02")
def failures_of_vnf_reported(scope: Scope) -> Answer:
    """A function in a pod or VM that stopped forwarding above its throughput is recorded as failed."""
    return _failures_told(scope, lambda cell: cell.hosting in _VNF and cell.function != "none")
