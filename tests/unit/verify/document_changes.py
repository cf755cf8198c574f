"""Changes to what a rule is given, so that it keeps the text or breaks it."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology import throughput
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.methodology.trial import Learning

GOAL = {"name": "a", "goal_final_trial_duration_s": 60.0, "goal_duration_sum_s": 60.0}
GOAL |= {"goal_loss_ratio": 0, "goal_exceed_ratio": 0, "goal_width": 0.03}


def same(scope):
    return scope


def no_trials(scope):
    return replace(scope, trials=())


def no_outcomes(scope):
    return replace(scope, outcomes=())


def both(*changes):
    def changed(scope):
        for change in changes:
            scope = change(scope)
        return scope

    return changed


def of_profile(scope, **changes):
    evidence = replace(scope.evidence, profile=replace(scope.profile, **changes))
    return replace(scope, evidence=evidence)


def policy(**changes):
    return lambda scope: of_profile(scope, policy=replace(scope.profile.policy, **changes))


UNHURRIED = policy(learning=Learning.TRIAL, learning_wait_s=2.0, drain_s=2.0, restabilize_s=5.0)


def undeclared(scope):
    return replace(scope, evidence=replace(scope.evidence, deviations=()))


def goals(*changes):
    """Give the search these goals; what is no legal goal is put in after the reading."""

    def changed(scope):
        made = [dict(GOAL, name=f"goal{number}") | change for number, change in enumerate(changes)]
        own = scope.profile.searching("mlrsearch").search.goals[0]
        found = []
        for goal in made:
            one = object.__new__(type(own))
            for name in own.__dataclass_fields__:
                object.__setattr__(one, name, goal.get(name, getattr(own, name)))
            found.append(one)
        search = replace(scope.profile.search, algorithm="mlrsearch", goals=tuple(found))
        return of_profile(scope, search=search)

    return changed


def search(**changes):
    return lambda scope: of_profile(scope, search=replace(scope.profile.search, **changes))


def benchmark(name, **changes):
    def changed(scope):
        said = {**scope.profile.benchmarks, name: changes}
        return of_profile(scope, benchmarks=said)

    return changed


def outcomes(**changes):
    return lambda scope: replace(scope, outcomes=tuple(replace(one, **changes) for one in scope.outcomes))


def cells(**changes):
    return lambda scope: replace(
        scope, outcomes=tuple(replace(o, cell=replace(o.cell, **changes)) for o in scope.outcomes)
    )


def sizes(*octets):
    return lambda scope: replace(
        scope,
        outcomes=tuple(
            replace(scope.outcomes[0], cell=replace(scope.outcomes[0].cell, frame_octets=size))
            for size in octets
        ),
    )


def values(**changes):
    return lambda scope: replace(
        scope,
        outcomes=tuple(
            replace(o, values=tuple(replace(v, **changes) for v in o.values)) for o in scope.outcomes
        ),
    )


def fewer_outcomes(scope):
    return replace(scope, outcomes=scope.outcomes[:1])


def one_of_other_traffic(scope):
    first = scope.trials[0]
    result = first.trial.result
    result = replace(result, spec=replace(result.spec, flows=7))
    other = replace(first, trial=replace(first.trial, result=result))
    return replace(scope, trials=(other, *scope.trials[1:]))


def no_envelope(scope):
    kept = {key: one for key, one in scope.evidence.by_cell.items() if key[1] != throughput.ENVELOPE_METRIC}
    return replace(scope, evidence=replace(scope.evidence, by_cell=kept))


def far_apart(scope):
    made = [
        replace(o, upper=replace(o.upper, load_fps=o.upper.load_fps * 3)) if o.upper else o
        for o in scope.outcomes
    ]
    return replace(scope, outcomes=tuple(made))


def bounds_gone(scope):
    return outcomes(lower=None, upper=None)(scope)


def irregular(mark):
    def changed(scope):
        text = (mark,) if mark else ()
        made = replace(scope.outcomes[0], type=OutcomeType.UNSTABLE, quality=text)
        if not mark:
            return replace(scope, outcomes=(made,))
        return replace(scope, outcomes=(replace(made, type=OutcomeType.MEASURED),))

    return changed


def streams(count):
    """Let each outcome's cell have that many valid trials."""

    def changed(scope):
        groups = {
            key: tuple(one for one in group if one.trial.valid)[:1] * count
            for key, group in scope.evidence.by_group.items()
        }
        return replace(scope, evidence=replace(scope.evidence, by_group=groups))

    return changed


def stream(**changes):
    """Change the specs of the trials behind the outcomes."""

    def changed(scope):
        groups = {
            key: tuple(
                replace(
                    one,
                    trial=replace(
                        one.trial,
                        result=replace(one.trial.result, spec=replace(one.trial.result.spec, **changes)),
                    ),
                )
                for one in group
            )
            for key, group in scope.evidence.by_group.items()
        }
        return replace(scope, evidence=replace(scope.evidence, by_group=groups))

    return changed


def metric(name, **more):
    values_ = tuple(Quantity(metric=f"{name}{end}", number=1, unit="ns") for end in more.pop("ends", ("",)))
    return outcomes(metric=name, values=values_, **more)


def all_sizes_known(scope):
    one = next(o for o in scope.evidence.outcomes if o.metric == throughput.METRIC)
    made = tuple(
        replace(one, cell=replace(one.cell, frame_octets=size))
        for size in (64, 128, 256, 512, 1024, 1280, 1518)
    )
    return replace(scope, evidence=replace(scope.evidence, outcomes=made))


def no_throughput(scope):
    kept = {key: one for key, one in scope.evidence.by_cell.items() if key[1] != throughput.METRIC}
    return replace(scope, evidence=replace(scope.evidence, by_cell=kept))
