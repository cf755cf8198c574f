"""How long a device takes to recover (RFC 2544 26.5), by the methods of RFC 6201; what is no overload."""

import dataclasses

import pytest
from fake_measurers import CELL, by_name

from bmwg.methodology.benchmarks import recovery
from bmwg.methodology.records import OutcomeType


class TestRecovery:
    def test_an_overload_below_110_percent_is_no_plain_recovery_unless_the_medium_ends_it(self):
        trial = recovery.RecoveryTrial(
            seq=1,
            overload_s=60.0,
            overload_lost_frames=9,
            reduced_at_ns=10**9,
            last_lost_ns=10**9 + 25_000_000,
        )
        for fps, kind in ((1020, "tester_limited"), (1099, "tester_limited"), (1100, "measured")):
            overload = recovery.Overload(throughput_fps=1000, overload_fps=fps)
            found = recovery.recovery_outcome([trial], CELL, outcome_id="T", overload=overload)
            assert found.type.value == kind
            assert any(overload.text in remark for remark in found.quality)
        limited = recovery.Overload(throughput_fps=1000, overload_fps=1020)
        found = recovery.recovery_outcome([trial], CELL, outcome_id="T", overload=limited)
        assert "102 % of the throughput" in found.statement
        assert found.values == ()
        medium = recovery.Overload(throughput_fps=1000, overload_fps=1020, medium_fps=1020)
        assert recovery.recovery_outcome([trial], CELL, outcome_id="T", overload=medium).values
        calm = dataclasses.replace(trial, overload_lost_frames=0)
        whole = recovery.recovery_outcome([calm], CELL, outcome_id="T", overload=medium)
        assert whole.type is OutcomeType.AT_CEILING

    def test_loads(self):
        assert recovery.recovery_loads(1001, None).overload_fps == 1102  # never below 110 %
        assert recovery.recovery_loads(1000, None) == recovery.RecoveryLoads(
            overload_fps=1100, reduced_fps=550
        )
        assert recovery.recovery_loads(1000, 1050).overload_fps == 1050

    def test_times_from_the_reduction_to_the_last_lost_frame(self):
        trial = recovery.RecoveryTrial(
            seq=1,
            overload_s=60.0,
            overload_lost_frames=9,
            reduced_at_ns=10**9,
            last_lost_ns=10**9 + 25_000_000,
        )
        assert recovery.recovery_ms(trial) == 25
        assert recovery.recovery_ms(dataclasses.replace(trial, last_lost_ns=None)) == 0
        found = recovery.recovery_outcome([trial, trial], CELL, outcome_id="T")
        assert by_name(found)["system_recovery.rfc2544_26_5"] == 25
        calm = dataclasses.replace(trial, overload_lost_frames=0)
        unstable = recovery.recovery_outcome([trial, calm], CELL, outcome_id="T")
        assert (unstable.type, unstable.values) == (OutcomeType.UNSTABLE, ())
        assert unstable.statement == "no overload: 110 % of the throughput lost no frame in trials [1]"
        short_of = recovery.Overload(throughput_fps=1000, overload_fps=1020)
        limited = recovery.recovery_outcome([calm], CELL, outcome_id="T", overload=short_of)
        assert (limited.type, limited.values) == (OutcomeType.TESTER_LIMITED, ())
        assert recovery.recovery_outcome([], CELL, outcome_id="T").type is OutcomeType.INVALID
        short = recovery.recovery_outcome([dataclasses.replace(trial, overload_s=5.0)], CELL, outcome_id="T")
        assert any("shorter than 60 s" in remark for remark in short.quality)

    def test_both_methods_of_rfc6201_agree_on_a_known_outage(self):
        trial = recovery.ResetTrial(
            seq=1,
            offered_fps=10_000.0,
            lost_frames=2500,
            last_before_ns=10**9,
            first_after_ns=10**9 + 250_100_000,
        )
        assert recovery.reset_by_loss_ms(trial) == 250
        assert recovery.reset_by_time_ms(trial) == pytest.approx(250.1)
        power = dataclasses.replace(trial, lost_frames=160_000, power_interruption_s=15.0)
        assert recovery.reset_by_loss_ms(power) == 1000
        found = recovery.reset_outcome([trial], CELL, kind="container_restart", outcome_id="T")
        assert found.metric == "reset.rfc6201.container_restart"
        assert any("250.100 ms" in remark for remark in found.quality)
        none = recovery.reset_outcome(
            [dataclasses.replace(trial, lost_frames=0)], CELL, kind="container_restart", outcome_id="T"
        )
        assert none.type is OutcomeType.INVALID
