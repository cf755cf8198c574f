"""Makes runs through RunStore alone, as a session would: all outcome types, invalid trials, several cells."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from made_parts import LATENCY, THROUGHPUT, Clock, Maker, cell, header, search_metric, test_id

from bmwg.methodology.records import Bound, Cell, OutcomeType, Quantity, Validity
from bmwg.reports.store import PlannedCell, RunStore


def full_plan() -> tuple[PlannedCell, ...]:
    """Return the plan of `realistic_run`: two metrics on each cell."""
    cells = [cell(path, octets=size) for path in ("wire", "node") for size in (64, 512, 1518)]
    cells += [cell("pvp", "bridge", size) for size in (64, 512, 1518)]
    cells += [cell("pvp", name) for name in ("ptp", "macvlan", "ipvlan", "host-device", "vlan")]
    cells += [cell("pvp", "bridge", function="testpmd"), cell("p2p", "bridge"), cell("p2p", "ptp")]
    cells += [cell("p2p-underlay", "bridge"), cell("p2p-vxlan", "bridge")]
    return tuple(
        PlannedCell(test_id=test_id(one, metric), metric=metric, cell=one)
        for one in cells
        for metric in (search_metric(one), LATENCY)
    )


def realistic_run(results: Path, run_id: str = "made", **changes: Any) -> Path:
    """Write a run like the default suite's, with every outcome type, and return its folder."""
    with RunStore.create(results, run_id, header(plan=full_plan(), **changes), clock=Clock()) as store:
        maker = Maker(store)
        store.set_platform(before=platform_record())
        for number, one in enumerate(dict.fromkeys(planned.cell for planned in full_plan())):
            store_cell(maker, one, number)
        store.set_platform(after=platform_record())
    return store.folder


def store_cell(maker: Maker, one: Cell, number: int) -> None:
    """Answer one planned cell, each kind of answer at least once."""
    deployment = f"{one.path}-{one.network}"
    if one.frame_octets == 64 and one.function != "testpmd":
        maker.store.add_deployment(deployment, {"plugin": {"name": one.network, "version": "1.1.1"}})
    size_factor = {64: 1.0, 512: 0.9, 1518: 0.75}[one.frame_octets]
    seqs: tuple[int, ...]
    match (one.path, one.network, one.function):
        case ("wire", _, _):
            maker.trial(one, 1_500_000, phase="qualification")
            maker.measured(one, int(1_450_000 * size_factor), 1_600_000, 900)
        case ("node", _, _):
            maker.measured(one, int(610_000 * size_factor), 1_450_000, 9_000)
        case ("pvp", "ipvlan" | "vlan", _):
            for metric in (THROUGHPUT, LATENCY):
                maker.outcome(
                    one,
                    metric,
                    OutcomeType.NOT_ASSESSED,
                    reason=f"the kernel has no {one.network} module",
                    mend=f"modprobe {one.network}",
                )
        case ("pvp", "macvlan", _):
            seqs = (
                maker.trial(
                    one,
                    800_000,
                    gap_ns=4_000_000,
                    loss_ratio=0.02,
                    validity=Validity.TESTER_STALLED,
                    reason="largest gap 4000000 ns, limit 1000000 ns",
                ),
                maker.trial(
                    one,
                    800_000,
                    gap_ns=30_000,
                    loss_ratio=0.04,
                    validity=Validity.HOST_STALLED,
                    reason="watchdog on CPU 1: 12000000 ns",
                ),
                maker.trial(one, 800_000),
                maker.trial(one, 800_000, loss_ratio=0.01, phase="verification"),
            )
            maker.outcome(
                one,
                THROUGHPUT,
                OutcomeType.UNSTABLE,
                trials=seqs,
                statement="no loss at 800000 frames/s once, loss once",
                reason="verification contradicts the search",
            )
            maker.outcome(one, LATENCY, OutcomeType.INVALID, trials=seqs[:1], reason="no throughput is known")
        case ("pvp", "host-device", _):
            seq = maker.trial(
                one, 1_500_000, sent_ratio=0.93, validity=Validity.SENT_SHORT, reason="sent 0.93"
            )
            low = maker.trial(one, 1_400_000)
            maker.outcome(
                one,
                THROUGHPUT,
                OutcomeType.TESTER_LIMITED,
                trials=(seq, low),
                lower=Bound(load_fps=1_400_000, trials=(low,)),
                statement="no loss up to 1400000 frames/s, where the tester ends",
                reason="the tester sent short above it",
            )
            maker.outcome(one, LATENCY, OutcomeType.INVALID, trials=(seq,), reason="the trial was sent short")
        case ("pvp", "bridge", "testpmd"):
            seq = maker.trial(one, 1_450_000)
            maker.outcome(
                one,
                THROUGHPUT,
                OutcomeType.AT_CEILING,
                trials=(seq,),
                lower=Bound(load_fps=1_450_000, trials=(seq,)),
                statement="no loss up to 1450000 frames/s",
                reason="highest load of the search",
            )
        case ("p2p", "ptp", _):
            seq = maker.trial(one, 1_000, loss_ratio=0.5)
            maker.outcome(
                one,
                THROUGHPUT,
                OutcomeType.AT_FLOOR,
                trials=(seq,),
                upper=Bound(load_fps=1_000, trials=(seq,)),
                statement="loss down to 1000 frames/s",
                reason="lowest load of the search",
            )
        case ("p2p-vxlan", _, _):
            seq = maker.trial(
                one,
                90_000,
                fault="the pod ended at 192.0.2.7 (02:00:00:00:00:01)",
                validity=Validity.FAULT,
                reason="the pod ended",
            )
            maker.outcome(one, THROUGHPUT, OutcomeType.INVALID, trials=(seq,), reason="the pod ended")
        case _:
            maker.measured(one, int((420_000 - 15_000 * number) * size_factor), 1_450_000, 14_000)


def platform_record() -> dict[str, Any]:
    """Return a small record with each kind of value: got, unknown, not applicable."""
    at = "2026-01-31T08:00:00.000000Z"
    return {
        "kernel": {
            "release": {
                "value": "6.1.0-30-amd64",
                "how": {"kind": "file", "from": "/proc/sys/kernel/osrelease"},
                "at": at,
            }
        },
        "cpu": {
            "model": {"value": "Virtual CPU", "how": {"kind": "file", "from": "/proc/cpuinfo"}, "at": at},
            "governor": {"unknown": "/sys has no cpufreq folder"},
            "logical_cpus": {"value": 2, "how": {"kind": "file", "from": "/proc/cpuinfo"}, "at": at},
        },
        "bios": {"version": {"not_applicable": "a virtual machine without firmware tables"}},
    }


def large_run(results: Path, trials: int, cells: int, buckets: int) -> Path:
    """Write a run of many trials; the journal is what it would be, the fsyncs are left out for speed."""
    rng = random.Random(7)
    per_cell = trials // cells
    with RunStore.create(results, "large", header(), clock=Clock()) as store:
        maker = Maker(store)
        for number in range(cells):
            one = cell("pvp", f"net{number:03d}", 64)
            seqs = [
                maker.trial(
                    one, 100_000 + rng.randrange(500_000), loss_ratio=rng.choice((0.0, 0.01)), buckets=buckets
                )
                for _ in range(per_cell)
            ]
            low = Bound(load_fps=100_000 + number, trials=(seqs[0],))
            maker.outcome(
                one,
                THROUGHPUT,
                OutcomeType.MEASURED,
                lower=low,
                trials=tuple(seqs),
                values=(Quantity(metric=THROUGHPUT, number=low.load_fps, unit="frames/s"),),
            )
    return store.folder
