"""Loss around the throughput (LTD 3.2.2.1.3) through a policer of 20,000 frames/s, with real packets."""

import os
from dataclasses import replace

import known_outage
import pytest
import tester_bed as bed

from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile as profile_of
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, TrialSpec
from bmwg.methodology.trial.judging import RecordedTrial, TrialPolicy, judge

pytestmark = pytest.mark.quiet

TRUTH_FPS, BUCKET_FRAMES = 20_000, 150  # what the policer holds and its queue, 9,000 octets of 60
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
TRIAL_S = 0.5
TRIES = 3
MOST_FPS = TRUTH_FPS * 1.005 + BUCKET_FRAMES / TRIAL_S
POLICY = TrialPolicy(max_stall_ns=5_000_000)


def profile_through(tester):
    """Return the answer at each delta that has one, each with its trial."""
    trials = []

    def take(spec, phase):
        trials.append(judge(RecordedTrial(seq=len(trials) + 1, result=tester.run(spec)), POLICY))
        return trials[-1]

    named = profile_of("vsperf")
    lower = Bound(load_fps=19_000, trials=(1,))
    found = Outcome(outcome_id="t", metric="t", cell=CELL, type=OutcomeType.MEASURED, lower=lower)
    asked = Asked(
        profile=replace(named, benchmarks={"load_profile": {"trial_s": TRIAL_S}}),
        cell=CELL,
        outcome_id="x",
        trial=take,
        max_load_fps=60_000,
        envelope_fps=60_000,
        throughput=found,
    )
    (outcome,) = measurement("load_profile").measure(asked).outcomes
    values = {one.metric: one.number for one in outcome.values}
    at = {delta: f"{load_profile.METRIC}.{load_profile.name_of(delta)}" for delta in (-50, -10, 0, 10, 50)}
    return {
        delta: (values[f"{name}.load"], values[f"{name}.loss_ratio"], values[f"{name}.forwarded"])
        for delta, name in at.items()
        if f"{name}.load" in values
    }


@pytest.mark.parametrize("io", ["xdp", pytest.param("af_xdp", marks=pytest.mark.slow)])
def test_loss_above_a_policers_rate_is_what_it_does_not_pass(tester, io):
    """No more can come than rate and bucket give; a CPU that is taken away can only make it less."""
    best: dict[int, float] = {}
    with bed.forwarder(io, cpu=(os.cpu_count() or 1) - 1) as (left, right, dut):
        tester.attach((left, right))
        try:
            tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
            known_outage.slow_way_out(dut)
            for _ in range(TRIES):
                for delta, (load, loss, forwarded) in profile_through(tester).items():
                    assert load == {-50: 9_500, -10: 17_100, 0: 19_000, 10: 23_100, 50: 39_500}[delta]
                    assert forwarded <= MOST_FPS
                    assert loss >= 1 - MOST_FPS / (0.999 * load)
                    best[delta] = min(best.get(delta, 1.0), loss)
                if _whole(best):
                    break
        finally:
            tester.detach()
    if not _whole(best):
        pytest.skip(f"needs CPUs that are not taken away: loss at {best} in {TRIES} profiles")


def _whole(best: dict[int, float]) -> bool:
    """Whether each load had a trial in which the device lost what a policer with its CPU to itself loses."""
    above = {10: 23_100, 50: 39_500}
    most = {delta: 1 - 0.98 * TRUTH_FPS / load for delta, load in above.items()}
    return len(best) == 5 and all(loss <= most.get(delta, 0.0) for delta, loss in best.items())
