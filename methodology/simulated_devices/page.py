"""The page of `bmwg validate-method`: what each algorithm makes of each model, from a seed alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.statistics import median
from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal, rfc2544_goal
from bmwg.methodology.records import Cell, OutcomeType
from bmwg.methodology.search.stepwise import run
from bmwg.methodology.simulated_devices import coverage, misleading
from bmwg.methodology.simulated_devices.algorithms import (
    FRAME_OCTETS,
    MAX_LOAD_FPS,
    MIN_LOAD_FPS,
    Algorithm,
    bisect,
)
from bmwg.methodology.simulated_devices.bench import ModelBench, ModelHost
from bmwg.methodology.simulated_devices.device import Claim, HardLimit
from bmwg.methodology.simulated_devices.markup import Block, Heading, Page, Paragraph, Table
from bmwg.methodology.simulated_devices.study import CASES, SEED, Row, Scene, published, scenes
from bmwg.methodology.simulated_devices.time_truths import LIMIT_FPS, findings
from bmwg.methodology.simulated_devices.time_truths import cases as time_cases
from bmwg.methodology.trial.traffic import Traffic

SHARE_HELD = 0.99  # what each covered pair has to reach
HELD = Paragraph(
    text="Held: share of cases in which the bounds hold the truth and are no further apart than"
    " promised (for a tester that ends below the truth: that the answer says so). Error: the lower"
    " bound against the truth, median and 5th to 95th percentile of the cases that gave a number; a"
    " lower bound lies below the truth by up to the width. Covered: whether the algorithm's claim"
    " covers the model; the others are published beside them."
)
SHARED = Paragraph(
    text="A virtual machine whose CPUs are taken away loses frames at any load, whatever the device"
    " is worth. The throughput of RFC 1242 and RFC 2544 has no answer there. The conditional"
    " throughput of RFC 9971 has one: the highest load at which no more than a share of the trials"
    " (the goal exceed ratio, here half) lose a frame. Here a CPU is gone for 2 ms at random times,"
    " and a queue of 256 frames catches what comes meanwhile. A plain number is wrong where its"
    " interval does not hold the device's rate."
)
_EXAMPLE_FPS = 600_000
_CLAIMS = (
    ("no loss, 60 s", Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=60.0)),
    ("no loss in half the trials, 60 s", Claim(loss_ratio=0.0, exceed_ratio=0.5, duration_s=60.0)),
    ("0.5 % loss, 60 s", Claim(loss_ratio=0.005, exceed_ratio=0.0, duration_s=60.0)),
    ("no loss, 0.5 s", Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=0.5)),
)
_STALLS_PER_S = (0, 2, 4, 8)
_GRAIN = 0.005  # of a rate: a queue of the model that stands full between trials
_CELLS_A_CASE = 60  # of repetitions, for each case of a search
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
        HELD,
        results("Answers against the truth", first),
        Paragraph(text=verdict(first)),
        *(Paragraph(text=f"{scene.name}: {scene.note}.") for scene in scenes() if scene.note),
        Heading(text="What a parameter moves"),
        results("One parameter moved at a time", second),
        Heading(text="What a shared machine leaves"),
        SHARED,
        shared(misleading.short_searches(), cases, seed),
        Heading(text="Devices that mislead a search"),
        *_misled(cases, seed),
        Heading(text="What the intervals of repetitions cover"),
        *_covered(cases, seed),
        Heading(text="What two goals cost"),
        _two_goals(cases, seed),
        Heading(text="Back-to-back frames against a queue of known depth"),
        _bursts(seed),
        Heading(text="Times and losses of a device that is known in time"),
        *_times(),
    ]
    return Page(title="Every method against known truth", blocks=tuple(blocks))


def _truths(chosen: Sequence[Scene]) -> Table:
    rows = []
    for scene in chosen:
        truths = [scene.device(_EXAMPLE_FPS).truth_fps(claim) for _, claim in _CLAIMS]
        rows.append((scene.name, *("none" if truth is None else f"{truth:,.0f}" for truth in truths)))
    return Table(title="Truths", columns=("model", *(name for name, _ in _CLAIMS)), rows=tuple(rows))


def results(title: str, found: Sequence[Row]) -> Table:
    """Return the rows of a study as a table."""
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


def _times() -> tuple[Block, ...]:
    held = {True: "yes", False: "no"}
    found = [(case, finding) for case in time_cases() for finding in findings(case)]
    rows = tuple(
        (
            case.measurement,
            case.name,
            finding.known.metric,
            f"{finding.known.truth:.7g}",
            "none" if finding.found is None else f"{finding.found:.7g}",
            held[finding.holds],
        )
        for case, finding in found
    )
    wrong = [finding for _, finding in found if not finding.holds]
    return (
        Paragraph(
            text="Each measurement ran as it does in a run, with the numbers of its document. Held: the"
            " answer is the truth, at most a histogram's bucket (1/64) too large where it comes from one, and"
            " at most one interval of frames too short for a recovery. The device is said in its name; it"
            " carries"
            f" {LIMIT_FPS:,} frames/s. A soak's loss ratio is of all intervals that were not disturbed."
        ),
        Table(
            title="Answers of every measurement of time and loss",
            columns=("measurement", "device", "value", "truth", "answer", "held"),
            rows=rows,
        ),
        Paragraph(text=f"{len(rows) - len(wrong)} of {len(rows)} answers hold."),
    )


def _percent(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    text = f"{100 * ratio:+.2f} %"
    return text.replace("-0.00", "0.00").replace("+0.00", "0.00")


def _share(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


def verdict(found: Sequence[Row]) -> str:
    """Say which of the covered rows hold the truth in too few cases."""
    covered = [row for row in found if row.covered]
    short = [row for row in covered if (row.found_ratio or 0) < SHARE_HELD]
    if not short:
        return f"All {len(covered)} covered rows hold the truth in at least {SHARE_HELD:.0%} of their cases."
    names = "; ".join(f"{row.algorithm} on {row.scene}" for row in short)
    return f"Of {len(covered)} covered rows these hold it in less than {SHARE_HELD:.0%}: {names}."


def shared(searches: Sequence[Algorithm], cases: int, seed: int) -> Table:
    """Count plain and wrong numbers of searches on steady devices of a disturbed machine."""
    rows = []
    for stalls_per_s in _STALLS_PER_S:
        host = ModelHost(stalls_per_s=stalls_per_s, stall_ns=2_000_000)
        for search in searches:
            dice, plain, wrong, traffic_s = random.Random(f"{seed} {stalls_per_s}"), 0, 0, []
            for case in range(cases):
                device = HardLimit(limit_fps=dice.randint(60_000, 600_000), buffer_frames=256)
                answer = search.answer(ModelBench(device=device, seed=seed * 1000 + case, host=host))
                traffic_s.append(answer.traffic_s)
                if answer.type is OutcomeType.MEASURED and answer.lower_fps and answer.upper_fps:
                    plain += 1
                    slack = 1 + 1 / (device.limit_fps * search.claim.duration_s) + _GRAIN
                    held = answer.lower_fps <= slack * device.limit_fps <= slack**2 * answer.upper_fps
                    wrong += not held
            said = (f"{stalls_per_s}", search.name, f"{plain} of {cases}", f"{wrong}")
            rows.append((*said, f"{median(traffic_s):.1f}"))
    columns = ("stalls a second", "search", "plain numbers", "of these wrong", "traffic s")
    return Table(title="Steady devices on a machine that takes CPUs away", columns=columns, rows=tuple(rows))


def _misled(cases: int, seed: int) -> tuple[Block, ...]:
    """Count plain and wrong numbers of each search on each device that misleads, of twice as many cases."""
    tried = 2 * cases
    short, long = misleading.short_searches(), misleading.long_searches()
    rows, wrong = [], []
    unseen: dict[str, list[str]] = {search.name: [] for search in short}
    for name in misleading.DEVICES:
        found = [misleading.misled(name, search, cases=tried, seed=seed) for search in (*short, *long)]
        rows.append((name, *map(str, found)))
        for search, one in zip(short, found, strict=False):
            unseen[search.name] += [name] if one.too_many else []
        wrong += [
            f"{one.wrong} of {tried}: {search.name} on {name}"
            for search, one in zip(long, found[len(short) :], strict=True)
            if one.too_many
        ]
    most = f"{misleading.MOST_WRONG * tried:g} of {tried}"
    verdict = (
        f"Trials of 60 s gave more than {most} wrong plain numbers here: {'; '.join(wrong)}. One or two"
        " trials a load tell no share of trials; such an answer says how many of its trials lost."
        if wrong
        else f"Trials of 60 s gave at most {most} wrong plain numbers to each of these devices."
    )
    columns = ("device", *(search.name for search in (*short, *long)))
    return (
        Paragraph(
            text=f"Plain numbers and, after the stroke, wrong ones of {tried} searches each. Each is held"
            " against what the device does in trials of 60 s, whatever trials found it; where a device has no"
            " rate, every plain number is wrong. Rates are between 60,000 and 600,000 frames/s."
        ),
        Table(title="Plain and wrong numbers", columns=columns, rows=tuple(rows)),
        Paragraph(text=verdict),
        *(
            Paragraph(
                text=f"What {name} cannot see, so that its number says nothing of it: {'; '.join(those)}."
            )
            for name, those in unseen.items()
            if those
        ),
    )


def _covered(cases: int, seed: int) -> tuple[Block, ...]:
    """Count how often intervals of repetitions hold what they are of."""
    cells, chance = _CELLS_A_CASE * cases, random.Random(f"{seed} intervals")
    rows, medians, said = [], [], []
    for name, draw in coverage.MODELS.items():
        asked = [(draw, count, cells, chance) for count in coverage.COUNTS]
        rows.append((name, *(_share(coverage.mean_covered(*one)) for one in asked)))
        told = [coverage.median_covered(*one) for one in asked]
        medians.append((name, *(f"{_share(held)} ({_share(covers)})" for held, covers in told)))
        said.append((name, *(_share(coverage.remarked(*one)) for one in asked)))
    columns = ("repetitions", *map(str, coverage.COUNTS))
    return (
        Paragraph(
            text="An interval claims 95 % for repetitions that are independent: each on a deployment of"
            " its own, or, where it says 'if independent, within one deployment', of that one and if no"
            " repetition is like the one before. Where that does not hold it covers less, as the other rows"
            " say: more repetitions on one deployment do not mend it, a deployment for each does."
            f" {cells:,} cells each."
        ),
        Table(title="How often the 95 % interval of a mean holds it", columns=columns, rows=tuple(rows)),
        Table(
            title="How often the interval of a median holds it (and what it says that it covers)",
            columns=columns,
            rows=tuple(medians),
        ),
        Table(
            title="How often it is remarked that each repetition is like the one before",
            columns=columns,
            rows=tuple(said),
        ),
    )


def two_goals() -> ControllerInput:
    """Return what is asked for where a search has the goals of 0 and of 0.5 % loss."""
    partial = SearchGoal(
        name="partial",
        goal_final_trial_duration_s=60.0,
        goal_duration_sum_s=60.0,
        goal_loss_ratio=0.005,
        goal_exceed_ratio=0.0,
        goal_initial_trial_duration_s=1.0,
    )
    return ControllerInput(
        goals=(rfc2544_goal(), partial),
        offer=Traffic(frame_octets=FRAME_OCTETS),
        min_load_fps=MIN_LOAD_FPS,
        max_load_fps=MAX_LOAD_FPS,
    )


def _two_goals(cases: int, seed: int) -> Table:
    wanted = two_goals()
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
