"""Lives of pods as a driver would count them, and what an answer says of them."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.records import ActsResult, Life

QUICK = profile.PROFILES.load("quick")
PLAN = QUICK.plan()
START = next(one for one in PLAN if one.test_id == "LC-START-1")
MS = 1_000_000


def life(start_ms: int = 1500, asked_ms: int = 50, **changes) -> Life:
    """A pod that forwards so long after the request, is removed 100 ms later and gone after 600 ms."""
    asked = asked_ms * MS
    first = asked + start_ms * MS
    made = Life(
        asked_ns=asked,
        steps={"pod_asked": asked + 10 * MS, "container_running": first - 100 * MS},
        ready_ns=first - 50 * MS,
        not_before_ns=first - 3 * MS,
        first_frame_ns=first,
        removal_steps={"networks_detached": first + 500 * MS},
        remove_asked_ns=first + 100 * MS,
        last_frame_ns=first + 300 * MS,
        removed_ns=first + 700 * MS,
        offered_frames=400,
        received_frames=140,
    )
    return replace(made, **changes)


def values(outcome) -> dict[str, float]:
    return {one.metric: one.number for one in outcome.values}


def result(start_ms: int = 1500, cycles: int = 1, **changes) -> ActsResult:
    each_ms = start_ms + 800
    lives = tuple(life(start_ms, 50 + number * each_ms) for number in range(cycles))
    if changes:
        lives = (replace(lives[0], **changes), *lives[1:])
    return ActsResult(lives=lives, wall_ns=(100 + cycles * each_ms) * MS)


def spec(planned=START, number: int = 1):
    return replace(planned.spec, number=number)


def pair(second_ms: int = 1900, **changes) -> ActsResult:
    """Two servers, asked for 20 ms apart; the second forwards after so long."""
    lives = (life(1500, 50), replace(life(second_ms, 70), **changes))
    return ActsResult(lives=lives, wall_ns=4000 * MS)


def drained(outage_ms: int = 800, at_ms: int = 50, **changes) -> Life:
    """A drain that loses frames from 20 ms after the request on; a frame is offered each millisecond."""
    asked, stops = at_ms * MS, (at_ms + 20) * MS
    again = stops + outage_ms * MS
    steps = {
        "eviction_accepted": asked + 5 * MS,
        "pod_ready": again - 100 * MS,
        "last_before_loss": stops - MS,
        "frames_stopped": stops,
        "frames_again": again,
    }
    made = Life(
        asked_ns=asked,
        steps=steps,
        not_before_ns=again - MS,
        first_frame_ns=again,
        last_frame_ns=stops,
        remove_asked_ns=again + 1000 * MS,
        removed_ns=again + 1005 * MS,
        offered_frames=1800,
        received_frames=1800 - outage_ms,
    )
    return replace(made, **changes)


def both_ways(outage_ms: int = 800, **changes) -> ActsResult:
    lives = (replace(drained(outage_ms), **changes), drained(outage_ms, 5000))
    return ActsResult(lives=lives, wall_ns=10_000 * MS)
