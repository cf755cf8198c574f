"""What a profile may set aside, and what it must say of it (design decision 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.search.steadiness import CHECKS
from bmwg.methodology.trial.judging import StallEvidence
from bmwg.schemas.validation import Problem

STALL_EVIDENCE, MOST_SET_ASIDE = "stall_evidence", "most_set_aside_ratio"
CONFORMANCE_RATIO = 0.1  # design decision 13: a tenth of the trials of an answer
INDICATIVE_RATIO = 0.5  # choice: an answer for which most trials were set aside is none
MOST_REPEATS = 10  # choice: a load that needs more is not one that the tester can be trusted with
LEAST_LIMIT_NS = 100_000  # choice: what the watchdog tells apart; below it any trial may be set aside
LEAST_SENT_RATIO = 0.999  # design decision 3
SENT_ALL = "RFC2544-23-03"  # frames transmitted are compared with frames received
SET_ASIDE = "RFC2544-4"  # what an indicative profile deviates from by setting trials aside


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeclared:
    """One thing that a profile sets aside and may not, or does not say; `error_id` names it."""

    error_id: str
    problem: Problem
    hint: str


def stated(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile's data with what `trial` leaves out: evidence of a CPU, the share by its kind."""
    ratio = INDICATIVE_RATIO if data["indicative"] else CONFORMANCE_RATIO
    said = {STALL_EVIDENCE: StallEvidence.CPU.value, MOST_SET_ASIDE: ratio}
    return {**data, "trial": {**said, **data["trial"]}}


def undeclared(data: Mapping[str, Any]) -> list[Undeclared]:
    """Say what a profile sets aside beyond what it may (not indicative) or says (any).

    PRF-06: which trials are set aside, and how many. PRF-07: how often one is repeated, and for how little.
    PRF-08: frames that were never sent. PRF-09: an interval wider than asked for, or fewer checks of an
    answer than show a device of two states (docs/adr/0286).
    """
    declared = {deviation["requirement"] for deviation in data["deviations"]}
    found = _unsaid(data, declared)
    if not data["indicative"]:
        found += _conformance(data)
    elif data["trial"][MOST_SET_ASIDE] > INDICATIVE_RATIO:
        hint = "an answer for which most of the trials were set aside is none"
        expected, share = f"at most {INDICATIVE_RATIO}", data["trial"][MOST_SET_ASIDE]
        found.append(_one("PRF-06", MOST_SET_ASIDE, expected, share, hint))
    return sorted(found, key=lambda one: one.error_id)


def _unsaid(data: Mapping[str, Any], declared: set[str]) -> list[Undeclared]:
    trial = data["trial"]
    found = []
    if trial["set_aside_host_stalls"] and SET_ASIDE not in declared:
        found.append(
            _one(
                "PRF-06",
                "set_aside_host_stalls",
                f"false, or a deviation from {SET_ASIDE}",
                trial["set_aside_host_stalls"],
                "a deviation says which trials are set aside, and how often one is repeated",
            )
        )
    if trial["min_sent_ratio"] < 1 and SENT_ALL not in declared:
        found.append(
            _one(
                "PRF-08",
                "min_sent_ratio",
                f"1, or a deviation from {SENT_ALL}",
                trial["min_sent_ratio"],
                "frames that were never sent are none that the device forwarded",
            )
        )
    return found


def _conformance(data: Mapping[str, Any]) -> list[Undeclared]:
    trial, search = data["trial"], data["search"]
    hint = "a conformance profile counts every loss; `indicative: true` marks results that are no conformance"
    found = []
    if trial["set_aside_host_stalls"]:
        found.append(_one("PRF-06", "set_aside_host_stalls", "false", True, hint))
    if trial[STALL_EVIDENCE] != StallEvidence.CPU.value:
        found.append(_one("PRF-06", STALL_EVIDENCE, StallEvidence.CPU.value, trial[STALL_EVIDENCE], hint))
    if trial[MOST_SET_ASIDE] > CONFORMANCE_RATIO:
        found.append(
            _one("PRF-06", MOST_SET_ASIDE, f"at most {CONFORMANCE_RATIO}", trial[MOST_SET_ASIDE], hint)
        )
    if trial["max_repeats"] > MOST_REPEATS:
        found.append(_one("PRF-07", "max_repeats", f"at most {MOST_REPEATS}", trial["max_repeats"], hint))
    for name in ("max_stall_ns", "max_host_stall_ns"):
        if trial[name] < LEAST_LIMIT_NS:
            found.append(_one("PRF-07", name, f"at least {LEAST_LIMIT_NS}", trial[name], hint))
    if trial["min_sent_ratio"] < LEAST_SENT_RATIO:
        expected = f"at least {LEAST_SENT_RATIO}"
        found.append(_one("PRF-08", "min_sent_ratio", expected, trial["min_sent_ratio"], hint))
    if search.get("most_relative_width") is not None:
        expected = "none, in a profile that is not indicative"
        found.append(
            _one("PRF-09", "most_relative_width", expected, search["most_relative_width"], hint, "search")
        )
    if search.get("state_checks", CHECKS) < CHECKS:
        expected = f"at least {CHECKS}"
        found.append(_one("PRF-09", "state_checks", expected, search["state_checks"], hint, "search"))
    return found


def _one(
    error_id: str, name: str, expected: str, found: object, hint: str, group: str = "trial"
) -> Undeclared:
    said = str(found).lower() if isinstance(found, bool) else str(found)
    problem = Problem(location=(group, name), expected=expected, found=said)
    return Undeclared(error_id=error_id, problem=problem, hint=hint)
