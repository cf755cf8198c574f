"""Every search finds a known rate of requests, and says so in requests: none of them knows a kind of load."""

import pytest

from bmwg.methodology.kinds.requests.rate import RateTrial, RequestRate
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch.goal import ControllerInput, rfc2544_goal
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search import bisection, closing, stepwise, tst009
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.stepwise import UnexpectedTrialError
from bmwg.methodology.search.tst009 import Tst009Goal

TRUTH = 12_345  # requests/s
OFFER = RequestRate(of=RequestsSpec(workload=Workload.OPEN_LOOP, object_octets=1000, clients=1))


class Proxy:
    """Answers so many requests a second rightly and loses the others; keeps what it was asked for."""

    def __init__(self, truth: int = TRUTH, shortest: int | None = None) -> None:
        self.truth = truth
        self.shortest = shortest  # the generator offers no more
        self.trials: list[RateTrial] = []

    def __call__(self, spec):
        short = self.shortest is not None and spec.load > self.shortest
        answered = min(spec.intended, int(self.truth * spec.duration_s))
        trial = RateTrial(
            seq=len(self.trials) + 1,
            spec=spec,
            validity=Validity.SENT_SHORT if short else Validity.VALID,
            reason="not offered as asked" if short else "",
            sent=spec.intended,
            lost=spec.intended - answered,
        )
        self.trials.append(trial)
        return trial


def bisected(**changes):
    fields = {
        "offer": OFFER,
        "duration_s": 2.0,
        "min_load_fps": 100,
        "max_load_fps": 100_000,
        "relative_width": 0.01,
    }
    return ThroughputGoal(**{**fields, **changes})


def said(found):
    return " ".join((found.reason, found.statement, *found.quality))


def test_bisection_finds_it_and_its_replay_proves_it():
    proxy, goal = Proxy(), bisected()
    found = bisection.search(proxy, goal)
    assert found.type is OutcomeType.MEASURED
    assert found.lower.load_fps <= TRUTH < found.upper.load_fps
    assert found.upper.load_fps - found.lower.load_fps <= 0.01 * found.upper.load_fps
    assert bisection.legal_next(proxy.trials, goal) == found
    with pytest.raises(UnexpectedTrialError, match="requests/s"):
        bisection.legal_next(proxy.trials[1:], goal)


@pytest.mark.parametrize(
    ("proxy", "kind"),
    [
        (Proxy(truth=1_000_000), OutcomeType.AT_CEILING),
        (Proxy(truth=10), OutcomeType.AT_FLOOR),
        (Proxy(shortest=5_000), OutcomeType.TESTER_LIMITED),
    ],
)
def test_what_is_no_plain_number_is_said_in_requests(proxy, kind):
    for found in (
        bisection.search(proxy, bisected()),
        tst009.search(proxy, tst()),
    ):
        assert found.type is kind
        assert "requests/s" in said(found)
        assert "frame" not in said(found)


def tst(**changes):
    fields = {"offer": OFFER, "duration_s": 2.0, "step_fps": 100, "max_load_fps": 100_000}
    return Tst009Goal(**{**fields, **changes})


def test_tst009_finds_it_within_the_step():
    proxy, goal = Proxy(), tst()
    found = tst009.search(proxy, goal)
    assert (found.lower.load_fps, found.upper.load_fps) == (12_300, 12_400)
    assert tst009.legal_next(proxy.trials, goal) == found
    assert "unlimited requests, step 100 requests/s" in said(found)


def test_mlrsearch_finds_it_within_its_width():
    proxy = Proxy()
    wanted = ControllerInput(goals=(rfc2544_goal(),), offer=OFFER, min_load_fps=1000, max_load_fps=100_000)
    found = engine.search(proxy, wanted)
    (result,) = found.results
    assert result.regular, result.reason
    assert result.relevant_lower_bound_fps <= TRUTH < result.relevant_upper_bound_fps
    assert engine.legal_next(proxy.trials, wanted) == found


def test_what_was_found_is_tried_again_in_requests():
    again = closing.Closing(
        offer=OFFER,
        load=TRUTH,
        half=TRUTH // 2,
        duration_s=2.0,
        loss_ratio=0.0,
        exceed_ratio=0.0,
        max_repeats=1,
        short_limit=1,
    )
    assert stepwise.run(closing.procedure(again), Proxy()).found == closing.Ended()
    tired = stepwise.run(closing.procedure(again), Proxy(truth=TRUTH - 100)).found.refused
    assert tired
    assert f"{TRUTH} requests/s did not hold" in tired
