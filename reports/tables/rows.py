"""The rows of one run, table by table, as its verified files hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bmwg.methodology.records import FRAMES, Direction
from bmwg.reports.opened import Answer, Fact, OpenedRun, opened
from bmwg.reports.store import Run, read_run
from bmwg.reports.store.read import RUN_FILE, load_document

Add = Callable[[str, Mapping[str, Sequence[Any]]], None]  # takes a table and columns of equal length

_SUMMED = ("intended_frames", "sent_frames", "received_frames")
_LARGEST = ("largest_gap_ns", "largest_lateness_ns")
_STREAM = (
    *_SUMMED,
    "duplicate_frames",
    "reordered_frames",
    "corrupt_frames",
    "foreign_frames",
    "largest_burst_frames",
    *_LARGEST,
    "effective_duration_ns",
)


def add_rows(folder: Path, add: Add) -> Run:
    """Give all rows of a run to `add` and return the run. Raises what reading it raises, ValueError for a
    text that is no time.

    Trials are given as they are read, so what has been given counts only once this returns.
    """
    name = [str(load_document(folder / RUN_FILE, "run")["run_id"])]

    def beside(line: Mapping[str, Any], _start: int, _octets: int) -> None:
        for table, columns in _of_line(line):
            count = len(next(iter(columns.values())))
            bound = {"line_hash": [line["hash"]] * count, "seq": [line["seq"]] * count}
            add(table, {"run_id": name * count, **bound, **columns})

    run = read_run(folder, beside)
    told = opened(run)
    add("runs", _rows([_run(run, told)]))
    bound = {"run_id": run.run_id, "journal_sha256": run.journal_hash}
    kind = {"simulated": told.simulated, "indicative": told.indicative}
    if told.answers:
        add("outcomes", _rows([bound | kind | _answer(answer) for answer in told.answers]))
    if told.facts:
        add("facts", _rows([bound | _fact(fact) for fact in told.facts]))
    return run


def _rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _run(run: Run, told: OpenedRun) -> dict[str, Any]:
    fleet = run.fleet or {}
    return {
        "run_id": run.run_id,
        "journal_sha256": run.journal_hash,
        "header_sha256": run.header_sha256,
        "status": run.status,
        "profile": told.profile,
        "testbed": told.testbed,
        "simulated": told.simulated,
        "indicative": told.indicative,
        "started_at": _time(run.started_at),
        "ended_at": _time(run.ended_at),
        "toolkit_version": run.toolkit_version,
        "toolkit_commit": run.toolkit_commit,
        "fleet_sha256": fleet.get("sha256"),
        "shard": fleet.get("shard"),
        "attempt": fleet.get("attempt"),
        "order_seed": run.order_seed,
        "trials": run.lines,
    }


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None) if text else None


def _answer(answer: Answer) -> dict[str, Any]:
    return asdict(answer) | {"remarks": "; ".join(answer.remarks)}


def _fact(fact: Fact) -> dict[str, Any]:
    value = fact.value
    plain = value if isinstance(value, str) or value is None else json.dumps(value, sort_keys=True)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if is_number else None
    return {"name": fact.name, "value": plain, "number": number, "why": fact.why, "source": fact.source}


def _of_line(line: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    of_frames = line["kind"] == FRAMES
    streams = line["result"]["streams"] if of_frames else []
    yield "trials", {name: [value] for name, value in _trial(line, streams, of_frames=of_frames).items()}
    if not streams:
        return
    ways = (
        [""] * len(streams) if "pattern" in line["spec"] else _ways(line["spec"]["direction"], len(streams))
    )
    yield "streams", _rows([_stream(number, one, ways[number]) for number, one in enumerate(streams)])
    for number, one in enumerate(streams):
        flat = one["latency"]["buckets"]
        if flat:
            parts = {"lowest_ns": flat[::3], "highest_ns": flat[1::3], "frames": flat[2::3]}
            yield "buckets", {"stream": [number] * len(parts["frames"]), **parts}


def _ways(direction: str, streams: int) -> list[str]:
    """Return the direction of each stream: forward first where both have one; empty for one too many."""
    both = [Direction.FORWARD.value, Direction.REVERSE.value]
    known = both if direction == Direction.BOTH else [direction]
    return [known[number] if number < len(known) else "" for number in range(streams)]


def _trial(line: Mapping[str, Any], streams: Sequence[Any], *, of_frames: bool) -> dict[str, Any]:
    spec, result = line["spec"], line["result"]
    told = result
    counts: dict[str, Any] = dict.fromkeys((*_SUMMED, *_LARGEST))
    if of_frames:
        counts = {name: sum(stream[name] for stream in streams) for name in _SUMMED}
        counts |= {name: max((one[name] for one in streams), default=0) for name in _LARGEST}
        told = {**result}
        told.pop("streams")  # they are a table of their own
    intended = dict.fromkeys(("load_fps", "duration_s", "frame_octets"))
    return {
        "load": line["kind"],
        "test_id": line["test"],
        "metric": line["metric"],
        "cell_id": line["cell"],
        "deployment_id": line["deployment"],
        "phase": line["phase"],
        "validity": line["assessment"]["validity"],
        "reason": line["assessment"]["reason"],
        "at": _time(line["at"]),
        **({name: spec[name] for name in intended} if of_frames else intended),
        **counts,
        "spec": _json(spec),
        "result": _json(told),
    }


def _stream(number: int, stream: Mapping[str, Any], way: str) -> dict[str, Any]:
    latency = stream["latency"]
    return {
        "stream": number,
        "direction": way,
        **{name: stream[name] for name in _STREAM},
        "tester_dropped_frames": stream.get("tester_dropped_frames", 0),
        "latency_sum_ns": latency["sum_ns"],
        "latency_min_ns": latency["min_ns"],
        "latency_max_ns": latency["max_ns"],
    }


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
