"""Versions of the procedures that turn trials into answers, so that a changed one is told by name.

A procedure is named after the metric that the journal writes beside its trials; `trial` is what all share:
how one trial is judged, and how those that are not valid are repeated; `standing` is what stands beside
each answer. Whoever changes which trial a
procedure asks for next, or what it concludes from the same trials, adds a `Change` here, with the next number
(tests/unit/methodology/test_procedure_versions.py and test_kept_guard.py fail until that is done), and
keeps the old rule in `methodology.former`. schemas/README.md has the policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TRIAL = "trial"
RULES = "clause_rules"  # how verdicts come about; beside the procedures in the header
STANDING = "standing"  # what stands beside an answer, and when it stands on too little
OF_EVERY_RUN = (TRIAL, RULES, STANDING)  # versions that are of no metric and stand in every header
FIRST = 1  # of every procedure, and of runs whose header names no version


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What raised versions. `what` says what answers have since then, in a sentence.

    `after` is the last commit that measured by the versions before: whoever makes the change knows that one.
    """

    after: str
    what: str
    versions: Mapping[str, int]


_DISTURBED = "disturbed trials alone make an answer unstable, no longer invalid"  # docs/adr/0182
# Oldest first. A procedure that no change names has its first version still.
CHANGES: tuple[Change, ...] = (
    Change(
        after="2ca676a02d19",
        what="an unstable answer says how far its trials agree",
        versions={"throughput.rfc2544_26_1": 2},
    ),
    Change(
        after="939b29af8664",
        what=_DISTURBED,
        versions={
            "back_to_back.rfc9004": 2,
            "conditional_throughput.rfc9971": 2,
            "latency.all_frames": 2,
            "latency.rfc2544_26_2": 2,
            "latency.rfc8219_7_2.typical": 2,
            "pdv.rfc8219_7_3_1": 2,
            "reset.rfc6201.container": 2,
            "reset.rfc6201.link": 2,
            "reset.rfc6201.vswitch": 2,
            "soak.loss_ratio": 2,
            "system_recovery.rfc2544_26_5": 2,
            "throughput.rfc2544_26_1": 3,
            "throughput.tst009_12_3": 2,
            "throughput_modified.rfc2544_11.broadcast": 2,
            "throughput_modified.rfc2544_11.filters_1": 2,
            "throughput_modified.rfc2544_11.filters_25": 2,
            "throughput_modified.rfc2544_11.management": 2,
            "throughput_modified.rfc2544_11.route_updates": 2,
        },
    ),
    Change(after="5944fbebe9d9", what=_DISTURBED, versions={"frame_loss_ratio.rfc2544_26_3": 2}),
    Change(
        after="59ca94f3b37c",
        what="no loss at the lowest load is claimed that was never tried",
        versions={"tester.envelope": 2},
    ),
    Change(  # docs/adr/0231
        after="3790993f32b6",
        what="a load without a valid trial is unknown, not too high, and below a load that did not hold the "
        "search goes on",
        versions={"tester.envelope": 3},
    ),
    Change(  # docs/adr/0247
        after="4327fa19fd95",
        what="each clause rule is judged by evidence, and a verdict says on what it rests",
        versions={RULES: 2},
    ),
    Change(  # docs/adr/0265
        after="77e44c9b3248",
        what="each direction has its own value, and none is computed from the frames of both",
        versions={
            "ipdv.rfc5481_4_1.sample": 2,
            "latency.all_frames": 3,
            "latency.rfc2544_26_2": 3,
            "latency.rfc8219_7_2.typical": 3,
            "pdv.rfc8219_7_3_1": 3,
        },
    ),
    Change(
        after="77e44c9b3248",
        what="an overload below 110 % of the throughput, since the tester carries no more, is tester_limited",
        versions={"system_recovery.rfc2544_26_5": 3},
    ),
    Change(
        after="77e44c9b3248",
        what="broadcast frames are counted of each direction that is sent, not of the forward one alone",
        versions={"throughput_modified.rfc2544_11.broadcast": 3},
    ),
    Change(  # docs/adr/0266
        after="77e44c9b3248",
        what="the maximum rate is the medium's where it has one, also where the tester carries less",
        versions={"back_to_back.rfc9004": 3, "frame_loss_ratio.rfc2544_26_3": 3},
    ),
    Change(
        after="77e44c9b3248",
        what="verdicts on RFC 2544's highest load of 26.3 and overload of 26.5, on each direction and on "
        "networking models",
        versions={RULES: 3},
    ),
    Change(  # docs/adr/0260
        after="77e44c9b3248",
        what="every trial that was set aside counts in the share and in the value over all trials, and above "
        "the profile's share, or where valid trials contradict it, an answer is unstable",
        versions={STANDING: 2},
    ),
    Change(  # docs/adr/0262
        after="77e44c9b3248",
        what="what was found is tried again at the end of the search, and is unstable where it no longer "
        "holds",
        versions={"conditional_throughput.rfc9971": 3, "throughput.tst009_12_3": 3},
    ),
    Change(  # docs/adr/0268
        after="a34196f4a445",
        what="RFC 2544 section 12 is judged by the frames that a tester counted to each destination network, "
        "no longer by the number of flows and what the tester says of itself; section 21 has rules for "
        "repeated bursts",
        versions={RULES: 4},
    ),
    Change(  # docs/adr/0269
        after="a34196f4a445",
        what="a single trial in which a watchdog saw the tester's CPU gone makes no answer unstable, and the "
        "interval between bursts is held against its trials; an answer for zero loss is unstable where a "
        "trial at about its load came through far slower, and the share set aside is of trials at more than "
        "half of it",
        versions={STANDING: 3},
    ),
    Change(  # docs/adr/0296, docs/adr/0297
        after="a34196f4a445",
        what="twelve more rows of RFC 2544 on frames, links and modifiers have verdicts by what testers and "
        "routers tell; of the ten rules that could only say met, three are held against trials and testbed "
        "now and the others gave way to a reason; chains of functions are judged",
        versions={RULES: 5},
    ),
    Change(  # docs/adr/0263
        after="a34196f4a445",
        what="a load a quarter above what was found is tried after half of it, and must lose frames",
        versions={
            "conditional_throughput.rfc9971": 4,
            "throughput.rfc2544_26_1": 4,
            "throughput.tst009_12_3": 4,
        },
    ),
    Change(  # docs/adr/0286
        after="6211dd0befea",
        what="what was found is checked by short trials below and above it, and is unstable where equal ones "
        "come through at other rates, or the lower load loses frames",
        versions={
            "conditional_throughput.rfc9971": 5,
            "throughput.rfc2544_26_1": 5,
            "throughput.tst009_12_3": 5,
        },
    ),
    Change(
        after="6211dd0befea",
        what="the share set aside is of trials at least half as long as the longest one",
        versions={STANDING: 4},
    ),
    Change(  # docs/adr/0370
        after="f5a6afe2b85c",
        what="where a profile counts every loss, the stalls of the SUT's CPU that may have lowered an answer "
        "are told beside it",
        versions={STANDING: 5},
    ),
    Change(  # docs/adr/0371, docs/adr/0373
        after="f5a6afe2b85c",
        what="in an indicative profile one check after a search that deviates asks for more of them, and the "
        "answer is unstable when too many do, or when the stalls for which checks are set aside come with "
        "the load",
        versions={
            "conditional_throughput.rfc9971": 6,
            "throughput.rfc2544_26_1": 6,
            "throughput.tst009_12_3": 6,
        },
    ),
    Change(  # docs/adr/0320, docs/adr/0330
        after="f5a6afe2b85c",
        what="a capability that a pod has and nothing in it asked for is no longer left to a declaration; "
        "rows of the draft on clusters, AF_XDP sockets, cores of polling threads, virtual functions and "
        "designs of CPUs and memory are judged by what deployments told",
        versions={RULES: 6},
    ),
    Change(  # docs/adr/0389, docs/adr/0391
        after="6123078a90c0",
        what="chains beside each other are judged by the frames of every one in each trial; what carried the "
        "data of accelerated pods is judged by the counters of management and data interfaces, and the "
        "draft's examples of the kernel model by those that were deployed",
        versions={RULES: 7},
    ),
)
CURRENT: Mapping[str, int] = {
    name: version for change in CHANGES for name, version in change.versions.items()
}


def version(name: str) -> int:
    """Return the version of a procedure as this toolkit measures by it."""
    return CURRENT.get(name, FIRST)


def versions(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of procedures, and of `trial`, by name."""
    return {name: version(name) for name in sorted({*OF_EVERY_RUN, *names})}


def changes_after(name: str, recorded: int) -> tuple[Change, ...]:
    """Return what changed in a procedure since a version, oldest first."""
    return tuple(one for one in CHANGES if name in one.versions and one.versions[name] > recorded)


def last_commit(name: str, recorded: int) -> str | None:
    """Return the last commit that measured by a version; None for the current one, and for a later one."""
    later = changes_after(name, recorded)
    return later[0].after if later else None


def other_versions(recorded: Mapping[str, int], name: str) -> tuple[tuple[str, int, int], ...]:
    """Return of `trial` and one procedure those recorded with another version: name, recorded, current."""
    pairs = ((one, recorded.get(one, FIRST), version(one)) for one in (TRIAL, name))
    return tuple((one, theirs, ours) for one, theirs, ours in pairs if theirs != ours)
