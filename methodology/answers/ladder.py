"""The baseline ladder: what each layer costs, as ratios between outcomes that are plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bmwg.methodology.answers.throughput import ENVELOPE_METRIC, METRIC, is_wide
from bmwg.methodology.cells import neighbours, patterns
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, Outcome, OutcomeType

_WIRE, _NODE, _HOSTED = range(3)  # bottom up


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One rung. Ratios (0..) are throughput over throughput, None unless both are plain numbers.

    `to_wire` is to the lowest rung, `to_below` to the next rung below that was tried; `note` says why one is
    missing. No ratio is taken of an answer whose interval is wide: it would be off by as much.
    """

    outcome: Outcome
    to_wire: float | None = None
    to_below: float | None = None
    note: str = ""


def ladder(outcomes: Iterable[Outcome], *, frame_octets: int) -> tuple[Rung, ...]:
    """Order the throughput outcomes of one frame size and direction bottom up, with the cost of each layer.

    A function in a pod or a machine stands on the highest rung tried below it; outcomes of other metrics take
    no part. Raises ValueError when outcomes mix traffic (`traffic_of`): no ratio between it means anything.
    """
    outcomes = tuple(outcomes)
    metrics = (ENVELOPE_METRIC, device_metric(outcomes))  # both are frames/s; any other one is left out
    chosen = [
        o
        for o in outcomes
        if o.metric in metrics and o.cell.frame_octets == frame_octets and stands_on(o.cell)
    ]
    kinds = {traffic_of(o.cell) for o in chosen}
    if len(kinds) > 1:
        raise ValueError(f"a ladder compares equal traffic, found {len(kinds)} kinds")
    chosen.sort(key=lambda o: _height(o.cell))
    wire = next((o for o in chosen if o.cell.qualifies_tester), None)
    return tuple(_rung(o, wire, _below(o, chosen)) for o in chosen)


def traffic_of(cell: Cell) -> tuple[int | str, ...]:
    """Return what rungs of one ladder have in common, first the frame size; a tag is of the option's own.

    That is the mix of sizes, the ports that send to each other, and what runs beside as well.
    """
    frames = (cell.frame_octets, cell.imix, cell.direction, cell.frame_format)
    ports = str(dict(cell.axes).get(patterns.AXIS, ""))
    return (*frames, cell.flows, cell.destination_networks, ports, neighbours.of(cell))


def device_metric(outcomes: Iterable[Outcome]) -> str:
    """Return the metric by which a run found what devices carry without loss.

    RFC 2544's throughput where the run has it, else the first conditional throughput without loss (RFC 9971).
    """
    metrics = [o.metric for o in outcomes if not o.cell.qualifies_tester]
    conditional = filter(goal_outcomes.is_conditional, metrics)
    claims = ((metric, goal_outcomes.claim(metric)) for metric in conditional)
    lossless = (metric for metric, claim in claims if claim is not None and not claim.loss_ratio)
    return METRIC if METRIC in metrics else next(lossless, METRIC)


def stands_on(cell: Cell) -> bool:
    """Whether a cell is a rung: the wire, or a path on which a function forwards between the ports."""
    return cell.qualifies_tester or cell.function != NOTHING


def _height(cell: Cell) -> int:
    if cell.qualifies_tester:
        return _WIRE
    return _NODE if cell.hosting == BAREMETAL else _HOSTED


def plain_number(outcome: Outcome | None) -> float | int | None:
    """Return the first value of a `measured` outcome; no other type is a plain number (design decision 5)."""
    if outcome is None or outcome.type is not OutcomeType.MEASURED or not outcome.values:
        return None
    return outcome.values[0].number


def _below(outcome: Outcome, ordered: Sequence[Outcome]) -> Outcome | None:
    height = _height(outcome.cell)
    lower = [o for o in ordered if _height(o.cell) < height]
    return lower[-1] if lower else None


def _rung(outcome: Outcome, wire: Outcome | None, below: Outcome | None) -> Rung:
    if below is None:
        return Rung(outcome=outcome)
    missing = [o for o in (outcome, wire, below) if o is not None and plain_number(o) is None]
    wide = [o for o in (outcome, wire, below) if o is not None and o not in missing and is_wide(o)]
    notes = dict.fromkeys(
        [f"{o.cell.path} is {o.type}" for o in missing] + [f"{o.cell.path} has a wide interval" for o in wide]
    )
    return Rung(
        outcome=outcome,
        to_wire=_ratio(outcome, wire),
        to_below=_ratio(outcome, below),
        note=", ".join(notes),
    )


def _ratio(outcome: Outcome, base: Outcome | None) -> float | None:
    number, reference = plain_number(outcome), plain_number(base)
    if is_wide(outcome) or (base is not None and is_wide(base)):
        return None
    return number / reference if number is not None and reference else None
