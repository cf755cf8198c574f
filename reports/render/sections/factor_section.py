"""Designs of factors: the effect of each on the throughput with its interval, in a figure and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.factors import stated
from bmwg.methodology.factors.effects import Effect, Effects, effects_of
from bmwg.methodology.record.facts import below
from bmwg.reports.checker.findings import listed
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, items, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.plots.drawing import INK, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.sections.common_columns import badge
from bmwg.reports.render.text import NONE, number_of

NAME = "factors"
_MOST_ROWS = 30  # of the figure: choice, more is no reading
_MOST_NAMED = 12
_MOVED = {
    True: "moved the figure",
    False: "not told apart from no effect",
    None: "no interval: nothing is left to estimate the spread from",
}
_WITHIN_WIDTH = "clear of 1, and smaller than what the bounds of one answer leave open"


def section(facts: Facts, figure: Sequence[Block]) -> list[Block]:
    """Return the section; nothing for a run without a design. `figure`: its plot."""
    found = _found(facts)
    if found is None:
        return []
    condition = searches.conditions(facts.of_devices())
    lines = [*title("Effects of factors"), *_design(found, condition), *_apart(facts), *_as_found(facts)]
    lines += figure
    if found.main:
        lines += _effects("Effect of each factor on the throughput", found, found.main)
    if found.interactions:
        lines += _effects("How far effects depend on each other", found, found.interactions)
    return [*lines, *_limits(found), *_stated(found), *_left_out(found)]


def _found(facts: Facts) -> Effects | None:
    """Return the effects among answers of one sort: native ones where there are any, else all."""
    native, machines = facts.by_translation()
    mine = native if native.of_devices() else facts
    apart = set() if mine is facts else {outcome.cell for outcome in machines.outcomes}
    planned = (planned.cell for planned in facts.run.plan)
    return effects_of(mine.of_devices(), (cell for cell in planned if cell not in apart))


def _apart(facts: Facts) -> list[Block]:
    """Tell how many answers take no part, since translated machines made them and others are native."""
    native, machines = facts.by_translation()
    left = len(machines.of_devices())
    if not left or not native.of_devices():
        return []
    words = (
        f"{number_of(left, 'answer')} through machines under {machines.accelerators()} take no part: held "
        "against native ones, they would tell what translation costs."
    )
    return paragraph(words)


def _as_found(facts: Facts) -> list[Block]:
    """Tell what of the draft's factors was the machine's, the same for all cells (5.2.2)."""
    level = below(facts.run.platform_before, "fields", "isolation", "level", "value")
    isolation = level if isinstance(level, str) else None
    nodes = below(facts.run.platform_before, "fields", "numa", "nodes", "value")
    if isolation is None and nodes is None:
        return []
    words = (
        f"As found, and the same for all cells: CPU isolation {isolation or 'not told'}; "
        f"{len(nodes) if isinstance(nodes, Mapping) else 'an untold number of'} NUMA "
        f"node{'' if isinstance(nodes, Mapping) and len(nodes) == 1 else 's'}."
    )
    return paragraph(words)


def _design(found: Effects, condition: str) -> list[Block]:
    design, runs = found.design, len(found.replicates)
    rows = [[factor.name, "; ".join(factor.levels), factor.levels[0]] for factor in design.factors]
    asked = len(design.combinations)
    spread = (
        f" The residual standard deviation is a factor of {found.spread:.3f}, from {found.freedom} degrees of"
        " freedom."
        if found.spread is not None
        else ""
    )
    words = (
        f"{asked} of {design.possible} combinations of levels were planned, in {runs} "
        f"replicate{'' if runs == 1 else 's'} that gave plain numbers; in each, all combinations take"
        f" turns in a random order. {found.used} answers are plain numbers and make up the effects,"
        f" {len(found.left_out)} are not, and {found.unreached} planned cells were not reached. An effect is"
        " the ratio of geometric means of the throughput, averaged over the levels of the other factors, with"
        " a 95 % interval (least squares on logarithms, a constant for each replicate). Ends of one answer"
        f" lie at most a factor of {found.resolution:.3f} apart: an effect that answers anywhere between"
        f" their ends could have made is never said to have moved the figure.{spread} Each interval is for"
        " itself: of twenty without an effect, one is expected to miss 1."
    )
    if found.left_out:
        words += (
            " Answers that are no plain numbers are not missing by chance; effects of levels that have them"
            " hold for the others alone."
        )
    head = ["factor", "levels", "held against"]
    said = paragraph(f"{words} {condition}".rstrip())
    return [*said, *table(head, rows, "Factors of the design and their levels")]


def _effects(caption: str, found: Effects, effects: Sequence[Effect]) -> list[Block]:
    rows = [
        [
            found.design.name(effect.term),
            _levels(effect),
            f"{effect.ratio:.3f}",
            NONE if effect.low is None or effect.high is None else f"{effect.low:.3f} to {effect.high:.3f}",
            (_WITHIN_WIDTH if effect.clear and not effect.moved else _MOVED[effect.moved])
            + _if_nil(found, effect),
        ]
        for effect in effects
    ]
    head = ["factor", "level against level", "ratio of throughputs", "95 % interval", "what it shows"]
    return table(head, rows, caption)


def _if_nil(found: Effects, one: Effect) -> str:
    """Name the interactions without which a main effect could not have been told."""
    pairs = [
        term
        for term, partners in found.inseparable
        if len(term) > 1 and (one.term in partners or set(one.term) <= set(term))
    ]
    if len(one.term) > 1 or one.term not in {term for term, _ in found.inseparable} or not pairs:
        return ""
    names = " and ".join(found.design.name(term) for term in pairs)
    return f"; holds only where {names} {'is' if len(pairs) == 1 else 'are'} nil, which was not measured"


def _levels(one: Effect) -> str:
    pairs = [f"{level} / {other}" for level, other in zip(one.levels, one.against, strict=True)]
    return " \u00d7 ".join(pairs)


def _limits(found: Effects) -> list[Block]:
    """Say what the design cannot tell apart, by name."""
    design = found.design
    lines = []
    for term, partners in found.inseparable:
        if any(effect.term == term for effect in found.main):
            continue  # said beside the effect
        names = " or ".join(design.name(partner) for partner in partners) or "several of the others together"
        lines.append(f"{design.name(term)} cannot be told apart from {names}.")
    assumed = [term for term in found.assumed if term not in {one for one, _ in found.inseparable}]
    if assumed:
        names = ", ".join(design.name(one) for one in assumed)
        lines.append(f"Taken as nil, since too few answers are there to estimate them: {names}.")
    for name, levels in found.unseen if found.used else ():
        lines.append(f"{name}: no plain number at {', '.join(levels)}; effects are told of its other levels.")
    if found.unmeasured:
        names = "; ".join(design.words(one) for one in found.unmeasured[:_MOST_NAMED])
        lines.append(f"Combinations without any plain number: {names}.")
    if gaps := design.missing():
        named = listed([*map(design.words, gaps)], _MOST_NAMED, "; ")
        lines.append(f"Combinations that were not planned: {named}.")
    if len(design.factors) > 2:
        lines.append("Interactions of three and more factors are taken as nil.")
    if not lines:
        lines = ["The design tells all main effects and all interactions of two factors apart."]
    return items(lines)


def _stated(found: Effects) -> list[Block]:
    rows = []
    for effect in found.main:
        told = stated.against(found.design, effect)
        if told is not None:
            said, holds = told
            words = {True: "found so", False: "found otherwise", None: "neither shown nor contradicted"}[
                holds
            ]
            rows.append([said.requirement, said.words, _levels(effect), words])
    if not rows:
        return []
    head = ["row", "what the draft says", "level against level", "here"]
    return table(head, rows, "Effects that the draft states, against what was found")


def _left_out(found: Effects) -> list[Block]:
    if not found.left_out:
        return []
    rows = [[outcome.cell.cell_id, badge(outcome.type), outcome.reason or ""] for outcome in found.left_out]
    return table(["cell", "type", "reason"], rows, "Answers of the design that are no plain numbers")


def factor_plot(facts: Facts) -> Plot | None:
    """Draw each effect as a ratio with its interval; None for a run without a design or an effect."""
    found = _found(facts)
    if found is None:
        return None
    every = [*found.main, *found.interactions]
    shown = every[:_MOST_ROWS]
    if not shown:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        for place, one in enumerate(shown):
            colour = SERIES[0] if len(one.term) == 1 else SERIES[3]
            marker = "o" if len(one.term) == 1 else "D"
            if one.low is not None and one.high is not None:
                axes.plot([one.low, one.high], [place, place], color=colour)
            fill = "full" if one.moved else "none"
            axes.plot([one.ratio], [place], color=colour, marker=marker, fillstyle=fill, linestyle="")
        names = [label(f"{found.design.name(effect.term)}: {_levels(effect)}", 46) for effect in shown]
        axes.set_yticks(range(len(shown)), names)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xscale("log")
        low = min([one.low or one.ratio for one in shown] + [0.8])
        high = max([one.high or one.ratio for one in shown] + [1.25])
        axes.set_xlim(low / 1.1, high * 1.1)
        steps = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10, 20]
        ticks = [step for step in steps if low / 1.1 <= step <= high * 1.1]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set(xlabel="ratio of throughputs, logarithmic; stroke: 95 % interval")
        axes.grid(axis="x")

    left = len(every) - len(shown)
    more = not_drawn(left, "effects")
    return draw_plot(
        NAME,
        "Effects of factors on the throughput",
        "Ratio of a level's throughput to that of the factor's first level, with its 95 % interval. A filled"
        " mark moved the figure, an open one did not, or by less than the search tells. Diamonds are"
        " interactions: by how much one effect differs with the other factor's level; 1 is no"
        f" difference.{more}",
        (7.2, 1.2 + 0.32 * len(shown)),
        draw,
    )
