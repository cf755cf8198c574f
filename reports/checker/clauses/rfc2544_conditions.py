"""RFC 2544 sections 7 to 24 as rules: what all of its benchmarks share, but for sections 10 and 23."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bmwg.methodology.measurements.throughput import FOUND_BY
from bmwg.methodology.records import MIN_IPV6_OCTETS, Cell, Direction, FrameFormat, Outcome
from bmwg.methodology.search import closing
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import most_ports
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_declaration,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import NO_LENGTH, shortest_s

ETHERNET_SIZES = frozenset({64, 128, 256, 512, 1024, 1280, 1518})  # rfc2544-9.1
MIN_SIZES = 5  # rfc2544-9
MIN_TRIAL_S = 60.0  # rfc2544-24
PORTS = 2  # rfc2544-15: a single input and a single output port
FILTERS, ROUTE_UPDATES = "filters-", "route-updates"  # modifiers of trials, and the beginning of one
UPDATED_NETWORKS = 25  # of each update that a tester sends


@clause("RFC2544-7-01")
def configured_by_instructions(scope: Scope) -> Answer:
    """A person names the published instructions, or declares another configuration; no run shows it."""
    expected = "the instructions that the product's users have"
    if said := [
        deviation for deviation in scope.evidence.deviations if deviation.requirement == "RFC2544-7-01"
    ]:
        return by_declaration(False, expected, f"declared: {said[0].what}")
    if said_of := ((scope.evidence.submission or {}).get("product") or {}).get("configuration"):
        return by_declaration(True, expected, f"declared: {said_of}")
    return not_assessed("submission.yaml names no product.configuration")


@clause("RFC2544-7-03")
def filters_only(scope: Scope) -> Answer:
    """Trials with filters ran on the deployment whose throughput was found without, or on one equal to it."""
    filtered = _modified(scope, FILTERS)
    if not filtered:
        return not_applicable("no trial with filters is in the run")
    plain = {(t.cell_id, t.deployment_id) for t in scope.evidence.trials if t.metric in FOUND_BY}
    other = sorted(
        {
            trial.deployment_id
            for trial in filtered
            if (trial.cell_id, trial.deployment_id) not in plain
            and not any(
                _equal(scope, trial.deployment_id, name) for cell, name in plain if cell == trial.cell_id
            )
        }
    )
    found = f"{len(filtered)} trials with filters; {len(other)} deployments not shown to be equal {other[:3]}"
    return held(not other, "nothing changed but the filters", found)


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
    """The format that each outcome's cell names is the one that its trials had."""
    reported = {outcome.cell.cell_id: outcome.cell.frame_format for outcome in scope.outcomes}
    wrong = [
        t.trial.seq for t in scope.trials if t.trial.result.spec.frame_format is not reported.get(t.cell_id)
    ]
    formats = sorted({frame_format.value for frame_format in reported.values()})
    found = f"{', '.join(formats)}; {len(wrong)} trials otherwise"
    return held(bool(scope.trials) and not wrong, "the frame format of each series", found)


@clause("RFC2544-9-02")
def five_sizes(scope: Scope) -> Answer:
    """At least five frame sizes for each condition; a reset asks for the smallest alone."""
    return _sizes(scope, f"at least {MIN_SIZES} sizes a condition", lambda sizes: len(sizes) >= MIN_SIZES)


@clause("RFC2544-9-01")
def smallest_and_largest(scope: Scope) -> Answer:
    """The smallest and the largest legal frame of the protocol are among the sizes, but of a reset."""
    if scope.benchmark == RESET:
        return not_applicable(SMALLEST_ALONE)
    if not (found := conditions(scope.outcomes)):
        return not_applicable(ONLY_MIXES)
    lacking = {}
    for (name, frame_format), sizes in found.items():
        least = MIN_IPV6_OCTETS if frame_format is FrameFormat.IPV6_UDP else min(ETHERNET_SIZES)
        if min(sizes) > least + TAG_OCTETS or max(sizes) < max(ETHERNET_SIZES):
            lacking[name] = sizes
    return _told_sizes(found, lacking, "the smallest and the largest legal size of each condition")


@clause("RFC2544-9.1")
def ethernet_sizes(scope: Scope) -> Answer:
    """All seven sizes of the list for each condition; a reset asks for the smallest alone."""
    wanted = ", ".join(map(str, sorted(ETHERNET_SIZES)))
    return _sizes(scope, f"{wanted} octets", lambda sizes: sizes >= ETHERNET_SIZES)


@clause("RFC2544-11.3-03")
def updates_alternate(scope: Scope) -> Answer:
    """Updates of state A and state B take turns, within a trial and from one to the next of a deployment."""
    trials = _updated(scope)
    if not trials:
        return not_applicable("no trial with routing updates as modifiers is in the run")
    last: dict[str, int] = {}
    wrong: list[int] = []
    for trial in trials:
        counts = dict(trial.trial.result.auxiliary)
        first = counts.get("modifier.first_state")
        if first is None:
            return not_assessed("the tester does not tell the states of its updates")
        sent = (counts["modifier.updates_1_frames"], counts["modifier.updates_2_frames"])
        ahead, behind = (sent[first - 1], sent[2 - first])
        if ahead - behind not in (0, 1) or (ahead and last.get(trial.deployment_id) == first):
            wrong.append(trial.trial.seq)
        if ahead:
            last[trial.deployment_id] = first if ahead > behind else 3 - first
    found = f"{len(wrong)} of {len(trials)} trials repeat a state {wrong[:5]}"
    return held(not wrong, "updates of two states in turn", found)


@clause("RFC2544-12-01")
def one_pair_first(scope: Scope) -> Answer:
    """Each condition was measured with one pair of addresses, and so before it was with several."""
    conditions: dict[Cell, dict[Cell, int]] = {}
    for cell in dict.fromkeys(outcome.cell for outcome in scope.outcomes):
        begun = min((t.trial.seq for t in scope.trials if t.cell_id == cell.cell_id), default=0)
        conditions.setdefault(replace(cell, flows=1, destination_networks=1), {})[cell] = begun
    wrong = [
        one.cell_id
        for one, begun in conditions.items()
        if one not in begun or begun[one] > min(begun.values())
    ]
    found = f"{len(wrong)} of {len(conditions)} conditions otherwise {wrong[:3]}"
    return held(not wrong, "each condition first with one flow to one network", found)


@clause("RFC2544-13-01")
def routing_update_sent(scope: Scope) -> Answer:
    """A device with a routing protocol gets an update in each trial; routes elsewhere are static."""
    trials = _updated(scope)
    if not trials:
        return not_applicable("routes of the deployed paths are static, no routing protocol takes part")
    silent = [t.trial.seq for t in trials if not _updates(t)]
    found = f"none in {len(silent)} of {len(trials)} trials {silent[:5]}"
    return held(not silent, "a routing update in each trial", found)


@clause("RFC2544-13-02")
def routing_update_whole(scope: Scope) -> Answer:
    """All networks of the updates are in the device's table; those of the test frames have static routes."""
    trials = _updated(scope)
    if not trials:
        return not_applicable("routes of the deployed paths are static, no routing protocol takes part")
    least = min(dict(t.trial.result.auxiliary).get("modifier.learnt_routes", 0) for t in trials)
    found = f"at least {least}; networks of the test frames have static routes"
    return held(least >= UPDATED_NETWORKS, f"{UPDATED_NETWORKS} networks learnt in each trial", found)


@clause("RFC2544-14-01")
def both_directions(scope: Scope) -> Answer:
    """Each condition was measured with equal loads in both directions."""
    both = {outcome.cell for outcome in scope.outcomes if outcome.cell.direction is Direction.BOTH}
    conditions = {replace(one.cell, direction=Direction.BOTH) for one in scope.outcomes}
    wrong = sorted(cell.cell_id for cell in conditions - both)
    found = f"{len(wrong)} of {len(conditions)} conditions without {wrong[:3]}"
    return held(not wrong, "each condition in both directions", found)


@clause("RFC2544-15-01")
def two_ports(scope: Scope) -> Answer:
    """One input and one output port: the testbed names two of the tester's, and no trial is of more."""
    ports = (scope.run["testbed"].get("tester") or {}).get("ports")
    if not isinstance(ports, list):
        return not_assessed("the run does not say which ports its tester had")
    used = most_ports(scope)
    found = f"{len(ports)} tester ports, {used} in one trial at most"
    return held(len(ports) >= PORTS and used <= PORTS, "one port at each side", found)


@clause("RFC2544-20-01")
def highest_rate(scope: Scope) -> Answer:
    """The highest load tried on each cell is the medium's theoretical maximum; a virtual link has none.

    A load that the tester could not send was not tried.
    """
    expected = "the medium's theoretical maximum as highest load"
    if scope.evidence.line_rate_bps is None:
        return held(False, expected, "a medium without one")
    wrong = []
    for outcome in scope.outcomes:
        medium_fps = scope.evidence.medium_fps(outcome.cell) or 0
        loads = [
            trial.trial.result.spec.load_fps
            for trial in scope.trials
            if trial.cell_id == outcome.cell.cell_id and trial.trial.valid
        ]
        if max(loads, default=0) < medium_fps:
            wrong.append(
                f"{max(loads, default=0)} of {medium_fps} frames/s at {outcome.cell.frame_octets} octets"
            )
    return held(not wrong, expected, f"{len(wrong)} of {len(scope.outcomes)} cells below it {wrong[:2]}")


@clause("RFC2544-24-01")
def trial_length(scope: Scope) -> Answer:
    """Every trial of the search lasts at least 60 s; those after it determine nothing (docs/adr/0286)."""
    shortest = shortest_s(trial for trial in scope.trials if trial.phase != closing.PHASE)
    if shortest is None:
        return not_assessed(NO_LENGTH)
    return held(shortest >= MIN_TRIAL_S, f"at least {MIN_TRIAL_S} s", f"{shortest:g} s")


@clause("RFC2544-24-03")
def final_length(scope: Scope) -> Answer:
    """The trials that prove the bounds last at least 60 s."""
    proving = {seq for o in scope.outcomes for b in (o.lower, o.upper) if b is not None for seq in b.trials}
    if not proving:
        return not_applicable("no bound rests on a trial")
    shortest = shortest_s(trial for trial in scope.trials if trial.trial.seq in proving)
    if shortest is None:
        return not_assessed(NO_LENGTH)
    expected = f"bounds proven by trials of at least {MIN_TRIAL_S} s"
    return held(shortest >= MIN_TRIAL_S, expected, f"{shortest:g} s")


RESET = "reset"  # the benchmark, rfc2544-26.6
SMALLEST_ALONE = "a reset is tried with frames of the smallest size alone (section 26.6)"
ONLY_MIXES = "only mixes of sizes were measured, which section 9 does not ask of"
TAG_OCTETS = 4  # of an 802.1Q tag, which makes the smallest frame larger


def conditions(outcomes: Iterable[Outcome]) -> dict[tuple[str, FrameFormat], set[int]]:
    """Return the frame sizes of each condition, a cell without its size; a mix of sizes is none."""
    sizes: dict[tuple[str, FrameFormat], set[int]] = {}
    for outcome in outcomes:
        if outcome.cell.imix:
            continue
        parts = outcome.cell.cell_id.split("/")
        name = "/".join(parts[:4] + parts[5:])
        sizes.setdefault((name, outcome.cell.frame_format), set()).add(outcome.cell.frame_octets)
    return sizes


def _sizes(scope: Scope, expected: str, fits: Callable[[set[int]], bool]) -> Answer:
    if scope.benchmark == RESET:
        return not_applicable(SMALLEST_ALONE)
    found = conditions(scope.outcomes)
    if not found:
        return not_applicable(ONLY_MIXES)
    return _told_sizes(
        found, {name: sizes for (name, _), sizes in found.items() if not fits(sizes)}, expected
    )


def _told_sizes(
    found: dict[tuple[str, FrameFormat], set[int]], lacking: dict[str, set[int]], expected: str
) -> Answer:
    if not lacking:
        return held(True, expected, f"in all {len(found)} conditions")
    name, sizes = next(iter(lacking.items()))
    return held(False, expected, f"{len(lacking)} conditions lack it; {name} has {sorted(sizes)}")


def _modified(scope: Scope, modifier: str) -> list[Trial]:
    """Return the trials of the run, whatever their metric, with a modifier of this beginning."""
    return [t for t in scope.evidence.trials if (t.trial.result.spec.modifier or "").startswith(modifier)]


def _updated(scope: Scope) -> list[Trial]:
    """Return the trials with routing updates whose counts are whole: a lost tester tells of none."""
    return [trial for trial in _modified(scope, ROUTE_UPDATES) if not trial.fault]


def _updates(trial: Trial) -> int:
    counts = dict(trial.trial.result.auxiliary)
    return sum(counts.get(f"modifier.{name}_frames", 0) for name in ("updates_1", "updates_2"))


def _equal(scope: Scope, one: str, other: str) -> bool:
    """Whether the platform's records of two deployments are one record."""
    records = (scope.evidence.platform or {}).get("records", {})
    mine, theirs = records.get(one), records.get(other)
    if not mine or not theirs or mine.keys() != theirs.keys():
        return False
    return all(mine[place].get("equal_to", one) == theirs[place].get("equal_to", other) for place in mine)
