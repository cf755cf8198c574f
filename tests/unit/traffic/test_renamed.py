"""Frames that came under other headers are no loss; a neighbour's few words beside a loss change nothing."""

from __future__ import annotations

import pytest

from bmwg.drivers.traffic.renamed import renamed
from bmwg.methodology.records import StreamCounts


def _stream(*, sent: int, received: int, foreign: int) -> StreamCounts:
    return StreamCounts(
        intended_frames=sent, sent_frames=sent, received_frames=received, foreign_frames=foreign
    )


@pytest.mark.parametrize(
    ("sent", "received", "foreign"),
    [(2_000, 0, 2_000), (500_000, 0, 46_517), (2_000, 1_500, 500), (2_000, 1_000, 500), (2_000, 0, 20)],
)
def test_foreign_frames_in_the_place_of_test_frames_are_a_fault(sent, received, foreign):
    assert f"{foreign} frames came" in (
        renamed([_stream(sent=sent, received=received, foreign=foreign)]) or ""
    )


@pytest.mark.parametrize(
    ("sent", "received", "foreign"),
    [(2_000, 0, 0), (2_000, 0, 19), (2_000, 2_000, 2_000), (2_000, 1_990, 9), (2_000, 1_000, 499)],
)
def test_a_loss_with_little_beside_it_stays_a_loss(sent, received, foreign):
    assert renamed([_stream(sent=sent, received=received, foreign=foreign)]) is None


def test_each_direction_is_looked_at():
    fine = _stream(sent=2_000, received=2_000, foreign=0)
    assert renamed([fine, _stream(sent=2_000, received=0, foreign=2_000)])
