"""Makes runs that can be replayed: the profile's own plan on a simulated tester, without the waits."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import bmwg
from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.platform_record.collect import collect
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.answers import latency, procedures, throughput
from bmwg.methodology.answers.believed import believed
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan import planning, turns
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.record.bound import sealed_form
from bmwg.methodology.records import Cell, Outcome, TrialSpec
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.judging import JudgedTrial, StallEvidence, assess
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.store import PlannedCell, RunHeader, RunStore, binding
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.frame_codec import result_to_json
from bmwg.reports.store.journal import genesis
from bmwg.reports.store.read import header_hash

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TESTBED = {
    "schema": "testbed/1.0",
    "name": "made",
    "tester": {"driver": "simulated", "ports": ["tester/p0", "tester/p1"]},
    "networks": {
        name: {"driver": "cni", "conflist": {"name": name, "plugins": [{"type": name}]}}
        for name in ("bridge", "ptp")
    },
    "lab_ports": [],
}
DESCRIBED: dict[str, Any] = {}  # what drivers tell of each deployment, where a test asks for more


@cache
def record() -> dict[str, Any]:
    """Return this machine's record, taken once."""
    return dict(collect())


class Clock:
    """Goes on by a second each time it is asked."""

    def __init__(self, began: datetime | None = None) -> None:
        self.moment = began or datetime(2026, 1, 31, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def read_ns(self) -> int:
        """Return what a monotonic clock of the machine would say."""
        return int((self.moment - datetime(2026, 1, 31, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000


def counters(spec: dict[str, Any], streams: list[dict[str, Any]]) -> dict[str, int]:
    """Return what two interfaces would have counted of a trial."""
    made = {
        f"{port}.{name}": 0 for port in ("p0", "p1") for name in ("tx_packets", "tx_dropped", "rx_packets")
    }
    ways = {"forward": (("p0", "p1"),), "reverse": (("p1", "p0"),)}
    ways["both"] = ways["forward"] + ways["reverse"]
    for stream, (out, into) in zip(streams, ways[spec["direction"]], strict=True):
        made[f"{out}.tx_packets"] += stream["sent_frames"]
        made[f"{into}.rx_packets"] += stream["received_frames"] + stream["duplicate_frames"]
    return made


class Session:
    """Measures cells as the bench does, and writes what it writes.

    A run that is not called simulated gets what a real one has: time that passes, and interfaces that count.
    """

    def __init__(
        self,
        store: RunStore,
        profile: Profile,
        *,
        seed: int,
        stall_every: int,
        clock: Clock,
        simulated: bool = True,
    ) -> None:
        self.store = store
        self.clock = clock
        self.simulated = simulated
        self.profile = profile
        self.traffic = SimulatedTraffic(SimulatedConfig(knee_fps=800_000, stall_ratio=0.12, seed=seed))
        self.traffic.config = replace(self.traffic.config, tester_limit_fps=1_500_000)
        self.stall_every = stall_every
        self.odd = 37 * (seed - 7)  # two laboratories count nothing alike
        self.taken = 0
        self.numbers: Counter[str] = Counter()
        self.envelopes: dict[int, int] = {}
        self.lower: dict[str, int] = {}
        self.throughputs: dict[str, Outcome] = {}

    def trial(
        self, planned: planning.PlannedAnswer, metric: str, phase: str, trials: list[JudgedTrial]
    ) -> Callable[[TrialSpec], JudgedTrial]:
        def run(spec: TrialSpec) -> JudgedTrial:
            result = self.traffic.run(spec)
            times = None
            if not self.simulated:
                began_ns = self.clock.read_ns()
                self.clock.moment += timedelta(microseconds=result.wall_time_ns // 1000 + 1)
                times = TrialTimes(
                    deployed_ns=began_ns,
                    learning_ns=None,
                    learnt_ns=None,
                    began_ns=began_ns,
                    ended_ns=self.clock.read_ns(),
                )
                data = result_to_json(result)
                made = counters({"direction": spec.direction.value}, data["streams"])
                place = deployment(planned.cell)
                self.numbers[place] += 1
                made |= {"tester.trial": self.numbers[place], "host.steal_ns": 0, "host.softirq_ns": 0}
                streams = tuple(  # of a real device no two results are alike
                    replace(one, largest_gap_ns=one.largest_gap_ns + self.taken + self.odd)
                    for one in result.streams
                )
                odd_ns = result.wall_time_ns + 1 + (self.taken + self.odd) % 998  # no whole microseconds
                result = replace(
                    result, auxiliary=tuple(sorted(made.items())), streams=streams, wall_time_ns=odd_ns
                )
            self.taken += 1
            if self.stall_every and self.taken % self.stall_every == 0:
                result = replace(result, disturbance=HostDisturbance(largest_stall_ns=((1, 9_000_000),)))
            said = assess(result, self.profile.policy)
            seq = self.store.append_trial(
                cell_id=planned.cell.cell_id,
                deployment_id=deployment(planned.cell),
                metric=metric,
                test_id=planned.test_id,
                phase=phase,
                result=result,
                validity=said.validity,
                reason=said.reason,
                times=times,
            )
            trials.append(JudgedTrial(seq=seq, result=result, validity=said.validity, reason=said.reason))
            return trials[-1]

        return run

    def measure(self, planned: planning.PlannedAnswer) -> None:
        cell = planned.cell
        device = "wire" if cell.path == "wire" else "nic0"
        port = TesterPort(name="p0", io="af_packet", device=device)
        self.traffic.attach((port, port))
        trials: list[JudgedTrial] = []
        if planned.metric == latency.METRIC:
            asked = Asked(
                profile=self.profile,
                cell=cell,
                outcome_id=planned.outcome_id,
                trial=lambda spec, phase: self.trial(planned, planned.metric, phase, trials)(spec),
                max_load_fps=self.envelopes[cell.frame_octets],
                throughput=self.throughputs[cell.cell_id],
            )
            (outcome,) = measurement("latency").measure(asked).outcomes
        else:
            wire = cell.path == "wire"
            metric = throughput.ENVELOPE_METRIC if wire else throughput.METRIC
            limit = planning.QUALIFICATION_MAX_FPS if wire else self.envelopes[cell.frame_octets]
            asked = Asked(
                profile=self.profile,
                cell=cell,
                outcome_id=planned.outcome_id,
                trial=lambda spec, phase: self.trial(planned, metric, phase, trials)(spec),
                max_load_fps=limit,
                envelope_fps=None if wire else limit,
            )
            (outcome,) = measurement("throughput").measure(asked).outcomes
            if outcome.lower:
                self.lower[cell.cell_id] = outcome.lower.load_fps
                if wire:
                    self.envelopes[cell.frame_octets] = outcome.lower.load_fps
        most = self.profile.policy.most_set_aside_ratio
        by_cpu = self.profile.policy.stall_evidence is StallEvidence.CPU
        outcome = believed(
            outcome, trials, most_ratio=most, continued=False, by_cpu=by_cpu, policy=self.profile.policy
        )
        if planned.metric != latency.METRIC:
            self.throughputs[cell.cell_id] = outcome
        self.store.add_outcome(outcome)


def deployment(cell: Cell) -> str:
    return f"{cell.path}-{cell.function}-{cell.network}"


def described(cell: Cell) -> dict[str, Any]:
    """Return what a deployment of a cell tells of itself: its path, and what a test adds."""
    told: dict[str, Any] = {**DESCRIBED, "path": cell.path}
    if isinstance(hosting := told.get("hosting"), dict):
        told["hosting"] = {**hosting, "form": cell.hosting}
    if cell.network in TESTBED["networks"]:
        conflist = json.loads(json.dumps(TESTBED["networks"][cell.network]["conflist"]))
        made = {"network": cell.network, "conflist": conflist, "interface": {"kind": "veth"}}
        told["attachments"] = [made]
    return told


def bisecting() -> dict[str, Any]:
    """Return the data of a quick profile that bisects and sets stalls of the SUT's host aside."""
    data: dict[str, Any] = json.loads(json.dumps(load_profile("quick").data))
    del data["search"]["algorithm"], data["search"]["goals"]
    data["trial"] |= {"set_aside_host_stalls": True, "stall_evidence": "tester"}
    return data


def make_run(
    results: Path,
    run_id: str = "made",
    *,
    simulated: bool = True,
    indicative: bool = True,
    paths: tuple[str, ...] = ("wire", "node"),
    sizes: tuple[int, ...] = (64,),
    seed: int = 7,
    stall_every: int = 11,
    order_seed: int | None = None,
    challenge_sha256: str | None = None,
    knee_fps: int = 800_000,
    began: datetime | None = None,
) -> Path:
    """Write a run whose every outcome follows from its trials; return its folder.

    With `order_seed` its options take turns.
    """
    data = bisecting() | {"indicative": indicative}
    if not indicative:  # what a conformance profile may set aside
        conforming = {"set_aside_host_stalls": False, "stall_evidence": "cpu", "most_set_aside_ratio": 0.1}
        data["trial"] |= {**conforming, "max_repeats": 10}
        del data["search"]["most_relative_width"], data["search"]["state_checks"]
    data["paths"] = [one | {"frame_octets": list(sizes)} for one in data["paths"] if one["path"] in paths]
    data["suites"] = {
        name: one
        for name, one in data["suites"].items()
        if name == "rfc2544" or all(plan["path"] in paths for plan in one["paths"])
    }
    data["latency"] |= {"frame_octets": [size for size in data["latency"]["frame_octets"] if size in sizes]}
    profile = parse_profile(json.dumps(data, indent=1), source="made")  # short lines are read by C
    plan = list(planning.cells(profile, dict.fromkeys(TESTBED["networks"])))
    if order_seed is not None:
        plan = list(turns.interleaved(plan, order_seed))
    testbed = json.loads(json.dumps(TESTBED))
    if not simulated:
        testbed["tester"]["driver"] = "embedded"
    header = RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit=COMMIT,
        toolkit_dirty=False,
        simulated=simulated,
        testbed=testbed,
        testbed_source=None,
        profile=profile.data,
        medium_kind="veth",
        line_rate_bps=None,
        plan=tuple(PlannedCell(test_id=p.test_id, metric=_metric(p), cell=p.cell) for p in plan),
        procedures=procedures.versions(_metric(p) for p in plan),
        qualification_max_fps=planning.QUALIFICATION_MAX_FPS,
        drivers=({"driver": "simulated" if simulated else "embedded", "simulated": simulated},),
        order_seed=order_seed,
        challenge_sha256=challenge_sha256,
    )
    clock = Clock(began)
    with RunStore.create(results, run_id, header, clock=clock) as store:
        store.set_platform(before=record())
        store.platform.note_doctor("Throughput", [])
        for name, cell in {deployment(p.cell): p.cell for p in plan}.items():
            store.add_deployment(name, described(cell))
        session = Session(
            store, profile, seed=seed, stall_every=stall_every, clock=clock, simulated=simulated
        )
        session.traffic.config = replace(session.traffic.config, knee_fps=knee_fps)
        for planned in plan:
            session.measure(planned)
        store.set_platform(after=record())
    return store.folder


def _metric(planned: planning.PlannedAnswer) -> str:
    wire = planned.cell.path == "wire" and planned.metric == throughput.METRIC
    return throughput.ENVELOPE_METRIC if wire else planned.metric


def bodies(folder: Path) -> list[dict[str, Any]]:
    """Return the trials of a journal as data, without their hashes."""
    lines = (folder / "trials.jsonl").read_bytes().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "hash"} for line in lines]


def forge(folder: Path, run: dict[str, Any], trials: list[dict[str, Any]], *, renumber: bool = True) -> None:
    """Write a run back as a forger would: header hash, chain, bonds and journal state made anew."""
    run["header_sha256"] = header_hash(run)
    form = sealed_form(json.loads((folder / "platform.json").read_text("ascii")))
    bonds: dict[tuple[Any, ...], Any] = {}
    prev = genesis(run["run_id"], run["header_sha256"])
    lines = []
    for number, body in enumerate(trials, start=1):
        body["prev"] = prev
        if renumber:
            body["seq"] = number
        if bound := body.get("platform"):
            key = (body["deployment"], bound["doctor"], bound["drift"])
            if key not in bonds:
                bonds[key] = binding.of_trial(form, *key)
            body["platform"] = bonds[key]
        text = canonical(body)
        prev = hashlib.sha256(text.encode("ascii")).hexdigest()
        lines.append(f'{text[:-1]},"hash":"{prev}"}}\n')
    run["journal"] = {"trials": len(trials), "hash": prev, "platform": binding.of_form(run, form, prev)}
    (folder / "trials.jsonl").write_text("".join(lines), encoding="ascii")
    (folder / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="ascii")
