"""What a function that filters or translates counted itself in a trial, against the tester's counts. Pure.

A driver counts (`drivers/watch/data_plane.py`) as `host.dut.<place>.function.<direction>.offered_frames` the
test frames that came to the function, and as `passed_frames` those that it let through: accepted by the last
rule, or translated. `host.dut.<place>.function.dropped_frames` are frames that it dropped, `refused_frames`
those for which there was no room in the table of connections or no port, `evicted_sessions` the connections
that made room for others. The tester counts at both ends of the path, so of each direction: received <=
passed <= offered <= sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bmwg.methodology.answers.data_plane import PREFIX
from bmwg.methodology.records import TrialResult
from bmwg.methodology.trial import directions

FUNCTION = "function"
OFFERED, PASSED = "offered_frames", "passed_frames"  # of one direction
DROPPED, REFUSED, EVICTED = "dropped_frames", "refused_frames", "evicted_sessions"  # of both together
COUNTED = (OFFERED, PASSED, DROPPED, REFUSED, EVICTED)
WAYS = (directions.FORWARD, directions.REVERSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one function counted in one trial: test frames of a direction, and what it lost in all."""

    place: str
    way: str
    offered_frames: int
    passed_frames: int
    dropped_frames: int = 0
    refused_frames: int = 0
    evicted_sessions: int = 0


def told_of(result: TrialResult) -> tuple[Told, ...]:
    """Return what the functions of a trial counted, by place and direction; empty where none counts."""
    found: dict[str, dict[str, int]] = {}
    for name, value in result.auxiliary:
        if name.startswith(PREFIX):
            part, _, what = name.removeprefix(PREFIX).rpartition(".")
            if what in COUNTED:
                found.setdefault(part, {})[what] = value
    told = []
    for part in sorted(found):
        place, _, way = part.rpartition(".")
        if way in WAYS and OFFERED in found[part] and PASSED in found[part]:
            told.append(
                Told(place=place.removesuffix(f".{FUNCTION}"), way=way, **found[part], **found.get(place, {}))
            )
    return tuple(told)


def disagreements(result: TrialResult) -> Iterator[str]:
    """Say where the functions' own counts and the tester's are not of the same frames.

    A frame that the path loses before or behind a function is no disagreement; one that no function let
    through and the tester received is. Functions beside each other share the frames.
    """
    sending = directions.sending(result.spec.direction)
    streams = dict(zip(sending, result.streams, strict=False))  # of a fault one may lack
    through: dict[str, int] = {}
    for one in told_of(result):
        sent = streams[one.way].sent_frames if one.way in streams else 0
        if one.offered_frames > sent:
            yield f"{one.way}: {one.offered_frames} frames came to the function, {sent} were sent"
        if one.passed_frames != one.offered_frames:
            yield (
                f"{one.way}: of {one.offered_frames} frames that came to the function it let"
                f" {one.passed_frames} through"
            )
        through[one.way] = through.get(one.way, 0) + one.passed_frames
    for way, passed in through.items():
        received = streams[way].received_frames if way in streams else 0
        if passed < received:
            yield f"{way}: {passed} frames were let through, {received} were received"
