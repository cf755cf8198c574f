"""Whether numbers of two testbeds may stand in one series: by what both measured without any container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from bmwg.methodology.records import BAREMETAL, NOTHING, OutcomeType
from bmwg.reports.store import Run

AGREE = 1.03  # choice: CSIT sees about 3 % between testbeds that are equal

Calibration = Mapping[tuple[str, str], float]  # medians by metric and cell


def name_of(run: Run) -> str:
    """Return the name of a run's testbed."""
    return str(run.testbed.get("name", ""))


def calibration(runs: Sequence[Run]) -> Calibration:
    """Return what runs measured on the wire and on bare metal: the median of each metric on each cell."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for outcome in run.outcomes:
            alone = outcome.cell.hosting in (NOTHING, BAREMETAL) and outcome.cell.network == NOTHING
            if outcome.type is OutcomeType.MEASURED and alone:
                for value in outcome.values:
                    if value.metric == outcome.metric:
                        key = (value.metric, outcome.cell.cell_id)
                        found.setdefault(key, []).append(float(value.number))
    return {key: median(numbers) for key, numbers in found.items()}


def agree(first: Calibration, second: Calibration) -> bool:
    """Whether two testbeds are equal as far as can be told; those that measured nothing alike are not."""
    both = first.keys() & second.keys()
    return bool(both) and all(
        max(first[key], second[key]) <= AGREE * min(first[key], second[key]) for key in both
    )


def agreeing(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Return the runs in groups, in their order: each of testbeds of which any two agree."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(name_of(run), []).append(run)
    known = {name: calibration(mine) for name, mine in by_name.items()}
    groups: list[list[str]] = []
    for name in sorted(known):
        fits = (group for group in groups if all(agree(known[name], known[other]) for other in group))
        group = next(fits, None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return [tuple(run for run in runs if name_of(run) in group) for group in groups]
