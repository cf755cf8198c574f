"""System recovery and reset against an actuator whose outage is known: real packets through a bridge.

The bridge's way out is taken down and up again after a known time. The kernel says that a link is down only
when its grace period is over, and stops its frames somewhere within; so it is with "up", whose call takes
long on a busy machine. The truth is an interval, from the outage without both calls to the outage with them;
an answer may be 2 % or 5 ms outside. How wide the truth is stands beside each. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread

from bmwg.drivers.actuators import outage
from bmwg.drivers.api.protocols import JsonValue, TrafficDriver
from bmwg.drivers.nodes.netns import within
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.benchmarks import recovery
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge

POLICY = TrialPolicy(set_aside_host_stalls=False, max_stall_ns=5_000_000)
LOAD_FPS = 20_000
TRIES = 6
SHARE, FLOOR_MS = 0.02, 5.0
RESET = TrialSpec(frame_octets=64, load_fps=LOAD_FPS, duration_s=1.2, loss_times=True)
LOADS = recovery.recovery_loads(LOAD_FPS, None)
RECOVERY = TrialSpec(
    frame_octets=64,
    load_fps=LOADS.overload_fps,
    duration_s=0.6,
    then_load_fps=LOADS.reduced_fps,
    then_duration_s=1.2,
    loss_times=True,
)


def off_ms(found_ms: float, least_ms: float, most_ms: float) -> float:
    """Return how far an answer is outside what is true, ms."""
    return max(0.0, least_ms - found_ms, found_ms - most_ms)


def allowed_ms(truth_ms: float) -> float:
    """Return how far it may be outside, ms."""
    return max(SHARE * truth_ms, FLOOR_MS)


@contextmanager
def tested(folder: Path, io: str) -> Iterator[tuple[TrafficDriver, str]]:
    """Yield the tester on both sides of a bridge, and the bridge's namespace."""
    last = (os.cpu_count() or 1) - 1
    config = EmbeddedConfig(run_dir=folder, watch_cpus=(last,), drain_quiet_s=0.2)
    with EmbeddedTraffic(config) as tester, bed.forwarder(io, cpu=last) as (left, right, dut):
        tester.attach((left, right))
        tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
        yield tester, dut
        tester.detach()


def with_outage(
    tester: TrafficDriver, dut: str, spec: TrialSpec, at_s: float, for_s: float
) -> tuple[JudgedTrial, dict[str, JsonValue]]:
    """Run one trial with an outage in it; return it with the outage's own times, ns."""
    box: list[dict[str, JsonValue]] = []
    interface = bed.egress(dut)

    def work() -> None:
        time.sleep(at_s)
        box.append(within(f"/run/netns/{dut}", lambda: outage.link(interface=interface, for_s=for_s)))

    thread = threading.Thread(target=work)
    thread.start()
    result = tester.run(spec)
    thread.join()
    return judge(RecordedTrial(seq=1, result=result), POLICY), box[0]


def slow_way_out(dut: str) -> None:
    """Have the bridge forward 20,000 frames/s and no more: what comes above is lost."""
    limits = ["rate", "9600kbit", "burst", "3000", "limit", "6000"]
    bed.inside(dut, "tc", "qdisc", "add", "dev", bed.egress(dut), "root", "tbf", *limits)


def one_reset(tester: TrafficDriver, dut: str, for_s: float) -> dict[str, object]:
    """Time an outage of a link by lost frames and by time stamps (RFC 6201 1.3)."""
    trial, done, tries = _valid(tester, dut, RESET, 0.2, for_s)
    truth_ms = (done["ended_ns"] - done["began_ns"]) / 1e6
    least_ms = truth_ms - (done["beginning_ns"] + done["ending_ns"]) / 1e6
    seen = recovery.reset_trial(trial)
    by_time_ms = recovery.reset_by_time_ms(seen)
    by_loss_ms = recovery.reset_by_loss_ms(seen)
    worst_ms = max(off_ms(one, least_ms, truth_ms) for one in (by_loss_ms, by_time_ms or 0.0))
    return {
        "truth_ms": [round(least_ms, 2), round(truth_ms, 2)],
        "by_loss_ms": round(by_loss_ms, 2),
        "by_time_ms": None if by_time_ms is None else round(by_time_ms, 2),
        "off_ms": round(worst_ms, 2),
        "holds": worst_ms <= allowed_ms(truth_ms),
        "valid": trial.valid,
        "validity": trial.validity.value,
        "tries": tries,
    }


def one_recovery(tester: TrafficDriver, dut: str, for_s: float) -> dict[str, object]:
    """Time the recovery of a device that forwards again only some time after the load was reduced."""
    trial, done, tries = _valid(tester, dut, RECOVERY, 0.3, for_s)
    seen = recovery.recovery_trial(trial)
    started_ns = dict(trial.result.auxiliary)["started_ns"]
    truth_ms = (done["ended_ns"] - started_ns - seen.reduced_at_ns) / 1e6
    least_ms = truth_ms - done["ending_ns"] / 1e6
    found_ms = recovery.recovery_ms(seen)
    off = off_ms(found_ms, least_ms, truth_ms)
    return {
        "truth_ms": [round(least_ms, 2), round(truth_ms, 2)],
        "found_ms": round(found_ms, 2),
        "off_ms": round(off, 2),
        "lost_in_overload": seen.overload_lost_frames,
        "holds": off <= allowed_ms(truth_ms) and seen.overload_lost_frames > 0,
        "valid": trial.valid,
        "validity": trial.validity.value,
        "tries": tries,
    }


def _valid(
    tester: TrafficDriver, dut: str, spec: TrialSpec, at_s: float, for_s: float
) -> tuple[JudgedTrial, dict[str, JsonValue], int]:
    """Return the first valid trial, else the last; loss causes no repeat."""
    tries = 1
    trial, done = with_outage(tester, dut, spec, at_s, for_s)
    while not trial.valid and tries < TRIES:
        tries += 1
        trial, done = with_outage(tester, dut, spec, at_s, for_s)
    return trial, done, tries


def summary(rows: list[dict[str, object]]) -> dict[str, object]:
    """Return the errors of the valid ones, and how many of them are within what is asked."""
    valid = [row for row in rows if row["valid"]]
    return {
        "runs": rows,
        "valid": len(valid),
        "hold": sum(bool(row["holds"]) for row in valid),
        "off_ms": spread([float(str(row["off_ms"])) for row in valid]) if valid else None,
    }


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--io", default="xdp")
    wanted = options.parse_args()
    began_s = time.monotonic()
    lengths_s = (0.1, 0.2, 0.4)
    with tempfile.TemporaryDirectory() as folder, tested(Path(folder), wanted.io) as (tester, dut):
        resets = [one_reset(tester, dut, lengths_s[n % len(lengths_s)]) for n in range(wanted.runs)]
        slow_way_out(dut)
        recoveries = [one_recovery(tester, dut, 0.4 + lengths_s[n % 3]) for n in range(wanted.runs)]
    document = {
        "benchmark": "known_outage",
        "io": wanted.io,
        "kept_awake": held,
        "asked": f"within {SHARE:.0%} or {FLOOR_MS:g} ms",
        "reset": summary(resets),
        "recovery": summary(recoveries),
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
