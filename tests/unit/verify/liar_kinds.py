"""Lies about redacted runs of streams and of several kinds of load, by somebody who has the toolkit's source.

`told` changes a run as `liar` does, and computes the answers of every kind but frames anew from what is left.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import liar
import liar_source
import replayable
from liar import Files, Json, Lie

from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import FRAMES
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store import loads
from bmwg.reports.store.codec import outcome_to_json


def told(folder: Path, lie: Lie, seed: int = 0) -> Path:
    """Tell a lie, and compute the answers anew that follow from it; those of frames stay."""
    liar.told(folder, lie, seed)
    evidence, files = folder_evidence(folder), liar.read(folder, seed)
    answers = []
    for said, outcome in zip(files.run["outcomes"], evidence.outcomes, strict=True):
        if outcome.cell.kind == FRAMES:
            answers.append(said)
            continue
        mine = [one for one in evidence.executions if one.cell_id == outcome.cell.cell_id]
        profile = loads.said_of(files.run, outcome.cell.kind)["profile"]
        stated = replace(outcome, trials=tuple(one.seq for one in mine))
        changes = named_drift(files.platform, outcome.outcome_id)
        computed = kinds.kinds()[outcome.cell.kind].answer(profile, stated, mine, changes)
        answers.append(outcome_to_json(computed, said["mend"]))
    files.run["outcomes"] = answers
    replayable.forge(folder, files.run, files.trials)
    return folder


def _cells(files: Files) -> Iterator[list[Json]]:
    """Give the executions of each cell of streams."""
    for cell in dict.fromkeys(one["cell"] for one in files.trials if one["kind"] == "streams"):
        yield [one for one in files.trials if one["cell"] == cell]


def other_options_executions(files: Files) -> None:
    """Have the executions of one network option answer for another; the deployments stay as they are."""
    first, second = files.chance.choice([("bridge", "ptp"), ("bridge", "macvlan"), ("macvlan", "ptp")])
    ways = {f"p2p/{first}/": f"p2p/{second}/", f"p2p/{second}/": f"p2p/{first}/"}
    for trial in files.trials:
        start = next((one for one in ways if trial["cell"].startswith(one)), None)
        if start:
            trial["cell"] = ways[start] + trial["cell"].removeprefix(start)


def other_paths_executions(files: Files) -> None:
    """Say of pods on one bridge that an underlay joined them, in every description."""
    for described in files.platform["deployments"].values():
        if described.get("path") == "p2p":
            described["path"] = "p2p-underlay"


def best_copied(files: Files) -> None:
    """Write the best execution of each cell in the place of the others."""
    for mine in _cells(files):
        best = max(mine, key=lambda one: one["result"]["received_octets"])
        for one in mine:
            one["result"] = json.loads(json.dumps(best["result"]))


def best_copied_with_other_times(files: Files) -> None:
    """The same of one cell, as a copy of one execution more, in the place of the worst."""
    mine = files.chance.choice(list(_cells(files)))
    worst, best = (pick(mine, key=lambda one: one["result"]["received_octets"]) for pick in (min, max))
    worst["result"] = json.loads(json.dumps(best["result"]))


def less_time(files: Files) -> None:
    """Say that the octets came in a third of the time."""
    for mine in _cells(files):
        for one in mine:
            one["result"]["elapsed_ns"] //= 3


def more_octets(files: Files) -> None:
    """Say that more than twice the octets came than the interfaces carried."""
    for mine in _cells(files):
        for one in mine:
            for name in ("sent_octets", "received_octets"):
                one["result"][name] = one["result"][name] * 5 // 2


def plan_of_streams_cut(files: Files) -> None:
    """Leave out the cells of one network option, of plan, answers and journal."""
    option = files.chance.choice(["bridge", "macvlan", "ptp"])
    gone = [one for one in files.trials if one["cell"].startswith(f"p2p/{option}/")]
    liar_source._without(files, gone)
    for name in ("plan", "outcomes"):
        files.run[name] = [
            one for one in files.run[name] if not one["cell"]["cell_id"].startswith(f"p2p/{option}/")
        ]


def slowest_gone_at_the_limit(files: Files) -> None:
    """Leave out the first execution, the slowest, of a cell whose others fill its limit of time."""
    cell = "p2p/bridge/tcp/forward/131072o/1s"
    _left_out(files, [next(one for one in files.trials if one["cell"] == cell)])


def better_streams_profile(files: Files) -> None:
    """Ask for fewer executions under the name of a shipped profile."""
    profile = loads.said_of(files.run, "streams")["profile"]
    profile["repetitions"] = profile["least_repetitions"] = 2


def relabelled_requests(files: Files) -> None:
    """Call the proxy in the node one in a pod, in every description."""
    for described in files.platform["deployments"].values():
        if described.get("hosting", {}) and "start_ns" in described:
            described["hosting"]["form"] = "pod_bridge"


def _left_out(files: Files, gone: list[Json]) -> None:
    """Take executions out, and number those of their cells anew."""
    liar_source._without(files, gone)
    for cell in {one["cell"] for one in gone}:
        mine = [one for one in files.trials if one["cell"] == cell]
        for number, one in enumerate(mine, start=1):
            one["spec"]["number"] = number


def _slowest(mine: list[Json]) -> Json:
    return min(mine, key=lambda one: one["result"]["received_octets"])


def slowest_stream_gone(files: Files) -> None:
    """Leave out the slowest execution of each cell of streams."""
    _left_out(files, [_slowest(mine) for mine in _cells(files)])


def slowest_of_one_cell_gone(files: Files) -> None:
    """The same of one cell with a limit of time, wherever it stood; without one what is left is no answer."""
    asked = STREAMS.repetitions(loads.said_of(files.run, STREAMS.name)["profile"])
    limited = [mine for mine in _cells(files) if math.isfinite(asked[mine[0]["cell"]].limit_s)]
    _left_out(files, [_slowest(files.chance.choice(limited))])


REFUSED: dict[Lie, tuple[str, str]] = {  # base, rule
    other_options_executions: ("loads", "VER-55"),
    other_paths_executions: ("loads", "VER-55"),
    relabelled_requests: ("loads", "VER-55"),
    best_copied: ("loads", "VER-56"),
    best_copied_with_other_times: ("loads", "VER-56"),
    less_time: ("loads", "VER-03"),
    more_octets: ("loads", "VER-34"),
    plan_of_streams_cut: ("loads", "VER-17"),
    slowest_stream_gone: ("loads", "VER-54"),
    slowest_of_one_cell_gone: ("loads", "VER-54"),
}
NAMED: dict[Lie, tuple[str, str]] = {
    better_streams_profile: ("loads", "unknown profile: that of streams"),
    slowest_gone_at_the_limit: ("loads", "question: repetitions: fewer than planned"),
}
