"""Search goals and controller input with the attributes of RFC 9971 sections 4.6.1 to 4.6.8."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.search.offer import Offer

SHORTEST_TRIAL_S = 0.01  # choice: below it a trial says more about the tester's start than about the SUT
Fault = tuple[str, str, str, str]  # field, clause, expected, found


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchGoal:
    """What one search is to find, RFC 9971 section 4.6.7. Ratios are 0..1, durations seconds.

    `goal_width` is relative: distance of the relevant bounds over the upper one. The initial trial duration
    None means the final one. Only the first four attributes decide what trials prove.
    """

    name: str
    goal_final_trial_duration_s: float
    goal_duration_sum_s: float
    goal_loss_ratio: float
    goal_exceed_ratio: float
    goal_width: float = 0.005
    goal_initial_trial_duration_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts RFC 9971, all faults at once (ConfigError MLR-01)."""
        _refuse(f"search goal {self.name!r}", self.faults())

    @classmethod
    def contradictions(cls, **attributes: Any) -> list[Fault]:
        """Return what is wrong with attributes of a goal, without raising: field, clause, expected, found."""
        made = object.__new__(cls)
        for name, default in (("goal_width", 0.005), ("goal_initial_trial_duration_s", None)):
            object.__setattr__(made, name, default)
        for name, value in attributes.items():
            object.__setattr__(made, name, value)
        return made.faults()

    def faults(self) -> list[Fault]:
        """Return what is wrong: field, clause, expected, found."""
        found: list[Fault] = []
        final, whole = self.goal_final_trial_duration_s, self.goal_duration_sum_s
        first = self.initial_trial_duration_s
        if not SHORTEST_TRIAL_S <= final < 1e6:
            found.append(("goal_final_trial_duration_s", "4.6.1", f"{SHORTEST_TRIAL_S}..1e6", f"{final}"))
        if not 0 < whole < 1e7:
            found.append(("goal_duration_sum_s", "4.6.2", "above 0", f"{whole}"))
        elif whole < final:
            found.append(("goal_duration_sum_s", "4.6.2", f"at least the final {final} s", f"{whole}"))
        if not 0 <= self.goal_loss_ratio < 1:
            found.append(("goal_loss_ratio", "4.6.3", "0 up to below 1", f"{self.goal_loss_ratio}"))
        if not 0 <= self.goal_exceed_ratio < 1:
            found.append(("goal_exceed_ratio", "4.6.4", "0 up to below 1", f"{self.goal_exceed_ratio}"))
        if not 0 < self.goal_width < 1:
            found.append(("goal_width", "4.6.5", "above 0 and below 1", f"{self.goal_width}"))
        if not SHORTEST_TRIAL_S <= first <= final:
            expected = f"{SHORTEST_TRIAL_S} up to the final {final} s"
            found.append(("goal_initial_trial_duration_s", "4.6.6", expected, f"{first}"))
        return found

    @property
    def initial_trial_duration_s(self) -> float:
        """The initial trial duration, the final one where none is given (RFC 9971 4.6.6)."""
        first = self.goal_initial_trial_duration_s
        return self.goal_final_trial_duration_s if first is None else first

    @property
    def code(self) -> str:
        """Dense name as in RFC 9971 appendix C.1: final, sum, loss and exceed ratio in percent."""
        loss, exceed = 100 * self.goal_loss_ratio, 100 * self.goal_exceed_ratio
        words = (self.goal_final_trial_duration_s, "f", self.goal_duration_sum_s, "d", loss, "l", exceed, "e")
        return "".join(f"{word:.6g}" if isinstance(word, float) else str(word) for word in words)

    @property
    def rfc2544_grade(self) -> str:
        """`unconditional`, `conditional` or `none`: what RFC 9971 section 4.10.2 says of such a goal."""
        if self.goal_loss_ratio or self.goal_exceed_ratio:
            return "none"
        return "unconditional" if self.goal_final_trial_duration_s >= 60 else "conditional"  # rfc2544-24

    def advice(self) -> tuple[str, ...]:
        """Say where the goal departs from what RFC 9971 recommends; nothing here stops a search."""
        words = []
        if self.goal_exceed_ratio not in (0.0, 0.5):
            words.append("goal_exceed_ratio: 0.5 is recommended, 0 for the RFC 2544 goal (RFC9971-4.6.4-02)")
        if self.goal_width < self.goal_loss_ratio:
            words.append("goal_width: at least the goal loss ratio is recommended (RFC9971-4.6.5-05)")
        return tuple(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an answer for a goal claims, as the goal's code says it: trial duration (s), ratios (0..1)."""

    duration_s: float
    loss_ratio: float
    exceed_ratio: float


_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?"
_CODE = re.compile(rf"(?P<final>{_NUMBER})f(?P<sum>{_NUMBER})d(?P<loss>{_NUMBER})l(?P<exceed>{_NUMBER})e")
_WITH_CODE = re.compile(rf"(?P<name>.+?)\.(?P<code>{_CODE.pattern})(?:\.(?P<part>[a-z_]+))?")


def read_code(code: str) -> Claim | None:
    """Return the claim of a goal by its code (RFC 9971 appendix C.1); None where it is no code of a goal."""
    found = _CODE.fullmatch(code)
    if found is None:
        return None
    return Claim(
        duration_s=float(found["final"]),
        loss_ratio=float(found["loss"]) / 100,
        exceed_ratio=float(found["exceed"]) / 100,
    )


def apart(metric: str) -> tuple[str, str, str]:
    """Return a metric's name, the code of the goal behind it, and the part of the answer behind that.

    Code and part are empty where the metric has none. The name never ends with a number behind a point, for
    a code begins with one.
    """
    found = _WITH_CODE.fullmatch(metric)
    return (metric, "", "") if found is None else (found["name"], found["code"], found["part"] or "")


def rfc2544_goal(width: float = 0.005, initial_s: float | None = 1.0) -> SearchGoal:
    """Return the goal for unconditional compliance with RFC 2544: 60 s, 60 s, 0, 0 (RFC9971-4.10.2-01)."""
    return SearchGoal(
        name="rfc2544",
        goal_final_trial_duration_s=60.0,
        goal_duration_sum_s=60.0,
        goal_loss_ratio=0.0,
        goal_exceed_ratio=0.0,
        goal_width=width,
        goal_initial_trial_duration_s=initial_s,
    )


def tst009_goal(width: float = 0.005, initial_s: float | None = 1.0) -> SearchGoal:
    """Return the goal that equals TST009 loss verification with r = 2 (RFC9971-4.10.3-01): 60 120 0 0.5."""
    return SearchGoal(
        name="tst009",
        goal_final_trial_duration_s=60.0,
        goal_duration_sum_s=120.0,
        goal_loss_ratio=0.0,
        goal_exceed_ratio=0.5,
        goal_width=width,
        goal_initial_trial_duration_s=initial_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerInput:
    """One search: its goals, load limits and what is offered (RFC 9971 4.6.8). Loads as in `ThroughputGoal`.

    `max_trials` and `max_traffic_s` end a search that does not converge (RFC9971-4.2.4); what it proved until
    then stays. `warmup_s` is the length of one trial at the highest load that proves nothing (0: none).
    """

    goals: tuple[SearchGoal, ...]
    offer: Offer
    min_load_fps: int
    max_load_fps: int
    envelope_fps: int | None = None
    medium_fps: int | None = None
    max_repeats: int = 5
    short_limit: int = 2
    max_trials: int = 2000
    max_traffic_s: float = 86_400.0
    warmup_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse goals and limits that contradict each other (ConfigError MLR-02)."""
        _refuse("controller input", self.faults(), "MLR-02")

    def faults(self) -> list[Fault]:
        """Return what is wrong: field, clause, expected, found."""
        found: list[Fault] = []
        low, high = self.min_load_fps, self.max_load_fps
        if not self.goals:
            found.append(("goals", "4.6.8", "at least one search goal", "none"))
        names = [goal.name for goal in self.goals]
        if len(set(names)) < len(names) or len(set(map(_proof, self.goals))) < len(self.goals):
            found.append(("goals", "4.8.5", "goals that differ in name and attributes", ", ".join(names)))
        if not 1 <= low < high:
            found.append(("min_load_fps", "4.6.8.2", f"1 up to below max_load_fps ({high})", f"{low}"))
            return found
        if self.medium_fps is not None and high > self.medium_fps:
            found.append(("max_load_fps", "4.6.8.1", f"at most the medium's {self.medium_fps}", f"{high}"))
        for index, goal in enumerate(self.goals):
            found.extend(self._goal_faults(index, goal))
        for name, least in (("max_repeats", 0), ("short_limit", 1), ("max_trials", 1), ("warmup_s", 0)):
            if getattr(self, name) < least:
                found.append((name, "4.2.4", f"at least {least}", f"{getattr(self, name)}"))
        if self.short_limit > 1 + self.max_repeats:
            found.append(
                (
                    "short_limit",
                    "4.9.1",
                    f"at most {1 + self.max_repeats} (1 + max_repeats)",
                    f"{self.short_limit}",
                )
            )
        return found

    def _goal_faults(self, index: int, goal: SearchGoal) -> list[Fault]:
        found: list[Fault] = []
        thing = self.offer.thing
        one = self.offer.unit.replace(f"{thing}s", thing)
        low, first, final = self.min_load_fps, goal.initial_trial_duration_s, goal.goal_final_trial_duration_s
        if low * first < 1:
            expected = f"at least one {thing} in the shortest trial ({first} s)"
            found.append(("min_load_fps", "4.6.8.2", expected, f"{low * first:.3g} {thing}s"))
        if goal.goal_width * low < 1:
            expected = f"at least one {one} of the lowest load ({1 / low:.3g})"
            found.append((f"goals[{index}].goal_width", "4.6.5", expected, f"{goal.goal_width}"))
        elif goal.goal_width * low * final < 1:
            expected = f"at least one {thing} of the lowest load in {final} s"
            found.append((f"goals[{index}].goal_width", "4.6.5", expected, f"{goal.goal_width}"))
        if 0 < goal.goal_loss_ratio * self.max_load_fps * final < 1:
            expected = f"0, or at least one {thing} of the highest load in {final} s"
            found.append((f"goals[{index}].goal_loss_ratio", "4.6.3", expected, f"{goal.goal_loss_ratio}"))
        return found

    def spec(self, load: int, duration_s: float) -> Any:
        """Return the trial of this search at a load for a duration; nothing else varies (RFC9971-4.5.3)."""
        return self.offer.spec(load, duration_s)


def _proof(goal: SearchGoal) -> tuple[float, ...]:
    return (
        goal.goal_final_trial_duration_s,
        goal.goal_duration_sum_s,
        goal.goal_loss_ratio,
        goal.goal_exceed_ratio,
        goal.goal_width,
    )


def _refuse(what: str, faults: list[Fault], error_id: str = "MLR-01") -> None:
    if not faults:
        return
    lines = [
        f"{field} (RFC 9971 {clause}): expected {must}, found {is_}" for field, clause, must, is_ in faults
    ]
    raise ConfigError(
        error_id, "\n          ".join([f"{what}: {len(faults)} contradicting; no traffic was sent", *lines])
    )
