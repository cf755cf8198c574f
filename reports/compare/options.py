"""Network options of the same runs as sides of a comparison (docs/adr/0609). Pure.

Each run measured all of them, so one run more is one repeat more of each side. Of kinds of load other than
frames nothing is compared: their cells name an option within their own names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FRAMES
from bmwg.reports.compare.sides import Side
from bmwg.reports.store import Run
from bmwg.schemas.validation import near_name

EACH = "each option"  # what answers of all options are called, by which they meet


def by_option(sides: Sequence[Side], options: Sequence[str]) -> tuple[Side, ...]:
    """Return a side for each option, by its name, of the runs of the one side that was given.

    Raises ConfigError CMP-10 for several sides, for fewer than two options, for one that no run has.
    """
    named = tuple(dict.fromkeys(options))
    if len(sides) != 1 or len(named) < 2:
        raise ConfigError(
            "CMP-10",
            "--network",
            expected="one side of runs, and two of their options or more",
            found=f"{len(sides)} sides, {len(named)} options",
        )
    (side,) = sides
    for option in named:
        known = sorted({name for run in side.runs for name in run.testbed.get("networks", {})})
        if option not in known:
            near = near_name(option, known)
            raise ConfigError(
                "CMP-10",
                f"--network {option}",
                expected=f"an option of these runs: {', '.join(known) or 'they have none'}",
                found=option,
                hint=f"did you mean {near}?" if near else "",
            )
    return tuple(
        Side(name=option, runs=tuple(_of(run, option) for run in side.runs), option=option)
        for option in named
    )


def turns(sides: Sequence[Side]) -> Iterator[str]:
    """Say where one option was measured before another in each run: the order is drawn, and fell so."""
    first, *others = sides
    for other in others:
        pairs = zip(first.runs, other.runs, strict=True)
        begun = [(one, two) for a, b in pairs if (one := _begin(a)) and (two := _begin(b))]
        if begun and len({one < two for one, two in begun}) == 1:
            early, late = (first, other) if begun[0][0] < begun[0][1] else (other, first)
            yield f"In each run {early.name} was measured before {late.name}."


def _of(run: Run, option: str) -> Run:
    """Return what a run has of one option, under the name that all options share."""
    mine = [one for one in run.outcomes if one.cell.kind == FRAMES and one.cell.network == option]
    cells = {one.cell.cell_id for one in mine}
    stood = {trial.deployment_id for trial in run.trials if trial.cell_id in cells}
    return replace(
        run,
        testbed={**run.testbed, "networks": {EACH: run.testbed.get("networks", {}).get(option)}},
        outcomes=tuple(replace(one, cell=replace(one.cell, network=EACH)) for one in mine),
        deployments={
            re.sub(rf"^(.*)-{re.escape(option)}(?=-|$)", rf"\1-{EACH}", name): evidence
            for name, evidence in run.deployments.items()
            if name in stood
        },
    )


def _begin(run: Run) -> int:
    """Return the number of the first trial of a side's answers; 0 without any."""
    return min((seq for one in run.outcomes for seq in one.trials), default=0)
