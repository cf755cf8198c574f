"""An author's own search, and own models, held against known truth beside the toolkit's searches.

What a reference names is an `AuthoredSearch`, or a `Scene` for a model. Ids: MTH-04 nothing is there,
MTH-05 what is there is no search or model that can be held, MTH-06 the search broke on a case.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import OutcomeType, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Step, run
from bmwg.methodology.simulated_devices.algorithms import (
    FRAME_OCTETS,
    MAX_LOAD_FPS,
    MIN_LOAD_FPS,
    Algorithm,
    Answer,
)
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim
from bmwg.methodology.simulated_devices.study import Scene
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic
from bmwg.schemas.validation import near_name

MOST_TRIALS = 10_000  # choice: of one case; the longest search of the toolkit takes some 100
_EXAMPLE = "my_package.my_module:SEARCH"
Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Where a search looks: from `min_load_fps` to `max_load_fps`, by one kind of traffic."""

    min_load_fps: int = MIN_LOAD_FPS
    max_load_fps: int = MAX_LOAD_FPS
    traffic: Traffic = field(default_factory=lambda: Traffic(frame_octets=FRAME_OCTETS))

    def trial(self, load_fps: int, duration_s: float) -> Step:
        """Return the step that asks for one trial at a load for a time."""
        spec: TrialSpec = self.traffic.spec(load_fps, duration_s)
        return Step(spec=spec, phase="search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a search found: the highest load that kept its claim and the lowest that did not (frames/s).

    None: no load was tried that is such a one.
    """

    lower_fps: int | None
    upper_fps: int | None

    def __post_init__(self) -> None:
        """Refuse what no two loads can be."""
        for name, value in (("lower_fps", self.lower_fps), ("upper_fps", self.upper_fps)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} is a whole number of frames/s above 0, or None, not {value!r}")
        if self.lower_fps is not None and self.upper_fps is not None and self.lower_fps > self.upper_fps:
            raise ValueError(
                f"a lower bound of {self.lower_fps} above an upper one of {self.upper_fps} frames/s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredSearch:
    """A search by an author: a generator of trials that ends in bounds, and what these bounds claim.

    `procedure` yields `Space.trial(...)` and is sent the judged trial (docs/methodology.md). It may raise
    `DisturbedError`, `TesterShortError` or `StopError` of `bmwg.methodology.search.stepwise` where it has no
    answer. Its bounds are at most `relative_width` (0..1) of the upper one apart. `trials_to_fail` is how
    many trials in a row have to lose frames before a load counts as too high, `shortest_s` the length of its
    shortest trials (None: that of the claim).
    """

    name: str
    claim: Claim
    relative_width: float
    procedure: Callable[[Space], Procedure[Bounds]]
    trials_to_fail: int = 1
    shortest_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse a search that could not be held against anything. Raises ConfigError MTH-05."""
        claim = self.claim
        shortest_s = claim.duration_s if self.shortest_s is None else self.shortest_s
        for holds, expected, found in (
            (bool(self.name.strip()), "a name", self.name),
            (0 < self.relative_width < 1, "relative_width between 0 and 1", self.relative_width),
            (0 <= self.claim.loss_ratio < 1, "claim.loss_ratio from 0 to below 1", self.claim.loss_ratio),
            (
                0 <= self.claim.exceed_ratio < 1,
                "claim.exceed_ratio from 0 to below 1",
                self.claim.exceed_ratio,
            ),
            (self.claim.duration_s > 0, "claim.duration_s above 0", self.claim.duration_s),
            (shortest_s > 0, "shortest_s above 0", shortest_s),
            (self.trials_to_fail >= 1, "trials_to_fail of 1 or more", self.trials_to_fail),
            (_takes_a_space(self.procedure), "procedure(space), a generator function", self.procedure),
        ):
            if not holds:
                raise ConfigError("MTH-05", f"search {self.name!r}", expected=expected, found=repr(found))


def _takes_a_space(procedure: object) -> bool:
    if not callable(procedure):
        return False
    try:
        inspect.signature(procedure).bind(Space())
    except TypeError:
        return False
    except ValueError:  # a callable whose signature Python cannot tell
        pass
    return True


def algorithm(search: AuthoredSearch) -> Algorithm:
    """Return an author's search as one that the study runs."""

    def answer(bench: ModelBench) -> Answer:
        return _answered(search, bench)

    return Algorithm(
        name=search.name,
        claim=search.claim,
        relative_width=search.relative_width,
        step_fps=1,
        shortest_s=search.claim.duration_s if search.shortest_s is None else search.shortest_s,
        trials_to_fail=search.trials_to_fail,
        answer=answer,
    )


def _answered(search: AuthoredSearch, bench: ModelBench) -> Answer:
    def measure(spec: Any) -> JudgedTrial:
        if bench.count >= MOST_TRIALS:
            raise _broke(search, bench, f"{MOST_TRIALS} trials and no end")
        return bench.measure(spec)

    try:
        ended = run(_checked(search.procedure(Space())), measure)
    except ConfigError:
        raise
    except Exception as error:
        raise _broke(search, bench, f"{type(error).__name__}: {error}") from error
    if isinstance(ended.error, ConfigError):
        raise ended.error
    if ended.error is not None:
        raise _broke(search, bench, ended.reason) from ended.error
    bounds = ended.found
    if bounds is None:
        return _answer(ended.type, Bounds(lower_fps=None, upper_fps=None), bench)
    if bounds.lower_fps is None:
        return _answer(OutcomeType.AT_FLOOR, bounds, bench)
    return _answer(
        OutcomeType.AT_CEILING if bounds.upper_fps is None else OutcomeType.MEASURED, bounds, bench
    )


def _checked(procedure: object) -> Procedure[Bounds]:
    """Pass an author's steps on, each of which has to ask for a trial within the space, up to its bounds."""
    space = Space()
    if not isinstance(procedure, Generator):
        raise TypeError(f"a procedure yields its trials; this one returned {_kind(procedure)}")
    try:
        step = next(procedure)
        while True:
            if not (isinstance(step, Step) and isinstance(step.spec, TrialSpec)):
                raise TypeError(f"it yielded {_kind(step)}, not a trial of space.trial(load_fps, duration_s)")
            load_fps, least, most = step.spec.load_fps, space.min_load_fps, space.max_load_fps
            if not (isinstance(load_fps, int) and least <= load_fps <= most):
                raise ValueError(
                    f"it asked for {load_fps} frames/s; loads are whole numbers from {least} to {most}"
                )
            step = procedure.send((yield step))
    except StopIteration as end:
        if not isinstance(end.value, Bounds):
            raise TypeError(f"it returned {_kind(end.value)}, not Bounds") from end
        return end.value


def _kind(found: object) -> str:
    return "nothing" if found is None else type(found).__name__


def _answer(of_type: OutcomeType, bounds: Bounds, bench: ModelBench) -> Answer:
    return Answer(
        type=of_type,
        lower_fps=bounds.lower_fps,
        upper_fps=bounds.upper_fps,
        traffic_s=bench.traffic_s,
        trials=bench.count,
    )


def _broke(search: AuthoredSearch, bench: ModelBench, what: str) -> ConfigError:
    return ConfigError(
        "MTH-06",
        f"search {search.name!r} on {bench.device}, seed {bench.seed}, after {bench.count} trials",
        expected=f"Bounds with lower_fps at most upper_fps, or a StopError, within {MOST_TRIALS} trials",
        found=what,
        hint="a search ends for each device, also for one without a steady rate",
    )


_WRAPPED: dict[type, str] = {
    AuthoredSearch: "name what holds it: SEARCH = AuthoredSearch(name=..., claim=..., procedure=<it>, ...)",
    Scene: "name what holds it: MODEL = Scene(name=..., device=<it>)",
}


def search_of(reference: str) -> AuthoredSearch:
    """Return the search that `module:name` names.

    Raises ConfigError MTH-04 where nothing is there, MTH-05 where it is no `AuthoredSearch`.
    """
    return _of(reference, AuthoredSearch)


def model_of(reference: str) -> Scene:
    """Return the model, a `Scene`, that `module:name` names; raises as `search_of`."""
    return _of(reference, Scene)


def _of(reference: str, wanted: type[Wanted]) -> Wanted:
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise ConfigError("MTH-04", "a reference", expected=f"module:name, as {_EXAMPLE}", found=reference)
    try:
        offered = pkgutil.resolve_name(reference)
    except ConfigError:  # a search or model that refuses itself, by name
        raise
    except Exception as error:  # an author's module may raise anything
        raise ConfigError(
            "MTH-04",
            f"{reference} cannot be loaded",
            expected=f"module:name, as {_EXAMPLE}, of a module that Python finds",
            found=f"{type(error).__name__}: {error}",
            hint=_near(module, name),
        ) from error
    if not isinstance(offered, wanted):
        raise ConfigError(
            "MTH-05",
            f"{reference}",
            expected=f"an instance of {wanted.__name__} ({wanted.__module__})",
            found=type(offered).__name__,
            hint=_WRAPPED[wanted] if callable(offered) else "",
        )
    return offered


def _near(module: str, name: str) -> str:
    try:
        near = near_name(name, vars(import_module(module)))
    except Exception:  # the error that is told already
        return "start the command where Python finds the module, or set PYTHONPATH"
    return f"did you mean {module}:{near}?" if near else f"{module} has no {name}"
