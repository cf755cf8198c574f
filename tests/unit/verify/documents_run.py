"""Makes a run of what the documents beside RFC 2544 ask for, on a simulated tester."""

from __future__ import annotations

from pathlib import Path

import replayable

import bmwg
from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, Outcome, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial, assess
from bmwg.reports.store import RunHeader, RunStore

WIRE = Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64)
NODE = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
MEASURED = ("throughput", "throughput_rfc2544", "tst009", "latency_rfc8219", "delay_variation", "frame_loss")


class Session:
    """Measures one cell after the other and writes what a run writes."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.profile = load_profile("quick")
        self.traffic = SimulatedTraffic(SimulatedConfig(knee_fps=800_000, seed=3))
        self.found: dict[str, Outcome] = {}

    def measure(self, name: str, cell: Cell) -> None:
        kind = measurement(name)
        device = "wire" if cell.path == "wire" else "nic0"
        port = TesterPort(name="p0", io="af_packet", device=device)
        self.traffic.attach((port, port))
        envelope = self.found.get("wire")
        limit = envelope.lower.load_fps if envelope and envelope.lower else None

        def take(spec: TrialSpec, phase: str) -> JudgedTrial:
            result = self.traffic.run(spec)
            said = assess(result, self.profile.policy)
            seq = self.store.append_trial(
                cell_id=cell.cell_id,
                deployment_id=f"{cell.path}-1",
                metric=kind.recorded_as(self.profile, cell),
                test_id="TEST-1",
                phase=phase.replace(" ", "_"),
                result=result,
                validity=said.validity,
                reason=said.reason,
            )
            return JudgedTrial(seq=seq, result=result, validity=said.validity, reason=said.reason)

        answered = kind.measure(
            Asked(
                profile=self.profile,
                cell=cell,
                outcome_id=f"{name}:{cell.cell_id}",
                trial=take,
                max_load_fps=limit or planning.QUALIFICATION_MAX_FPS,
                envelope_fps=limit,
                throughput=self.found.get("throughput"),
            )
        )
        assert answered.error is None
        for outcome in answered.outcomes:
            self.store.add_outcome(outcome)
            self.found.setdefault(cell.path if cell.path == "wire" else name, outcome)


def make(results: Path) -> Path:
    """Write the run and return its folder."""
    header = RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit=replayable.COMMIT,
        toolkit_dirty=False,
        simulated=True,
        testbed=replayable.TESTBED,
        testbed_source=None,
        profile=load_profile("quick").data,
        medium_kind="veth",
        line_rate_bps=None,
        drivers=({"driver": "simulated", "simulated": True},),
    )
    with RunStore.create(results, "documents", header, clock=replayable.Clock()) as store:
        store.set_platform(before=replayable.record())
        for name in ("wire-1", "node-1"):
            store.add_deployment(name, {"path": name})
        session = Session(store)
        session.measure("throughput", WIRE)
        for name in MEASURED:
            session.measure(name, NODE)
        store.set_platform(after=replayable.record())
    return store.folder
