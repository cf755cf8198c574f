"""Time and memory of `bmwg verify` on a bundle with many trials; prints JSON.

The run is made: the search of the quick profile over many frame sizes, on a device with a known knee. Each
trial has a histogram of `--buckets` buckets, as a real one has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from spread import spread

from bmwg.methodology import suites
from bmwg.methodology.answers import throughput
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import FRAMES, Cell, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.search.bisection import search
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial, assess
from bmwg.reports.bundle.archive import write_archive
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.bundle.manifest import digest, manifest
from bmwg.reports.checker.judge import judge
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.codec import (
    PlannedCell,
    outcome_to_json,
    planned_to_json,
)
from bmwg.reports.store.frame_codec import result_to_json, spec_to_json
from bmwg.reports.store.journal import genesis
from bmwg.reports.store.read import header_hash

AT = "2026-01-31T08:00:00.000000Z"
KNEE_FPS, TESTER_FPS = 800_000, 1_500_000


class Made:
    """The journal of a made run, in memory as lines."""

    def __init__(self, profile: Profile, buckets: int) -> None:
        self.profile = profile
        self.buckets = buckets
        self.bodies: list[dict] = []
        self.outcomes: list[dict] = []
        self.plan: list[dict] = []

    def measure(self, cell: Cell, envelope_fps: int | None) -> int:
        """Search one cell; return its lower bound, frames/s."""
        wire = cell.path == "wire"
        metric = throughput.ENVELOPE_METRIC if wire else throughput.METRIC
        limit = envelope_fps or planning.QUALIFICATION_MAX_FPS
        goal = self.profile.goal(cell, max_load_fps=limit, envelope_fps=envelope_fps, qualifies_tester=wire)
        test_id = suites.owner("throughput", cell.path)

        def run(spec: TrialSpec) -> JudgedTrial:
            result = self.result(spec, wire=wire)
            said = assess(result, self.profile.policy)
            self.bodies.append(
                {
                    "schema": "trial/1.0",
                    "kind": FRAMES,
                    "faults": [],
                    "host": {},
                    "cell": cell.cell_id,
                    "deployment": cell.path,
                    "metric": metric,
                    "test": test_id,
                    "phase": "search",
                    "spec": spec_to_json(spec),
                    "result": result_to_json(result),
                    "assessment": {"validity": said.validity.value, "reason": said.reason},
                    "at": AT,
                }
            )
            return JudgedTrial(
                seq=len(self.bodies), result=result, validity=said.validity, reason=said.reason
            )

        found = search(run, goal)
        outcome = throughput.outcome(found, cell, outcome_id=f"{test_id}:{cell.cell_id}", metric=metric)
        self.outcomes.append(outcome_to_json(outcome, ""))
        self.plan.append(planned_to_json(PlannedCell(test_id=test_id, metric=metric, cell=cell)))
        assert outcome.lower is not None
        return outcome.lower.load_fps

    def result(self, spec: TrialSpec, *, wire: bool) -> TrialResult:
        """Return what a device with the knee would do."""
        sent = min(spec.intended_frames, int(TESTER_FPS * spec.duration_s))
        passed = sent if wire or spec.load_fps <= KNEE_FPS else int(KNEE_FPS * spec.duration_s)
        share, rest = divmod(passed, self.buckets)
        edges = [9_000 + 16 * n for n in range(self.buckets)]
        latency = LatencyHistogram(
            buckets=tuple((low, low + 15, share + (n < rest)) for n, low in enumerate(edges)),
            sum_ns=sum(low * (share + (n < rest)) for n, low in enumerate(edges)),
            min_ns=edges[0],
            max_ns=edges[-1],
        )
        stream = StreamCounts(
            intended_frames=spec.intended_frames,
            sent_frames=sent,
            received_frames=passed,
            largest_gap_ns=20_000,
            effective_duration_ns=round(spec.duration_s * 1e9),
            latency=latency,
        )
        return TrialResult(spec=spec, streams=(stream,), wall_time_ns=round(spec.duration_s * 1e9))

    def write(self, folder: Path) -> None:
        """Write the three files of the run."""
        run = {
            "schema": "run/1.0",
            "run_id": folder.name,
            "toolkit": {"version": "0.1.0", "commit": "0" * 40, "dirty": False},
            "simulated": True,
            "testbed": {"tester": {"driver": "simulated", "ports": ["a", "b"]}},
            "testbed_source": None,
            "profile": dict(self.profile.data),
            "medium": {"kind": "veth", "line_rate_bps": None},
            "plan": self.plan,
            "started_at": AT,
            "ended_at": AT,
            "status": "complete",
            "interruption": None,
            "drivers": [],
            "outcomes": self.outcomes,
        }
        run["header_sha256"] = header_hash(run)
        prev = genesis(folder.name, run["header_sha256"])
        with (folder / "trials.jsonl").open("w", encoding="ascii") as file:
            for number, body in enumerate(self.bodies, start=1):
                text = canonical(body | {"seq": number, "prev": prev})
                prev = hashlib.sha256(text.encode("ascii")).hexdigest()
                file.write(f'{text[:-1]},"hash":"{prev}"}}\n')
        run["journal"] = {"trials": len(self.bodies), "hash": prev}
        platform = {
            "schema": "platform/1.0",
            "run_id": folder.name,
            "base": {"before": None, "after": None},
            "deployments": {"wire": {}, "node": {}},
        }
        (folder / "run.json").write_text(json.dumps(run, indent=1), encoding="ascii")
        (folder / "platform.json").write_text(json.dumps(platform), encoding="ascii")


def make(folder: Path, trials: int, buckets: int) -> int:
    """Make a bundle with at least so many trials; return how many it has."""
    quick = load_profile("quick")
    profile = parse_profile(json.dumps(dict(quick.data) | {"name": "many"}), source="many")
    made = Made(profile, buckets)
    cells = (
        (
            Cell(
                path="wire", hosting="none", function="none", network="none", frame_octets=size, flows=flows
            ),
            Cell(
                path="node",
                hosting="baremetal",
                function="kernel-l3",
                network="none",
                frame_octets=size,
                flows=flows,
            ),
        )
        for flows in range(1, 100)
        for size in range(64, 1519)
    )
    while len(made.bodies) < trials:
        wire, node = next(cells)
        made.measure(node, made.measure(wire, None))
    made.write(folder)
    evidence = folder_evidence(folder)
    names = ("run.json", "platform.json", "trials.jsonl")
    parts = {name: (folder / name).read_bytes() for name in names}
    hashed = {name: (len(part), digest([part])) for name, part in parts.items()}
    write_archive(
        folder / "many.bmwg.tar", {"manifest.json": manifest(evidence, judge(evidence), hashed), **parts}
    )
    return len(made.bodies)


def main() -> None:
    """Make the bundle once, verify it several times in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--buckets", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make:
        print(make(chosen.make, chosen.trials, chosen.buckets))
        return
    seconds: list[float] = []
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        options = ["--trials", str(chosen.trials), "--buckets", str(chosen.buckets), "--make", folder]
        trials = int(subprocess.check_output([sys.executable, __file__, *options], timeout=1800))
        bundle = Path(folder) / "many.bmwg.tar"
        octets = bundle.stat().st_size
        for _ in range(chosen.repeats):
            start = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, str(bundle)],
                check=True,
                capture_output=True,
                text=True,
                timeout=600,
            )
            seconds.append(time.monotonic() - start)
            memory.append(float(done.stdout.splitlines()[-1]))
    print(
        json.dumps(
            {
                "trials": trials,
                "bundle_octets": octets,
                "verify_s": spread(seconds),
                "peak_mib": spread(memory),
            },
            indent=1,
        )
    )


_CHILD = """
import resource, sys
from bmwg.cli.main import main
code = main(["verify", sys.argv[1]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
sys.exit(code)
"""


if __name__ == "__main__":
    main()
