"""The procedure of RFC 9411 for a highest load of transactions (7.2.4, 7.3.4, 7.5.4). Pure.

1. The initial load, the profile's lowest: where the criteria are not met there twice, nothing follows.
2. The target, the profile's highest load, and where it is not reached the search between both; bounds are
   tried again.
3. The final iteration at what was found, with the sustain phase of the profile's `sustain_s`; where a
   criterion is not met for so long, lower loads follow, and loads between. What holds then is the answer.
4. Where the profile has `latency_s`: half of the answer for so long, for the times of its transactions
   (7.4.4, 7.8.4). Only a number has a half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.requests.profile import CONNECTION_RATE
from bmwg.methodology.kinds.requests.rate import RateTrial, RequestRate, judged
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.records import Bound, OutcomeType, Quantity
from bmwg.methodology.search import bisection
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.search.probing import middle
from bmwg.methodology.search.stepwise import Procedure, Run, run, valid_trial

MET, UNMET = "met", "unmet"  # the highest load that meets the criteria, and the lowest that did not
CONNECTIONS_PER_S = "connections/s"  # of one transaction each: the requests of the search
INITIAL, FINAL, LATENCY = "initial", "final", "latency"
HALF = "half"  # rfc9411-7.4.3.2: of the rate found, where times are told
SHORT_LIMIT = 2  # choice: once may be a pause of the clients' machine
INITIALS = 2  # choice: as for a bound of the search, one pause of the machine is no answer of the function
LOWER_FINALS = 3  # choice: loads below what was found that are tried for the whole time
_ENDED = (OutcomeType.MEASURED, OutcomeType.AT_CEILING)
_SPREAD = ("min", "mean", "max")
_SHARES = ("p50", "p90", "p99")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Final:
    """How the final iterations ended; without a `trial` the clients fell short."""

    trial: RateTrial | None
    failed: tuple[RateTrial, ...]


def goal(spec: RequestsSpec) -> ThroughputGoal:
    """Return what the search of a planned cell is to find."""
    settings = spec.search
    assert settings is not None  # of a cell whose loads follow from each other
    return ThroughputGoal(
        offer=RequestRate(of=spec, holds=bool(settings.get("holds"))),
        duration_s=float(settings["duration_s"]),
        min_load_fps=settings["min_rps"],
        max_load_fps=settings["max_rps"],
        relative_width=float(settings["relative_width"]),
        max_repeats=settings.get("max_repeats", 1),
        short_limit=min(SHORT_LIMIT, 1 + settings.get("max_repeats", 1)),
    )


def search(measure: Callable[[RequestsSpec], Tried[RequestsResult]], planned: RequestsSpec) -> SearchResult:
    """Search; `measure` runs and records one repetition."""
    wanted = goal(planned)
    taken: list[RateTrial] = []

    def one(spec: RequestsSpec) -> Any:
        tried = measure(spec)
        taken.append(judged(tried.seq, tried.result, spec))
        return taken[-1]

    first = run(_initial(wanted), one)
    initial = first.found.trial if first.found is not None else None
    if initial is None or not initial.lossless:
        return _not_begun(wanted, first, taken)
    found = bisection.search(one, wanted)
    numbers = tuple(trial.seq for trial in taken)
    if found.type not in _ENDED or found.lower is None:
        return replace(found, trials=numbers, reason=f"{_why(wanted, found)}{_last_unmet(taken)}")
    ended = run(_final(wanted, found.lower.load_fps, _sustain_s(planned)), one)
    numbers = tuple(trial.seq for trial in taken)
    found = replace(found, trials=numbers, error=ended.error)
    if ended.found is None:
        why = f"the final iteration: {ended.reason}"
        return replace(found, type=ended.type, statement=why, reason=why)
    concluded = _concluded(wanted, found, ended.found)
    latency_s = (planned.search or {}).get("latency_s")
    if concluded.type is not OutcomeType.MEASURED or latency_s is None:
        return concluded
    ended_half = run(_latency(concluded, wanted, float(latency_s)), one)
    return _with_latency(concluded, ended_half, tuple(trial.seq for trial in taken))


def half_of(load: int) -> int:
    """Return the load at which times are told, of the one that was found."""
    return max(1, load // 2)


def at_half(found: SearchResult, executions: Sequence[Tried[RequestsResult]]) -> Tried[RequestsResult] | None:
    """Return the trial at half of what was found, the last one; None where it did not meet the criteria."""
    if found.lower is None or not executions:
        return None
    last = executions[-1]
    half = last.spec.load == half_of(found.lower.load_fps) < found.lower.load_fps
    return last if half and judged(last.seq, last.result, last.spec).lossless else None


def _sustain_s(planned: RequestsSpec) -> float:
    return float((planned.search or {})["sustain_s"])


def _once(wanted: ThroughputGoal, phase: str, load: int, duration_s: float) -> Procedure[Any]:
    spec = wanted.offer.spec(load, duration_s)
    return (
        yield from valid_trial(spec, phase, max_repeats=wanted.max_repeats, short_limit=wanted.short_limit)
    )


def _initial(wanted: ThroughputGoal) -> Procedure[_Final]:
    """Try the lowest load until the criteria are met, at most `INITIALS` times."""
    failed: list[RateTrial] = []
    while True:
        trial = yield from _once(wanted, INITIAL, wanted.min_load_fps, wanted.duration_s)
        if trial is None or trial.lossless or len(failed) == INITIALS - 1:
            return _Final(trial=trial, failed=tuple(failed))
        failed.append(trial)


def _final(wanted: ThroughputGoal, load: int, sustain_s: float) -> Procedure[_Final]:
    """Lower the load until it holds, then narrow the interval to the lowest that did not."""
    failed: list[RateTrial] = []
    while True:
        trial = yield from _once(wanted, FINAL, load, sustain_s)
        if trial is not None and trial.lossless:
            break
        if trial is None or len(failed) == LOWER_FINALS or load <= wanted.min_load_fps:
            return _Final(trial=trial, failed=tuple(failed))
        failed.append(trial)
        step = max(1, int(load * wanted.relative_width * 2 ** (len(failed) - 1)))
        load = max(wanted.min_load_fps, load - step)
    while failed and (between := middle(wanted, trial.load, failed[-1].load)) is not None:
        tried = yield from _once(wanted, FINAL, between, sustain_s)
        if tried is None:
            return _Final(trial=None, failed=tuple(failed))
        if tried.lossless:
            trial = tried
        else:
            failed.append(tried)
    return _Final(trial=trial, failed=tuple(failed))


def _latency(found: SearchResult, wanted: ThroughputGoal, latency_s: float) -> Procedure[_Final]:
    assert found.lower is not None
    trial = yield from _once(wanted, LATENCY, half_of(found.lower.load_fps), latency_s)
    return _Final(trial=trial, failed=())


def _with_latency(found: SearchResult, ended: Run[_Final], numbers: tuple[int, ...]) -> SearchResult:
    """Return what was found with why there are no times at half of it, where there are none."""
    found = replace(found, trials=numbers, error=ended.error)
    if ended.error is not None:
        return replace(found, type=ended.type, statement=ended.reason, reason=ended.reason)
    why = ended.reason
    if ended.found is not None:
        trial = ended.found.trial
        why = "the client fell short" if trial is None else "; ".join(trial.unmet or ())
    return replace(found, quality=(*found.quality, f"no times at half of it: {why}")) if why else found


def _not_begun(wanted: ThroughputGoal, first: Run[_Final], taken: Sequence[RateTrial]) -> SearchResult:
    at = f"at the initial {wanted.min_load_fps} {wanted.offer.unit}"
    if first.found is None:
        why, kind = f"{at}: {first.reason}", first.type
    elif first.found.trial is None:
        why, kind = f"{at} the client fell short: {taken[-1].reason}", OutcomeType.TESTER_LIMITED
    else:
        unmet = "; ".join(first.found.trial.unmet or ())
        why, kind = f"{at} a criterion is not met, {INITIALS} times: {unmet}", OutcomeType.AT_FLOOR
    numbers = tuple(trial.seq for trial in taken)
    return SearchResult(type=kind, trials=numbers, statement=why, reason=why, error=first.error)


def _concluded(wanted: ThroughputGoal, found: SearchResult, final: _Final) -> SearchResult:
    unit = wanted.offer.unit
    if final.trial is None:
        why = "the client fell short in the final iteration"
        return replace(found, type=OutcomeType.TESTER_LIMITED, statement=why, reason=why)
    if not final.trial.lossless:
        unmet = "; ".join(final.trial.unmet or ())
        why = (
            f"no load met the criteria in the final iteration of {final.trial.spec.duration_s:g} s, down to"
            f" {final.trial.load} {unit}: {unmet}"
        )
        return replace(found, type=OutcomeType.UNSTABLE, statement=why, reason=why)
    quality = [*found.quality]
    kind, upper = found.type, found.upper
    for trial in final.failed:
        kind = OutcomeType.MEASURED
        upper = Bound(load_fps=trial.load, trials=(trial.seq,))
        quality.append(f"{trial.load} {unit} did not hold for {trial.spec.duration_s:g} s: {_first(trial)}")
    why = f"the target is reached: the criteria are met at {final.trial.load} {unit}, the highest load"
    return replace(
        found,
        type=kind,
        lower=Bound(load_fps=final.trial.load, trials=(final.trial.seq,)),
        upper=upper,
        statement="" if kind is OutcomeType.MEASURED else why,
        reason="" if kind is OutcomeType.MEASURED else why,
        quality=tuple(quality),
    )


def _first(trial: RateTrial) -> str:
    return (trial.unmet or ("",))[0]


def _why(wanted: ThroughputGoal, found: SearchResult) -> str:
    """Say why a search gave no number, with what holds all the same."""
    why = found.reason or found.statement
    if found.lower is None or found.type is not OutcomeType.TESTER_LIMITED:
        return why
    return f"{why}; the criteria are met up to {found.lower.load_fps} {wanted.offer.unit}"


def _last_unmet(taken: Sequence[RateTrial]) -> str:
    unmet = [trial for trial in taken if trial.unmet]
    return f" (trial {unmet[-1].seq}: {_first(unmet[-1])})" if unmet else ""


def quantities(
    planned: Planned[RequestsSpec], found: SearchResult, executions: Sequence[Tried[RequestsResult]]
) -> tuple[Quantity, ...]:
    """Return the highest load, the lowest that did not hold, and the KPIs of the final iteration."""
    if found.lower is None:
        return ()
    unit = CONNECTIONS_PER_S if planned.metric == CONNECTION_RATE else goal(planned.spec).offer.unit
    bounds = {MET: found.lower, UNMET: found.upper}
    told = [
        Quantity(metric=f"{planned.metric}.{name}", number=bound.load_fps, unit=unit)
        for name, bound in bounds.items()
        if bound is not None
    ]
    last = [execution.result.sustain for execution in executions if execution.seq in found.lower.trials]
    if not last or last[-1] is None:
        return tuple(told)
    half = at_half(found, executions)
    return (*told, *_kpis(planned.metric, last[-1]), *(_at_half(planned.metric, half) if half else ()))


def _at_half(metric: str, trial: Tried[RequestsResult]) -> tuple[Quantity, ...]:
    """Return the times of transactions at half of what was found, with percentiles."""
    phase = trial.result.sustain
    assert phase is not None  # one that was judged by the criteria
    unit = trial.spec.unit
    return (
        Quantity(metric=f"{metric}.{HALF}.load", number=trial.spec.load, unit=unit),
        *_times(f"{metric}.{HALF}", phase, (*_SPREAD, *_SHARES)),
    )


def _kpis(metric: str, phase: Sustained) -> tuple[Quantity, ...]:
    """Return what RFC 9411 6.3 names, of one sustain phase."""
    told: dict[str, tuple[float | None, str]] = {
        "transactions": (phase.transactions_per_s, "transactions/s"),
        "opened": (phase.opened_per_s, "connections/s"),
        "open": (phase.open_mean, "connections"),
        "body_rate": (phase.body_bps, "bit/s"),
        "sustained": (phase.length_s, "s"),
    }
    found = [
        Quantity(metric=f"{metric}.{name}", number=number, unit=unit)
        for name, (number, unit) in told.items()
        if number is not None
    ]
    return (*found, *_times(metric, phase, _SPREAD))


def _times(metric: str, phase: Sustained, names: Sequence[str]) -> tuple[Quantity, ...]:
    return tuple(
        Quantity(metric=f"{metric}.{event}.{name}", number=told[name], unit="ns")
        for event, told in (("first_octet", phase.first_octet_ns), ("last_octet", phase.last_octet_ns))
        for name in names
        if name in told
    )
