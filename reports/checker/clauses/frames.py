"""RFC 2544 rows on frames and links: the format of appendix C, unequal MTUs, address resolution."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.records import FCS_OCTETS, FrameFormat
from bmwg.methodology.trial.appendix_c import FIELDS, UDP_DATA, differing
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS
from bmwg.reports.checker.clauses.rfc2544_conditions import conditions
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_construction,
    clause,
    held,
    not_applicable,
    not_assessed,
)

ETHERNET_OCTETS = 18  # header and FCS around an MTU
MOST_SIGNATURE_OCTETS = 32  # choice: sequence number, time stamp and what tells test frames from others
RESOLVES = {FrameFormat.IPV4_UDP: "arp", FrameFormat.IPV6_UDP: "nd"}  # rfc826, rfc4861


@clause("RFC2544-8-01")
def appendix_c_format(scope: Scope) -> Answer:
    """IPv4 frames on Ethernet are those of appendix C, but for what sections 10 and 26.2 put into them.

    The tester tells the octets of a frame as it builds it, and where its signature (sequence number, tag,
    time) stands. Addresses and the header checksum that follows from them differ from case to case.
    """
    formats = {trial.trial.result.spec.frame_format for trial in scope.trials}
    if FrameFormat.IPV4_UDP not in formats:
        return not_applicable("appendix C has frames of IPv4 alone, and none was sent")
    frames = told(scope, "test_frame")
    if not frames:
        return not_assessed("the tester does not tell the octets of its frames")
    wrong: list[str] = []
    for frame in frames:
        octets, signature = _frame(frame)
        if octets is None or not 0 <= signature[1] <= MOST_SIGNATURE_OCTETS or signature[0] < UDP_DATA:
            return not_assessed("the tester does not tell the octets of its frame, or where its signature is")
        wrong += differing(octets, signature)
    found = f"other than there: {', '.join(wrong) or 'none'}"
    return held(not wrong, f"{', '.join(FIELDS)} as in appendix C.2.6.4", found)


def _frame(told_of: object) -> tuple[list[int] | None, tuple[int, int]]:
    """Read a tester's IPv4 frame: its octets without FCS; where its signature begins, and its length."""
    one = told_of if isinstance(told_of, Mapping) else {}
    octets, place = _numbers(one.get("octets")), _numbers(one.get("signature"))
    if len(place) != 2:
        return None, (0, 0)
    if not MIN_FRAME_OCTETS <= len(octets) + FCS_OCTETS <= MAX_FRAME_OCTETS:
        return None, (0, 0)
    return octets, (place[0], place[1])


def _numbers(value: object) -> list[int]:
    """Return a list of integers; empty where it is something else."""
    return value if isinstance(value, list) and all(isinstance(one, int) for one in value) else []


@clause("RFC2544-9.4-01")
def larger_mtu(scope: Scope) -> Answer:
    """Where the links of the two ports carry frames of different size, those of the larger are measured."""
    if not scope.trials:
        return not_applicable("the run holds no trial of it")
    pairs = {_mtus(trial) for trial in scope.trials}
    if any(len(pair) != 2 for pair in pairs):
        return not_assessed("the tester does not tell the MTU of both links")
    unequal = [pair for pair in pairs if len(set(pair)) == 2]
    if not unequal:
        return not_applicable("both links carry frames of the same size")
    wanted = max(map(max, unequal)) + ETHERNET_OCTETS
    lacking = [name for (name, _), sizes in conditions(scope.outcomes).items() if max(sizes) < wanted]
    found = f"{len(lacking)} conditions without it {lacking[:2]}"
    return held(not lacking, f"sizes up to {wanted} octets, those of the larger link", found)


def _mtus(trial: Trial) -> tuple[int, ...]:
    """Return the MTU of each port's link, octets, as the tester found it before the trial."""
    counts = trial.trial.result.auxiliary
    return tuple(value for name, value in sorted(counts) if name.endswith(".mtu_octets"))


@clause("RFC2544-25")
def resolution_answered(scope: Scope) -> Answer:
    """The tester answers questions for its addresses in each protocol that the run's frames have."""
    formats = {trial.trial.result.spec.frame_format for trial in scope.trials}
    wanted = sorted(RESOLVES[frame_format] for frame_format in formats if frame_format in RESOLVES)
    if not wanted:
        return not_applicable("no protocol of the run resolves addresses")
    answered = told(scope, "answers_resolution")
    if not answered:
        return not_assessed("the tester does not tell whether it answers questions for its addresses")
    lacking = [name for name in wanted if not all(isinstance(one, list) and name in one for one in answered)]
    expected = f"answers to {', '.join(wanted)}"
    if not lacking:
        return by_construction(expected, "the tester answers each question for an address of its own")
    return by_construction(expected, f"none to {', '.join(lacking)}", condition=False)
