"""What VSPERF's tests had otherwise than the defaults of its Level Test Plan (LTP 3.2.5.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.records import Cell, Direction, FrameFormat, Outcome
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts

PREFIX = "LTD-"  # of the ids of VSPERF's tests
_OCTETS = (64, 128, 256, 512, 1024, 1280, 1518, 2048, 4096)  # ltp-3.2.5.2.1; 2K and 4K are a choice
_FROM_STATED = ("LTD-FLOWS-", "LTD-FIRST-")  # tests that state their flows
_ONE_WAY = ("LTD-FIRST-",)  # ltd-3.2.2.2.1
_HOW = (
    "A test has the defaults of the Level Test Plan unless its own text states others; what this run had "
    "otherwise stands here, by test (LTP-3.2.5.2.1-01). Durations are those of the profile, whose deviations "
    "are declared."
)


def departures(facts: Facts) -> list[Block]:
    """Return one row for each parameter of a test that was not the default; nothing without such a test."""
    tested: dict[str, list[Cell]] = {}
    for one in facts.outcomes:
        if one.trials and (test := _test(one)).startswith(PREFIX):
            tested.setdefault(test, []).append(one.cell)
    if not tested:
        return []
    rows = [[test, *row] for test, cells in sorted(tested.items()) for row in _of_test(test, cells)]
    said = [] if rows else paragraph("Every test had the defaults.")
    return [
        *title("Other parameters than VSPERF's defaults (LTP 3.2.5.2.1)"),
        *paragraph(_HOW),
        *said,
        *table(["test", "parameter", "default", "in this run"], rows, "Parameters that are not the defaults"),
    ]


def _test(one: Outcome) -> str:
    return one.outcome_id.partition(":")[0]


def _of_test(test: str, cells: Sequence[Cell]) -> list[tuple[str, str, str]]:
    """Return parameter, default and what there was, of those that differ."""
    each: list[tuple[str, str, Callable[[Cell], str]]] = [
        ("duplex", "both directions at equal rates", lambda cell: _other(cell.direction, Direction.BOTH)),
        ("flows", "1", lambda cell: _other(cell.flows, 1)),
        ("destination networks", "1", lambda cell: _other(cell.destination_networks, 1)),
        ("traffic", "UDP", lambda cell: "no UDP" if cell.frame_format is FrameFormat.ETHERNET else ""),
        ("mix of sizes", "none", lambda cell: cell.imix or ""),
    ]
    if test.startswith(_ONE_WAY):
        each = [one for one in each if one[0] != "duplex"]
    if test.startswith(_FROM_STATED):
        each = [one for one in each if one[0] != "flows"]
    found = []
    for name, default, differs in each:
        said = sorted({text for cell in cells if (text := differs(cell))})
        if said:
            found.append((name, default, ", ".join(said)))
    sizes = sorted({cell.frame_octets for cell in cells if not cell.imix})
    if sizes and tuple(sizes) != _OCTETS:
        found.append(("frame sizes", _listed(_OCTETS), _listed(sizes)))
    return found


def _other(found: object, default: object) -> str:
    return "" if found == default else str(found)


def _listed(octets: Sequence[int]) -> str:
    return f"{', '.join(map(str, octets))} octets"
