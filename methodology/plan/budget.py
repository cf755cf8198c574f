"""What to cut from a profile so that a run fits a time, and what each cut costs in conformance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planned_work import answers_needed
from bmwg.methodology.profiles import PathPlan, Profile
from bmwg.methodology.profiles.profile import BISECTION
from bmwg.methodology.suites import DEFAULT_TESTS

_FEWEST_SIZES = (64, 512, 1518)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One shortening. `requirement` is the catalogue row that it deviates from, empty where none forbids it.

    `saves_s` is what it saves of the run, traffic and waits, after the cuts before it.
    """

    what: str
    requirement: str
    cost: str
    saves_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The cuts in order, cheapest in conformance first; `fits` is false when even all of them do not do."""

    budget_s: float
    before_s: float
    after_s: float
    cuts: tuple[Cut, ...]
    fits: bool


_Change = Callable[[Profile], Profile]


def propose(
    profile: Profile,
    networks: Mapping[str, int | None],
    budget_s: float,
    *,
    test_ids: Collection[str] = DEFAULT_TESTS,
) -> Proposal:
    """Cut until the run fits, each time what costs least next; ValueError where there is no time.

    Nothing is changed: the cuts are for a profile that somebody writes, with each as a declared deviation.
    """
    if not budget_s > 0:
        raise ValueError(f"budget_s: expected above 0, found {budget_s}")
    before = left = _length_s(profile, networks, test_ids)
    cuts: list[Cut] = []
    for what, requirement, cost, change in _steps(profile):
        if left <= budget_s:
            break
        shorter = change(profile)
        length = _length_s(shorter, networks, test_ids)
        if length < left:
            cuts.append(Cut(what=what, requirement=requirement, cost=cost, saves_s=left - length))
            profile, left = shorter, length
    return Proposal(budget_s=budget_s, before_s=before, after_s=left, cuts=tuple(cuts), fits=left <= budget_s)


def _length_s(profile: Profile, networks: Mapping[str, int | None], test_ids: Collection[str]) -> float:
    planned = planning.cells(profile, networks, test_ids=test_ids)
    return planning.duration_s((*planned, *answers_needed(profile, planned)))


def _steps(profile: Profile) -> Iterator[tuple[str, str, str, _Change]]:
    """Yield the cuts that a profile leaves room for, cheapest in conformance first."""
    if profile.search.algorithm == BISECTION:
        for width in (0.01, 0.03):
            yield (
                f"width of the result {width:.0%} of the upper bound",
                "",
                "no clause; a coarser number",
                lambda p, width=width: replace(  # type: ignore[misc]  # bound per step
                    p, search=replace(p.search, relative_width=max(width, p.search.relative_width))
                ),
            )
    yield (
        f"frame sizes {', '.join(map(str, _FEWEST_SIZES))} only",
        "RFC2544-9.1",
        "deviated: not all recommended frame sizes",
        _fewer_sizes,
    )
    yield (
        f"{min(profile.flows)} flow only" if min(profile.flows) == 1 else f"{min(profile.flows)} flows only",
        "",
        "no clause; no run with many flows",
        lambda p: replace(p, flows=(min(p.flows),)),
    )
    yield (
        "one destination network only",
        "RFC2544-12-02",
        "deviated: no run with random destinations",
        lambda p: replace(p, destination_networks=(1,)),
    )
    yield (
        "one latency trial at 64 octets only",
        "RFC2544-26.2-01",
        "deviated: no latency for the other frame sizes",
        lambda p: replace(p, latency=replace(p.latency, frame_octets=p.latency.frame_octets[:1])),
    )
    for seconds in (10.0, 2.0, 0.5):
        yield (
            f"trials of {seconds:g} s",
            "RFC2544-24-01",
            "conditional compliance at best (RFC 2544 section 5): 60 s is a SHOULD",
            lambda p, seconds=seconds: _shorter_trials(p, seconds),  # type: ignore[misc]
        )
    yield (
        "waits of a tenth around each trial",
        "RFC2544-23-05",
        "deviated: less than 5 s for restabilization and 2 s for residual frames",
        _shorter_waits,
    )
    yield (
        "latency trials and streams of 1 s",
        "RFC2544-26.2-02",
        "not compliant: 120 s is a MUST",
        _shorter_streams,
    )
    yield (
        "five streams each for tagged latency and delay variation, five bursts, five resets",
        "RFC2544-26.2-06",
        "not compliant: 20 repetitions are a MUST",
        _fewer_streams,
    )
    yield (
        "64 octets only",
        "RFC2544-9-02",
        "not compliant: at least five frame sizes are a MUST",
        lambda p: _with_sizes(p, lambda sizes: sizes[:1]),
    )


def _fewer_sizes(profile: Profile) -> Profile:
    return _with_sizes(
        profile, lambda sizes: tuple(size for size in sizes if size in _FEWEST_SIZES) or sizes[:1]
    )


def _with_sizes(profile: Profile, kept: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Profile:
    """Return the profile with fewer frame sizes, on the paths of every suite."""

    def fewer(plans: tuple[PathPlan, ...]) -> tuple[PathPlan, ...]:
        return tuple(replace(plan, frame_octets=kept(plan.frame_octets)) for plan in plans)

    own = {suite: fewer(plans) for suite, plans in profile.suite_paths.items()}
    return replace(profile, paths=fewer(profile.paths), suite_paths=own)


def _shorter_streams(profile: Profile) -> Profile:
    seconds = min(1.0, profile.latency.duration_s)
    shorter = replace(profile, latency=replace(profile.latency, duration_s=seconds))
    return _with_settings(shorter, ("tagged_latency", "delay_variation"), "stream_s", 1.0)


def _fewer_streams(profile: Profile) -> Profile:
    settings = replace(profile.latency, streams=min(5, profile.latency.streams))
    fewer = replace(profile, latency=settings)
    fewer = _with_settings(fewer, ("tagged_latency", "delay_variation"), "streams", 5)
    return _with_settings(fewer, ("back_to_back", "recovery", "reset"), "repetitions", 5)


def _with_settings(profile: Profile, names: tuple[str, ...], field: str, most: float) -> Profile:
    """Return the profile with a setting of some benchmarks lowered; one that it does not state is stated."""
    benchmarks = {name: dict(said) for name, said in profile.benchmarks.items()}
    for name in names:
        said = benchmarks.setdefault(name, {})
        said[field] = min(most, said.get(field, most))
    return replace(profile, benchmarks=benchmarks)


def _shorter_trials(profile: Profile, seconds: float) -> Profile:
    """Shorten the trials; goals keep how many of their final trials fit their sum."""
    share = min(1.0, seconds / profile.trial_duration_s)
    goals = tuple(
        replace(
            goal,
            goal_final_trial_duration_s=goal.goal_final_trial_duration_s * share,
            goal_duration_sum_s=goal.goal_duration_sum_s * share,
            goal_initial_trial_duration_s=min(
                goal.initial_trial_duration_s, goal.goal_final_trial_duration_s * share
            ),
        )
        for goal in profile.search.goals
    )
    return replace(
        profile,
        trial_duration_s=profile.trial_duration_s * share,
        search=replace(profile.search, goals=goals),
    )


def _shorter_waits(profile: Profile) -> Profile:
    policy = profile.policy
    return replace(
        profile,
        policy=replace(
            policy,
            settle_s=policy.settle_s / 10,
            learning_wait_s=policy.learning_wait_s / 10,
            drain_s=policy.drain_s / 10,
            restabilize_s=policy.restabilize_s / 10,
        ),
    )
