"""`bmwg calibrate`: what each generator can do on its own ports, with nothing between them, side by side.

For each testbed file: the highest rate without loss, the error of the rate sent, the lowest latency. It is
the ladder's wire rung without a run; nothing of it is journaled, so it is for looking, not for publishing.
Ids: CAL-01 a tester that nothing can be asked of.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import TrafficDriver
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import SIMULATED, Testbed, load_testbed
from bmwg.drivers.testbed.medium import medium_of, with_medium
from bmwg.drivers.testbed.port_kind import port_kind
from bmwg.drivers.traffic.embedded.xdp import lacking
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.undo.locks import reserve
from bmwg.drivers.watch import awake
from bmwg.methodology.answers.latency import summarize
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.narrowed import LEAST_OCTETS, MOST_OCTETS
from bmwg.methodology.records import Cell, OutcomeType, TrialResult, TrialSpec
from bmwg.methodology.search.bisection import search
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, judge
from bmwg.methodology.trial.medium import cell_fps
from bmwg.resources.run.tester import tester_of

_SHARES = (0.1, 0.25, 0.5, 0.75)  # choice: of the rate without loss, where pacing is looked at
_REPEATS = 3
_MOST_FPS = 6_000_000  # choice: above what any port kind without a rate was seen to carry, docs/adr/0240
_KINDS = ("af_packet", "af_xdp", "xdp")  # of the embedded testbed, where no file is named
_NS = 1_000_000_000


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "calibrate", help="what each traffic generator can do on its own ports", description=__doc__
    )
    parser.add_argument(
        "testbeds",
        nargs="*",
        type=Path,
        help="testbed files (default: the embedded testbed, with each of its port kinds)",
    )
    parser.add_argument("--profile", default="low-rate", help="its trials and search are used (low-rate)")
    parser.add_argument("--frame-octets", type=int, default=64, help="frame size (64)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Calibrate each testbed's tester in turn and print what was found."""
    if not LEAST_OCTETS <= chosen.frame_octets <= MOST_OCTETS:
        raise ConfigError(
            "CAL-01",
            "--frame-octets; nothing was started",
            expected=f"{LEAST_OCTETS} to {MOST_OCTETS} octets, FCS included",
            found=str(chosen.frame_octets),
        )
    profile = load_profile(chosen.profile)
    cell = Cell(
        path="wire", hosting="none", function="none", network="none", frame_octets=chosen.frame_octets
    )
    found = [calibrate(testbed, profile, cell) for testbed in _chosen(chosen.testbeds)]
    print(json.dumps(found, indent=2) if chosen.json else table(found))
    return 0


def _chosen(files: list[Path]) -> list[Testbed]:
    """Return the testbeds that are named; none named: the embedded one with each port kind that it can have.

    A kind that this machine lacks is left out, and a line says so.
    """
    if files:
        return [load_testbed(file) for file in files]
    testbed = load_testbed()
    kinds = list(_KINDS)
    if missing := lacking():
        kinds.remove("xdp")
        print(f"xdp is left out: {missing.reason}; {missing.mend}", file=sys.stderr)
    return [replace(testbed, tester=replace(testbed.tester, io=kind)) for kind in kinds]


def calibrate(testbed: Testbed, profile: Profile, cell: Cell) -> dict[str, Any]:
    """Run one tester on a wire of its own; leaves nothing behind."""
    if testbed.tester.driver == SIMULATED:
        raise ConfigError(
            "CAL-01",
            f"{testbed.file}: nothing was started",
            expected="a tester that sends frames",
            found=f"driver {SIMULATED}",
        )
    if testbed.tester.host is not None:
        raise ConfigError(
            "CAL-01",
            f"{testbed.file}: nothing was started",
            expected="a tester on this machine",
            found=f"tester.host {testbed.tester.host.name}",
            hint="calibrate it there; in a run the wire says the same of it",
        )
    testbed = with_medium(testbed)
    most_fps = cell_fps(medium_of(testbed).line_rate_bps, cell) or _MOST_FPS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bmwg-calibrate-")))
        stack.enter_context(reserve(testbed))
        cpus = [*testbed.tester.cpus, *testbed.dut.cpus]
        held = stack.enter_context(awake.kept_awake(profile.keep_awake, cpus))
        ledger = Ledger(folder / "ledger.jsonl")
        owner = f"calibrate-{secrets.token_hex(4)}"
        stack.callback(ledger.undo, ledger.before("owner", owner=owner))
        stack.enter_context(process.owned(owner))
        bed = stack.enter_context(open_bed(testbed, ledger, folder, owner))
        deployment = stack.enter_context(path_driver(cell, bed).deploy())
        tester = stack.enter_context(tester_of(testbed, folder, profile.policy.drain_s))
        tester.attach(deployment.ports)
        found = _measured(tester, profile, cell, most_fps)
        described = dict(tester.describe())
        tester.detach()
    return {
        "testbed": testbed.name,
        "driver": testbed.tester.driver,
        "io": "+".join(dict.fromkeys(port_kind(testbed).each)),
        "kept_awake": held.as_json(),
        "describe": described,
        **found,
    }


def _measured(tester: TrafficDriver, profile: Profile, cell: Cell, most_fps: int) -> dict[str, Any]:
    trials: list[TrialResult] = []

    def measure(spec: TrialSpec) -> JudgedTrial:
        trials.append(tester.run(spec))
        return judge(RecordedTrial(seq=len(trials), result=trials[-1]), profile.policy)

    goal = profile.goal(cell, max_load_fps=most_fps, qualifies_tester=True)
    tester.learn(goal.spec(goal.min_load_fps))
    answer = search(measure, goal)
    lossless_fps = answer.lower.load_fps if answer.lower else None
    rates: list[float] = []
    latencies: list[tuple[int, int]] = []
    for share in _SHARES:
        load_fps = max(100, round((lossless_fps or goal.min_load_fps) * share))
        for _ in range(_REPEATS):
            judged = measure(goal.spec(load_fps))
            stream = judged.result.streams[0]
            if judged.valid and stream.effective_duration_ns:
                sent_fps = (stream.sent_frames - 1) * _NS / stream.effective_duration_ns
                rates.append((sent_fps / load_fps - 1) * 1e6)
            if judged.valid and stream.latency.buckets:
                summary = summarize(stream.latency)
                latencies.append((stream.latency.buckets[0][1], summary.p50_ns))
    return {
        "search": answer.type.value,
        "lossless_fps": lossless_fps,
        "lossy_fps": answer.upper.load_fps if answer.upper else None,
        "trials": len(trials),
        "rate_error_ppm": _spread(rates),
        "latency_floor_ns": min((floor for floor, _ in latencies), default=None),
        "latency_p50_ns": _spread([float(median) for _, median in latencies]),
    }


def _spread(values: list[float]) -> dict[str, float | int] | None:
    if not values:
        return None
    return {
        "median": round(statistics.median(values), 1),
        "min": round(min(values), 1),
        "max": round(max(values), 1),
        "n": len(values),
    }


def table(found: list[dict[str, Any]]) -> str:
    """Text for people: one row a tester, every figure with its unit."""
    lines = [
        f"{'tester':<30} {'no loss, frames/s':>24} {'rate error, ppm (median, min..max, n)':>42} "
        f"{'latency <=, us':>15} {'p50, us':>9}"
    ]
    for entry in found:
        rate, p50, floor = entry["rate_error_ppm"], entry["latency_p50_ns"], entry["latency_floor_ns"]
        lossless = entry["lossless_fps"]
        speed = "none" if lossless is None else f"{lossless:,}"
        speed += "" if entry["search"] == OutcomeType.MEASURED else f" ({entry['search'].replace('_', ' ')})"
        error = f"{rate['median']} ({rate['min']}..{rate['max']}, {rate['n']})" if rate else "no valid trial"
        lines.append(
            f"{entry['testbed'] + '/' + entry['driver'] + '/' + entry['io']:<30} {speed:>24} {error:>42} "
            f"{_us(floor):>15} {_us(p50['median'] if p50 else None):>9}"
        )
    return "\n".join(lines)


def _us(value_ns: float | None) -> str:
    return "-" if value_ns is None else f"{value_ns / 1000:.1f}"
