"""How many numbers of the search for a rate of requests are wrong, on proxies whose rate is known or none.

Proxies are the models of devices, with requests for frames. What is late or refused is lost. No clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import profile as http_profile
from bmwg.methodology.kinds.requests.rate_search import (
    LONG_ENOUGH_S,
    LONGER,
    below,
    goal,
    search,
    settings_of,
)
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.goal import SearchResult
from bmwg.methodology.simulated_devices.device import (
    Claim,
    Device,
    HardLimit,
    Passed,
    SoftKnee,
    SporadicLoss,
    WarmCache,
)
from bmwg.methodology.simulated_devices.unruly import (
    Fatiguing,
    Hysteretic,
    LossyTrials,
    PerFrameLossy,
    TwoStates,
)

EXPERIMENT = "request_rate"
_LEAST_RPS, _MOST_SHARE = 40, 0.6  # of the highest load: proxies whose limit the search can reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """A model by name, as a function of its limit (requests/s) and the length of a trial (s)."""

    name: str
    device: Callable[[int, float], Device]


PROXIES = (
    Proxies(name="steady", device=lambda rps, _: HardLimit(limit_fps=rps)),
    Proxies(name="soft knee", device=lambda rps, _: SoftKnee(knee_fps=rps)),
    Proxies(name="late in an overload", device=lambda rps, _: LateQueue(limit_fps=rps, late_s=0.5)),
    Proxies(name="buffer of 1 s", device=lambda rps, _: HardLimit(limit_fps=rps, buffer_frames=rps)),
    Proxies(name="half the rate in its first 2 s", device=lambda rps, _: _warming(rps)),
    Proxies(
        name="tires by 3 % in the time of a trial",
        device=lambda rps, trial_s: Fatiguing(limit_fps=rps, fading_per_s=0.03 / trial_s),
    ),
    Proxies(name="two thirds after an overload", device=lambda rps, _: Hysteretic(limit_fps=rps)),
    Proxies(name="two states of 5 s", device=lambda rps, _: TwoStates(limit_fps=rps, stay_s=5.0)),
    Proxies(name="two states of 60 s", device=lambda rps, _: TwoStates(limit_fps=rps, stay_s=60.0)),
    Proxies(name="loses in 25 % of trials", device=lambda rps, _: LossyTrials(limit_fps=rps, share=0.25)),
    Proxies(name="loses in 40 % of trials", device=lambda rps, _: LossyTrials(limit_fps=rps, share=0.4)),
    Proxies(name="loses 1e-4", device=lambda rps, _: PerFrameLossy(limit_fps=rps, loss_ratio=1e-4)),
    Proxies(name="bursts of 10 lost, once a second", device=lambda rps, _: _bursts(rps, 1.0, 10)),
    Proxies(name="bursts of 10 lost, once in 10 s", device=lambda rps, _: _bursts(rps, 0.1, 10)),
    Proxies(name="pauses of 1 s, once in 10 s", device=lambda rps, _: _bursts(rps, 0.1, max(1, rps // 2))),
    Proxies(
        name="pauses of 1 s, once a minute", device=lambda rps, _: _bursts(rps, 1 / 60, max(1, rps // 2))
    ),
)


@dataclass(kw_only=True)
class LateQueue:
    """Answers `limit_fps` requests a second in turn; what has waited for longer than `late_s` is lost."""

    limit_fps: int
    late_s: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass all until the queue is as long as an answer may be late."""
        over = frames / duration_s / self.limit_fps - 1
        if over <= 0 or self.late_s / over >= duration_s:
            return Passed(received=frames)
        return Passed(received=int(frames * self.late_s / over / duration_s))

    def truth_fps(self, claim: Claim) -> float | None:
        """The rate, and what may wait of a trial."""
        return self.limit_fps * (1 + self.late_s / claim.duration_s)


@dataclass(kw_only=True)
class ProxyBench:
    """Runs repetitions of an open loop on a model. The same seed gives the same repetitions."""

    device: Device
    seed: int
    traffic_s: float = 0.0
    done: list[Tried[RequestsResult]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Throw the dice of this bench."""
        self._dice = random.Random(f"proxy {self.seed}")

    def measure(self, spec: RequestsSpec) -> Tried[RequestsResult]:
        """Run one repetition."""
        self.traffic_s += spec.duration_s
        passed = self.device.passes(spec.intended, spec.duration_s, self._dice)
        result = RequestsResult(
            asked_requests=spec.intended,
            requests=spec.intended,
            failed=spec.intended - passed.received,
            probes=((200, True), (200, True)),
        )
        self.done.append(Tried(seq=len(self.done) + 1, result=result, spec=spec))
        return self.done[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Of `cases` searches: plain numbers, and how many of them are wrong. `traffic_s` is the middle one."""

    cases: int
    plain: int
    wrong: int
    traffic_s: float


def planned_by(name: str) -> RequestsSpec:
    """Return how a profile searches for a rate."""
    plan = http_profile.load(name).plan()
    return next(
        one.spec
        for one in plan
        if one.spec.search is not None
        and one.spec.workload is Workload.OPEN_LOOP
        and one.spec.form == "native"
    )


def counted(proxies: Proxies, planned: RequestsSpec, *, cases: int, seed: int) -> Counted:
    """Search `cases` proxies, each of a limit of its own."""
    dice, settings = random.Random(f"{seed} {proxies.name}"), settings_of(planned)
    plain = wrong = 0
    traffic_s: list[float] = []
    for case in range(cases):
        limit = dice.randint(_LEAST_RPS, int(_MOST_SHARE * settings["max_rps"]))
        bench = ProxyBench(device=proxies.device(limit, settings["duration_s"]), seed=seed * 1000 + case)
        found = search(bench.measure, planned)
        traffic_s.append(bench.traffic_s)
        if found.type is OutcomeType.MEASURED:
            plain += 1
            wrong += not _holds(found, bench.device, planned)
    return Counted(cases=cases, plain=plain, wrong=wrong, traffic_s=sorted(traffic_s)[cases // 2])


def _holds(found: SearchResult, device: Device, planned: RequestsSpec) -> bool:
    """Whether what held in the longest trials, and the lowest load that lost, lie about the truth.

    One request in a trial is no difference.
    """
    assert found.lower is not None
    assert found.upper is not None
    wanted = goal(planned)
    long_s = min(LONG_ENOUGH_S, LONGER * wanted.duration_s)
    truth = device.truth_fps(Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=long_s))
    if truth is None:
        return False
    slack = 1 + 2 / wanted.duration_s
    held = int(found.lower.load_fps * (1 - below(wanted)))
    return held <= truth + slack and truth <= found.upper.load_fps + slack


def _warming(rps: int) -> WarmCache:
    return WarmCache(limit_fps=rps, cold_fps=rps // 2, warm_s=2.0)


def _bursts(rps: int, per_s: float, requests: int) -> SporadicLoss:
    """Lose so many requests at once; in a pause of 1 s those of half a second have waited for too long."""
    return SporadicLoss(limit_fps=rps, events_per_s=per_s, frames=requests)
