"""Cells of the reverse direction alone are measured like any other."""

from __future__ import annotations

import runs
from runs import BROADCAST, TPUT

REVERSE = {"traffic": {"directions": ["reverse"]}}


def test_broadcast_frames_of_the_reverse_direction_are_seen():
    evidence = runs.run(TPUT, BROADCAST, profile=REVERSE)()
    (found,) = [one for one in evidence.outcomes if one.metric.endswith(".broadcast")]
    assert found.type.value == "measured"
    assert any(remark.startswith("reverse.broadcast_sent_frames up to") for remark in found.quality)
    assert runs.verdict_of(evidence, "RFC2544-11.1-01").original.value == "met"
