"""The three runs of each rule of RFC 2544 on frames, links, pathways, and what routers were given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cases_rfc2544_rows import ALL_MODIFIERS, counting
from foreign import Run, said
from runs import (
    BROADCAST,
    BROADCAST_BRIDGED,
    FILTERS_25,
    MANAGEMENT,
    QUALIFIED,
    ROUTES,
    TPUT,
    Tester,
    paths,
    run,
)
from three import Three

from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.trial.appendix_c import echo_frame

PLAIN, ABSENT = run(TPUT), run(QUALIFIED)
WITH_ALL = run(*ALL_MODIFIERS)
OTHER_HOPS = [64 if place == 22 else octet for place, octet in enumerate(echo_frame(64))]
JUMBO = {"mtu_octets": [1500, 9000]}
PRODUCT: dict[str, Any] = {"name": "x", "version": "1", "configuration": "guide"}
BRIDGED = {
    "paths": [
        *paths(64),
        {
            "path": "pvp",
            "hosting": "pod",
            "function": "testpmd",
            "networks": ["bridge"],
            "frame_octets": [64],
        },
    ]
}


class Late(Tester):
    """Sends a thousand test frames before the first frame beside the stream."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        late = {**dict(result.auxiliary), "modifier.first_after_frames": 1000}
        return replace(result, auxiliary=tuple(sorted(late.items()))) if spec.modifier else result


def configured(modifier: str, field: str, value: object) -> Any:
    """Return a change of what deployments say that a modifier configured; None takes the field away."""

    def change(data: Run, trials: list[Run], platform: Run) -> None:
        for told in platform["deployments"].values():
            for text in told.get("modifiers", {}).get(modifier, {}).values():
                text[field] = value(text[field]) if callable(value) else value

    return change


def other_addresses(lines: list[str]) -> list[str]:
    """Let the last filter let through what has another destination."""
    return [line.replace("198.19.0.2 counter accept", "198.19.0.9 counter accept") for line in lines]


def of_the_stream(lines: list[str]) -> list[str]:
    """Let one of the filters that block have the source of the test frames."""
    return [line.replace("198.18.65.9", "198.18.0.2") for line in lines]


def fewer(lines: list[str]) -> list[str]:
    """Leave one of the filters that block out."""
    return [line for line in lines if "198.18.88.9" not in line]


def pathways(*given: dict[str, str]) -> dict[str, Any]:
    """Return a submission whose product has these types of pathway."""
    return {"product": {**PRODUCT, "pathways": list(given)}}


ONE_CARD, TWO_CARDS = {"kind": "ports of one card", "run": "made"}, {"kind": "ports of two cards"}

CASES: dict[str, Three] = {
    "RFC2544-7-04": Three(
        met=run(TPUT, ROUTES),
        not_met=said(run(TPUT, ROUTES), configured("route-updates", "timers_s", [3, 18, 12])),
        not_applicable=PLAIN,
        benchmark="throughput",
    ),
    "RFC2544-8-01": Three(
        met=PLAIN,
        not_met=run(TPUT, device={"test_frame": OTHER_HOPS}),
        not_applicable=run(TPUT, profile={"traffic": {"frame_formats": ["ipv6-udp"]}, "paths": paths(128)}),
        benchmark="throughput",
    ),
    "RFC2544-9.4-01": Three(
        met=run(TPUT, device=JUMBO, profile={"paths": paths(64, 9018)}),
        not_met=run(TPUT, device=JUMBO, profile={"paths": paths(64, 1518)}),
        not_applicable=PLAIN,
        benchmark="throughput",
    ),
    "RFC2544-11.1-02": Three(
        met=WITH_ALL,
        not_met=run(TPUT, BROADCAST, tester=counting("forward.broadcast_most_between_frames", 1.2)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.1-03": Three(
        met=run(TPUT, BROADCAST_BRIDGED, profile=BRIDGED),
        not_met=run(TPUT, BROADCAST, profile=BRIDGED),
        not_applicable=run(TPUT, BROADCAST),
        benchmark="throughput",
    ),
    "RFC2544-11.2-03": Three(
        met=WITH_ALL,
        not_met=run(TPUT, MANAGEMENT, tester=counting("modifier.verified_frames", 0.9)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.3-01": Three(met=WITH_ALL, not_met=run(TPUT, ROUTES, tester=Late), not_applicable=PLAIN),
    "RFC2544-11.4-03": Three(
        met=WITH_ALL,
        not_met=said(run(TPUT, FILTERS_25), configured("filters-25", "rule_set", other_addresses)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.4-06": Three(
        met=WITH_ALL,
        not_met=said(run(TPUT, FILTERS_25), configured("filters-25", "rule_set", of_the_stream)),
        not_applicable=PLAIN,
    ),
    "RFC2544-11.4-08": Three(
        met=WITH_ALL,
        not_met=said(run(TPUT, FILTERS_25), configured("filters-25", "rule_set", [])),
        not_applicable=PLAIN,
    ),
    "RFC2544-15-02": Three(
        met=run(TPUT, submission=pathways(ONE_CARD, {**TWO_CARDS, "run": "another"})),
        not_met=run(TPUT, submission=pathways(ONE_CARD, TWO_CARDS)),
        not_applicable=run(TPUT, submission=pathways({"kind": "the only one"})),
        benchmark="throughput",
    ),
    "RFC2544-25": Three(
        met=PLAIN,
        not_met=run(TPUT, device={"answers_resolution": ["nd"]}),
        not_applicable=ABSENT,
        benchmark="throughput",
    ),
}
NOT_YET: frozenset[str] = frozenset()
