"""RFC 2544 sections 7 to 25 as rules: what all of its benchmarks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bmwg.methodology.records import Direction, Outcome, StreamCounts
from bmwg.methodology.trial import Learning
from bmwg.reports.checker.verdicts import (
    Answer,
    ClauseRule,
    Scope,
    by_declaration,
    clause,
    held,
    not_applicable,
    not_assessed,
)

ETHERNET_SIZES = frozenset({64, 128, 256, 512, 1024, 1280, 1518})  # rfc2544-9.1
MIN_SIZES = 5  # rfc2544-9
MIN_TRIAL_S = 60.0  # rfc2544-24
WAIT_S = 2.0  # rfc2544-23
RESTABILIZE_S = 5.0  # rfc2544-23


@clause("RFC2544-6-02")
def frames_checked(scope: Scope) -> Answer:
    """Each trial counts sent, unique received and foreign frames apart."""
    return held(bool(scope.trials), "trials with sent, received and foreign frames", _trials(scope))


@clause("RFC2544-7-01")
def configured_by_instructions(scope: Scope) -> Answer:
    """A person names the published instructions; nothing in a run shows that they were followed."""
    said = ((scope.evidence.submission or {}).get("product") or {}).get("configuration")
    if said:
        return by_declaration(True, "the instructions that the product's users have", f"declared: {said}")
    return not_assessed("submission.yaml names no product.configuration")


@clause("RFC2544-7-03")
def filters_only(scope: Scope) -> Answer:
    """No test with filters is in the run."""
    return not_applicable("no test with filters is in the run")


@clause("RFC2544-7-05")
def software_reported(scope: Scope) -> Answer:
    """Kernel and versions are recorded, and each deployment that trials ran on has its evidence."""
    platform = scope.evidence.platform or {"base": {"before": None}, "deployments": {}}
    record = platform["base"]["before"]
    used = {trial.deployment_id for trial in scope.trials}
    lacking = sorted(used - set(platform["deployments"]))
    found = (
        f"{'a' if record else 'no'} record; {len(used) - len(lacking)} of {len(used)} deployments described"
    )
    return held(
        bool(record) and not lacking and bool(used), "a record and each deployment's configuration", found
    )


@clause("RFC2544-8-02")
def frame_format_reported(scope: Scope) -> Answer:
    """Each outcome's cell names its frame format."""
    formats = sorted({outcome.cell.frame_format.value for outcome in scope.outcomes})
    return held(bool(formats), "the frame format of each series", ", ".join(formats) or "none")


@clause("RFC2544-9-02")
def five_sizes(scope: Scope) -> Answer:
    """At least five frame sizes for each condition."""
    return _sizes(scope, f"at least {MIN_SIZES} sizes a condition", lambda sizes: len(sizes) >= MIN_SIZES)


@clause("RFC2544-9-01")
def smallest_and_largest(scope: Scope) -> Answer:
    """The smallest and the largest legal frame are among the sizes."""
    return _sizes(scope, "64 and 1518 octets among the sizes", lambda sizes: {64, 1518} <= sizes)


@clause("RFC2544-9.1")
def ethernet_sizes(scope: Scope) -> Answer:
    """All seven sizes of the list for each condition."""
    wanted = ", ".join(map(str, sorted(ETHERNET_SIZES)))
    return _sizes(scope, f"{wanted} octets", lambda sizes: sizes >= ETHERNET_SIZES)


@clause("RFC2544-10-01")
def foreign_discarded(scope: Scope) -> Answer:
    """Foreign frames are counted apart; a received count above the sent one would show otherwise."""
    return _streams(scope, "received_frames", lambda s: s.received_frames <= s.sent_frames)


@clause("RFC2544-10-02")
def keepalive_not_counted(scope: Scope) -> Answer:
    """As 10-01: only frames with the trial's signature are received frames."""
    return _streams(scope, "foreign_frames", lambda s: s.foreign_frames >= 0)


@clause("RFC2544-10-03")
def lengths_verified(scope: Scope) -> Answer:
    """Length and payload of received frames are compared; no corrupt frame in a trial that counts."""
    return _streams(scope, "corrupt_frames", lambda s: s.corrupt_frames == 0)


@clause("RFC2544-10-04")
def sequence_checked(scope: Scope) -> Answer:
    """Sequence numbers are checked: duplicates and reordering have counters of their own."""
    return held(bool(scope.trials), "duplicate and reordered frames counted", _trials(scope))


@clause("RFC2544-10-05")
def sequence_reported(scope: Scope) -> Answer:
    """Loss, reordering, duplicates and gaps of each trial stand in the journal."""
    return held(bool(scope.trials), "lost, reordered and duplicate frames, gaps", _trials(scope))


@clause("RFC2544-11.3-03")
def updates_alternate(scope: Scope) -> Answer:
    """No test with routing updates is in the run."""
    return not_applicable("no test with routing updates as modifiers is in the run")


@clause("RFC2544-12-01")
def one_pair_first(scope: Scope) -> Answer:
    """Each condition was measured with one flow."""
    flows = {outcome.cell.flows for outcome in scope.outcomes}
    return held(1 in flows, "cells of one flow", f"{sorted(flows)} flows")


@clause("RFC2544-12-02")
def many_pairs(scope: Scope) -> Answer:
    """Conditions with many flows; that their destinations are random networks no file shows."""
    flows = {outcome.cell.flows for outcome in scope.outcomes}
    if max(flows, default=1) > 1:
        return not_assessed(f"{max(flows)} flows; the files do not show random destination addresses")
    return held(False, "cells of many random destination addresses", "one flow only")


@clause("RFC2544-13-01")
def routing_update_sent(scope: Scope) -> Answer:
    """The paths that the toolkit deploys have static routes; no routing protocol runs."""
    return not_applicable("routes of the deployed paths are static, no routing protocol takes part")


@clause("RFC2544-13-02")
def routing_update_whole(scope: Scope) -> Answer:
    """As 13-01."""
    return not_applicable("routes of the deployed paths are static, no routing protocol takes part")


@clause("RFC2544-14-01")
def both_directions(scope: Scope) -> Answer:
    """Each condition was measured with equal loads in both directions."""
    directions = sorted({outcome.cell.direction.value for outcome in scope.outcomes})
    return held(Direction.BOTH.value in directions, "cells of both directions", ", ".join(directions))


@clause("RFC2544-15-01")
def two_ports(scope: Scope) -> Answer:
    """One input and one output port."""
    ports = _ports(scope)
    return held(len(ports) == 2, "two tester ports", f"{len(ports)}")


@clause("RFC2544-16-05")
def mesh(scope: Scope) -> Answer:
    """Only with more than two ports."""
    ports = _ports(scope)
    if len(ports) == 2:
        return not_applicable("two ports: each stream has one other port to address")
    return not_assessed(f"{len(ports)} ports; the files do not show which stream addressed which port")


@clause("RFC2544-20-01")
def highest_rate(scope: Scope) -> Answer:
    """The highest load tried is the medium's theoretical maximum; a virtual link has none."""
    rate = scope.evidence.run["medium"]["line_rate_bps"] if scope.evidence.run else None
    if rate is None:
        return held(False, "the medium's theoretical maximum as highest load", "a medium without one")
    return not_assessed("loads against the theoretical maximum are not compared by a rule yet")


@clause("RFC2544-21-01")
def bursts(scope: Scope) -> Answer:
    """Steady load only: no outcome of repeated bursts."""
    return held(False, "tests with repeated bursts beside steady load", "steady load only")


@clause("RFC2544-23-01")
def routing_wait(scope: Scope) -> Answer:
    """Phase a, before the first trial of a deployment."""
    return _wait("settle_s", scope.profile.policy.settle_s, WAIT_S)


@clause("RFC2544-23-02")
def learning(scope: Scope) -> Answer:
    """Phase b: learning frames before each trial, then a wait."""
    policy = scope.profile.policy
    return held(
        policy.learning is Learning.TRIAL and policy.learning_wait_s >= WAIT_S,
        f"learning frames before each trial, then {WAIT_S} s",
        f"once a {policy.learning.value}, then {policy.learning_wait_s} s",
    )


@clause("RFC2544-23-03")
def trial_run(scope: Scope) -> Answer:
    """Phase c: each trial holds its own sending time."""
    return held(bool(scope.trials), "trials with their duration", _trials(scope))


@clause("RFC2544-23-04")
def residual_wait(scope: Scope) -> Answer:
    """Phase d."""
    return _wait("drain_s", scope.profile.policy.drain_s, WAIT_S)


@clause("RFC2544-23-05")
def restabilize(scope: Scope) -> Answer:
    """Phase e."""
    return _wait("restabilize_s", scope.profile.policy.restabilize_s, RESTABILIZE_S)


@clause("RFC2544-24-01")
def trial_length(scope: Scope) -> Answer:
    """Every trial lasts at least 60 s."""
    shortest = min((trial.trial.result.spec.duration_s for trial in scope.trials), default=0.0)
    return held(shortest >= MIN_TRIAL_S, f"at least {MIN_TRIAL_S} s", f"{shortest} s")


@clause("RFC2544-24-03")
def final_length(scope: Scope) -> Answer:
    """The trials that prove the bounds last at least 60 s."""
    proving = {seq for o in scope.outcomes for b in (o.lower, o.upper) if b is not None for seq in b.trials}
    if not proving:
        return not_applicable("no bound rests on a trial")
    lengths = [t.trial.result.spec.duration_s for t in scope.trials if t.trial.seq in proving]
    return held(
        min(lengths, default=0.0) >= MIN_TRIAL_S,
        f"bounds proven by trials of at least {MIN_TRIAL_S} s",
        f"{min(lengths, default=0.0)} s",
    )


@clause("RFC2544-A")
def appendix_a(scope: Scope) -> Answer:
    """No rule of this toolkit rests on appendix A."""
    return held(True, "no verdict that rests on appendix A", "none")


def conditions(outcomes: Iterable[Outcome]) -> dict[str, set[int]]:
    """Return the frame sizes of each condition: a cell without its size."""
    sizes: dict[str, set[int]] = {}
    for outcome in outcomes:
        parts = outcome.cell.cell_id.split("/")
        sizes.setdefault("/".join(parts[:4] + parts[5:]), set()).add(outcome.cell.frame_octets)
    return sizes


def _sizes(scope: Scope, expected: str, fits: Callable[[set[int]], bool]) -> Answer:
    lacking = {name: sizes for name, sizes in conditions(scope.outcomes).items() if not fits(sizes)}
    if not lacking:
        return held(bool(scope.outcomes), expected, f"in all {len(conditions(scope.outcomes))} conditions")
    name, sizes = next(iter(lacking.items()))
    return held(False, expected, f"{len(lacking)} conditions lack it; {name} has {sorted(sizes)}")


def _streams(scope: Scope, name: str, fits: Callable[[StreamCounts], bool]) -> Answer:
    valid = [trial for trial in scope.trials if trial.trial.valid]
    wrong = [t.trial.seq for t in valid if not all(fits(stream) for stream in t.trial.result.streams)]
    expected = f"{name} as the clause asks, in all valid trials"
    return held(bool(valid) and not wrong, expected, f"{len(wrong)} of {len(valid)} otherwise {wrong[:5]}")


def _wait(name: str, found_s: float, least_s: float) -> Answer:
    return held(found_s >= least_s, f"at least {least_s} s", f"{name} of {found_s} s")


def _trials(scope: Scope) -> str:
    return f"{len(scope.trials)} trials"


def _ports(scope: Scope) -> list[object]:
    tester = scope.evidence.run["testbed"].get("tester") if scope.evidence.run else None
    ports = tester.get("ports") if isinstance(tester, dict) else None
    return ports if isinstance(ports, list) else []


RULES: tuple[ClauseRule, ...] = (
    frames_checked,
    configured_by_instructions,
    filters_only,
    software_reported,
    frame_format_reported,
    smallest_and_largest,
    five_sizes,
    ethernet_sizes,
    foreign_discarded,
    keepalive_not_counted,
    lengths_verified,
    sequence_checked,
    sequence_reported,
    updates_alternate,
    one_pair_first,
    many_pairs,
    routing_update_sent,
    routing_update_whole,
    both_directions,
    two_ports,
    mesh,
    highest_rate,
    bursts,
    routing_wait,
    learning,
    trial_run,
    residual_wait,
    restabilize,
    trial_length,
    final_length,
    appendix_a,
)
