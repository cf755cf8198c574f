"""Frame loss rate in the form of RFC 2544 26.3: percent lost against percent of the highest load."""

from __future__ import annotations

from bmwg.methodology.benchmarks.frame_loss import METRIC, load_of
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.medium import cell_fps
from bmwg.reports.render.blocks import Block, table
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.sections.common_columns import section
from bmwg.reports.render.text import percent, unit


def frame_loss(facts: Facts) -> list[Block]:
    """Return one table a cell with a row for each load, and what is said of each cell."""
    outcomes = [one for one in facts.outcomes if one.metric == METRIC]
    curves = [block for one in outcomes for block in _curve(one, facts)]
    return section("Frame loss rate (RFC 2544 26.3)", (), outcomes, lambda _: (), f"Metric {METRIC}", curves)


def curve(outcome: Outcome, facts: Facts) -> list[tuple[float, int, float]]:
    """Return share of the full load (0..1), load (frames/s) and loss ratio (0..1), highest load first.

    The full load is the medium's theoretical rate, or the highest load where the medium has none.
    """
    highest = cell_fps(facts.run.line_rate_bps, outcome.cell) or max(
        (facts.run.trial(seq).spec.load_fps for seq in outcome.trials), default=1
    )
    points = []
    for value in outcome.values:
        load = load_of(value)
        points.append((load / highest, load, float(value.number)))
    return points


def _curve(outcome: Outcome, facts: Facts) -> list[Block]:
    rows = [
        [percent(share, 1), unit(load, "frames/s"), percent(loss)]
        for share, load, loss in curve(outcome, facts)
    ]
    name = f"{option(outcome.cell)}, {unit(outcome.cell.frame_octets, 'octets')}"
    full = "of the highest load" if facts.run.line_rate_bps is None else "of the theoretical rate"
    return table([full, "load per port and direction", "frames lost"], rows, name)
