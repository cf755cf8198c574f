"""The page of `bmwg validate-method`: what each algorithm makes of each model, from a seed alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.statistics import median
from bmwg.methodology.mlr import engine
from bmwg.methodology.mlr.goal import ControllerInput, SearchGoal, rfc2544_goal
from bmwg.methodology.models.algorithms import FRAME_OCTETS, MAX_LOAD_FPS, MIN_LOAD_FPS, bisect
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import Claim, HardLimit
from bmwg.methodology.models.markup import Block, Heading, Page, Paragraph, Table
from bmwg.methodology.models.study import CASES, SEED, Row, Scene, published, scenes
from bmwg.methodology.records import Cell
from bmwg.methodology.search.stepwise import run
from bmwg.methodology.traffic import Traffic

SHARE_HELD = 0.99  # what each covered pair has to reach
_EXAMPLE_FPS = 600_000
_CLAIMS = (
    ("no loss, 60 s", Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=60.0)),
    ("no loss in half the trials, 60 s", Claim(loss_ratio=0.0, exceed_ratio=0.5, duration_s=60.0)),
    ("0.5 % loss, 60 s", Claim(loss_ratio=0.005, exceed_ratio=0.0, duration_s=60.0)),
    ("no loss, 0.5 s", Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=0.5)),
)
_DEPTHS = (16, 256, 4096, 65_536)


def methods_page(*, cases: int = CASES, seed: int = SEED) -> Page:
    """Compute the whole page. The same cases and seed give the same page."""
    first, second = published(cases=cases, seed=seed)
    blocks: list[Block] = [
        Paragraph(
            text="Each algorithm ran on models of devices, testers and hosts whose right answer is known."
            f" Computed from seed {seed} with {cases} cases a row by bmwg validate-method; the limit of the"
            " device differs from case to case. No packet was sent."
        ),
        Heading(text="What the right answer is"),
        Paragraph(
            text=f"For a device with a limit of {_EXAMPLE_FPS:,} frames/s, in frames/s. 'none' means that no"
            " load keeps the claim, so no answer can be right: a search for zero loss under sporadic loss"
            " has no truth to find."
        ),
        _truths(scenes()),
        Heading(text="All algorithms on all models"),
        Paragraph(
            text="Held: share of cases in which the bounds hold the truth and are no further apart than"
            " promised (for a tester that ends below the truth: that the answer says so). Error: the lower"
            " bound against the truth, median and 5th to 95th percentile of the cases that gave a number; a"
            " lower bound lies below the truth by up to the width. Covered: whether the algorithm's claim"
            " covers the model; the others are published beside them."
        ),
        _results("Answers against the truth", first),
        Paragraph(text=_verdict(first)),
        *(Paragraph(text=f"{scene.name}: {scene.note}.") for scene in scenes() if scene.note),
        Heading(text="What a parameter moves"),
        _results("One parameter moved at a time", second),
        Heading(text="What two goals cost"),
        _two_goals(cases, seed),
        Heading(text="Back-to-back frames against a queue of known depth"),
        _bursts(seed),
    ]
    return Page(title="Every method against known truth", blocks=tuple(blocks))


def _truths(chosen: Sequence[Scene]) -> Table:
    rows = []
    for scene in chosen:
        truths = [scene.device(_EXAMPLE_FPS).truth_fps(claim) for _, claim in _CLAIMS]
        rows.append((scene.name, *("none" if truth is None else f"{truth:,.0f}" for truth in truths)))
    return Table(title="Truths", columns=("model", *(name for name, _ in _CLAIMS)), rows=tuple(rows))


def _results(title: str, found: Sequence[Row]) -> Table:
    columns = (
        "model",
        "algorithm",
        "covered",
        "held",
        "error",
        "5 to 95 %",
        "traffic s",
        "trials",
        "answers",
    )
    return Table(
        title=title,
        columns=columns,
        rows=tuple(
            (
                row.scene,
                row.algorithm,
                "yes" if row.covered else "no truth" if row.found_ratio is None else "no",
                "-" if row.found_ratio is None else f"{100 * row.found_ratio:.1f} %",
                _percent(row.bias),
                "-" if row.low is None else f"{_percent(row.low)} to {_percent(row.high)}",
                f"{row.traffic_s:,.0f}",
                f"{row.trials:g}",
                ", ".join(f"{count} {kind}" for kind, count in row.types),
            )
            for row in found
        ),
    )


def _percent(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    text = f"{100 * ratio:+.2f} %"
    return text.replace("-0.00", "0.00").replace("+0.00", "0.00")


def _verdict(found: Sequence[Row]) -> str:
    covered = [row for row in found if row.covered]
    short = [row for row in covered if (row.found_ratio or 0) < SHARE_HELD]
    if not short:
        return f"All {len(covered)} covered rows hold the truth in at least {SHARE_HELD:.0%} of their cases."
    names = "; ".join(f"{row.algorithm} on {row.scene}" for row in short)
    return f"Of {len(covered)} covered rows these hold it in less than {SHARE_HELD:.0%}: {names}."


def _two_goals(cases: int, seed: int) -> Table:
    partial = SearchGoal(
        name="partial",
        goal_final_trial_duration_s=60.0,
        goal_duration_sum_s=60.0,
        goal_loss_ratio=0.005,
        goal_exceed_ratio=0.0,
        goal_initial_trial_duration_s=1.0,
    )
    wanted = ControllerInput(
        goals=(rfc2544_goal(), partial),
        offer=Traffic(frame_octets=FRAME_OCTETS),
        min_load_fps=MIN_LOAD_FPS,
        max_load_fps=MAX_LOAD_FPS,
    )
    dice = random.Random(f"{seed} two goals")
    both: list[float] = []
    twice: list[float] = []
    for case in range(cases):
        limit = dice.randint(60_000, 1_200_000)
        both.append(
            engine.search(ModelBench(device=HardLimit(limit_fps=limit), seed=case).measure, wanted).traffic_s
        )
        twice.append(2 * bisect().answer(ModelBench(device=HardLimit(limit_fps=limit), seed=case)).traffic_s)
    return Table(
        title="Traffic (s) for goals of 0 and 0.5 % loss, 60 s, width 0.5 %, on a hard limit",
        columns=("method", "least", "median", "most"),
        rows=tuple(
            (name, f"{min(costs):,.1f}", f"{median(costs):,.1f}", f"{max(costs):,.1f}")
            for name, costs in (
                ("MLRsearch, both goals in one search", both),
                ("bisection, once a goal", twice),
            )
        ),
    )


def _bursts(seed: int) -> Table:
    cell = Cell(
        path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=FRAME_OCTETS
    )
    rows = []
    for depth in _DEPTHS:
        device = HardLimit(limit_fps=_EXAMPLE_FPS, buffer_frames=depth)
        goal = back_to_back.BurstGoal(
            cell=cell, max_rate_fps=1_000_000, throughput_fps=_EXAMPLE_FPS, repetitions=5, max_burst_s=2.0
        )
        ended = run(back_to_back.procedure(goal), ModelBench(device=device, seed=seed).measure)
        outcome = back_to_back.outcome(ended, goal, outcome_id="model")
        numbers = {value.metric: value.number for value in outcome.values}
        found, corrected = numbers[back_to_back.METRIC], numbers["buffer_time.rfc9004.corrected"]
        truth = device.longest_burst(goal.max_rate_fps)
        rows.append(
            (
                f"{depth:,}",
                f"{truth:,.1f}",
                f"{found:,.1f}",
                _percent(found / truth - 1),
                f"{1e3 * corrected:.3f}",
                f"{1e3 * depth / goal.max_rate_fps:.3f}",
            )
        )
    return Table(
        title=f"Longest burst at 1,000,000 frames/s through a device of {_EXAMPLE_FPS:,} frames/s",
        columns=(
            "depth, frames",
            "true burst, frames",
            "found, frames",
            "error",
            "corrected buffer time, ms",
            "depth over rate, ms",
        ),
        rows=tuple(rows),
    )
