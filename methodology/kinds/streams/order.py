"""In which order the hosting forms of a sweep have their executions: randomized complete blocks. Pure.

A block is one execution of each size by each form. A form stands for one execution of each of its sizes,
then the next one does, in an order drawn from the run's seed. So each execution can be held against native's
of its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.streams.profile import CLAIM, SERVED
from bmwg.methodology.records import GUESTS, UNIKERNEL, Cell

MACHINES = (*GUESTS, UNIKERNEL)  # held against nothing where they are translated, so that they need no turn


def sweep_of(profile: Mapping[str, Any], cell: Cell) -> str:
    """Return the name of the sweep in whose blocks a cell has its turn; empty where nothing takes turns."""
    experiment = str(dict(cell.axes)["experiment"])
    if not profile.get(CLAIM) or experiment not in SERVED:
        return ""
    return neighbours.apart(experiment, cell)


def form_of(cell: Cell) -> tuple[str, str]:
    """Return what stands for a cell and makes room for the next form."""
    return cell.hosting, cell.network


def forms(profile: Mapping[str, Any], cells: Iterable[Cell], sweep: str) -> list[list[str]]:
    """Return the ids of a sweep's cells, form by form, as `blocks.next_up` takes them."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if sweep_of(profile, cell) == sweep:
            found.setdefault(form_of(cell), []).append(cell.cell_id)
    return list(found.values())
