"""Runs of one cell, and sides of several, for the tests of comparisons."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from made_parts import LATENCY, THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.compare import Side
from bmwg.reports.store import Run, RunStore, read_run

BEGIN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


def record(**values: Any) -> dict[str, Any]:
    """Return a record of the real form with some facts."""
    how = {"kind": "file", "from": "/proc/version"}
    at = "2026-01-31T08:00:00.000000Z"
    facts = {"release": "6.1.0", **values}
    fields = {
        "kernel": {
            name: (
                {"unknown": "not root", "how": how, "at": at}
                if value is None
                else {"value": value, "how": how, "at": at}
            )
            for name, value in facts.items()
        }
    }
    return {"schema": "record/1.0", "scope": "machine", "taken_at": at, "took_ms": 1, "fields": fields}


def run_of(
    results: Path,
    name: str,
    fps: int,
    *,
    hour: float = 0.0,
    p50_ns: int = 12_000,
    load: int | None = None,
    **how: Any,
) -> Run:
    """Write a run of one cell; `how` goes to the header, `platform`, `bad` and `metric` apart."""
    platform = how.pop("platform", record())
    evidence = how.pop(
        "evidence", {"plugin": {"name": "bridge", "version": "1.1.1"}, "mac": "02:00:00:00:00:01"}
    )
    bad = how.pop("bad", None)
    metric = how.pop("metric", THROUGHPUT)  # of the throughput
    one = cell("pvp", "bridge")
    moment = BEGIN + timedelta(hours=hour)
    with RunStore.create(results, name, header(**how), clock=lambda: moment) as store:
        maker = Maker(store)
        store.set_platform(before=platform)
        store.add_deployment(f"pvp-bridge-{int(hour) + 1}", evidence)
        seq = maker.trial(one, load or fps)
        if bad:
            maker.outcome(one, metric, bad, trials=(seq,), reason="made")
        else:
            value = Quantity(metric=metric, number=fps, unit="frames/s")
            maker.outcome(one, metric, OutcomeType.MEASURED, trials=(seq,), values=(value,))
            median = Quantity(metric=f"{LATENCY}.p50", number=p50_ns, unit="ns")
            maker.outcome(one, LATENCY, OutcomeType.MEASURED, trials=(seq,), values=(median,))
        store.set_platform(after=how.pop("platform_after", platform))
    return read_run(store.folder)


def side(name: str, results: Path, numbers: list[int], **how: Any) -> Side:
    runs = [
        run_of(results, f"{name}{number}", fps, hour=2 * number + (name == "B"), **how)
        for number, fps in enumerate(numbers)
    ]
    return Side(name=name, runs=tuple(runs))


SLOW = [100_000, 101_000, 99_000, 100_500]


FAST = [110_000, 111_000, 109_500, 110_200]


def throughput_row(made: Any) -> Any:
    return next(row for row in made.rows if row.metric == THROUGHPUT)
