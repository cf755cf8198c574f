"""Lies about a redacted run of chains, of the life of pods and of sizes of sockets.

They are those of `liar_kinds`, told of every kind of load and of other paths: of frames over chains, of acts,
and of streams from a client to a server. Whoever tells them has the toolkit's source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import liar_kinds
import liar_source
from liar import Files, Json, Lie

BASE = "loads"
_PLACES = {  # kind of load: two cells that one can answer for the other
    "frames": (
        "chain/pod/kernel-l3/bridge/64/forward/chain=a>b>c",
        "chain/pod/kernel-l3/bridge/64/forward/chain=a>b",
    ),
    "acts": ("pvp/kernel-l3/bridge/start/1x", "pvp/kernel-l3/ptp/start/1x"),
    "streams": (
        "client-server/pod/bridge/request_sizes/forward/50o/1s",
        "client-server/baremetal/none/request_sizes/forward/50o/1s",
    ),
}


def told(folder: Path, lie: Lie, seed: int = 0) -> Path:
    """Tell a lie, and compute anew every answer that follows, of frames and of other loads."""
    liar_source.told(folder, lie, seed)
    return liar_kinds.told(folder, lambda files: None, seed)


def _kind(trial: Json) -> str:
    return str(trial.get("kind", "frames"))


def _of_cell(files: Files, cell: str) -> list[Json]:
    return [one for one in files.trials if one["cell"] == cell]


def other_cells_executions(kind: str, files: Files) -> None:
    """Have the executions of one path, form or length of chain answer for another."""
    first, second = _PLACES[kind]
    for trial in files.trials:
        trial["cell"] = {first: second, second: first}.get(trial["cell"], trial["cell"])


def better(kind: str, trial: Json) -> float:
    """Say how well an execution makes its device look."""
    result = trial["result"]
    if kind == "acts":
        return -float(result["lives"][0]["first_frame_ns"] - result["lives"][0]["asked_ns"])
    if kind == "streams":
        return float(result["received_octets"])
    return float(
        min(stream["received_frames"] / max(1, stream["sent_frames"]) for stream in result["streams"])
    )


def best_copied(kind: str, files: Files) -> None:
    """Write the best execution of a cell in the place of its worst."""
    mine = _of_cell(files, files.chance.choice(_PLACES[kind]))
    often = Counter(map(_load, mine)).most_common(1)[0][0] if kind == "frames" else None
    same = [one for one in mine if often is None or _load(one) == often]
    best, worst = max(same, key=partial(better, kind)), min(same, key=partial(better, kind))
    if best is worst:
        best = next(one for one in same if one is not worst)
    worst["result"] = json.loads(json.dumps(best["result"]))
    worst["spec"] = {**json.loads(json.dumps(best["spec"])), **_number(worst)}


def _load(trial: Json) -> object:
    return trial["spec"]["load_fps"], trial["spec"]["duration_s"]


def _number(trial: Json) -> Json:
    return {name: trial["spec"][name] for name in ("number",) if name in trial["spec"]}


def worst_gone(kind: str, files: Files) -> None:
    """Leave out the worst execution of a cell, and number the others anew."""
    mine = _of_cell(files, files.chance.choice(_PLACES[kind]))
    liar_kinds._left_out(files, [min(mine, key=partial(better, kind))])


def one_more_until_it_pays(kind: str, files: Files) -> None:
    """Measure a cell longer than it was to be: one more execution, as if it had been planned."""
    cell = files.chance.choice(_PLACES[kind])
    donor = _of_cell(files, next(one for one in _PLACES[kind] if one != cell))[-1]
    more = json.loads(json.dumps(donor))
    mine = _of_cell(files, cell)
    more |= {name: mine[-1][name] for name in ("cell", "deployment", "metric", "test", "at", "platform")}
    more["spec"] = {**mine[-1]["spec"], "number": len(mine) + 1}
    files.trials.insert(files.trials.index(mine[-1]) + 1, more)
    liar_source._without(files, [])
    for number, one in enumerate(files.trials, start=1):
        one["seq"] = number


def less_wall_time(kind: str, files: Files) -> None:
    """Say that executions lasted a third of what they did."""
    for trial in files.trials:
        if _kind(trial) == kind:
            name = "wall_time_ns" if kind == "frames" else "wall_ns"
            trial["result"][name] //= 3


def written_at_once(kind: str, files: Files) -> None:
    """Write all executions of a kind within a second, as a program does that makes them up."""
    first = next(one for one in files.trials if _kind(one) == kind)["at"]
    for number, trial in enumerate(one for one in files.trials if _kind(one) == kind):
        trial["at"] = f"{first[:19]}.{number * 1000:06d}Z"


def more_counted(kind: str, files: Files) -> None:
    """Scale what arrived, with all that the tester itself counted, and leave what interfaces say."""
    for trial in files.trials:
        if _kind(trial) != kind:
            continue
        if kind == "acts":
            for life in trial["result"]["lives"]:
                life["offered_frames"] *= 3
                life["received_frames"] *= 3
        elif kind == "streams":
            for name in ("sent_octets", "received_octets", "sent_messages", "received_messages"):
                trial["result"][name] *= 3
        else:
            for stream in trial["result"]["streams"]:
                for name in ("intended_frames", "sent_frames", "received_frames"):
                    stream[name] *= 3


def moments_crossed(kind: str, files: Files) -> None:
    """Say that a pod's first frame came before it was asked for, or that slow round trips are quick."""
    for trial in (one for one in files.trials if _kind(one) == kind):
        if kind == "acts":
            for life in trial["result"]["lives"]:
                life["first_frame_ns"] = life["asked_ns"] - 1
        else:
            trial["result"]["round_trip_ns"] = {"p50": 9_000, "p99": 3_000}


def option_cut(kind: str, files: Files) -> None:
    """Leave out a cell of plan, answers and journal."""
    cell = _PLACES[kind][0]
    liar_source._without(files, _of_cell(files, cell))
    for name in ("plan", "outcomes"):
        files.run[name] = [one for one in files.run[name] if one["cell"]["cell_id"] != cell]


_FAMILIES: dict[Callable[[str, Files], None], dict[str, str]] = {  # rule by kind of load
    other_cells_executions: {"frames": "VER-55", "acts": "VER-55", "streams": "VER-55"},
    best_copied: {"frames": "VER-56", "acts": "VER-56", "streams": "VER-56"},
    worst_gone: {"acts": "VER-54", "streams": "VER-54"},
    one_more_until_it_pays: {"acts": "VER-54", "streams": "VER-54"},
    less_wall_time: {"frames": "VER-31", "acts": "VER-31", "streams": "VER-31"},
    written_at_once: {"frames": "VER-30", "acts": "VER-30", "streams": "VER-30"},
    more_counted: {"frames": "VER-34", "acts": "VER-34", "streams": "VER-34"},
    moments_crossed: {"acts": "VER-03", "streams": "VER-34"},
    option_cut: {"frames": "VER-37", "acts": "VER-17", "streams": "VER-17"},
}


def _named(family: Callable[[str, Files], None], kind: str) -> Lie:
    def lie(files: Files) -> None:
        family(kind, files)

    lie.__name__ = f"{family.__name__} of {kind}"
    return lie


REFUSED: dict[Lie, tuple[str, str]] = {
    _named(family, kind): (BASE, rule) for family, rules in _FAMILIES.items() for kind, rule in rules.items()
}
