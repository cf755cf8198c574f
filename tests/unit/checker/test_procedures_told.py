"""What runs by the real code say of directions and overloads."""

from __future__ import annotations

from pathlib import Path

import runs
from runs import BROADCAST, BURSTS, LOSS, MEDIUM, RECOVERY, TPUT

from bmwg.reports.verify.verify import verify_folder

REVERSE = {"traffic": {"directions": ["reverse"]}}


def test_broadcast_frames_of_the_reverse_direction_are_seen():
    evidence = runs.run(TPUT, BROADCAST, profile=REVERSE)()
    (found,) = [one for one in evidence.outcomes if one.metric.endswith(".broadcast")]
    assert found.type.value == "measured"
    assert any(remark.startswith("reverse.broadcast_sent_frames up to") for remark in found.quality)
    assert runs.verdict_of(evidence, "RFC2544-11.1-01").original.value == "met"


def test_a_recovery_from_an_overload_of_102_percent_is_no_plain_number():
    few = {"benchmarks": {"recovery": {"repetitions": 2}}, **runs.CHECKED}
    few["search"] = {**few["search"], "relative_width": 0.005}
    evidence = runs.run(
        TPUT, RECOVERY, profile=few, device={"knee_fps": 800_000, "tester_limit_fps": 816_000}
    )()
    (found,) = [one for one in evidence.outcomes if one.metric.startswith("system_recovery")]
    assert (found.type.value, found.values) == ("tester_limited", ())
    assert " % of the throughput, where RFC 2544 26.5 asks for 110 %" in found.statement
    assert runs.verdict_of(evidence, "RFC2544-26.5-01").original.value == "not_met"
    assert verify_folder(Path(evidence.files.where)).findings == ()


def test_the_mediums_rate_is_the_maximum_and_not_what_the_tester_carries():
    bursts = {"repetitions": 3, "max_burst_s": 0.1, "step_frames": 50}
    few = {"benchmarks": {"back_to_back": bursts}, **runs.CHECKED}
    device = {"knee_fps": 800_000, "tester_limit_fps": 1_000_000}
    evidence = runs.run(TPUT, LOSS, BURSTS, profile=few, testbed=MEDIUM, device=device)()
    told = {one.metric: one for one in evidence.outcomes}
    curve = told["frame_loss_ratio.rfc2544_26_3"]
    assert "100 % is 1488095 frames/s, steps of 10%" in curve.quality
    assert any("no valid trial, so no value: 1488095" in remark for remark in curve.quality)
    assert min(int(one.metric.rsplit(".", 1)[1].removesuffix("fps")) for one in curve.values) < 800_000
    burst = told["back_to_back.rfc9004"]
    assert (burst.type.value, burst.values) == ("tester_limited", ())
    assert "1488095 frames/s" in burst.statement
    assert runs.verdict_of(evidence, "RFC2544-26.3-02").original.value == "not_met"
    assert verify_folder(Path(evidence.files.where)).findings == ()
