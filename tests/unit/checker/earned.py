"""The run that earns RFC 2544's best grade for throughput, and what costs it that grade, breach by breach.

    .venv/bin/python tests/unit/checker/earned.py

makes the runs and prints the grades as the report prints them: trials of 60 s, full waits, the simulated
testbed, whose clock goes on by itself. Real code makes, records and judges them; that no frame was sent,
which alone would keep a run from any grade, is left out of account and said.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import breaches
import runs
from cases_rfc2544_configured import (
    ONE_CARD,
    OTHER_HOPS,
    TWO_CARDS,
    Late,
    configured,
    fewer,
    other_addresses,
    pathways,
)
from cases_rfc2544_rows import counting
from foreign import header, said
from runs import LATENCY, MEDIUM, TPUT, paths

from bmwg.reports.checker.documents import DocumentGrade, Grade
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.grades import benchmarks

SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
BENCHMARK = "throughput"
FILTERS, ROUTES = runs.FILTERS_25, runs.ROUTES
MODIFIERS = (runs.BROADCAST, runs.MANAGEMENT, ROUTES, runs.FILTER_1, FILTERS)  # RFC2544-11-01 asks for all
EARNED: dict[str, Any] = {
    "profile": {
        "trial": {"loss_times": True},
        "traffic": {"destination_networks": [1, 256], "directions": ["both"]},
        "paths": paths(*SIZES),
        "search": {"relative_width": 0.3, "min_load_fps": 400_000},
        "benchmarks": {"modifiers": {"frame_octets": [64]}, "burst_interval": {"frame_octets": [64]}},
    },
    "testbed": MEDIUM,
    "device": {"knee_fps": 1_200_000},
    "submission": pathways(ONE_CARD),
}
NO_MEDIUM: dict[str, Any] = {"testbed": {}}
ONE_SIZE = {"paths": paths(64), "benchmarks": {"modifiers": {"frame_octets": [64]}}}


def earned(*more: str, without: tuple[str, ...] = (), changed: Any = None, **changes: Any) -> Evidence:
    """Make the run that earns it, but for these changes; `changed` is what its files say otherwise."""
    wanted = dict(EARNED)
    for name, value in changes.items():
        whole = isinstance(value, dict) and name in ("profile", "device")
        wanted[name] = runs._deep(dict(runs.copy.deepcopy(EARNED[name])), value) if whole else value
    tests = [test for test in dict.fromkeys((TPUT, *more, *MODIFIERS, *runs.BURSTY)) if test not in without]
    make = runs.run(*tests, **wanted)
    if changed is None:
        return make()
    submission = wanted["submission"]
    return runs.replace(said(make, changed)(), submission=submission)


def grade_of(evidence: Evidence) -> DocumentGrade:
    """Return the grade that is printed of the run's throughput."""
    return next(one for one in runs.judged(evidence).grades if one.benchmark == BENCHMARK)


def left_of(evidence: Evidence) -> set[str]:
    """Return the rows that keep the run's throughput from the best grade."""
    grade = grade_of(evidence)
    return {
        one.requirement
        for one in runs.judged(evidence).verdicts
        if one.benchmark == BENCHMARK and any(f" {one.requirement}:" in reason for reason in grade.reasons)
    }


def broken_of(evidence: Evidence) -> set[str]:
    """Return the rows that the run did not keep for throughput."""
    mine = [one for one in runs.judged(evidence).verdicts if one.benchmark == BENCHMARK]
    return {one.requirement for one in mine if one.original.value == "not_met"}


LESS = {"tester": breaches.SendsLess, "profile": {"trial": {"min_sent_ratio": 0.5}}}
BRIDGE = {
    "path": "pvp",
    "hosting": "pod",
    "function": "testpmd",
    "networks": ["bridge"],
    "frame_octets": list(SIZES),
}
BREACHES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    # row: further tests, what is wrong
    "RFC2544-6-02": ((), {"tester": breaches.CountsAll}),
    "RFC2544-7-01": ((), {"deviations": ("RFC2544-7-01",)}),
    "RFC2544-7-03": ((LATENCY, FILTERS), {"tester": breaches.EndsInLatency}),
    "RFC2544-7-04": ((), {"changed": configured("route-updates", "timers_s", [3, 18, 12])}),
    "RFC2544-7-05": ((), {"broken": breaches.records_nothing}),
    "RFC2544-8-01": ((), {"device": {"test_frame": OTHER_HOPS}}),
    "RFC2544-8-02": ((), {"tester": breaches.OtherFormat}),
    "RFC2544-9-01": ((), {"profile": {"paths": paths(*SIZES[1:])}}),
    "RFC2544-9-02": ((), {"profile": {"paths": paths(64, 128, 256, 1518)}}),
    "RFC2544-9.1": ((), {"profile": {"paths": paths(*(size for size in SIZES if size != 512))}}),
    "RFC2544-9.4-01": ((), {"device": {"mtu_octets": [1500, 9000]}}),
    "RFC2544-10-01": ((), {"tester": breaches.CountsAll}),
    "RFC2544-10-02": ((), {"tester": breaches.CountsAll}),
    "RFC2544-10-03": ((), {"device": {"verifies": ["signature", "sequence"]}}),
    "RFC2544-10-04": ((), {"device": {"verifies": ["length"]}, "profile": {"trial": {"loss_times": False}}}),
    "RFC2544-10-05": ((), {"profile": {"trial": {"loss_times": False}}}),
    "RFC2544-11-01": ((), {"without": (runs.MANAGEMENT,)}),
    "RFC2544-11-02": ((), {"tester": breaches.TwoAtOnce}),
    "RFC2544-11.1-01": ((), {"tester": counting("forward.broadcast_sent_frames", 0.8)}),
    "RFC2544-11.1-02": ((), {"tester": counting("forward.broadcast_most_between_frames", 1.2)}),
    "RFC2544-11.1-03": ((), {"profile": {"paths": [*paths(*SIZES), BRIDGE]}}),
    "RFC2544-11.2-01": ((), {"tester": counting("modifier.sent_frames", 0.9)}),
    "RFC2544-11.2-03": ((), {"tester": counting("modifier.verified_frames", 0.9)}),
    "RFC2544-11.3-01": ((), {"tester": Late}),
    "RFC2544-11.3-02": ((), {"tester": counting("modifier.least_between_ns", 0.8)}),
    "RFC2544-11.3-03": ((ROUTES,), {"tester": breaches.Repeats}),
    "RFC2544-11.3-04": ((), {"tester": breaches.ForgetsRoutes}),
    "RFC2544-11.4-01": ((), {"without": (runs.FILTER_1,)}),
    "RFC2544-11.4-02": ((), {"tester": counting("modifier.matched_frames", 0.5)}),
    "RFC2544-11.4-03": ((), {"changed": configured("filters-1", "rule_set", other_addresses)}),
    "RFC2544-11.4-05": ((), {"without": (FILTERS,)}),
    "RFC2544-11.4-06": ((), {"changed": configured("filters-25", "rule_set", fewer)}),
    "RFC2544-11.4-07": ((), {"tester": counting("modifier.matched_frames", 0.5)}),
    "RFC2544-11.4-08": ((), {"changed": configured("filters-25", "rule_set", [])}),
    "RFC2544-12-01": ((), {"profile": {"traffic": {"flows": [256]}}}),
    "RFC2544-12-02": ((), {"profile": {"traffic": {"destination_networks": [1]}}}),
    "RFC2544-12-03": ((), {"tester": breaches.InTurn}),
    "RFC2544-13-01": ((ROUTES,), {"tester": breaches.NoUpdates}),
    "RFC2544-13-02": ((ROUTES,), {"tester": breaches.FewRoutes}),
    "RFC2544-14-01": ((), {"profile": {"traffic": {"directions": ["forward"]}}}),
    "RFC2544-15-01": ((), {"changed": header(breaches.one_port)}),
    "RFC2544-15-02": ((), {"submission": pathways(ONE_CARD, TWO_CARDS)}),
    "RFC2544-20-01": ((), {"device": {"tester_limit_fps": 1_000_000}}),
    "RFC2544-21-01": ((), {"without": runs.BURSTY}),
    "RFC2544-21-03": ((), {"without": runs.BURSTY[3:]}),
    "RFC2544-23-01": ((), {"waited": 0.9}),
    "RFC2544-23-02": ((), {"waited": 0.9}),
    "RFC2544-23-03": ((), {"tester": breaches.Hurries}),
    "RFC2544-23-04": ((), {"tester": breaches.Impatient}),
    "RFC2544-23-05": ((), {"waited": 0.9}),
    "RFC2544-24-01": ((), {"profile": {"trial": {"duration_s": 59.9}}}),
    "RFC2544-24-03": ((), {"profile": {"trial": {"duration_s": 59.9}}}),
    "RFC2544-25": ((), {"device": {"answers_resolution": ["nd"]}}),
    "RFC2544-26.1-01": ((), LESS),
    "RFC2544-26.1-02": ((), {"broken": breaches.climbs_after_loss}),
    "RFC2544-26.1-03": ((), {"profile": ONE_SIZE}),
    "RFC2544-26.1-05": ((), NO_MEDIUM),
    "RFC2544-26.1-08": ((), LESS),
    "RFC2544-26.1-10": ((), NO_MEDIUM),
}


def main() -> int:
    """Print the grades; the status is 1 where one is not what it should be."""
    with runs.folder() as folder:
        runs.ROOT[:] = [folder]
        whole = earned(profile=runs.CHECKED)
        print("Left out of account: simulated, no frame was sent; a toolkit with a commit.\n")
        print(restructured(benchmarks([grade_of(whole)])))
        wrong = grade_of(whole).grade is not Grade.UNCONDITIONAL
        print("One breach each:\n")
        for row, (tests, changes) in BREACHES.items():
            evidence = earned(*tests, **changes)
            grade, broken = grade_of(evidence).grade, broken_of(evidence)
            kept = row not in broken or grade is Grade.UNCONDITIONAL
            wrong |= kept
            rows = "NOT TOLD" if kept else f"not met: {', '.join(sorted(broken))}"
            print(f"{row:18} {grade.value:26} {rows}")
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
