"""Says where the time of a plan of frames goes, and what one network option takes by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.methodology.records import NOTHING
from bmwg.resources.run.progress import clock_text

_LEAST_S = 3600.0  # choice: of a plan that is over within an hour nobody asks
_SHOWN = 4


def where_it_goes(plan: Sequence[PlannedAnswer]) -> list[str]:
    """Return sentences on the time of a plan: by measurement, frame size and wait; none of a short one."""
    all_s = sum(map(_took_s, plan))
    if all_s < _LEAST_S:
        return []
    by_kind: dict[str, float] = {}
    by_size: dict[str, float] = {}
    for planned_answer in plan:
        kind, size = (
            planned_answer.measurement.replace("_", " "),
            f"{planned_answer.cell.frame_octets} octets",
        )
        by_kind[kind] = by_kind.get(kind, 0.0) + _took_s(planned_answer)
        by_size[size] = by_size.get(size, 0.0) + _took_s(planned_answer)
    waits_s = sum(answer.waits_s for answer in plan)
    return [
        f"where the time goes: {_shares(by_kind, all_s)};"
        f" waits around trials are {waits_s / all_s:.0%} of it",
        f"by frame size: {_shares(by_size, all_s)}",
        *_one_option(plan),
    ]


def _took_s(planned: PlannedAnswer) -> float:
    return planned.traffic_s + planned.waits_s


def _shares(seconds: Mapping[str, float], all_s: float) -> str:
    shown = sorted(seconds.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN]
    said = [f"{name} {clock_text(took_s)} ({took_s / all_s:.0%})" for name, took_s in shown]
    if rest := len(seconds) - len(shown):
        left_s = all_s - sum(took_s for _, took_s in shown)
        said.append(f"{rest} more {clock_text(left_s)} ({left_s / all_s:.0%})")
    return ", ".join(said)


def _one_option(plan: Sequence[PlannedAnswer]) -> list[str]:
    """Say what a run of one option takes, with all that it is held against: wire and bare metal."""
    without = [planned_answer for planned_answer in plan if planned_answer.cell.network == NOTHING]
    options: dict[str, list[PlannedAnswer]] = {}
    for answer in plan:
        if answer.cell.network != NOTHING:
            options.setdefault(answer.cell.network, []).append(answer)
    if len(options) < 2:
        return []
    took_s = {name: sum(map(_took_s, [*without, *mine])) for name, mine in options.items()}
    ends = sorted({clock_text(min(took_s.values())), clock_text(max(took_s.values()))})
    name = min(took_s, key=lambda one: (took_s[one], one))
    return [
        f"one option by itself, with wire and bare metal, takes about {' to '.join(ends)}:"
        f" --network {name}, or another of {', '.join(sorted(options))}"
    ]
