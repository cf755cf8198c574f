"""The parts of a made run: header, clock, trials whose counts agree, and a maker that writes them down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from bmwg.methodology.records import (
    Bound,
    Cell,
    Outcome,
    OutcomeType,
    Quantity,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.reports.store import RunHeader, RunStore

THROUGHPUT = "throughput.rfc2544_26_1"
ENVELOPE = "tester.envelope"
LATENCY = "latency.all_frames"
TESTBED: Mapping[str, Any] = {
    "schema": "testbed/1.0",
    "name": "embedded",
    "nodes": {"dut1": {"kind": "namespace"}},
    "links": [{"a": "tester/p0", "b": "dut1/nic0"}],
    "tester": {"driver": "embedded", "ports": ["tester/p0", "tester/p1"], "io": "af_xdp", "cpus": [0]},
    "networks": {"bridge": {"driver": "cni"}},
}
PROFILE: Mapping[str, Any] = {
    "name": "quick",
    "indicative": True,
    "deviations": [
        {
            "requirement": "RFC2544-24-01",
            "what": "trials last 1 s instead of 60 s",
            "why": "a first answer within minutes",
        },
        {
            "requirement": "RFC2544-26.2-06",
            "what": "one latency trial instead of 20",
            "why": "a first answer within minutes",
        },
    ],
}


class Clock:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


def header(**changes: Any) -> RunHeader:
    """Return a header of the embedded testbed and the quick profile."""
    fields: dict[str, Any] = {
        "toolkit_version": "0.1.0",
        "toolkit_commit": "0123456789abcdef0123456789abcdef01234567",
        "toolkit_dirty": False,
        "simulated": False,
        "testbed": TESTBED,
        "testbed_source": None,
        "profile": PROFILE,
        "medium_kind": "veth",
        "line_rate_bps": None,
        "drivers": ({"name": "embedded", "version": "0.1.0", "declared": ["io"], "probed": ["io"]},),
    }
    return RunHeader(**(fields | changes))


def histogram(frames: int, buckets: int, median_ns: int) -> LatencyHistogram:
    """Return a histogram of `frames` frames in at most `buckets` buckets around a median."""
    count = max(1, min(buckets, frames))
    share, rest = divmod(frames, count)
    edges = [median_ns // 2 + 16 * number for number in range(count)]
    made = tuple((edge, edge + 15, share + (1 if number < rest else 0)) for number, edge in enumerate(edges))
    made = tuple(bucket for bucket in made if bucket[2])
    if not made:
        return LatencyHistogram()
    return LatencyHistogram(
        buckets=made,
        sum_ns=sum(low * held for low, _, held in made),
        min_ns=made[0][0],
        max_ns=made[-1][1],
    )


def result(
    cell: Cell,
    load_fps: int,
    *,
    loss_ratio: float = 0.0,
    sent_ratio: float = 1.0,
    gap_ns: int = 20_000,
    fault: str | None = None,
    buckets: int = 12,
    median_ns: int = 12_000,
    duration_s: float = 1.0,
    used: Mapping[str, int] | None = None,
) -> TrialResult:
    """Return a trial in which the counts agree with each other; `used` is what the data plane used."""
    spec = TrialSpec(
        frame_octets=cell.frame_octets,
        load_fps=load_fps,
        duration_s=duration_s,
        direction=cell.direction,
        frame_format=cell.frame_format,
        flows=cell.flows,
        vlan_id=cell.vlan_id,
    )
    sent = round(spec.intended_frames * sent_ratio)
    received = sent - round(sent * loss_ratio)
    stream = StreamCounts(
        intended_frames=spec.intended_frames,
        sent_frames=sent,
        received_frames=received,
        largest_gap_ns=gap_ns,
        largest_lateness_ns=gap_ns // 2,
        effective_duration_ns=round(duration_s * 1e9),
        latency=histogram(received, buckets, median_ns),
    )
    return TrialResult(
        spec=spec,
        streams=(stream,),
        wall_time_ns=round(duration_s * 1e9) + 30_000_000,
        disturbance=HostDisturbance(steal_ns=((0, 0), (1, 10_000_000)), largest_stall_ns=((1, 400_000),)),
        fault=fault,
        auxiliary=tuple(sorted({"tx_dropped": sent - received, **(used or {})}.items())),
    )


class Maker:
    """Writes trials and outcomes into a store, as a measuring session would."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    def trial(
        self, cell: Cell, load_fps: int, phase: str = "search", metric: str = THROUGHPUT, **how: Any
    ) -> int:
        """Append one trial; `validity` and `reason` apart, `how` goes to `result`."""
        validity = how.pop("validity", Validity.VALID)
        reason = how.pop("reason", "")
        return self.store.append_trial(
            cell_id=cell.cell_id,
            deployment_id=f"{cell.path}-{cell.network}",
            metric=metric,
            test_id=test_id(cell, metric),
            phase=phase,
            result=result(cell, load_fps, **how),
            validity=validity,
            reason=reason,
        )

    def search(
        self, cell: Cell, capacity_fps: int, max_fps: int, steps: int = 7, **how: Any
    ) -> tuple[list[int], Bound, Bound]:
        """Bisect as if the DUT carried `capacity_fps`; return all sequence numbers and both bounds."""
        seqs: list[int] = []
        low, high = Bound(load_fps=1, trials=()), Bound(load_fps=max_fps, trials=())
        load = max_fps
        for _ in range(steps):
            loss = max(0.0, 1 - capacity_fps / load)
            seq = self.trial(cell, load, loss_ratio=loss, **how)
            seqs.append(seq)
            if loss:
                high = Bound(load_fps=load, trials=(seq,))
            else:
                low = Bound(load_fps=load, trials=(seq,))
            load = (low.load_fps + high.load_fps) // 2
        for bound in (low, high):
            loss = max(0.0, 1 - capacity_fps / bound.load_fps)
            seqs.append(self.trial(cell, bound.load_fps, phase="verification", loss_ratio=loss, **how))
        low = Bound(load_fps=low.load_fps, trials=(*low.trials, seqs[-2]))
        high = Bound(load_fps=high.load_fps, trials=(*high.trials, seqs[-1]))
        return seqs, low, high

    def measured(
        self, cell: Cell, capacity_fps: int, max_fps: int, median_ns: int = 12_000, **how: Any
    ) -> int:
        """Measure throughput and latency of a cell; return the throughput, frames/s."""
        seqs, low, high = self.search(cell, capacity_fps, max_fps, **how)
        metric = search_metric(cell)
        self.outcome(
            cell,
            metric,
            OutcomeType.MEASURED,
            values=(Quantity(metric=metric, number=low.load_fps, unit="frames/s"),),
            lower=low,
            upper=high,
            trials=tuple(seqs),
        )
        seq = self.trial(cell, low.load_fps, phase="latency", metric=LATENCY, median_ns=median_ns)
        numbers = {"p50": 1.0, "p90": 1.4, "p99": 2.5, "p99_9": 6.0, "max": 40.0, "mean": 1.1}
        self.outcome(
            cell,
            LATENCY,
            OutcomeType.MEASURED,
            values=tuple(
                Quantity(metric=f"{LATENCY}.{name}", number=round(median_ns * factor), unit="ns")
                for name, factor in numbers.items()
            ),
            trials=(seq,),
        )
        return low.load_fps

    def outcome(self, cell: Cell, metric: str, kind: OutcomeType, mend: str = "", **fields: Any) -> None:
        """Record one outcome."""
        self.store.add_outcome(
            Outcome(
                outcome_id=f"{metric}@{cell.cell_id}",
                metric=metric,
                cell=cell,
                type=kind,
                requirements=("RFC2544-26.1-01",) if metric == THROUGHPUT else (),
                **fields,
            ),
            mend=mend,
        )


def search_metric(cell: Cell) -> str:
    """Return what a search finds on a cell: on the wire it is the tester's own envelope."""
    return ENVELOPE if cell.path == "wire" else THROUGHPUT


def test_id(cell: Cell, metric: str) -> str:
    """Return a stable test id as a tag would give it."""
    return f"CN-{'LAT' if metric == LATENCY else 'TPUT'}-{cell.path.upper()}"


def cell(path: str, network: str = "none", octets: int = 64, **changes: Any) -> Cell:
    """Return a cell of the embedded testbed."""
    fields: dict[str, Any] = {
        "path": path,
        "hosting": {"wire": "none", "node": "baremetal"}.get(path, "pod"),
        "function": "none" if path == "wire" or path.startswith("p2p") else "kernel-l3",
        "network": network,
        "frame_octets": octets,
    }
    return Cell(**(fields | changes))
