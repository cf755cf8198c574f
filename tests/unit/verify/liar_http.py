"""Lies about requests of a vendor who owns the signing key, as `liar` tells them about frames.

`told` computes the answers anew from what is left, as whoever has the source can.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import liar
import replayable

from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.record.drift import named_drift
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store.codec import outcome_to_json

Json = dict[str, Any]
HttpLie = Callable[[Json, list[Json], random.Random], None]


def _closed(lines: list[Json]) -> list[Json]:
    return [line for line in lines if line["phase"] == "measured" and line["rate_rps"] is None]


def quicker_requests(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Say that each request took half of its time; the time of all of them stays."""
    for line in _closed(lines):
        line["mean_request_ns"] //= 2


def slower_rival(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Say that the requests of one form took many times as long."""
    form = chance.choice(sorted({line["cell"].split("/")[1] for line in _closed(lines)}))
    for line in _closed(lines):
        if line["cell"].split("/")[1] == form:
            line["elapsed_ns"] *= 20
            line["mean_request_ns"] *= 20


def never_waited(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Write all repetitions within a second, as a program does that makes them up."""
    for number, line in enumerate(lines):
        line["at"] = f"{lines[0]['at'][:19]}.{number * 1000:06d}Z"


def nothing_moved(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Say that right answers came whose bodies nobody received."""
    for line in _closed(lines):
        line["body_octets"] //= 10


def times_moved(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Put the run's end before its repetitions."""
    run["ended_at"] = run["started_at"]


def slowest_gone(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Leave out the slowest repetition of each cell, and number the others anew."""
    for cell in sorted({line["cell"] for line in _closed(lines)}):
        mine = [line for line in _closed(lines) if line["cell"] == cell]
        slowest = max(mine, key=lambda line: line["mean_request_ns"])
        lines.remove(slowest)
        for line in mine:
            line["number"] -= line["number"] > slowest["number"]


def form_called_missing(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Say of a form that it could not be tried, and leave out its repetitions."""
    form = chance.choice(sorted({line["cell"].split("/")[1] for line in lines}))
    lines[:] = [line for line in lines if line["cell"].split("/")[1] != form]
    for one in run["outcomes"]:
        if one["cell"]["cell_id"].split("/")[1] == form:
            one |= {"type": "not_assessed", "values": [], "trials": [], "statement": "", "quality": []}
            one["reason"] = "no daemon"


def percentiles_crossed(run: Json, lines: list[Json], chance: random.Random) -> None:
    """Say of the slowest requests that they were faster than the middle ones."""
    for line in _closed(lines):
        middle_ns = line["mean_request_ns"]
        line["request_ns"] = {"p50": middle_ns, "p99": middle_ns // chance.randint(2, 9)}


REFUSED: dict[HttpLie, frozenset[str]] = {  # one of these rules refuses
    quicker_requests: frozenset({"VER-34"}),
    percentiles_crossed: frozenset({"VER-34"}),
    slower_rival: frozenset({"VER-31"}),
    never_waited: frozenset({"VER-30"}),
    nothing_moved: frozenset({"VER-03"}),
    times_moved: frozenset({"VER-35"}),
    slowest_gone: frozenset({"VER-54"}),
}
ASKED: dict[HttpLie, str] = {form_called_missing: "question: cells: "}


def told(folder: Path, lie: HttpLie, seed: int = 0) -> Path:
    """Change the repetitions of a run, and compute its answers anew from what is left."""
    files = liar.read(folder, seed)
    lines = [
        {
            **one["spec"],
            **one["result"],
            "cell": one["cell"],
            "phase": one["phase"],
            "at": one["at"],
            "line": one,
        }
        for one in files.trials
    ]
    lie(files.run, lines, files.chance)
    for line in lines:
        one = line["line"]
        for part in (one["spec"], one["result"]):
            part.update({name: line[name] for name in part})
        one["at"] = line["at"]
    before = {one["seq"]: one for one in files.trials}
    files.trials[:] = [line["line"] for line in lines]
    seqs = {seq: number for number, one in enumerate(files.trials, start=1) for seq in [one["seq"]]}
    for one in files.run["outcomes"]:
        one["trials"] = [seqs[seq] for seq in one["trials"] if seq in seqs and seq in before]
    replayable.forge(folder, files.run, files.trials)
    evidence = folder_evidence(folder)
    answers = []
    for outcome in evidence.outcomes:
        mine = [one for one in evidence.executions if one.cell_id == outcome.cell.cell_id]
        changes = named_drift(files.platform, outcome.outcome_id)
        try:
            answers.append(REQUESTS.answer(files.run["profile"], outcome, mine, changes))
        except (ValueError, KeyError):
            answers.append(outcome)
    mends = {one["id"]: one["mend"] for one in files.run["outcomes"]}
    files.run["outcomes"] = [outcome_to_json(one, mends[one.outcome_id]) for one in answers]
    replayable.forge(folder, files.run, files.trials)
    return folder
