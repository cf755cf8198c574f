"""Whether numbers of two testbeds may stand in one series: by what both measured without any container.

Two files may have one name, such as that of the embedded testbed on two machines: a testbed is told by its
name and by a digest of what its numbers depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from bmwg.methodology.record.seals import is_hidden
from bmwg.methodology.records import BAREMETAL, NOTHING, OutcomeType
from bmwg.reports.store import Run
from bmwg.reports.store.canonical import sha256_of

AGREE = 1.03  # choice: CSIT sees about 3 % between testbeds that are equal

Calibration = Mapping[tuple[str, str], float]  # medians by metric and cell


# choice, of the testbed file and of the machine's record: networks and kernels change, and it stays the same
_OF_FILE = ("nodes", "links", "lab_ports", "medium", "tester", "dut")
_OF_PROCESSORS = ("model", "stepping", "present")
_DIGITS = 8


def names_of(runs: Iterable[Run]) -> Callable[[Run], str]:
    """Return what names the testbed of each of these runs.

    It is the testbed's own name, with digits of its digest where several among these have that name.
    """
    digests: dict[str, set[str]] = {}
    for run in runs:
        digests.setdefault(_name(run), set()).add(_digest(run))

    def of(run: Run) -> str:
        name = _name(run)
        return name if len(digests[name]) < 2 else f"{name} ({_digest(run)[:_DIGITS]})"

    return of


def _name(run: Run) -> str:
    return str(run.testbed.get("name", ""))


def _digest(run: Run) -> str:
    """Return a digest of what a testbed's numbers depend on; what a redacted copy hides is not in it."""
    cpu = (run.platform_before or {}).get("fields", {}).get("cpu", {})
    processors = {key: cpu.get(key, {}).get("value") for key in _OF_PROCESSORS}
    file = {key: run.testbed.get(key) for key in _OF_FILE}
    return sha256_of(_open({"file": file, "processors": processors}))


def _open(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _open(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_open(value) for value in node]
    return None if is_hidden(node) else node


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


def agreeing(runs: Sequence[Run], name_of: Callable[[Run], str]) -> list[tuple[Run, ...]]:
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
