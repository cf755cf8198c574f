"""The sections that tell what the SUT did: summary, throughput, ladder, and what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.answers.ladder import Rung, ladder, stands_on, traffic_of
from bmwg.methodology.answers.order_statistics import CONFIDENCE
from bmwg.methodology.answers.repeated import DEPLOYMENTS, within
from bmwg.methodology.answers.throughput import interval, is_wide
from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.records import FRAMES, Outcome, OutcomeType, Quantity
from bmwg.methodology.trial.disturbed import hardly_usable
from bmwg.reports import rooms
from bmwg.reports.releases import releases
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, pairs, paragraph, role, table, title
from bmwg.reports.render.facts import (
    LATENCY,
    THROUGHPUT,
    Facts,
    is_indicative,
    option,
    percentiles,
    told_ways,
)
from bmwg.reports.render.plots.extent import extent
from bmwg.reports.render.sections.common_columns import HEAD, TYPE_WORDS, bound, front, section
from bmwg.reports.render.sections.guest import guest_sentence
from bmwg.reports.render.text import NONE, number_of, percent, quantity_text, unit, whole
from bmwg.reports.store.run import CABLES

GUEST_BANNER = "guest"  # stands before everything else
SIMULATED = "Simulated: no frame was sent. These are no measurements."
FULL_TRIAL_S = 60.0  # rfc2544-24
_CENTRES = ("", ".lossless", ".met", ".median", ".mean")  # the first that is there
_AT_A_LOAD = re.compile(r"\.(\d+)fps")  # a loss ratio's name says the load, per port and direction
_SCALES = {"bit/s": (1e6, "Mbit/s"), "octets/s": (1e6, "MB/s"), "flop/s": (1e9, "Gflop/s")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Central:
    """The number by which an answer is told, in the unit that reads best; `half` of its 95 % interval.

    `ends` are those of a median's interval, and `covers` how surely it does: then the number is that median.
    `unmet` is, of a search, the lowest load that did not meet the criteria: the truth lies between. `part`
    names the figure where an answer has several of one rank: it is the first of them. `within` says of how
    many repetitions it is, or at which load where the answer has a figure for each of several.
    """

    number: float
    unit: str
    half: float | None
    within: str = ""
    ends: tuple[float, float] | None = None
    covers: float = 1.0
    unmet: float | None = None
    part: str = ""


def central_value(outcome: Outcome) -> Central | None:
    """Return the number of a measured outcome of any kind of load; None for one without values."""
    told = {value.metric.removeprefix(outcome.metric): value for value in outcome.values}
    first, part = next(iter(told), None), ""
    if first is None:
        return None
    name = next((name for name in _CENTRES if name in told), first)
    if name not in _CENTRES and name.endswith(".mean"):
        part, name = name.removesuffix(".mean"), ".mean"
        told |= {each.removeprefix(part): told[each] for each in tuple(told) if each.startswith(f"{part}.")}
    value, half = told[name], told.get(".half_width_95")
    scale, unit_name = _SCALES.get(value.unit, (1.0, value.unit))
    number = value.number / scale if scale != 1.0 else value.number
    count, deployments = told.get(".repetitions"), told.get(f".{DEPLOYMENTS}")
    where = within(count.number, deployments.number) if count and deployments else ""
    low, high, covers = (told.get(f".median_{each}") for each in ("low", "high", "covers"))
    if name == ".median" and low and high and covers:
        ends = low.number / scale, high.number / scale
        return Central(
            number=number, unit=unit_name, half=None, within=where, ends=ends, covers=covers.number
        )
    part = part.removeprefix(".")
    load = _load_of(outcome, name)
    if half is None or half.unit != value.unit or name != ".mean":
        above = told.get(".unmet") if name == ".met" else None
        unmet = above.number / scale if above is not None else None
        at = "" if load is None else f"at {whole(load)} frames/s"
        return Central(number=number, unit=unit_name, half=None, within=at, unmet=unmet, part=part)
    return Central(
        number=number,
        unit=unit_name,
        half=half.number / scale if scale != 1.0 else half.number,
        within=where,
        part=part,
    )


def _load_of(outcome: Outcome, name: str) -> int | None:
    """Return the load in frames/s at which a part of an answer is; None where it is at none of several."""
    if said := _AT_A_LOAD.fullmatch(name):
        return int(said[1])
    if name or outcome.metric not in load_profile.REQUIREMENTS:
        return None
    loads = [value.number for value in outcome.values if value.metric.endswith(f".{load_profile.LOAD}")]
    return int(loads[-1]) if loads else None  # its own number is that of the highest one


def marked(outcome: Outcome, marks: Mapping[str, str]) -> str:
    """Return the number of a measured outcome with what bounds it, and its mark (`rooms.marks`) beside it."""
    return ", ".join(filter(None, (central(outcome), marks.get(outcome.outcome_id, ""))))


def central(outcome: Outcome) -> str:
    """Return the number of a measured outcome of any kind of load, with what bounds it.

    That is its 95 % interval, that of a median, or the lowest load that did not meet its search's criteria.
    """
    found = central_value(outcome)
    if found is None:
        return ""
    text = f"{found.part.replace('_', ' ')} {quantity_text(found.number, found.unit)}".strip()
    if found.unmet is not None:
        return f"{text}, not {whole(found.unmet)}"
    if found.ends is not None:
        low, high = (quantity_text(end, found.unit) for end in found.ends)
        covers = f", {found.covers:.0%}" if found.covers < CONFIDENCE else ""
        return f"median {text} ({low} to {high}{covers}) {found.within}".rstrip()
    if found.half is None:
        return f"{text} {found.within}".rstrip()
    return f"{text} ± {quantity_text(found.half, found.unit)} {found.within}".rstrip()


def answer(outcome: Outcome) -> str:
    """Return the value of a measured outcome, else its statement; never a bare figure for another type.

    Of several values each has its name, but for the one that the metric itself names.
    """
    if outcome.type is OutcomeType.MEASURED:
        several = len(outcome.values) > 1
        values = "; ".join(
            _named(value, outcome.metric if several else value.metric) for value in outcome.values
        )
        return values + beside_wide(outcome)
    return outcome.statement if outcome.statement else NONE


def searched(outcome: Outcome) -> str:
    """Return a throughput as `answer` does, without what else the answer has numbers of."""
    if outcome.type is not OutcomeType.MEASURED:
        return answer(outcome)
    first = outcome.values[0]
    return quantity_text(first.number, first.unit) + beside_wide(outcome)


def _named(value: Quantity, metric: str) -> str:
    name = value.metric.removeprefix(metric).removeprefix(".").replace("_", " ")
    return f"{name} {quantity_text(value.number, value.unit)}".lstrip()


def found(facts: Facts, outcome: Outcome) -> str:
    """Return what a search found, as figure and summary say it; its type stands beside."""
    return str(replace(extent(facts, outcome), word="")) or NONE


def beside_wide(outcome: Outcome) -> str:
    """Return what stands beside the number of an answer whose interval is wide; empty for any other.

    That is both of its ends where the lower one is below the number: a buffer may carry what lies between.
    """
    ends = interval(outcome)
    if not is_wide(outcome) or ends is None or outcome.lower is None:
        return ""
    sustained = f", sustained {unit(ends[0], 'frames/s')}" if ends[0] < outcome.lower.load_fps else ""
    _, lost = searches.kept_and_lost(outcome.metric)
    return f"{sustained}, {lost} from {unit(ends[1], 'frames/s')} on"


def banner(facts: Facts) -> list[tuple[str, str]]:
    """Return what a reader has to know before any number: (kind, sentence), computed from the run."""
    run = facts.run
    found: list[tuple[str, str]] = []
    if run.simulated:
        found.append(("simulated", SIMULATED))
    if parts := narrowed(run.profile):
        found.append(("indicative", f"Narrowed by its command: this run measures {parts} alone."))
    for load in run.kinds:
        profile = run.of_load(load).profile
        if not is_indicative(profile):
            continue
        of_kind = f" of {load}" if len(run.kinds) > 1 else ""
        count = len(profile["deviations"])
        some = f"{number_of(count, 'declared deviation')}; the report says which are touched"
        told = f"is a quick look and not conformant{_short_trials(facts, load)} ({some})"
        first = "is for a first look, and declares no deviation"
        found.append(
            ("indicative", f"Indicative: profile {profile['name']}{of_kind} {told if count else first}.")
        )
    if run.status == "running":
        found.append(("interrupted", "Cut off: the run never came to its end."))
    elif run.status == "interrupted":
        found.append(("interrupted", f"Interrupted: {run.interruption or 'no reason was recorded'}."))
    if run.interruptions:
        times = len(run.interruptions)
        found.append(
            ("interrupted", f"Cut off and continued {times} time{'s' if times != 1 else ''}, see below.")
        )
    if facts.never_reached:
        found.append(
            (
                "interrupted",
                f"Stopped early: {len(facts.never_reached)} of {len(run.plan)} measurements were not done.",
            )
        )
    if said := hardly_usable(facts.outcomes, (trial.validity for trial in run.trials)):
        found.append(("interrupted", said))
    if facts.outcomes and not any(o.type is OutcomeType.MEASURED for o in facts.outcomes):
        found.append(("interrupted", "No answer of this run is a plain number."))
    if run.toolkit_dirty:
        found.append(("interrupted", "The toolkit's files were changed after the commit that is named here."))
    if not found and not facts.not_assessed():
        found.append(("fine", f"Complete run of profile {run.profile['name']}."))
    sentence = guest_sentence(run)
    return [(GUEST_BANNER, sentence), *found] if sentence else found


def narrowed(profile: Mapping[str, Any]) -> str:
    """Return to what the command of a run narrowed its profile, in words; empty where to nothing."""
    parts = profile.get("narrowed", {}).items()
    return "; ".join(f"{name.replace('_', ' ')}: {', '.join(map(str, part))}" for name, part in parts)


def _short_trials(facts: Facts, load: str) -> str:
    """Say how long trials of frames lasted, where that is less than RFC 2544 asks for."""
    durations = {trial.spec.duration_s for trial in facts.run.trials}
    longest = max(durations, default=FULL_TRIAL_S)
    if load != FRAMES or longest >= FULL_TRIAL_S:
        return ""
    most = "at most " if len(durations) > 1 else ""
    return f": its trials last {most}{longest:g}\u00a0s where RFC 2544 asks for {FULL_TRIAL_S:g}\u00a0s"


def summary(facts: Facts) -> list[Block]:
    """Return the state of the run: where, when and with what it was made, and its answers by type."""
    rows = []
    each = (*facts.outcomes, *(one for one in facts.run.outcomes if one.cell.kind != FRAMES))
    types = [kind for kind in OutcomeType if any(outcome.type is kind for outcome in each)]
    for metric in dict.fromkeys(outcome.metric for outcome in each):
        counted = Counter(outcome.type for outcome in each if outcome.metric == metric)
        rows.append([metric, str(counted.total()), *(str(counted[kind]) for kind in types)])
    head = ["metric", "answers", *(TYPE_WORDS[kind] for kind in types)]
    counted_types = table(head, rows, "Answers by metric and type")
    if not rows and not rooms.told(facts.run):
        counted_types = paragraph("The run holds no answer.")
    return [*title("State of the run"), *_run_facts(facts), *counted_types]


def _run_facts(facts: Facts) -> list[Block]:
    run = facts.run
    commit = run.toolkit_commit[:12] if run.toolkit_commit else "unknown"
    unreleased = "" if run.toolkit_commit in releases() else ": an unreleased toolkit"
    rows = [
        ("run", run.run_id),
        ("testbed", run.testbed.get("name", NONE)),
        ("profile", run.profile["name"]),
        ("toolkit", f"{run.toolkit_version}, commit {commit}{unreleased}"),
        ("begun", run.started_at),
        ("ended", run.ended_at or NONE),
        ("medium", _medium(facts)),
    ]
    if run.trials:
        rows.append(("trials in the journal", str(len(run.trials))))
    if run.executions:
        rows.append(("executions in the journal", str(len(run.executions))))
    return [*pairs(rows), *_interruptions(facts)]


def _interruptions(facts: Facts) -> list[Block]:
    """Return one row for each time that the run was cut off: when, why, and what was under way."""
    rows = []
    for entry in facts.run.interruptions:
        trial = entry["trial_cut_off"]
        lost = f"{trial['cell']}, {trial['phase']} at {trial['load_fps']} frames/s" if trial else NONE
        ended = entry["ended_at"] or f"after {entry['last_sign_at']}"
        cells = (ended, entry["noticed_at"], entry["reason"], str(entry["after_trial"]), lost)
        rows.append(cells)
    if not rows:
        return []
    head = ["cut off", "continued", "reason", "after trial", "trial under way, not used"]
    return table(head, rows, "Interruptions")


def _medium(facts: Facts) -> str:
    rate = facts.run.line_rate_bps
    if rate is None and facts.run.medium_kind == CABLES:
        return f"{CABLES}, whose rate nobody told"
    if rate is None:
        return f"{facts.run.medium_kind}, which has no theoretical maximum frame rate"
    return f"{facts.run.medium_kind}, {unit(rate, 'bit/s')}"


def throughput(facts: Facts) -> list[Block]:
    """Return the throughput of each path, option and frame size; bounds name their trials."""
    has_maximum = facts.run.line_rate_bps is not None

    def cells(one: Outcome) -> list[str]:
        most = unit(facts.medium_fps(one.cell) or 0, "frames/s")
        return [found(facts, one), *([most] if has_maximum else []), bound(one.lower), bound(one.upper)]

    head = ["throughput per port and direction, frames/s", *(["theoretical maximum"] if has_maximum else [])]
    answers, caption = facts.of_metric(THROUGHPUT), f"Metric {THROUGHPUT}"
    return section("Throughput", [*head, "lower bound", "upper bound"], answers, cells, caption)


def ladder_section(facts: Facts) -> list[Block]:
    """Return the ladder: each rung's throughput against the rung below, only between measured numbers."""
    outcomes = [o for o in facts.of_search() if stands_on(o.cell)]
    octets = {traffic_of(o.cell): o.cell.frame_octets for o in outcomes}
    lines = title("Cost of each layer")
    rows = []
    for kind in sorted(octets):
        same = [o for o in outcomes if traffic_of(o.cell) == kind]
        if len(same) > 1:
            rows += [_rung(facts, rung) for rung in ladder(same, frame_octets=octets[kind])]
    if all(row[4:7] == [NONE] * 3 for row in rows):
        return []  # a section without a figure tells nothing
    head = [*HEAD, "throughput, frames/s", "of the rung below"]
    head += ["cost of this layer", "of the wire", "remarks"]
    return [*lines, *table(head, rows, "Ratio of throughput to the rung below and to the wire")]


def _rung(facts: Facts, rung: Rung) -> list[str]:
    outcome = rung.outcome
    return [
        *front(outcome),
        found(facts, outcome),
        percent(rung.to_below, 1) if rung.to_below is not None else NONE,
        percent(1 - rung.to_below, 1) if rung.to_below is not None else NONE,
        percent(rung.to_wire, 1) if rung.to_wire is not None else NONE,
        rung.note.replace("_", " ") if rung.note else NONE,
    ]


def tail(outcome: Outcome) -> str:
    """Return median and 99th percentile of latency in one line, for each direction that was told."""
    told = []
    for way in told_ways(outcome, LATENCY):
        values = percentiles(outcome, way)
        pair = [
            quantity_text(values[name].number, values[name].unit) for name in ("p50", "p99") if name in values
        ]
        told.append(f"{way} {' / '.join(pair)}".strip())
    return "; ".join(told)


def missing(facts: Facts) -> list[Block]:
    """Return what was not assessed and why, and what was planned and not reached."""
    lines = title("Not assessed")
    lacking = facts.not_assessed()
    if not lacking and not facts.never_reached:
        return []
    if lacking:
        rows = [
            [
                option(outcome.cell),
                unit(outcome.cell.frame_octets, "octets"),
                outcome.metric,
                outcome.reason,
                role("command", facts.run.mends[outcome.outcome_id])
                if outcome.outcome_id in facts.run.mends
                else NONE,
            ]
            for outcome in lacking
        ]
        lines += table(
            ["path and option", "frame size", "metric", "reason", "what supplies it"], rows, "Not assessed"
        )
    if facts.never_reached:
        rows = [
            [option(p.cell), unit(p.cell.frame_octets, "octets"), p.metric, p.test_id]
            for p in facts.never_reached
        ]
        lines += table(["path and option", "frame size", "metric", "test"], rows, "Planned and not reached")
    return lines
