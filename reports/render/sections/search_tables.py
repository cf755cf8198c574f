"""Throughput by TST009 and by RFC 9971, in the forms of those documents; and what a mix of sizes was."""

from __future__ import annotations

from bmwg.methodology.benchmarks import imix
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.mlrsearch import outcome as goal_outcome
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.reading import profile_of
from bmwg.methodology.records import Outcome
from bmwg.methodology.search import tst009 as search
from bmwg.reports.render.blocks import Block, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, back, bound, front, remarks, value
from bmwg.reports.render.sections.results import answer, beside_wide
from bmwg.reports.render.text import NONE, percent, unit

_GOAL_METRIC = f"{goal_outcome.METRIC}."
_PLACE = "with the searches"  # where remarks stand


def tst009(facts: Facts) -> list[Block]:
    """Return the throughput by binary search with loss verification."""
    outcomes = facts.of_metric(search.METRIC)
    if not outcomes:
        return []
    rows = [
        [*front(outcome), answer(outcome), bound(outcome.lower), bound(outcome.upper), *back(outcome, _PLACE)]
        for outcome in outcomes
    ]
    head = [
        *HEAD,
        "throughput per port and direction",
        "highest load that passed",
        "next load, failed",
        *TAIL,
    ]
    return [*title("Throughput by TST009"), *table(head, rows, f"Metric {search.METRIC}")]


def mlrsearch(facts: Facts) -> list[Block]:
    """Return the goal results of RFC 9971: bounds, conditional throughput, regular or not."""
    outcomes = facts.of_metric(goal_outcome.METRIC)
    if not outcomes:
        return []
    rows = [_goal_row(outcome) for outcome in outcomes]
    head = [*HEAD, "goal", "conditional throughput", "relevant lower bound", "relevant upper bound"]
    return [
        *title("Conditional throughput by search goal (RFC 9971)"),
        *_goals(facts, outcomes),
        *table([*head, *TAIL], rows, f"Metrics {_GOAL_METRIC}*, per port and direction"),
    ]


def search_remarks(facts: Facts) -> list[Block]:
    """Return the remarks on what these searches found: they stand with the trials."""
    return remarks([*facts.of_metric(search.METRIC), *facts.of_metric(goal_outcome.METRIC)])


def _goal_row(one: Outcome) -> list[str]:
    number = value(one, one.metric)
    shown = unit(number, "frames/s") + beside_wide(one) if number is not None else answer(one)
    code = one.metric.removeprefix(_GOAL_METRIC)
    told = [shown, bound(one.lower), bound(one.upper)]
    if any(remark.startswith(goal_outcome.IRREGULAR) for remark in one.quality):  # RFC9971-4.8.4.2-02
        told = [text if text == NONE else f"{text} (irregular)" for text in told]
    return [*front(one), code, *told, *back(one, _PLACE)]


def _goals(facts: Facts, outcomes: tuple[Outcome, ...]) -> list[Block]:
    """Return the attributes of each goal, which RFC 9971 4.6.7 wants reported."""
    wanted = dict.fromkeys(outcome.metric.removeprefix(_GOAL_METRIC) for outcome in outcomes)
    profile = profile_of_run(facts)
    if profile is None:
        return []
    goals = {goal.code: goal for goal in profile.searching("mlrsearch").search.goals}
    rows = [
        [
            code,
            goal.name,
            f"{goal.goal_final_trial_duration_s:g} s",
            f"{goal.goal_duration_sum_s:g} s",
            percent(goal.goal_loss_ratio),
            percent(goal.goal_exceed_ratio),
            percent(goal.goal_width),
            f"{goal.initial_trial_duration_s:g} s",
        ]
        for code in wanted
        if (goal := goals.get(code)) is not None
    ]
    head = ["goal", "name", "final trial duration", "duration sum", "loss ratio", "exceed ratio", "width"]
    return table([*head, "initial trial duration"], rows, "Search goals (RFC 9971 4.6.7)")


def mixes(facts: Facts) -> list[Block]:
    """Return what the genomes of the run stand for: order and proportions (RFC 6985 4 and 6)."""
    genomes = dict.fromkeys(outcome.cell.imix for outcome in facts.outcomes if outcome.cell.imix)
    if not genomes:
        return []
    rows = []
    for genome in genomes:
        mix = imix.parse(genome)
        shares = ", ".join(f"{octets} octets {percent(float(share), 1)}" for octets, share in mix.proportions)
        letters = ", ".join(f"{letter} = {octets}" for letter, octets in mix.table)
        rows.append([genome, letters, shares, f"{float(mix.mean_octets):.2f} octets", _ORDER])
    head = ["genome", "letters", "share of the frames", "mean frame", "where it applies"]
    return [*title("Mixes of frame sizes (RFC 6985)"), *table(head, rows, "Genomes")]


_ORDER = "each sending port repeats the sequence from its first frame on"


def profile_of_run(facts: Facts) -> Profile | None:
    """Return the profile of a run; None for one of another version, which this one cannot read."""
    try:
        return profile_of(facts.run.profile, source="run.json: profile")
    except ToolkitError:
        return None
