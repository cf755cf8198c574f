"""Worst-of-N and best-of-N throughput (LTD 3.2.2.1.13), against devices of a known truth."""

import re
from dataclasses import dataclass, replace

import pytest
from vsperf_device import OFFERED_FPS, Device, ask, cell

from bmwg.methodology.benchmarks import of_n
from bmwg.methodology.records import OutcomeType, Validity

NAMES = {"worst_of_n": of_n.WORST, "best_of_n": of_n.BEST}


@dataclass(kw_only=True)
class Restless(Device):
    """Carries `rate_fps`, but in each fourth trial at a load only `low_fps`."""

    low_fps: int = 80_000

    def _stream(self, spec, number):
        same = sum(trial.load == spec.load_fps for trial in self.trials)
        rate_fps = self.low_fps if same % 4 == 3 else self.rate_fps
        return replace(Device(rate_fps=rate_fps), trials=self.trials)._stream(spec, number)


def answer(device, name, **said):
    outcome, values = ask(
        device, name, throughput_fps=None, **{"trials": 4, "trial_s": 1.0, "width": 0.01, **said}
    )
    return outcome, {key.removeprefix(NAMES[name]).lstrip("."): number for key, number in values.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_steady_device_has_one_answer(name):
    device = Device(rate_fps=100_000)
    outcome, told = answer(device, name)
    assert outcome.type is OutcomeType.MEASURED
    assert 99_000 <= told[""] <= 100_000 < told["failed"] <= 1.01 * told[""] + 2
    assert (told["held_lossless"], told["failed_lossless"]) == (4, 0)
    assert told["latency_mean"] == 10_000


def test_the_worst_and_the_best_tell_how_far_a_restless_device_varies():
    """Known truth: of each four trials one carries 80,000 frames/s, the others 100,000."""
    _, worst = answer(Restless(), "worst_of_n")
    assert 79_000 <= worst[""] <= 80_000 < worst["failed"]
    assert (worst["held_lossless"], worst["failed_lossless"]) == (4, 3)
    _, best = answer(Restless(), "best_of_n")
    assert 99_000 <= best[""] <= 100_000 < best["failed"]
    assert (best["held_lossless"], best["failed_lossless"]) == (3, 0)


def test_each_load_is_tried_n_times_whatever_the_first_trials_say():
    device = Device(rate_fps=100_000)
    answer(device, "worst_of_n", trials=7)
    loads = [trial.load for trial in device.trials]
    assert loads[:14] == [OFFERED_FPS] * 7 + [1_000] * 7
    assert all(loads.count(load) == 7 for load in loads)


def test_disturbed_trials_are_repeated_and_are_no_sample():
    seen = []

    def shown(spec):
        seen.append(spec)
        return Validity.TESTER_STALLED if len(seen) % 2 else Validity.VALID

    device = Device(rate_fps=100_000, validity=shown)
    _, told = answer(device, "worst_of_n")
    assert 99_000 <= told[""] <= 100_000
    assert sum(trial.valid for trial in device.trials) * 2 == len(device.trials)


def test_a_device_that_loses_at_any_load_has_no_throughput():
    outcome, told = answer(Device(unlucky=lambda number: True), "best_of_n")
    assert outcome.type is OutcomeType.AT_FLOOR
    assert "the best of 4 trials at the lowest load, 1000 frames/s, lost frames" in outcome.reason
    assert not told


def test_a_device_that_carries_all_that_the_tester_sends_is_limited_by_it_but_not_by_a_medium():
    outcome, told = answer(Device(rate_fps=OFFERED_FPS), "worst_of_n")
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert not told
    device = Device(rate_fps=OFFERED_FPS)
    outcome, values = ask(
        device, "worst_of_n", throughput_fps=None, medium_fps=150_000, trials=4, trial_s=1.0
    )
    assert outcome.type is OutcomeType.MEASURED
    assert values[of_n.WORST] == 150_000
    assert f"{of_n.WORST}.failed" not in values


def test_loads_that_the_tester_cannot_send_are_no_loss_of_the_device():
    def short(spec):
        return Validity.SENT_SHORT if spec.load_fps > 90_000 else Validity.VALID

    outcome, told = answer(Device(validity=short), "worst_of_n")
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert re.match("the worst of 4 trials lost nothing up to (89|90)", outcome.reason)
    assert not told
    outcome, _ = answer(Device(validity=lambda spec: Validity.SENT_SHORT), "best_of_n")
    assert outcome.type is OutcomeType.TESTER_LIMITED


def test_a_load_that_was_sent_in_some_trials_alone_does_not_hold():
    seen = []

    def short(spec):
        seen.append(spec.load_fps)
        again = seen.count(spec.load_fps) > 1
        return Validity.SENT_SHORT if spec.load_fps > 90_000 and again else Validity.VALID

    outcome, _ = answer(Device(rate_fps=OFFERED_FPS, validity=short), "best_of_n")
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert re.match("the best of 4 trials lost nothing up to (89|90)", outcome.reason)


def test_a_search_of_one_trial_or_without_a_way_is_refused():
    with pytest.raises(ValueError, match="expected 2 or more"):
        of_n.OfNGoal(metric=of_n.WORST, cell=cell(), min_load_fps=1, max_load_fps=2, trials=1)
    with pytest.raises(ValueError, match="min_load_fps"):
        of_n.OfNGoal(metric=of_n.WORST, cell=cell(), min_load_fps=3, max_load_fps=2)
