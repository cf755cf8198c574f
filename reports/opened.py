"""A finished run for somebody's own Python: answers, trials and facts as frozen records.

It is read as every report reads it: files held against their schemas, the journal's chain checked. Figures
are not computed anew from the trials; `bmwg verify` does that. Ids: API-01 pandas is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.reports import rooms
from bmwg.reports.render.facts import Facts, facts
from bmwg.reports.render.plots.extent import extent
from bmwg.reports.store import Run, read_run

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One metric of one cell. `number` (in `unit`) is None unless `type` is `measured`.

    `reason` says why there is none, or what a number is worth: what may bound it beside the device (`tester
    limited`), or that a translated machine made it. `remarks` have to be read with the answer, such as that a
    percentile is of the frames that came where more were lost than lie beyond it.

    `low_fps` and `high_fps` are the interval that a search found, frames/s per port and direction, as report
    and console have it: up to `low_fps` it holds, at `high_fps` it no longer does.
    `frame_octets` count the FCS and are 0 where the load is not of frames. `trials` are sequence numbers.
    """

    test_id: str
    metric: str
    type: str
    number: float | int | None
    unit: str
    low_fps: int | None
    high_fps: int | None
    reason: str
    remarks: tuple[str, ...]
    load: str
    cell_id: str
    path: str
    hosting: str
    function: str
    network: str
    frame_octets: int
    direction: str
    trials: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial of frames. Counts are frames over all directions; `load_fps` is per port and direction.

    `duration_s` is how long frames were to be sent at that load. `validity` is `valid`, or what made its
    procedure fail; `at` is when it was recorded, UTC: right after its end.
    """

    seq: int
    test_id: str
    metric: str
    cell_id: str
    phase: str
    load_fps: int
    duration_s: float
    frame_octets: int
    intended_frames: int
    sent_frames: int
    received_frames: int
    largest_gap_ns: int
    largest_lateness_ns: int
    validity: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of the machine as it was before the run. `value` is None where it is not known, `why` says so.

    `source` is how it was got: a file, a command, or who declared it.
    """

    name: str
    value: Any
    why: str
    source: str


class Table(tuple[Record, ...]):
    """Records of one kind, in the order of the run."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a column for each field. Raises TestbedError API-01 without pandas."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise TestbedError(
                "API-01",
                "a data frame of a run's records",
                expected="the Python module pandas",
                found="none",
                hint="pip install 'bmwg-toolkit[pandas]'",
            ) from error
        rows = [asdict(one) for one in self]  # type: ignore[call-overload]
        names = [field.name for field in fields(self[0])] if self else None  # type: ignore[arg-type]
        return pandas.DataFrame(rows, columns=names).convert_dtypes()  # whole numbers beside an absent one


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run with its records. `simulated`: no frame was sent; `indicative`: its procedures were shortened."""

    run_id: str
    folder: Path
    status: str
    profile: str
    testbed: str
    simulated: bool
    indicative: bool
    started_at: str
    answers: Table[Answer]
    trials: Table[Trial]
    facts: Table[Fact]


def open_run(path: str | Path) -> OpenedRun:
    """Open the folder of a run. Raises what reading a run raises: ConfigError STORE-02 for none."""
    return opened(read_run(Path(path)))


def opened(run: Run) -> OpenedRun:
    """Return the records of a run that was read."""
    told = facts(run)
    return OpenedRun(
        run_id=run.run_id,
        folder=run.folder,
        status=run.status,
        profile=str(run.profile["name"]),
        testbed=str(run.testbed.get("name", "")),
        simulated=run.simulated,
        indicative=told.indicative,
        started_at=run.started_at,
        answers=Table(_answers(run, told)),
        trials=Table(_trials(run)),
        facts=Table(_facts("", (run.platform_before or {}).get("fields", {}))),
    )


def _answers(run: Run, told: Facts) -> Iterator[Answer]:
    searched = {found.outcome_id for first in told.of_search() for found in (first, *told.beside(first))}
    marks = rooms.every_mark(run)
    for outcome in run.outcomes:
        bounded = outcome.cell.kind == FRAMES and (outcome.lower or outcome.upper)
        ends = extent(told, outcome) if bounded or outcome.outcome_id in searched else None
        reason = "; ".join(filter(None, (outcome.reason, marks.get(outcome.outcome_id))))
        for metric, number, unit in _values(outcome):
            yield Answer(
                test_id=outcome.outcome_id.partition(":")[0],
                metric=metric,
                type=outcome.type.value,
                number=number,
                unit=unit,
                low_fps=ends.lowest_fps if ends else None,
                high_fps=ends.high_fps if ends else None,
                reason=reason,
                remarks=outcome.quality,
                load=outcome.cell.kind,
                cell_id=outcome.cell.cell_id,
                path=outcome.cell.path,
                hosting=outcome.cell.hosting,
                function=outcome.cell.function,
                network=outcome.cell.network,
                frame_octets=outcome.cell.frame_octets if outcome.cell.kind == FRAMES else 0,
                direction=outcome.cell.direction.value if outcome.cell.kind == FRAMES else "",
                trials=outcome.trials,
            )


def _values(outcome: Outcome) -> list[tuple[str, float | int | None, str]]:
    """Return metric, number and unit of each value; the metric alone where the answer is no plain number."""
    plain = outcome.values if outcome.type is OutcomeType.MEASURED else ()
    return [(quantity.metric, quantity.number, quantity.unit) for quantity in plain] or [
        (outcome.metric, None, "")
    ]


def _trials(run: Run) -> Iterator[Trial]:
    for trial in run.trials:
        yield Trial(
            seq=trial.seq,
            test_id=trial.test_id,
            metric=trial.metric,
            cell_id=trial.cell_id,
            phase=trial.phase,
            load_fps=trial.spec.load_fps,
            duration_s=trial.spec.duration_s,
            frame_octets=trial.spec.frame_octets,
            intended_frames=trial.intended_frames,
            sent_frames=trial.sent_frames,
            received_frames=trial.received_frames,
            largest_gap_ns=trial.largest_gap_ns,
            largest_lateness_ns=trial.largest_lateness_ns,
            validity=trial.validity.value,
            reason=trial.reason,
            at=trial.at,
        )


def _facts(name: str, told: Mapping[str, Any]) -> Iterator[Fact]:
    """Walk the record: what holds `how` is a fact, anything else a group of them."""
    for key, one in told.items():
        place = f"{name}/{key}" if name else str(key)
        if not isinstance(one, Mapping):
            continue
        if "how" not in one:
            yield from _facts(place, one)
            continue
        why = next((str(one[word]) for word in ("unknown", "not_applicable") if word in one), "")
        how = one["how"]
        source = f"{how.get('kind', '')}: {how.get('from', '')}" if isinstance(how, Mapping) else str(how)
        yield Fact(name=place, value=one.get("value"), why=why, source=source.rstrip(": "))
