"""What cells of frames vary beside path, option and frame: axes by name, with what their values may be. Pure.

A path says which axes it has (`PathKind.axes`), and every path has four kinds more: `replicate`, which
counts repetitions of a design, `numa`, which places its pods, `neighbour`, which works beside, and settings
of the testbed file, whose axes are named by their place in it (`pods.memory`,
`networks.ovs-dpdk.options.rx_queues`). A line of a profile's plan names the values, and each combination of
values is a cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bmwg.methodology.cells import chains, neighbours, parallel, patterns

Value = int | str
FUNCTIONS = "functions"  # of a testbed file: the settings of each by its name
REPLICATE = "replicate"
NUMA, SAME, CROSS = "numa", "same", "cross"  # CINF08-5.2.2-06: pods on the DUT's NUMA node, or on another
MOST_REPLICATES = 99
_EVERYWHERE = (REPLICATE, NUMA, neighbours.AXIS)
_PODS = ("cpus", "memory", "hugepages_2Mi", "hugepages_1Gi", "policies")
_READ = re.compile(r"true|false|\[.*\]")  # values that are no text: a switch, a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: `read` raises ValueError for what is no value of it, `words` is how a reader calls one."""

    name: str
    read: Callable[[object], object]
    words: Callable[[object], str]

    def wrong(self, value: object) -> str:
        """Say what is wrong with a value; empty where nothing is."""
        try:
            self.read(value)
        except ValueError as error:
            return str(error)
        return ""


def _replicate(value: object) -> None:
    if not isinstance(value, int) or not 1 <= value <= MOST_REPLICATES:
        raise ValueError(f"a whole number from 1 to {MOST_REPLICATES}, found {value!r}")


def _numa(value: object) -> None:
    if value not in (SAME, CROSS):
        raise ValueError(f"{SAME} or {CROSS}, found {value!r}")


def _neighbour(name: object) -> object:
    return name == neighbours.ALONE or neighbours.of_frames(name)


AXES: Mapping[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis(name=chains.AXIS, read=chains.members, words=chains.words),
        Axis(name=parallel.AXIS, read=parallel.members, words=parallel.words),
        Axis(name=patterns.AXIS, read=patterns.pattern, words=patterns.words),
        Axis(name=neighbours.AXIS, read=_neighbour, words=neighbours.words),
        Axis(name=NUMA, read=_numa, words=lambda value: f"NUMA node {value}"),
        Axis(name=REPLICATE, read=_replicate, words=lambda value: f"replicate {value}"),
    )
}


def setting_place(name: str) -> tuple[str, ...]:
    """Return the place in the testbed file of the setting that an axis varies; empty for any other axis.

    What a pod gets, and options of networks and functions. Tester, nodes, links and lab ports stand for a
    whole run.
    """
    parts = tuple(name.split("."))
    if len(parts) == 2 and parts[0] == "pods" and parts[1] in _PODS:
        return parts
    if len(parts) == 3 and parts[0] == FUNCTIONS and all(parts):
        return parts
    if len(parts) == 4 and parts[0] == "networks" and parts[2] == "options" and all(parts):
        return parts
    return ()


def of_other_functions(axes: Iterable[str], function: str) -> list[str]:
    """Return the axes that vary a setting of another function than the one that forwards in the cell."""
    return [
        name
        for name in axes
        if setting_place(name)[:1] == (FUNCTIONS,) and setting_place(name)[1] != function
    ]


def setting_value(value: Value) -> object:
    """Return what an axis's value means in a testbed file: `true`, `false` and `[...]` are no texts there."""
    if isinstance(value, str) and _READ.fullmatch(value):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def settings(axes: Sequence[tuple[str, Value]]) -> dict[tuple[str, ...], object]:
    """Return what the axes of a cell set in the testbed file, by place."""
    return {place: setting_value(value) for name, value in axes if (place := setting_place(name))}


def replicate(axes: Sequence[tuple[str, Value]]) -> int | None:
    """Return which repetition of a design a cell belongs to; None for a cell of none."""
    return next((int(value) for name, value in axes if name == REPLICATE), None)


def contradictions(
    axes: Mapping[str, Sequence[object]], known: Sequence[str]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield place, expected and found of each axis that a path lacks, and of each value that cannot be."""
    for name, values in axes.items():
        if setting_place(name):
            continue
        if name not in AXES or name not in (*known, *_EVERYWHERE):
            mine = f"an axis of this path ({', '.join(known) or 'it has none'})"
            yield (
                (name,),
                f"{mine}, {', '.join(_EVERYWHERE)}, or a setting by its place such as pods.memory",
                repr(name),
            )
            continue
        for place, value in enumerate(values):
            if said := AXES[name].wrong(value):
                yield (name, place), f"a value of axis {name}", said


def combinations(axes: Mapping[str, Sequence[Value]]) -> Iterator[tuple[tuple[str, Value], ...]]:
    """Yield every combination of values, each as the axes of a cell; one empty without axes."""
    names = sorted(axes)
    for values in product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def words(axes: Sequence[tuple[str, Value]]) -> list[str]:
    """Return the axes of a cell as a reader would call them."""
    return [AXES[name].words(value) if name in AXES else f"{_said(name)} {value}" for name, value in axes]


def _said(name: str) -> str:
    """Return how a reader calls a setting: of a function, which is named beside it, by its last word."""
    place = setting_place(name)
    return place[-1] if place[:1] == (FUNCTIONS,) else name
