"""Power beside the trials of a run: of the idle machine, at load, and the energy of a frame or a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.answers import power
from bmwg.methodology.answers.power import Lack, Used
from bmwg.methodology.kinds import registry
from bmwg.methodology.records import FRAMES, OutcomeType, Validity
from bmwg.reports import rooms
from bmwg.reports.render.blocks import Block, pairs, paragraph, table, title
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.text import NONE, number_of, percent, sequence, unit, whole
from bmwg.reports.store import JournalTrial

_HOST = re.compile(rb'"host":(\{[^{}]*\})')
METER = "power meter"  # among a run's drivers
_WORDS = (
    (
        "window",
        "from the reading before a trial to the one after it: longer than the time in which frames were "
        "sent, so a host that idles at the ends of it shows less power, and each frame more energy",
    ),
    (
        "share of sending",
        "of the windows. What each frame took in that time alone lies between this share of its energy and"
        " all of it, as far as the machine takes no less while frames are sent than at the ends of a window",
    ),
    (
        "above idle",
        "less what the idle host took, before anything was deployed, in windows as long",
    ),
)
_HEAD = ("cell", "load", "mean power", "energy of each", "of which above idle", "share of sending", "trials")
_WHOLE = "executions from begin to end"  # what is made, waited for and removed in them is in their windows
_LACKS = {
    Lack.STOPPED: "the meter told nothing for longer than its period allows",
    Lack.BACKWARDS: "the meter counted backwards, or its times did",
    Lack.CLOCK_APART: "the meter's times are not of this machine's clock",
    Lack.WRAPS_UNKNOWN: "a counter may have begun anew more than once",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Trials of one cell at one load, what they carried, and what that was.

    `sending_s` is how long they sent, in all their windows together; None where that is not told.
    """

    cell: str
    load: str
    used: Used
    noun: str
    trials: Sequence[int]
    sending_s: float | None = None


def section(facts: Facts) -> list[Block]:
    """Return the section; nothing for a run without a meter."""
    meters = [driver for driver in facts.run.drivers if driver.get("name") == METER]
    if not meters:
        return []
    meter = meters[-1]
    idle = power.used((one["idle"], 0) for one in meters)
    lines = title("Power and energy")
    at_rest = f"not assessed, {_why([one['idle'] for one in meters])}"
    if idle:
        at_rest = (
            f"{_watts(idle.power_w)} over {idle.window_ns / 1e9:.0f}\u00a0s, before anything was deployed"
        )
    lines += paragraph(f"Measured by meter {meter['meter']} of: {meter['of']}. Idle: {at_rest}.")
    rows = [*_of_frames(facts), *_of_others(facts)]
    lines += table(_HEAD, [_told(row, idle) for row in rows], "Power at the load of each answer")
    lines += _by_load(facts, idle)
    if not rows:
        lines += paragraph("Not assessed at load: no answer of the run has trials whose energy is known.")
    wraps = sum(counts.get(f"{power.PREFIX}{power.WRAPS}", 0) for counts in _all_counts(facts))
    if wraps:
        often = number_of(wraps, "time")
        lines += paragraph(f"A counter began anew {often} within trials; this is in the sums.")
    missing = [
        [_LACKS[lack], whole(count)]
        for lack in Lack
        if (count := sum(lack in power.lacks(counts) for counts in _all_counts(facts)))
    ]
    lines += table(["why not assessed", "trials"], missing, "Trials whose energy is not known")
    return [*lines, *pairs(_WORDS)]


def _watts(number: float) -> str:
    return f"{number:.1f}\u00a0W" if number >= 10 else f"{number:.3g}\u00a0W"


def _joules(number: float | None, noun: str) -> str:
    if number is None:
        return NONE
    for scale, name in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ")):
        if abs(number) >= scale or name == "nJ":
            return f"{number / scale:.3g}\u00a0{name} a {noun}"
    return NONE


def _why(each: Sequence[Mapping[str, int]]) -> str:
    lacks = [_LACKS[lack] for counts in each for lack in power.lacks(counts)]
    return "; ".join(dict.fromkeys(lacks)) or "no reading"


def _told(one: _Row, idle: Used | None) -> list[str]:
    above = one.used.above(idle.power_w) if idle else None
    return [
        one.cell,
        one.load,
        _watts(one.used.power_w),
        _joules(one.used.each_j, one.noun),
        NONE if idle is None else _joules(above, one.noun),
        NONE if one.sending_s is None else percent(one.sending_s * 1e9 / one.used.window_ns, 0),
        sequence(one.trials),
    ]


def _of_frames(facts: Facts) -> Iterator[_Row]:
    """Yield what the search of each cell found, with the trials that prove it."""
    for outcome in facts.of_search():
        if outcome.type is not OutcomeType.MEASURED or outcome.lower is None:
            continue
        trials = [facts.run.trial(seq) for seq in outcome.lower.trials]
        if row := _row(facts, outcome.lower.load_fps, trials):
            yield row


def _row(facts: Facts, load_fps: int, trials: Sequence[JournalTrial]) -> _Row | None:
    known = [(trial, counts) for trial in trials if power.told(counts := _counts(trial))]
    found = power.used((counts, trial.received_frames) for trial, counts in known)
    if found is None:
        return None
    cells = [
        *(planned_cell.cell for planned_cell in facts.run.plan),
        *(outcome.cell for outcome in facts.run.outcomes),
    ]
    cell = next((one for one in cells if one.cell_id == trials[0].cell_id), None)
    name = f"{option(cell)}, {unit(cell.frame_octets, 'octets')}" if cell else trials[0].cell_id
    return _Row(
        cell=name,
        load=unit(load_fps, "frames/s"),
        used=found,
        noun="frame",
        trials=[trial.seq for trial, _ in known],
        sending_s=sum(trial.spec.total_s for trial, _ in known),
    )


def _by_load(facts: Facts, idle: Used | None) -> list[Block]:
    """Return the power at the lowest and at the highest load of each cell, after the highest of the run.

    A burst at the medium's rate is no load: most of its window is without frames, as after a second load.
    """
    rows: list[_Row] = []
    every: list[JournalTrial] = []
    for trials in facts.by_cell.values():
        known = [trial for trial in trials if trial.validity is Validity.VALID and power.told(_counts(trial))]
        every += known
        steady = [one for one in known if not one.spec.burst and one.spec.then_load_fps is None]
        loads = sorted({journal_trial.spec.load_fps for journal_trial in steady})
        for load_fps in dict.fromkeys((loads[0], loads[-1])) if len(loads) > 1 else ():
            if row := _row(facts, load_fps, [one for one in steady if one.spec.load_fps == load_fps]):
                rows.append(row)
    most = max(every, key=_mean_power, default=None)
    if most is None:
        return []
    words = f"{_watts(_mean_power(most))}, {unit(most.spec.load_fps, 'frames/s')}, trial {most.seq}"
    caption = "Power at the lowest and the highest load of each cell"
    return [
        *paragraph(f"The highest mean power in a trial's window: {words}."),
        *table(_HEAD, [_told(one, idle) for one in rows], caption),
    ]


def _mean_power(trial: JournalTrial) -> float:
    found = power.used([(_counts(trial), 0)])
    return found.power_w if found else 0.0


def _of_others(facts: Facts) -> Iterator[_Row]:
    """Yield each answer of another kind of load with its executions, of a search with those at its load."""
    at_load = rooms.loads(facts.run)
    for outcome in facts.run.outcomes:
        if outcome.cell.kind == FRAMES or outcome.type is not OutcomeType.MEASURED:
            continue
        kind = registry.kind(outcome.cell.kind, "run.json")
        numbers = set(at_load.get(outcome.outcome_id, outcome.trials))
        mine = [one for one in facts.run.executions if one.seq in numbers]
        mine = [one for one in mine if one.validity is Validity.VALID and power.told(one.body.host)]
        carried = [kind.carried(one.body) for one in mine]
        nouns = {noun for each in carried if each for _, noun in (each,)}
        found = power.used(
            (one.body.host, each[0] if each else 0) for one, each in zip(mine, carried, strict=True)
        )
        if found:
            yield _Row(
                cell=outcome.cell.cell_id,
                load=outcome.metric if nouns else f"{outcome.metric}, {_WHOLE}",
                used=found,
                noun=next(iter(nouns), ""),
                trials=[one.seq for one in mine],
            )


def _all_counts(facts: Facts) -> Iterator[Mapping[str, Any]]:
    for trials in facts.by_cell.values():
        yield from map(_counts, trials)
    yield from (execution.body.host for execution in facts.run.executions)


def _counts(trial: JournalTrial) -> Mapping[str, int]:
    """Return what its machine did beside a trial, without decoding the rest of its line."""
    found = _HOST.search(trial.line)
    return json.loads(found.group(1)) if found else {}
