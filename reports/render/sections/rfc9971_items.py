"""What RFC 9971 wants a report to tell beside results: scope, traffic, phases, limits, definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bmwg.methodology.mlrsearch.classify import LOSS_DEFINITION
from bmwg.methodology.mlrsearch.outcome import METRIC, UNIT
from bmwg.methodology.mlrsearch.stated import interface_shares, load_shape
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Outcome, Validity
from bmwg.reports.render.blocks import Block, pairs
from bmwg.reports.render.facts import ENVELOPE, Facts
from bmwg.reports.render.sections.search_tables import profile_of_run
from bmwg.reports.render.text import NONE, percent, unit

_FREEDOMS = ("duplicate_frames", "reordered_frames")


def items(facts: Facts) -> list[Block]:
    """Return the items of a run with goals; nothing of another run."""
    outcomes = facts.of_metric(METRIC)
    if not outcomes:
        return []
    rows = [*_traffic(facts, outcomes), *_limits(facts, outcomes), *_phases(facts)]
    rows += _definitions(facts, outcomes)
    return pairs(rows, "Report items of RFC 9971")


def _traffic(facts: Facts, outcomes: tuple[Outcome, ...]) -> list[tuple[str, str]]:
    trials = [facts.counts(seq) for seq in sorted({seq for one in outcomes for seq in one.trials})]
    specs = [trial.spec for trial in trials]
    broadcasts = sorted({spec.broadcast_every for spec in specs if spec.broadcast_every is not None})
    ports = below(facts.run.testbed, "tester", "ports")
    count = len(ports) if isinstance(ports, list) else 0
    modifiers = [f"broadcast frames, one for each {', '.join(map(str, broadcasts))}"] if broadcasts else []
    modifiers += sorted({spec.modifier for spec in specs if spec.modifier})
    return [
        ("scope of each load (4.4.4.4)", f"one interface: {UNIT} per port and direction"),
        ("load (4.5.2)", load_shape(specs)[1]),
        ("loads of the interfaces (4.5.2)", interface_shares(trial.result for trial in trials)[1]),
        ("directions (4.5.4)", _all(one.cell.direction.value for one in outcomes)),
        ("meshing (4.5.4)", "none" if count == 2 else f"{count} ports"),
        ("modifiers of RFC 2544 section 11 (4.5.4)", _all(modifiers)),
        ("frame formats (4.5.4)", _all(one.cell.frame_format.value for one in outcomes)),
        ("flows", _all(str(one.cell.flows) for one in outcomes)),
        ("destination networks", _all(str(outcome.cell.destination_networks) for outcome in outcomes)),
    ]


def _limits(facts: Facts, outcomes: tuple[Outcome, ...]) -> list[tuple[str, str]]:
    profile = profile_of_run(facts)
    sizes = {one.cell.frame_octets for one in outcomes}
    envelopes = [
        f"{unit(outcome.lower.load_fps, UNIT)} at {outcome.cell.frame_octets} octets"
        for outcome in facts.of_metric(ENVELOPE)
        if outcome.lower and outcome.cell.frame_octets in sizes
    ]
    rows = [("highest load: the tester's envelope (4.6.8.1)", _all(envelopes))]
    if profile is not None:
        warmup = profile.searching("mlrsearch").search.warmup_s
        rows += [
            ("lowest load (4.6.8.2)", unit(profile.search.min_load_fps, UNIT)),
            ("trial before the search that proves nothing", f"{warmup:g} s" if warmup else "none"),
        ]
    return rows


def _phases(facts: Facts) -> list[tuple[str, str]]:
    """Return the phases of a trial beside those of RFC 2544 section 23."""
    profile = profile_of_run(facts)
    if profile is None:
        return []
    policy = profile.policy
    learning = f"learning frames once a {policy.learning.value}, then {policy.learning_wait_s:g} s"
    return [
        (
            "phases around a trial (4.4.3)",
            f"{learning} (RFC 2544 23: before each trial, 2 s); "
            f"{policy.drain_s:g} s for residual frames (2 s); "
            f"{policy.restabilize_s:g} s to restabilize (5 s)",
        )
    ]


def _definitions(facts: Facts, outcomes: tuple[Outcome, ...]) -> list[tuple[str, str]]:
    trials = {seq for outcome in outcomes for seq in outcome.trials}
    longest = [
        abs(stream.effective_duration_ns / 1e9 / trial.spec.duration_s - 1)
        for trial in map(facts.counts, sorted(trials))
        if trial.validity is Validity.VALID
        for stream in trial.result.loaded
    ]
    apart = f"at most {percent(max(longest))} from the trial duration" if longest else NONE
    return [
        ("loss ratio (4.5.5)", LOSS_DEFINITION),
        (
            "effective duration, first to last frame (4.5.8)",
            f"{apart}; classified by the trial duration",
        ),
        ("duplicate and reordered frames (4.9.1)", _counting(facts)),
        ("goal width (4.6.5)", "relative to the upper bound"),
    ]


def _counting(facts: Facts) -> str:
    """Return how testers count such frames, in their own words: not each can tell them apart."""
    testers = [one.get("counting") for one in facts.run.drivers if "driver" in one]
    words = [
        f"{name.removesuffix('_frames')}: {one[name]}"
        for one in testers
        if isinstance(one, Mapping)
        for name in _FREEDOMS
        if name in one
    ]
    return "; ".join(dict.fromkeys(words)) or "the tester does not say"


def _all(said: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(said)) or NONE
