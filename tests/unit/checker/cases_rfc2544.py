"""The three runs of each rule of RFC 2544. A row of `NOT_YET` still lacks them; the set only shrinks."""

from __future__ import annotations

import breaches
from foreign import header, outcomes, said
from runs import (
    BURSTS,
    BURSTY,
    LATENCY,
    LOSS,
    MEDIUM,
    QUALIFIED,
    RECOVERY,
    RESET_LINK,
    TAGGED,
    TPUT,
    paths,
    run,
)
from three import Three

from bmwg.methodology.benchmarks.frame_loss import METRIC as LOSS_METRIC

ABSENT = run(QUALIFIED)  # the tester alone: no benchmark of a device
STANDARD = run(TPUT)
FEW = {"benchmarks": {"back_to_back": {"repetitions": 3, "max_burst_s": 0.1, "step_frames": 50}}}
THREE = {"benchmarks": {"recovery": {"repetitions": 3}, "reset": {"repetitions": 3}}}
IMIX, FILTERS, ROUTES = "R2544-IMIX-1.1", "R2544-MOD-1.5", "R2544-MOD-1.3"
P2P = {
    "suites": {
        "rfc2544": {
            "paths": [
                {
                    "path": "p2p",
                    "hosting": "pod",
                    "function": "none",
                    "networks": ["bridge"],
                    "frame_octets": [64],
                }
            ]
        }
    }
}
RESETS = {
    **THREE,
    "paths": [
        *paths(64),
        {
            "path": "pvp",
            "hosting": "pod",
            "function": "kernel-l3",
            "networks": ["bridge"],
            "frame_octets": [64],
        },
    ],
}
SPREAD = run(TPUT, profile={"traffic": {"destination_networks": [1, 256]}})
UNREAD = {"verifies": ["signature"]}
SIZES = {
    number: run(TPUT, profile={"paths": paths(*sizes)})
    for number, sizes in {
        1: (64,),
        4: (64, 128, 512, 1518),
        5: (64, 128, 512, 1024, 1518),
        7: (64, 128, 256, 512, 1024, 1280, 1518),
    }.items()
}


def tput(**runs: object) -> Three:
    return Three(not_applicable=ABSENT, benchmark="throughput", **runs)  # type: ignore[arg-type]


def loss(**runs: object) -> Three:
    return Three(**({"not_applicable": STANDARD, "benchmark": "frame loss rate"} | runs))  # type: ignore[arg-type]


def latency(**runs: object) -> Three:
    return Three(**({"not_applicable": STANDARD, "benchmark": "latency"} | runs))  # type: ignore[arg-type]


def tags(**settings: object) -> object:
    return run(TAGGED, profile={"benchmarks": {"tagged_latency": settings}})


def in_percent(one):
    """Let the values of a curve be percent, told as ratios."""
    for number in one["values"]:
        number["number"] *= 100


def half_the_rate(data):
    """Let the medium be half as fast: the upper loads lie beyond 100 % of its theoretical rate."""
    data["medium"]["line_rate_bps"] //= 2


STALLED_LOSS = run(LOSS, tester=breaches.Stalls)

CASES: dict[str, Three] = {
    "RFC2544-6-02": tput(met=STANDARD, not_met=run(TPUT, tester=breaches.CountsAll)),
    "RFC2544-7-01": tput(
        met=run(TPUT, submission={"product": {"name": "x", "version": "1", "configuration": "guide"}}),
        not_met=run(TPUT, deviations=("RFC2544-7-01",)),
    ),
    "RFC2544-7-03": Three(
        met=run(TPUT, FILTERS),
        not_met=run(TPUT, LATENCY, FILTERS, tester=breaches.EndsInLatency),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-7-05": tput(met=STANDARD, not_met=run(TPUT, broken=breaches.records_nothing)),
    "RFC2544-8-02": tput(met=STANDARD, not_met=run(TPUT, tester=breaches.OtherFormat)),
    "RFC2544-9-01": Three(met=SIZES[4], not_met=SIZES[1], not_applicable=run(IMIX), benchmark="throughput"),
    "RFC2544-9-02": Three(met=SIZES[5], not_met=SIZES[4], not_applicable=run(IMIX), benchmark="throughput"),
    "RFC2544-9.1": Three(met=SIZES[7], not_met=SIZES[5], not_applicable=run(IMIX), benchmark="throughput"),
    "RFC2544-10-01": Three(
        met=run(TPUT, tester=breaches.HearsOthers),
        not_met=run(TPUT, tester=breaches.CountsAll),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-10-02": Three(
        met=run(TPUT, tester=breaches.HearsOthers),
        not_met=run(TPUT, tester=breaches.CountsAll),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-10-03": tput(met=STANDARD, not_met=run(TPUT, device=UNREAD)),
    "RFC2544-10-04": tput(met=STANDARD, not_met=run(TPUT, device=UNREAD)),
    "RFC2544-10-05": Three(
        met=run(TPUT, profile={"trial": {"loss_times": True}}),
        not_met=STANDARD,
        not_applicable=run(TPUT, device=UNREAD),
        benchmark="throughput",
    ),
    "RFC2544-11.3-03": Three(
        met=run(TPUT, ROUTES),
        not_met=run(TPUT, ROUTES, tester=breaches.Repeats, profile={"trial": {"duration_s": 20}}),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-12-01": tput(
        met=run(TPUT, profile={"traffic": {"flows": [1, 256]}}),
        not_met=run(TPUT, profile={"traffic": {"flows": [256]}}),
    ),
    "RFC2544-12-02": tput(met=SPREAD, not_met=run(TPUT, profile={"traffic": {"flows": [1, 256]}})),
    "RFC2544-12-03": tput(
        met=SPREAD,
        not_met=run(TPUT, profile={"traffic": {"destination_networks": [1, 256]}}, tester=breaches.InTurn),
    ),
    "RFC2544-13-01": Three(
        met=run(TPUT, ROUTES),
        not_met=run(TPUT, ROUTES, tester=breaches.NoUpdates),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-13-02": Three(
        met=run(TPUT, ROUTES),
        not_met=run(TPUT, ROUTES, tester=breaches.FewRoutes),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-14-01": tput(met=run(TPUT, profile={"traffic": {"directions": ["both"]}}), not_met=STANDARD),
    "RFC2544-15-01": tput(met=STANDARD, not_met=said(STANDARD, header(breaches.one_port))),
    "RFC2544-20-01": tput(met=run(TPUT, testbed=MEDIUM), not_met=STANDARD),
    "RFC2544-21-01": tput(met=run(TPUT, *BURSTY), not_met=STANDARD),
    "RFC2544-21-03": Three(
        met=run(TPUT, *BURSTY),
        not_met=run(TPUT, *BURSTY[:3]),
        not_applicable=STANDARD,
        benchmark="throughput",
    ),
    "RFC2544-23-01": Three(
        met=STANDARD,
        not_met=run(TPUT, waited=0.9),
        not_applicable=run(TPUT, profile=P2P),
        benchmark="throughput",
    ),
    "RFC2544-23-02": tput(met=STANDARD, not_met=run(TPUT, waited=0.9)),
    "RFC2544-23-03": tput(met=STANDARD, not_met=run(TPUT, tester=breaches.Hurries)),
    "RFC2544-23-04": tput(met=STANDARD, not_met=run(TPUT, tester=breaches.Impatient)),
    "RFC2544-23-05": tput(met=STANDARD, not_met=run(TPUT, waited=0.9)),
    "RFC2544-24-01": tput(met=STANDARD, not_met=run(TPUT, profile={"trial": {"duration_s": 59.9}})),
    "RFC2544-24-03": Three(
        met=STANDARD,
        not_met=run(TPUT, profile={"trial": {"duration_s": 59.9}}),
        not_applicable=run(TPUT, tester=breaches.Stalls),
        benchmark="throughput",
    ),
    "RFC2544-26.1-01": Three(
        met=STANDARD,
        not_met=run(TPUT, tester=breaches.SendsLess, profile={"trial": {"min_sent_ratio": 0.5}}),
        not_applicable=run(TPUT, tester=breaches.Stalls),
    ),
    "RFC2544-26.1-02": Three(
        met=STANDARD, not_met=run(TPUT, broken=breaches.climbs_after_loss), not_applicable=ABSENT
    ),
    "RFC2544-26.1-08": Three(
        met=STANDARD,
        not_met=run(TPUT, tester=breaches.SendsLess, profile={"trial": {"min_sent_ratio": 0.5}}),
        not_applicable=run(TPUT, tester=breaches.Stalls),
    ),
    "RFC2544-26.1-10": Three(
        met=run(TPUT, testbed=MEDIUM), not_met=STANDARD, not_applicable=run(TPUT, tester=breaches.Stalls)
    ),
    "RFC2544-26.2-01": latency(met=run(LATENCY), not_met=run(LATENCY, tester=breaches.HalfLatencyLoad)),
    "RFC2544-26.2-02": latency(
        met=run(LATENCY), not_met=run(LATENCY, profile={"latency": {"duration_s": 119.9}})
    ),
    "RFC2544-26.2-03": latency(met=tags(), not_met=tags(stream_s=100)),
    "RFC2544-26.2-04": latency(
        met=tags(),
        not_met=run(TAGGED, tester=breaches.LosesTags),
        not_applicable=run(LATENCY),
    ),
    "RFC2544-26.2-06": latency(met=tags(), not_met=tags(streams=19)),
    "RFC2544-26.2-08": latency(
        met=run(LATENCY), not_met=run(LATENCY, device={"latency_definition": "of an application"})
    ),
    "RFC2544-26.3-02": loss(
        met=run(LOSS, testbed=MEDIUM),
        not_met=run(LOSS, testbed=MEDIUM, device={"tester_limit_fps": 1_000_000}),
    ),
    "RFC2544-26.3-03": loss(met=run(LOSS), not_met=run(LOSS, device={"random_loss_ratio": 0.01})),
    "RFC2544-26.3-04": loss(met=run(LOSS), not_met=run(LOSS, broken=breaches.skips_loads)),
    "RFC2544-26.3-05": loss(met=run(LOSS), not_met=run(LOSS, profile={"paths": paths(*range(64, 72))})),
    "RFC2544-26.3-06": loss(met=run(LOSS, testbed=MEDIUM), not_met=run(LOSS), not_applicable=STALLED_LOSS),
    "RFC2544-26.3-07": loss(
        met=run(LOSS),
        not_met=said(run(LOSS), outcomes(LOSS_METRIC, in_percent)),
        not_applicable=STALLED_LOSS,
    ),
    "RFC2544-26.3-08": loss(
        met=run(LOSS, testbed=MEDIUM),
        not_met=said(run(LOSS, testbed=MEDIUM), header(half_the_rate)),
        not_applicable=STALLED_LOSS,
    ),
    "RFC2544-26.4-02": Three(
        met=run(BURSTS, profile=FEW),
        not_met=run(BURSTS, profile=FEW, tester=breaches.Impatient),
        not_applicable=STANDARD,
    ),
    "RFC2544-26.4-03": Three(
        met=run(
            BURSTS,
            profile={
                "benchmarks": {"back_to_back": {"repetitions": 50, "max_burst_s": 0.1, "step_frames": 50}}
            },
        ),
        not_met=run(BURSTS, profile=FEW),
        not_applicable=STANDARD,
    ),
    "RFC2544-26.4-04": Three(
        met=run(BURSTS, profile=FEW),
        not_met=run(BURSTS, profile=FEW, tester=breaches.StallsInBursts),
        not_applicable=STANDARD,
    ),
    "RFC2544-26.5-01": Three(
        met=run(RECOVERY, profile=THREE),
        not_met=run(RECOVERY, profile=THREE, device={"tester_limit_fps": 820_000}),
        not_applicable=run(RECOVERY, profile=THREE, tester=breaches.StallsInRecovery),
    ),
    "RFC2544-26.5-04": Three(
        met=run(RECOVERY, profile=THREE),
        not_met=run(RECOVERY, profile={"benchmarks": {"recovery": {"repetitions": 1}}}),
        not_applicable=STANDARD,
    ),
    "RFC2544-26.5-05": Three(
        met=run(RECOVERY, profile=THREE),
        not_met=run(RECOVERY, profile=THREE, tester=breaches.StallsInRecovery),
        not_applicable=STANDARD,
    ),
    "RFC2544-26.6-06": Three(
        met=run(RESET_LINK, profile=RESETS),
        not_met=run(RESET_LINK, profile=RESETS, tester=breaches.StallsInRecovery),
        not_applicable=STANDARD,
    ),
}
NOT_YET: frozenset[str] = frozenset()
