"""RFC 2544 rows on what the device was configured with: timers of routing updates, the text of filters.

Evidence is what was handed to the router, word for word (platform.json, `deployments`), beside the trials
that ran on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.methodology.records import FrameFormat
from bmwg.methodology.trial.directions import sending
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

ROUTE_UPDATES, ONE_FILTER, MANY_FILTERS = "route-updates", "filters-1", "filters-25"  # modifiers of trials
RIP_TIMERS_S = [30, 180, 120]  # rfc2453-3.8: update, time-out, garbage collection
BLOCKING = 24  # rfc2544-11.4: filters before the last of 25
_FILTER = re.compile(r"ip6? saddr (\S+) ip6? daddr (\S+) counter (drop|accept)\b.*")
_NAMED = 3  # deployments that a verdict names


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters that name addresses, in their order: source, destination, and what becomes of the frame."""

    rules: tuple[tuple[str, str, str], ...]

    @classmethod
    def read(cls, lines: Sequence[object]) -> Filters:
        """Read the lines of a rule set; those that name no pair of addresses are no filters."""
        found = [_FILTER.fullmatch(line.strip()) for line in lines if isinstance(line, str)]
        return cls(rules=tuple((one[1], one[2], one[3]) for one in found if one))

    @property
    def permitted(self) -> set[tuple[str, str]]:
        """The pairs of addresses that are let through."""
        return {(source, destination) for source, destination, does in self.rules if does == "accept"}

    @property
    def blocked(self) -> list[tuple[str, str]]:
        """The pairs of addresses that are blocked before the first that is let through."""
        before: list[tuple[str, str]] = []
        for source, destination, does in self.rules:
            if does == "accept":
                break
            before.append((source, destination))
        return before


def _trials(scope: Scope, *names: str) -> list[Trial]:
    """Return the trials of the run with one of these modifiers, whatever their metric."""
    return [trial for trial in scope.evidence.trials if trial.trial.result.spec.modifier in names]


def _text(scope: Scope, trial: Trial) -> Mapping[str, Any]:
    """Return what the modifier of a trial configured on the deployment that it ran on; empty: not told."""
    spec = trial.trial.result.spec
    keys = (trial.deployment_id, "modifiers", str(spec.modifier), f"{spec.direction}/{spec.frame_format}")
    found = below(scope.evidence.deployments, *keys)
    return found if isinstance(found, Mapping) else {}


def _rule_set(text: Mapping[str, Any]) -> list[object]:
    lines = text.get("rule_set")
    return lines if isinstance(lines, list) else []


def _each(
    scope: Scope, names: tuple[str, ...], expected: str, fits: Callable[[Trial, Mapping[str, Any]], bool]
) -> Answer:
    """Hold what the deployments of trials with a modifier say of it against a condition."""
    trials = _trials(scope, *names)
    if not trials:
        return not_applicable(f"no trial with {' or '.join(names)} is in the run")
    if silent := sorted({trial.deployment_id for trial in trials if not _text(scope, trial)}):
        return not_assessed(f"{len(silent)} deployments do not say what was configured {silent[:_NAMED]}")
    wrong = sorted({one.deployment_id for one in trials if not fits(one, _text(scope, one))})
    found = f"{len(wrong)} of {len({one.deployment_id for one in trials})} deployments otherwise"
    return held(not wrong, expected, f"{found} {wrong[:_NAMED]}" if wrong else found)


@clause("RFC2544-7-04")
def recommended_timers(scope: Scope) -> Answer:
    """A router that gets updates by RIP has the timers that RIP recommends; other routes are static."""
    if not _trials(scope, ROUTE_UPDATES):
        return not_applicable("routes of the deployed paths are static, no routing protocol takes part")
    expected = f"RIP's timers of {', '.join(map(str, RIP_TIMERS_S))} s"
    return _each(scope, (ROUTE_UPDATES,), expected, lambda _, text: text.get("timers_s") == RIP_TIMERS_S)


@clause("RFC2544-11.4-03")
def filter_form(scope: Scope) -> Answer:
    """What lets the test frames through names their source and destination address, for each direction."""

    def fits(trial: Trial, text: Mapping[str, Any]) -> bool:
        streams = set(_streams(scope, trial))
        return bool(streams) and streams <= Filters.read(_rule_set(text)).permitted

    return _each(scope, (ONE_FILTER, MANY_FILTERS), "a rule that forwards from address to address", fits)


@clause("RFC2544-11.4-06")
def blocked_pairs(scope: Scope) -> Answer:
    """Twenty-four filters stand before the last, and block addresses that no test frame has."""

    def fits(trial: Trial, text: Mapping[str, Any]) -> bool:
        blocked = Filters.read(_rule_set(text)).blocked
        sent = {address for pair in _streams(scope, trial) for address in pair}
        return (
            bool(sent)
            and len(set(blocked)) >= BLOCKING
            and not any(address in sent for pair in blocked for address in pair)
        )

    return _each(scope, (MANY_FILTERS,), f"{BLOCKING} filters that block addresses of nobody", fits)


@clause("RFC2544-11.4-08")
def filters_reported(scope: Scope) -> Answer:
    """The run holds the commands that made the filters, word for word; the report prints them."""
    trials = _trials(scope, ONE_FILTER, MANY_FILTERS)
    if not trials:
        return not_applicable("no trial with filters is in the run")
    silent = sorted({one.deployment_id for one in trials if not _rule_set(_text(scope, one))})
    found = f"{len(silent)} of {len({trial.deployment_id for trial in trials})} deployments without them"
    return held(not silent, "the commands of each deployment with filters", f"{found} {silent[:_NAMED]}")


def _streams(scope: Scope, trial: Trial) -> list[tuple[str, str]]:
    """Return source and destination address of each direction of a trial; none where nobody told them."""
    told = below(scope.evidence.deployments, trial.deployment_id, "test_addresses")
    spec = trial.trial.result.spec
    if not isinstance(told, list) or len(told) != 2 or not all(isinstance(mine, list) for mine in told):
        return []
    ipv6 = spec.frame_format is FrameFormat.IPV6_UDP
    ends = [[one for one in mine if isinstance(one, str) and (":" in one) is ipv6] for mine in told]
    if not all(len(one) == 1 for one in ends):
        return []
    near, far = (end[0] for end in ends)
    ways = {"forward": (near, far), "reverse": (far, near)}
    return [ways[name] for name in sending(spec.direction)]
