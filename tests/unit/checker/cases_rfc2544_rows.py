"""The three runs of each rule on modifiers (section 11), mixes (18) and results over sizes (26.1, 26.2)."""

from __future__ import annotations

from dataclasses import replace

import breaches
from runs import (
    BROADCAST,
    FILTER_1,
    FILTERS_25,
    LATENCY,
    MANAGEMENT,
    QUALIFIED,
    ROUTES,
    TAGGED,
    TPUT,
    Tester,
    paths,
    run,
)
from three import Three

from bmwg.methodology.records import TrialResult, TrialSpec

MIX = "R2544-IMIX-1.1"
ALL_MODIFIERS = (TPUT, BROADCAST, MANAGEMENT, ROUTES, FILTER_1, FILTERS_25)
PLAIN = run(TPUT)
GIGABIT = {"medium": {"kind": "ethernet", "line_rate_bps": 1_000_000_000}}


def counting(name: str, share: float) -> type[Tester]:
    """Return a tester whose count of that name is a share of the right one."""

    class Miscounting(Tester):
        def run(self, spec: TrialSpec, /) -> TrialResult:
            result = super().run(spec)
            counts = {**dict(result.auxiliary)}
            if name in counts:
                counts[name] = int(counts[name] * share)
            return replace(result, auxiliary=tuple(sorted(counts.items())))

    Miscounting.__name__ = f"Counts{name.title().replace('.', '').replace('_', '')}"
    return Miscounting


CASES: dict[str, Three] = {
    "RFC2544-11-01": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, BROADCAST, MANAGEMENT),
        not_applicable=run(QUALIFIED),
    ),
    "RFC2544-11-02": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, MANAGEMENT, tester=breaches.TwoAtOnce),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.1-01": Three(
        met=run(*ALL_MODIFIERS, profile={"traffic": {"directions": ["both"]}}),
        not_met=run(TPUT, BROADCAST, tester=counting("forward.broadcast_sent_frames", 0.8)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.2-01": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, MANAGEMENT, tester=counting("modifier.most_between_ns", 1.2)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.3-02": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, ROUTES, tester=counting("modifier.sent_frames", 0.9)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.3-04": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, ROUTES, tester=breaches.ForgetsRoutes),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.4-01": Three(met=run(*ALL_MODIFIERS), not_met=run(TPUT, FILTERS_25), not_applicable=PLAIN),
    "RFC2544-11.4-05": Three(met=run(*ALL_MODIFIERS), not_met=run(TPUT, FILTER_1), not_applicable=PLAIN),
    "RFC2544-11.4-02": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, FILTER_1, tester=counting("modifier.matched_frames", 0.5)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.4-07": Three(
        met=run(*ALL_MODIFIERS),
        not_met=run(TPUT, FILTERS_25, tester=counting("modifier.matched_frames", 0.5)),
        not_applicable=PLAIN,
    ),
    "RFC2544-18-01": Three(
        met=run(TPUT, MIX, profile={"benchmarks": {"imix": {"genome": "abcdefg"}}}),
        not_met=run(TPUT, MIX, profile={"benchmarks": {"imix": {"genome": "7a4d1g"}}}),
        not_applicable=PLAIN,
    ),
    "RFC2544-26.1-03": Three(
        met=run(TPUT, profile={"paths": paths(64, 128)}),
        not_met=PLAIN,
        not_applicable=run(TPUT, device={"knee_fps": 1}),
    ),
    "RFC2544-26.1-05": Three(
        met=run(TPUT, profile={"paths": paths(64, 128)}, testbed=GIGABIT),
        not_met=run(TPUT, profile={"paths": paths(64, 128)}),
        not_applicable=PLAIN,
    ),
    "RFC2544-26.2-09": Three(
        met=run(TPUT, LATENCY, profile={"paths": paths(64, 128), "latency": {"frame_octets": [64, 128]}}),
        not_met=run(TPUT, LATENCY, profile={"paths": paths(64, 128), "latency": {"frame_octets": [64]}}),
        not_applicable=run(TPUT),
        benchmark="latency",
    ),
    "RFC2544-26.2-10": Three(
        met=run(TPUT, TAGGED),
        not_met=run(TPUT, LATENCY),
        not_applicable=run(TPUT, LATENCY, TAGGED, device={"knee_fps": 1}),
        benchmark="latency",
    ),
}
NOT_YET: frozenset[str] = frozenset()
