"""What the resize of a guest proves, and what an answer of resizes says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Life
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.acts.bench import ActsBench

MS = 1_000_000
IDLE, HALF = profile.PROFILES.load("resize").plan()
FULL, LESS = 128 << 20, 96 << 20
TOLD = {"had_octets": FULL, "asked_octets": LESS, "actual_octets": LESS, "forwarded_frames": 500}


def resized(lost: int = 0, at_ms: int = 50, **changes) -> Life:
    """A resize: 300 ms until the size is read back, 302 until the first frame, some frames lost."""
    asked = at_ms * MS
    steps = {"size_asked": asked + MS, "size_reached": asked + 300 * MS}
    if lost:
        steps |= {
            "last_before_loss": asked + 9 * MS,
            "frames_stopped": asked + 10 * MS,
            "frames_again": asked + (10 + lost) * MS,
        }
    made = Life(
        asked_ns=asked,
        steps=steps,
        ready_ns=asked + 300 * MS,
        not_before_ns=asked + 301 * MS,
        first_frame_ns=asked + 302 * MS,
        last_frame_ns=asked + 299 * MS,
        offered_frames=900,
        received_frames=900 - lost,
        told=TOLD,
    )
    return replace(made, **changes)


def there_and_back(lost: int = 0, **changes) -> ActsResult:
    back = TOLD | {"had_octets": LESS, "asked_octets": FULL, "actual_octets": FULL}
    lives = (replace(resized(lost), **changes), resized(lost, 3000, told=back))
    return ActsResult(lives=lives, wall_ns=10_000 * MS)


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"told": TOLD | {"actual_octets": FULL}}, Validity.INCONSISTENT, f"{FULL} octets, asked for {LESS}"),
        ({"told": TOLD | {"forwarded_frames": 0}}, Validity.INCONSISTENT, "the guest forwarded none with"),
        (
            {"told": {k: v for k, v in TOLD.items() if k != "had_octets"}},
            Validity.INCOMPLETE,
            "had_octets is",
        ),
        ({"received_frames": 899}, Validity.INCOMPLETE, "1 frames were lost, and it was not seen until when"),
        ({"first_frame_ns": None, "not_before_ns": None}, Validity.INCOMPLETE, "resize 1: no frame came out"),
    ],
)
def test_a_resize_has_the_size_that_was_asked_for_and_frames_with_it(changes, validity, said) -> None:
    found = ACTS.assessed(replace(IDLE.spec, number=1), there_and_back(**changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_its_cells_are_named_and_its_answer_has_time_loss_and_sizes() -> None:
    assert [one.cell.cell_id for one in (IDLE, HALF)] == [
        "pvp-moving/kernel-l3/none/resize/2x",
        "pvp-moving/kernel-l3/none/resize/2x/half-load",
    ]
    done = [ACTS.tried(seq, replace(IDLE.spec, number=seq), there_and_back(20 + seq)) for seq in range(1, 8)]
    outcome = ACTS.answered(IDLE, done)
    found = {one.metric: one.number for one in outcome.values}
    assert found["guest_resize.mean"] == 302 * MS
    assert found["guest_resize.outage.median"] == 24 * MS
    assert found["guest_resize.lost_frames.median"] == 24
    assert found["guest_resize.size_reached.median"] == 300 * MS
    line = ActsBench.__new__(ActsBench).line(outcome)
    assert "with the new size after 302.0 ms" in line
    assert "24 frames lost" in line
