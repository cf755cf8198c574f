"""The tables that runs are written to for analysis: their columns, what each holds, and what it means.

Counts are whole numbers of 64 bits, `octets` include the FCS, and units stand in the names. Every row names
its run; a row of a trial names the line of the journal as well, by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Holds(StrEnum):
    """What a column holds. A `NAME` is a text that many rows share."""

    TEXT = "text"
    NAME = "name"
    COUNT = "count"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"
    COUNTS = "counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `says` is what it means."""

    name: str
    holds: Holds
    says: str


def _columns(holds: Holds, **names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, holds=holds, says=says) for name, says in names.items())


_RUN = _columns(Holds.NAME, run_id="the run")
_JOURNAL = _columns(Holds.NAME, journal_sha256="hash of the last line of the run's journal")
_LINE = (
    *_RUN,
    *_columns(Holds.NAME, line_hash="hash of the trial's line in the journal"),
    *_columns(Holds.COUNT, seq="sequence number of the trial in its run"),
)
_KIND_OF_RUN = _columns(
    Holds.FLAG, simulated="no frame was sent: no measurement", indicative="its procedures were shortened"
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "runs": (
        *_RUN,
        *_JOURNAL,
        *_columns(
            Holds.NAME,
            header_sha256="hash of the run's header, to which the journal is bound",
            status="complete, interrupted, or running: it never came to its end",
            profile="name of the profile of its first kind of load",
            testbed="name of the testbed",
        ),
        *_KIND_OF_RUN,
        *_columns(
            Holds.TIME, started_at="when it began, UTC", ended_at="when it ended, null where it did not"
        ),
        *_columns(
            Holds.NAME,
            toolkit_version="version of the toolkit",
            toolkit_commit="its commit, null where it is not known",
            fleet_sha256="plan of the fleet that it is a shard of, null of a run of its own",
        ),
        *_columns(
            Holds.COUNT,
            shard="number of the shard, null of a run of its own",
            attempt="which attempt at the shard it is",
            order_seed="what its order was drawn from",
            trials="how many lines its journal has",
        ),
    ),
    "outcomes": (
        *_RUN,
        *_JOURNAL,
        *_KIND_OF_RUN,
        *_columns(
            Holds.NAME,
            test_id="id of the test",
            metric="what was measured",
            type="measured, or why it is no plain number",
        ),
        *_columns(Holds.NUMBER, number="the figure, null unless it was measured"),
        *_columns(Holds.NAME, unit="unit of the figure"),
        *_columns(
            Holds.COUNT,
            low_fps="up to this load it holds, frames/s per port and direction",
            high_fps="at this load it no longer does",
        ),
        *_columns(
            Holds.TEXT,
            reason="why there is no plain number, or what may bound one beside the device",
            remarks="what has to be read with the answer",
        ),
        *_columns(
            Holds.NAME,
            load="kind of load",
            cell_id="what was measured, stable over runs",
            path="name of the path",
            hosting="hosting form",
            function="network function",
            network="option of the testbed file",
        ),
        *_columns(Holds.COUNT, frame_octets="size of frames, 0 where the load is not of frames"),
        *_columns(Holds.NAME, direction="forward, reverse or both"),
        *_columns(Holds.COUNTS, trials="sequence numbers of the trials that it rests on"),
    ),
    "trials": (
        *_LINE,
        *_columns(
            Holds.NAME,
            load="kind of load",
            test_id="id of the test",
            metric="what it was made for",
            cell_id="what was measured",
            deployment_id="deployment on which it was made",
            phase="what of the procedure it belongs to",
            validity="valid, or what made its procedure fail",
        ),
        *_columns(Holds.TEXT, reason="why it is not valid"),
        *_columns(Holds.TIME, at="when it was recorded, right after its end, UTC"),
        *_columns(
            Holds.COUNT,
            load_fps="frames/s per port and direction; this and what counts frames is null for other loads",
        ),
        *_columns(Holds.NUMBER, duration_s="how long frames were to be sent at that load, seconds"),
        *_columns(
            Holds.COUNT,
            frame_octets="size of frames",
            intended_frames="frames to be sent, all directions",
            sent_frames="frames sent, all directions",
            received_frames="frames received, each once, all directions",
            largest_gap_ns="longest time in which a sender, though due, did not run",
            largest_lateness_ns="longest that a frame left after it was due",
        ),
        *_columns(
            Holds.TEXT,
            spec="the trial as intended, JSON as in the journal",
            result="what it counted, JSON as in the journal, without streams of frames",
        ),
    ),
    "streams": (
        *_LINE,
        *_columns(
            Holds.COUNT, stream="number of the direction, or of the receiving port of a pattern, from 0"
        ),
        *_columns(Holds.NAME, direction="forward or reverse; empty where ports of a pattern send"),
        *_columns(
            Holds.COUNT,
            intended_frames="frames to be sent",
            sent_frames="frames sent",
            received_frames="frames received, each once",
            duplicate_frames="frames received again",
            reordered_frames="frames received out of order, within received",
            corrupt_frames="frames of wrong length or content",
            foreign_frames="frames that are not of this trial",
            tester_dropped_frames="frames that the tester itself dropped",
            largest_burst_frames="longest burst sent",
            largest_gap_ns="longest time in which the sender, though due, did not run",
            largest_lateness_ns="longest that a frame left after it was due",
            effective_duration_ns="from the first to the last frame sent",
            latency_sum_ns="sum of the latency of all frames received",
            latency_min_ns="least latency, null where no frame came",
            latency_max_ns="largest latency, null where no frame came",
        ),
    ),
    "buckets": (
        *_LINE,
        *_columns(
            Holds.COUNT,
            stream="number of the direction, or of the receiving port of a pattern, from 0",
            lowest_ns="least latency of the bucket",
            highest_ns="largest latency of the bucket",
            frames="frames received with such a latency",
        ),
    ),
    "facts": (
        *_RUN,
        *_JOURNAL,
        *_columns(Holds.NAME, name="name of the fact, such as kernel/release"),
        *_columns(
            Holds.TEXT, value="what was found before the run, JSON where it is no text; null if not known"
        ),
        *_columns(Holds.NUMBER, number="the value where it is a number"),
        *_columns(Holds.NAME, why="why it is not known", source="how it was got"),
    ),
}
